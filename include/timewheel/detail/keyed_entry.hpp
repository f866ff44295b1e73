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
#include <thread>
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
    bool is_asked = false;    // somebody wants to know when it runs next
    bool is_deciding = false; // some thread is asking for the next run
    std::thread::id decider;  // which one
    std::exception_ptr invalid_reason;
    item_state told = item_state::removed; // the last state that the observer was told

    timer_id timer = timer_id::none; // of the next run
    std::optional<time_point> next;
    time_point decided_at{};             // when that was decided
    std::optional<time_point> last_turn; // when a run was last begun, or a scheduled one put off

    std::vector<active_run> active;
    std::vector<triggered_run> triggered;
    bool runs_again = false;             // when the runs under way have ended
    std::vector<std::uint64_t> removals; // operations that wait for the end of all runs

    std::uint64_t runs = 0;
    std::uint64_t skipped = 0;
    std::deque<record_type> history;

    bool is_active(timer_id id) const
    {
        return std::any_of(active.begin(), active.end(), [id](const active_run& run) {
            return run.id == id;
        });
    }

    bool has_waiting_trigger() const
    {
        return std::any_of(triggered.begin(), triggered.end(), [](const triggered_run& run) {
            return run.id == timer_id::none;
        });
    }

    // Whether a run by what has been decided last is under way.
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

    // Returns what was thrown in the run that is forgotten.
    std::exception_ptr remember(const record_type& record, std::size_t most)
    {
        std::exception_ptr forgotten;
        if (most == 0)
            return forgotten;
        if (history.size() == most) {
            forgotten = std::move(history.front().exception);
            history.pop_front();
        }
        history.push_back(record);
        return forgotten;
    }

    // Marks that the thread is asking for the next run.
    class decision_mark
    {
    public:
        explicit decision_mark(keyed_entry& entry) : entry_(entry)
        {
            entry_.is_deciding = true;
            entry_.decider = std::this_thread::get_id();
        }

        decision_mark(const decision_mark&) = delete;
        decision_mark& operator=(const decision_mark&) = delete;

        ~decision_mark() { entry_.is_deciding = false; }

    private:
        keyed_entry& entry_;
    };
};

// What is seen of an item at one moment, to be copied for the user when nothing is locked.
template <class Key, class T, class Clock>
class keyed_glance
{
public:
    using entry_type = keyed_entry<Key, T, Clock>;
    using snapshot_type = basic_item_snapshot<Key, T, Clock>;

    explicit keyed_glance(std::shared_ptr<const entry_type> entry)
        : data_(entry->data)
        , state_(entry->state())
        , next_(entry->next)
        , running_(entry->active.size())
        , runs_(entry->runs)
        , skipped_(entry->skipped)
        , history_(entry->history.begin(), entry->history.end())
        , invalid_reason_(entry->invalid_reason)
        , entry_(std::move(entry))
    {}

    snapshot_type snapshot() &&
    {
        return {
            entry_->key,
            *data_,
            state_,
            next_,
            running_,
            runs_,
            skipped_,
            std::move(history_),
            std::move(invalid_reason_)
        };
    }

private:
    std::shared_ptr<const T> data_;
    item_state state_;
    std::optional<typename Clock::time_point> next_;
    std::size_t running_;
    std::uint64_t runs_;
    std::uint64_t skipped_;
    std::vector<basic_job_record<Clock>> history_;
    std::exception_ptr invalid_reason_;
    std::shared_ptr<const entry_type> entry_;
};

// The data of a run's timer.
template <class Key, class T, class Clock>
struct keyed_run
{
    using entry_type = keyed_entry<Key, T, Clock>;

    std::shared_ptr<entry_type> item;
    std::shared_ptr<const T> data;
    std::uint64_t generation = 0;
    std::optional<typename Clock::time_point> triggered_at;
};

}

#endif
