// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#ifndef TIMEWHEEL_KEYED_SCHEDULER_OPTIONS_HPP
#define TIMEWHEEL_KEYED_SCHEDULER_OPTIONS_HPP

#include <timewheel/job.hpp>
#include <timewheel/keyed_item.hpp>
#include <timewheel/keyed_job.hpp>

#include <chrono>
#include <cstddef>
#include <exception>
#include <functional>
#include <limits>
#include <optional>

namespace timewheel {

/** @brief How a keyed scheduler works.
    @tparam Key The key of its items.
    @tparam T The data of its items.
    @tparam Clock Its clock.
*/
template <class Key, class T, class Clock = std::chrono::system_clock>
struct basic_keyed_scheduler_options
{
    /// For `max_concurrent`: no limit.
    static constexpr std::size_t unlimited = (std::numeric_limits<std::size_t>::max)();

    /// The clock's time point.
    using time_point = typename Clock::time_point;

    /** Says when an item runs next, from the present time, the key and the data. A time that has passed
        means now. Nothing disables the item, an exception makes it invalid. It is called once for
        each decision, on whichever thread makes it, not locked, and not concurrently for one key; it may
        call the scheduler. What it asks for its own item is what it is about to say, but other data are
        decided again. Necessary.
    */
    std::function<std::optional<time_point>(time_point, const Key&, const T&)> next{};

    /// What an item does. Necessary.
    basic_keyed_job<Key, T, Clock> run{};

    /// When the next run is decided.
    reschedule_policy reschedule = reschedule_policy::after_finish;

    /// What to do when an item is due while it is running. With `after_finish` it waits in any case.
    overlap_policy overlap = overlap_policy::allow;

    /// Whether a removal tells the item's running jobs to stop.
    bool cancel_running_on_remove = false;

    /// Whether new data tell the item's running jobs to stop.
    bool cancel_running_on_replace = false;

    /// Whether to close is to wait for the running jobs. They are told to stop either way.
    bool wait_running_on_close = true;

    /// How long a run may take until its job is told to stop; positive. The default is for ever.
    typename Clock::duration run_timeout = (Clock::duration::max)();

    /// How many runs may be under way, at least 1. What is due beyond waits, in the order in which it
    /// became due.
    std::size_t max_concurrent = unlimited;

    /** The grid that times are rounded up to, at least 1 ns, and the least time between the begins of
        two scheduled runs of an item.
    */
    std::chrono::nanoseconds tick = std::chrono::milliseconds(1);

    /// How many ended runs of each item are remembered.
    std::size_t history = 8;

    /// Whether two data are equal; necessary only if `==` can't tell.
    std::function<bool(const T&, const T&)> equal{};

    /// Is told what `next` threw.
    std::function<void(const Key&, std::exception_ptr)> on_invalid{};

    /// Is told each change of an item's state, in order, by one thread at a time.
    std::function<void(const Key&, item_state)> on_change{};

    /// Is told how each run ended, on the thread where it did.
    std::function<void(const Key&, const basic_job_record<Clock>&)> on_run{};
};

}

#endif
