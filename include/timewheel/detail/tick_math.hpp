// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#ifndef TIMEWHEEL_DETAIL_TICK_MATH_HPP
#define TIMEWHEEL_DETAIL_TICK_MATH_HPP

#include <timewheel/detail/hierarchical_wheel.hpp>

#include <chrono>
#include <concepts>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace timewheel::detail {

// a + b, at most the largest and at least the smallest value.
template <class Rep>
constexpr Rep saturated_add(Rep a, Rep b) noexcept
{
    using limits = std::numeric_limits<Rep>;
    if constexpr (std::floating_point<Rep>) {
        const Rep sum = a + b;
        return sum > (limits::max)()    ? (limits::max)()
               : sum < limits::lowest() ? limits::lowest()
                                        : sum;
    } else if (b > 0) {
        return a > (limits::max)() - b ? (limits::max)() : static_cast<Rep>(a + b);
    } else {
        return a < limits::lowest() - b ? limits::lowest() : static_cast<Rep>(a + b);
    }
}

template <class Clock>
constexpr typename Clock::time_point
saturated_add(typename Clock::time_point from, typename Clock::duration by) noexcept
{
    using duration = typename Clock::duration;
    return typename Clock::time_point(
        duration(saturated_add(from.time_since_epoch().count(), by.count()))
    );
}

// How long after `due` it is `now`: never negative, at most the largest duration.
template <class Clock>
constexpr typename Clock::duration
lateness_of(typename Clock::time_point due, typename Clock::time_point now) noexcept
{
    using duration = typename Clock::duration;
    if (now <= due)
        return duration::zero();
    if (due.time_since_epoch() < duration::zero() &&
        now > (Clock::time_point::max)() + due.time_since_epoch())
        return (duration::max)();
    return now - due;
}

// A duration in other units, rounded up to whole ones if integers count them, at most the largest and at least the smallest value.
template <class To, class Rep, class Period>
constexpr To saturated_ceil(std::chrono::duration<Rep, Period> d) noexcept
{
    using from = std::chrono::duration<Rep, Period>;
    // Compared in units that can't overflow: a conversion to finer ones might.
    using limits = std::chrono::duration<long double, typename To::period>;
    if (std::chrono::duration_cast<limits>(d) >= limits((To::max)()))
        return (To::max)();
    if (std::chrono::duration_cast<limits>(d) <= limits((To::min)()))
        return (To::min)();
    const To rounded = std::chrono::duration_cast<To>(d);
    if constexpr (std::floating_point<typename To::rep>)
        return rounded; // there is no unit to round up to
    return std::chrono::duration_cast<limits>(from(d)) > limits(rounded) ? rounded + To(1)
                                                                         : rounded;
}

template <class Clock, class Duration>
constexpr typename Clock::time_point saturated_ceil(std::chrono::time_point<Clock, Duration> t
) noexcept
{
    return
        typename Clock::time_point(saturated_ceil<typename Clock::duration>(t.time_since_epoch()));
}

/*  Converts between a clock's time points and ticks.

    Tick boundaries are the multiples of the tick since the clock's epoch. Ticks are numbered in
    the order of time over the whole range of the clock, the epoch being 2^63 for a signed one.
    A deadline rounds up to a tick and the present rounds down, so nothing is due early.
*/
template <class Clock>
class tick_math
{
public:
    using duration = typename Clock::duration;
    using time_point = typename Clock::time_point;

    // `tick` must be positive; a clock that is coarser ticks once for each unit of its own.
    explicit tick_math(std::chrono::nanoseconds tick) noexcept : tick_(to_clock_units(tick)) {}

    duration tick() const noexcept { return tick_; }

    // The last tick that has begun by `now`, never hierarchical_wheel::never.
    tick_type floor(time_point now) const noexcept
    {
        const tick_type tick = number(quotient(now));
        return tick == hierarchical_wheel::never ? tick - 1 : tick;
    }

    // The first tick that begins at `deadline` or later; never for the end of time.
    tick_type ceil(time_point deadline) const noexcept
    {
        if (deadline == (time_point::max)())
            return hierarchical_wheel::never;
        if constexpr (std::floating_point<rep>) {
            const tick_type tick = floor(deadline);
            return begin(tick) < deadline ? tick + 1 : tick;
        } else {
            const auto count = static_cast<wide>(deadline.time_since_epoch().count());
            const auto size = static_cast<wide>(tick_.count());
            const wide n = count / size; // rounded to zero
            return number(count % size > 0 ? n + 1 : n);
        }
    }

    // When a tick begins, at most the end of time.
    time_point begin(tick_type tick) const noexcept
    {
        if (tick == hierarchical_wheel::never)
            return (time_point::max)();
        return time_point(duration(product(tick)));
    }

private:
    using rep = typename duration::rep;
    static_assert(
        std::floating_point<rep> || sizeof(rep) <= sizeof(tick_type),
        "timewheel: a clock's duration counts in at most 64 bits"
    );

    // Integers are divided in 64 bits of their own signedness.
    using wide = std::conditional_t<std::is_unsigned_v<rep>, std::uint64_t, std::int64_t>;

    static constexpr tick_type epoch = std::is_unsigned_v<rep> ? tick_type{0} : tick_type{1} << 63;

    static duration to_clock_units(std::chrono::nanoseconds tick) noexcept
    {
        if constexpr (std::floating_point<rep>) {
            return std::chrono::duration_cast<duration>(tick);
        } else {
            const auto units = std::chrono::ceil<duration>(tick);
            return units > duration::zero() ? units : duration(1);
        }
    }

    static tick_type number(wide quotient) noexcept
    {
        return static_cast<tick_type>(quotient) ^ epoch;
    }

    // The largest n with n * tick <= t.
    wide quotient(time_point t) const noexcept
    {
        const rep count = t.time_since_epoch().count();
        if constexpr (std::floating_point<rep>) {
            constexpr rep limit = static_cast<rep>(std::int64_t{1} << 62);
            const rep exact = count / tick_.count();
            if (!(exact > -limit)) // also for a NaN
                return -(std::int64_t{1} << 62);
            if (exact >= limit)
                return std::int64_t{1} << 62;
            const wide whole = static_cast<wide>(exact); // rounded to zero
            const wide n = static_cast<rep>(whole) > exact ? whole - 1 : whole;
            // The quotient is rounded: what begin() computes decides.
            const auto begins = [&](wide tick) { return static_cast<rep>(tick) * tick_.count(); };
            if (begins(n) > count)
                return n - 1;
            return begins(n + 1) <= count ? n + 1 : n;
        } else {
            const wide n = static_cast<wide>(count) / static_cast<wide>(tick_.count());
            const wide rest = static_cast<wide>(count) % static_cast<wide>(tick_.count());
            return rest < 0 ? n - 1 : n;
        }
    }

    rep product(tick_type tick) const noexcept
    {
        const wide n = static_cast<wide>(tick ^ epoch);
        if constexpr (std::floating_point<rep>) {
            return static_cast<rep>(n) * tick_.count();
        } else {
            using limits = std::numeric_limits<rep>;
            const wide size = static_cast<wide>(tick_.count());
            if (n > static_cast<wide>((limits::max)()) / size)
                return (limits::max)();
            if (n < static_cast<wide>((limits::min)()) / size)
                return (limits::min)();
            return static_cast<rep>(n * size);
        }
    }

    duration tick_;
};

}

#endif
