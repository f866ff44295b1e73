// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#ifndef TIMEWHEEL_EXAMPLE_WHEEL_SERVICE_TASK_STORE_HPP
#define TIMEWHEEL_EXAMPLE_WHEEL_SERVICE_TASK_STORE_HPP

#include "task.hpp"

#include <timewheel/stats.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <vector>

namespace wheel_service {

/// Counts of what has happened, at one moment.
struct store_counts
{
    std::array<std::uint64_t, state_names.size()> now{};      ///< tasks in each state
    std::array<std::uint64_t, state_names.size()> outcomes{}; ///< runs that ended in each state
    timewheel::duration_histogram durations;
    double per_second = 0; ///< runs that ended, over the last ten seconds
};

/** The tasks: those that are waiting or running, and the last ones that are finished.

    Thread-safe. Memory is bounded: a finished task pushes out the oldest one that is finished.
*/
class task_store
{
public:
    task_store(std::size_t history_size, clock::duration tick);

    /// Stores a waiting task and calls `arm` to have it run, which returns its timer. If that throws,
    /// nothing has happened.
    task_id add(task added, const std::function<timewheel::timer_id(task_id)>& arm);

    /// A run has begun.
    void begin(task_id id, clock::time_point now);

    /// A run has ended. The task is finished then, or waits until `next`.
    void end(
        task_id id,
        task_state outcome,
        clock::time_point now,
        const std::string& error,
        std::optional<clock::time_point> next
    );

    /// A run of a schedule, which the store learns of when it is over.
    void add_finished(task finished);

    [[nodiscard]] std::optional<task> find(task_id id) const;

    /// At most `limit` tasks with an id above `after`, in the order of their ids.
    [[nodiscard]] std::vector<task>
    page(std::optional<task_state> state, std::size_t limit, task_id after) const;

    /// The last finished tasks, the latest first.
    [[nodiscard]] std::vector<task> latest(std::size_t limit) const;

    /// Forgets the finished tasks and returns how many there were.
    std::size_t cleanup();

    [[nodiscard]] std::vector<task> active() const;
    [[nodiscard]] store_counts counts(clock::time_point now) const;

    /// How many tasks are due in each tick, by its number since the clock's epoch.
    [[nodiscard]] std::vector<std::pair<std::int64_t, std::uint32_t>> due_ticks() const;

private:
    using group = std::map<task_id, task>;

    static constexpr std::size_t seconds_remembered = 10;

    group& in(task_state state) { return groups_[static_cast<std::size_t>(state)]; }
    const group& in(task_state state) const { return groups_[static_cast<std::size_t>(state)]; }
    std::int64_t tick_of(clock::time_point due) const;
    void count_due(clock::time_point due, bool added);
    void finish(task finished);
    void count_end(
        task_state outcome,
        clock::time_point now,
        std::optional<clock::duration> duration // of the run, if there was one
    );

    const std::size_t history_size_;
    const clock::duration tick_;

    mutable std::mutex mutex_;
    std::array<group, state_names.size()> groups_;
    std::deque<std::pair<task_id, task_state>> finished_; // the oldest first
    std::map<std::int64_t, std::uint32_t> due_;
    task_id last_id_ = 0;
    std::array<std::uint64_t, state_names.size()> outcomes_{};
    timewheel::duration_histogram durations_;
    std::array<std::pair<std::int64_t, std::uint64_t>, seconds_remembered + 1> ended_in_{};
};

}

#endif
