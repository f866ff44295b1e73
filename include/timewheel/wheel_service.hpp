// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#ifndef TIMEWHEEL_WHEEL_SERVICE_HPP
#define TIMEWHEEL_WHEEL_SERVICE_HPP

#include <timewheel/config.hpp>
#include <timewheel/detail/access.hpp>
#include <timewheel/detail/wheel_driver.hpp>

#include <boost/asio/execution_context.hpp>
#include <boost/asio/wait_traits.hpp>

#include <chrono>
#include <cstdint>
#include <optional>

namespace timewheel {

/// How a wheel service is made.
struct wheel_service_options
{
    /** @brief The resolution: deadlines round up to multiples of it since the clock's epoch.

        At least 1 ns; 1 us or more is sensible. A finer tick costs little as long as deadlines do
        not fall together, since there is no wake-up for a tick in which nothing is due. A clock that
        counts in larger units ticks in its own.
    */
    std::chrono::nanoseconds tick = std::chrono::milliseconds(1);
};

/// What a wheel service has done so far; `armed waits == pending + fired + cancelled` always holds.
struct wheel_service_stats
{
    /// Waits that are neither due nor cancelled yet.
    std::uint64_t pending = 0;

    /// Waits that have become due.
    std::uint64_t fired = 0;

    /// Waits that were cancelled.
    std::uint64_t cancelled = 0;

    /// How often Asio's timer, and so perhaps the operating system's, was set.
    std::uint64_t os_arms = 0;

    /// How often it woke the service up.
    std::uint64_t wakeups = 0;

    /// How many timers were filed a second time because their deadline had been moved later.
    std::uint64_t refiled = 0;
};

/** @brief The timing wheel of an execution context, as a service of it.

    Every timer of this library with this `Clock` and `WaitTraits` on a context shares its wheel. The
    first one makes the service with default options; to choose them, make it before:

    @snippet wheel_service.cpp make_service

    **Semantics.** A hierarchical timing wheel with 64-bit ticks: to start, re-arm or cancel a wait
    takes constant time for any number of them and any deadline. No wait completes before its
    deadline, and it completes at most one tick later plus the time that the executor needs. Waits
    that become due complete in the order of their ticks, and within a tick in the order in which
    they were started; a deadline that has passed when a wait is started counts as the tick that
    the service has reached, and one that was moved later as filed when the old one is reached.

    Asio's timer is set only when a deadline is earlier than what it is set to, so the service
    wakes up only for what is due, and not at all while nothing waits. If the clock can be set
    (`Clock::is_steady` is false), a deadline is never slept on for more than a second, so that a
    step forward is noticed by then; nothing completes early when the clock is set back.

    The service runs on the context's own executor: of the first executor that it is given, strands
    and type erasure are removed, where it is an executor of `io_context`, `thread_pool` or
    `system_context`. Any other executor is used as it is; to name one, pass it to `make_service`.

    **Thread safety.** All members may be called from any thread.

    @tparam Clock A clock as Asio's waitable timers take it.
    @tparam WaitTraits The wait traits for the clock.
*/
template <class Clock, class WaitTraits = asio::wait_traits<Clock>>
class basic_wheel_service : public asio::execution_context::service
{
public:
    /// Identifies the service in its context.
    using key_type = basic_wheel_service;

    /// Asio asks for one when a service is looked up in an `io_context`; `key_type` is what counts.
    static inline asio::execution_context::id id;

    /// The clock of the deadlines.
    using clock_type = Clock;

    /// The clock's duration.
    using duration = typename Clock::duration;

    /// The clock's time point.
    using time_point = typename Clock::time_point;

    /** @brief Makes the service with an executor that it finds with the first timer.

        @param context The context that the service belongs to.
        @param options The options.
        @throws std::invalid_argument An option is out of range.
    */
    explicit basic_wheel_service(
        asio::execution_context& context,
        wheel_service_options options = {}
    );

    /** @brief Makes the service with an executor of the context.

        @param context The context that the service belongs to.
        @param executor An executor of the context, for the service's own work.
        @param options The options.
        @throws std::invalid_argument An option is out of range, or the executor belongs to another
        context.
    */
    template <class Executor>
    basic_wheel_service(
        asio::execution_context& context,
        const Executor& executor,
        wheel_service_options options = {}
    );

    /** @brief Returns the resolution, in units of the clock.
        @return The tick, at least one unit.
    */
    duration tick() const noexcept { return driver_.math().tick(); }

    /** @brief Returns a snapshot of the counters.
        @return Counters that belong to one moment.
    */
    wheel_service_stats stats() const;

    /** @brief Returns when the next wait will be due, looking at the timers of the earliest slots.
        @return The earliest deadline, rounded up to a tick, or nothing if no deadline is pending
        but those at the end of time.
    */
    std::optional<time_point> next_expiry() const { return driver_.next_deadline(); }

private:
    friend struct detail::access;

    void shutdown() override { driver_.shutdown(); }

    mutable detail::wheel_driver<Clock, WaitTraits> driver_;
};

/// The service of `steady_timer`.
using wheel_service = basic_wheel_service<std::chrono::steady_clock>;

}

#include <timewheel/impl/wheel_service.hpp>

#endif
