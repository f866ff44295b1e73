// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#ifndef TIMEWHEEL_MANUAL_CLOCK_HPP
#define TIMEWHEEL_MANUAL_CLOCK_HPP

#include <timewheel/config.hpp>
#include <timewheel/detail/access.hpp>
#include <timewheel/detail/driven_clock.hpp>

#include <boost/asio/wait_traits.hpp>

#include <chrono>
#include <cstdint>
#include <optional>

namespace timewheel {

/** @brief A clock that moves only when it is told to, for tests.

    Every timer of this library takes a clock; with this one the test decides what time it is.

    @snippet manual_clock.cpp advance

    **Semantics.** The time is the epoch at first. To move the clock wakes up the wheel services that
    use it: a thread in `run()` goes on with what became due, and where no thread runs the context,
    one `poll()` completes all of it. The same calls make the same completions in the same order.

    **Clocks in the same program.** Each `Tag` is a clock of its own: give each test one, or set the
    time back with `set()` at its begin.

    **Thread safety.** All members may be called from any thread, and from handlers. Moves by several
    threads follow each other.

    @tparam Tag Any type, to tell clocks apart.
*/
template <class Tag = void>
class manual_clock
{
public:
    /// Nanoseconds, as of the clocks of common standard libraries.
    using duration = std::chrono::nanoseconds;

    /// The type that counts them.
    using rep = duration::rep;

    /// The unit.
    using period = duration::period;

    /// A time of this clock.
    using time_point = std::chrono::time_point<manual_clock>;

    /// Whether the time is never set back: it may be, by `set()`.
    static constexpr bool is_steady = false;

    /** @brief Returns what time it is.
        @return The time that was set last.
    */
    static time_point now() noexcept;

    /** @brief Moves the clock forward.
        @param by How far; past the end of time, it stops there.
        @throws std::invalid_argument `by` is negative.
    */
    static void advance(duration by);

    /** @brief Moves the clock forward to a time.
        @param to The time.
        @throws std::invalid_argument `to` is earlier than `now()`.
    */
    static void advance_to(time_point to);

    /** @brief Moves the clock to the earliest deadline for which something waits.

        The deadline is rounded up to the tick of its service, so one `poll()` later it is over.
        Deadlines that have passed already leave the clock as it is.

        @return Whether anything waits for a deadline, other than the end of time.
    */
    static bool advance_to_next();

    /** @brief Sets the clock, also back, like somebody who corrects a wall clock.
        @param to The time.
    */
    static void set(time_point to);

private:
    friend struct detail::access;

    using observer = detail::clock_observer<time_point>;
    class state;

    static state& shared() noexcept;
    static void add_observer(observer& who);
    static void remove_observer(observer& who) noexcept;
    static void wait_until(time_point when);
};

}

/// @cond
// Real time does not move the clock, so there is no use in looking at it after a while.
template <class Tag>
struct timewheel::asio::wait_traits<timewheel::manual_clock<Tag>>
{
    /// The clock.
    using clock_type = timewheel::manual_clock<Tag>;

    /** @brief How long to sleep before a look at the clock.
        @param left The time left by the clock.
        @return No time if the deadline has passed, else the longest.
    */
    static typename clock_type::duration to_wait_duration(const typename clock_type::duration& left)
    {
        using duration = typename clock_type::duration;
        return left > duration::zero() ? (duration::max)() : duration::zero();
    }

    /** @brief How long to sleep before a look at the clock.
        @param deadline The deadline.
        @return No time if it has passed, else the longest.
    */
    static typename clock_type::duration to_wait_duration(
        const typename clock_type::time_point& deadline
    )
    {
        using duration = typename clock_type::duration;
        return deadline > clock_type::now() ? (duration::max)() : duration::zero();
    }
};
/// @endcond

#include <timewheel/impl/manual_clock.hpp>

#endif
