// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#ifndef TIMEWHEEL_WHEEL_OPTIONS_HPP
#define TIMEWHEEL_WHEEL_OPTIONS_HPP

#include <timewheel/detail/observed.hpp>
#include <timewheel/job.hpp>

#include <chrono>
#include <cstddef>
#include <exception>
#include <functional>
#include <limits>
#include <string_view>

namespace timewheel {

/** @brief How a job wheel works.
    @tparam T The data of its timers; `void` for none.
    @tparam Clock Its clock.
*/
template <class T, class Clock = std::chrono::steady_clock>
struct basic_wheel_options
{
    /// For `max_queued` and `max_pending`: no limit.
    static constexpr std::size_t unlimited = (std::numeric_limits<std::size_t>::max)();

    /// What an observer is told: refers to the timer's data while the observer runs.
    using event_type = basic_job_event<detail::observed_t<T>, Clock>;

    /** The grid that times are rounded up to, at least 1 ns. Timers that are due within the same tick
        come due together. The tick of the wheel service counts if it is coarser.
    */
    std::chrono::nanoseconds tick = std::chrono::milliseconds(1);

    /// How many jobs may be handed to the workers and not have begun, at least 1.
    std::size_t max_queued = unlimited;

    /// What to do with more of them.
    backpressure policy = backpressure::block;

    /// With how many timers that wait in the wheel no other is accepted, at least 1.
    std::size_t max_pending = unlimited;

    /// How long a run may take until its job is told to stop; positive. The default is for ever.
    typename Clock::duration run_timeout = (Clock::duration::max)();

    /** Is told how each run ended, on the thread where it did: a worker's mostly; one of the wheel's
        context if the job did not run; the one that stops the wheel, for what that cancels.
        What it throws leaves that thread's function, such as `run()`.
    */
    std::function<void(const event_type&)> observer{};

    /// Is told what a job threw that had not been told to stop, before the observer.
    std::function<void(timer_id, std::exception_ptr)> on_error{};

    /// Is told in words what should not happen, such as that a timer came due without a job.
    std::function<void(std::string_view)> logger{};
};

/// How a wheel on the steady clock works.
template <class T = void>
using wheel_options = basic_wheel_options<T>;

}

#endif
