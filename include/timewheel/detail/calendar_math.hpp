// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#ifndef TIMEWHEEL_DETAIL_CALENDAR_MATH_HPP
#define TIMEWHEEL_DETAIL_CALENDAR_MATH_HPP

#include <timewheel/detail/duration_text.hpp>
#include <timewheel/detail/tick_math.hpp>

#include <chrono>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>

namespace timewheel::detail {

template <class T>
inline constexpr bool is_duration_v = false;

template <class Rep, class Period>
inline constexpr bool is_duration_v<std::chrono::duration<Rep, Period>> = true;

template <class T>
concept chrono_duration = is_duration_v<T>;

// Which durations can tell one second from the next, and count on both sides of the epoch.
template <class Duration>
concept counts_seconds =
    std::convertible_to<std::chrono::duration<std::int64_t>, Duration> &&
    (std::floating_point<typename Duration::rep> ||
     (std::signed_integral<typename Duration::rep> && sizeof(typename Duration::rep) <= 8));

[[noreturn]] inline void
throw_bad_calendar(const char* name, const std::string& value, const char* allowed)
{
    throw std::invalid_argument(
        std::string("timewheel: ") + name + " is " + value + ", but must be " + allowed
    );
}

/*  The first point of the grid `origin + n * period` after `now`; n may be negative.

    Integers are exact over the whole range of the clock, since differences are taken modulo 2^64.
*/
template <class TimePoint>
std::optional<TimePoint>
next_on_grid(TimePoint origin, typename TimePoint::duration period, TimePoint now)
{
    using duration = typename TimePoint::duration;
    using rep = typename duration::rep;
    if constexpr (std::floating_point<rep>) {
        const rep begin = origin.time_since_epoch().count();
        const rep n = std::floor((now - origin) / period);
        // The quotient is rounded: what comes of it decides.
        for (const rep k : {n, n + 1, n + 2}) {
            const TimePoint next(duration(begin + k * period.count()));
            if (next > now)
                return next;
        }
        return std::nullopt;
    } else {
        static_assert(sizeof(rep) <= 8, "timewheel: a clock's duration counts in at most 64 bits");
        const auto bits = [](TimePoint t) {
            return static_cast<std::uint64_t>(t.time_since_epoch().count());
        };
        const auto at = [](std::uint64_t count) {
            return TimePoint(duration(static_cast<rep>(count)));
        };
        const auto size = static_cast<std::uint64_t>(period.count());
        // The end of time is never.
        if (now < origin) {
            const std::uint64_t periods = (bits(origin) - bits(now) - 1) / size;
            const TimePoint next = at(bits(origin) - periods * size);
            return next == (TimePoint::max)() ? std::nullopt : std::optional(next);
        }
        const std::uint64_t periods = (bits(now) - bits(origin)) / size;
        const TimePoint latest = at(bits(origin) + periods * size);
        if (bits((TimePoint::max)()) - bits(latest) <= size)
            return std::nullopt;
        return latest + period;
    }
}

constexpr std::int64_t day_length = 24 * 60 * 60;

// A day since 1970-01-01 and a second of it, by some zone's wall clock.
struct local_second
{
    std::int64_t day;
    std::int64_t second;
};

// More than any zone has or had.
inline void check_offset(const char* name, std::chrono::minutes offset)
{
    constexpr std::chrono::minutes limit = std::chrono::hours(18);
    if (offset < -limit || offset > limit)
        throw_bad_calendar(name, duration_text(offset), "from -18 h to 18 h");
}

// The second in which a time is, if 64 bits can hold it.
template <class Rep, class Period>
std::optional<std::int64_t> floor_seconds(std::chrono::duration<Rep, Period> t)
{
    if constexpr (std::floating_point<Rep>) {
        constexpr Rep limit = static_cast<Rep>(std::int64_t{1} << 62);
        const Rep seconds = std::floor(std::chrono::duration<Rep>(t).count());
        if (!(seconds > -limit && seconds < limit)) // also for a NaN
            return std::nullopt;
        return static_cast<std::int64_t>(seconds);
    } else {
        return std::chrono::floor<std::chrono::duration<std::int64_t>>(t).count();
    }
}

/*  When `find` says that it is time, by the wall clock of a zone: it takes a local_second and returns
    a later one, at most some hundred years later. The end of time is never.
*/
template <class Clock, class Duration, class Find>
std::optional<std::chrono::time_point<Clock, Duration>> next_local(
    std::chrono::time_point<Clock, Duration> now,
    std::chrono::minutes offset,
    const Find& find
)
{
    const auto second = floor_seconds(now.time_since_epoch());
    if (!second)
        return std::nullopt;
    local_second from{
        *second / day_length, *second % day_length + std::int64_t{offset.count()} * 60
    };
    while (from.second < 0) {
        from.second += day_length;
        --from.day;
    }
    while (from.second >= day_length) {
        from.second -= day_length;
        ++from.day;
    }
    const local_second to = find(from);
    const std::int64_t by = (to.day - from.day) * day_length + to.second - from.second;
    const std::chrono::duration<std::int64_t> seconds(saturated_add(*second, by));
    const std::chrono::time_point<Clock, Duration> next(saturated_ceil<Duration>(seconds));
    if (!(next > now) || next == (next.max)())
        return std::nullopt;
    return next;
}

}

#endif
