// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#ifndef TIMEWHEEL_DETAIL_KEYED_ENTRY_HPP
#define TIMEWHEEL_DETAIL_KEYED_ENTRY_HPP

#include <timewheel/job.hpp>
#include <timewheel/keyed_item.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace timewheel::detail {

/*  An item of a keyed scheduler. Guarded by the scheduler's mutex, but for the key. It outlives its
    removal while a run refers to it.

    Its generation changes whenever what has been decided before does not count any more: then runs
    that end and decisions that are made are too late to change anything.
*/
template <class Key, class T, class Clock>
struct keyed_entry
{
    using time_point = typename Clock::time_point;
    using record_type = basic_job_record<Clock>;

    // A run that has begun.
    struct active_run
    {
        timer_id id;
        std::uint64_t generation;
    };

    // A run that was asked for: an operation waits for its end, unless its number is 0.
    struct triggered_run
    {
        timer_id id; // or none, while it waits for another run to end
        std::uint64_t operation;
    };

    keyed_entry(const Key& name, std::shared_ptr<const T> with, std::uint64_t number)
        : key(name)
        , data(std::move(with))
        , generation(number)
    {}

    const Key key;
    std::shared_ptr<const T> data;
    std::uint64_t generation;

    bool is_present = true;
    bool is_paused = false;
    bool is_disabled = false; // it has been decided that there is no next run
    bool is_deciding = false; // some thread is asking for the next run
    bool decide_again = false;
    std::exception_ptr invalid_reason;
    item_state told = item_state::removed; // the last state that the observer was told

    timer_id timer = timer_id::none; // of the next run
    std::optional<time_point> next;
    std::optional<time_point> last_begin;

    std::vector<active_run> active;
    std::vector<triggered_run> triggered;
    bool runs_again = false;             // when the runs under way have ended
    std::vector<std::uint64_t> removals; // operations that wait for the end of all runs

    std::uint64_t runs = 0;
    std::uint64_t skipped = 0;
    std::deque<record_type> history;

    bool is_active_now() const
    {
        return std::any_of(active.begin(), active.end(), [this](const active_run& run) {
            return run.generation == generation;
        });
    }

    item_state state() const
    {
        return !is_present       ? item_state::removed
               : !active.empty() ? item_state::running
               : is_paused       ? item_state::paused
               : invalid_reason  ? item_state::invalid
               : is_disabled     ? item_state::disabled
                                 : item_state::pending;
    }

    void remember(const record_type& record, std::size_t most)
    {
        if (most == 0)
            return;
        if (history.size() == most)
            history.pop_front();
        history.push_back(record);
    }
};

// The data of a run's timer.
template <class Key, class T, class Clock>
struct keyed_run
{
    using entry_type = keyed_entry<Key, T, Clock>;

    std::shared_ptr<entry_type> item;
    std::shared_ptr<const T> data;
    std::uint64_t generation = 0;
    bool is_triggered = false;
    bool is_void = false; // it came too late, or was left out: it does not count
};

}

#endif
