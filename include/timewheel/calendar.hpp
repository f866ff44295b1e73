// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#ifndef TIMEWHEEL_CALENDAR_HPP
#define TIMEWHEEL_CALENDAR_HPP

#include <timewheel/cron_error.hpp>
#include <timewheel/detail/calendar_math.hpp>
#include <timewheel/detail/cron_fields.hpp>
#include <timewheel/detail/cron_parser.hpp>
#include <timewheel/detail/duration_text.hpp>
#include <timewheel/detail/tick_math.hpp>

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace timewheel {

/// @cond
template <class Tag>
class manual_clock;
/// @endcond

/** @brief Whether a clock counts from 1970-01-01 00:00 UTC, ignoring leap seconds.

    True for `std::chrono::system_clock` and, since it stands in for that one in tests, for every
    @ref manual_clock. Specialise it for a clock of your own that does.

    @tparam Clock The clock.
*/
template <class Clock>
inline constexpr bool is_calendar_clock_v = false;

/// @cond
template <>
inline constexpr bool is_calendar_clock_v<std::chrono::system_clock> = true;

template <class Tag>
inline constexpr bool is_calendar_clock_v<manual_clock<Tag>> = true;
/// @endcond

/** @brief Times that dates and times of day can be told of.

    The clock is one of those of @ref timewheel::is_calendar_clock_v, and the duration is as fine as
    seconds and has a sign.

    @tparam Clock The clock.
    @tparam Duration The duration of the times.
*/
template <class Clock, class Duration>
concept calendar_time = is_calendar_clock_v<Clock> && detail::counts_seconds<Duration>;

/** @brief Says that something is due again a period after the present, on a grid.

    This is what `every(d).aligned_to(t)` returns: the times `t + n * d`, for negative `n` too. The
    period and the origin are rounded up to the unit of the times asked for.

    @snippet calendar.cpp aligned

    @tparam Clock The clock of the origin.
    @tparam Duration The duration of the origin.
    @tparam Period The duration of the period.
*/
template <class Clock, class Duration, class Period>
class aligned_every
{
public:
    /** @brief Makes it from a period and a point of its grid; see @ref every::aligned_to.
        @param period The period.
        @param origin Any point of the grid.
        @throws std::invalid_argument `period` is not positive.
    */
    aligned_every(Period period, std::chrono::time_point<Clock, Duration> origin);

    /** @brief Returns the period.
        @return What the constructor was given.
    */
    Period period() const noexcept { return period_; }

    /** @brief Returns a point of the grid.
        @return What the constructor was given.
    */
    std::chrono::time_point<Clock, Duration> origin() const noexcept { return origin_; }

    /** @brief Returns the next point of the grid.
        @param now The present; everything after it is ignored.
        @return The first point later than `now`, or nothing if that is not before the end of time.
    */
    template <class D, class... Ignored>
    std::optional<std::chrono::time_point<Clock, D>>
    operator()(std::chrono::time_point<Clock, D> now, const Ignored&...) const;

    /** @brief Compares period and origin.
        @return Whether both are equal.
    */
    friend bool operator==(const aligned_every&, const aligned_every&) = default;

private:
    Period period_;
    std::chrono::time_point<Clock, Duration> origin_;
};

/** @brief Says that something is due again a period after the present.

    A function object for whatever asks when something is due next, with times of any clock.

    @snippet calendar.cpp every

    @tparam Period The duration of the period.
*/
template <detail::chrono_duration Period>
class every
{
public:
    /** @brief Makes it from a period.
        @param period The period.
        @throws std::invalid_argument `period` is not positive.
    */
    explicit every(Period period);

    /** @brief Returns the period.
        @return What the constructor was given.
    */
    Period period() const noexcept { return period_; }

    /** @brief Puts the times on a grid, which stays where it is however late one asks.
        @param origin Any point of the grid, also one in the future.
        @return The function object for the times `origin + n * period()`.
    */
    template <class Clock, class Duration>
    aligned_every<Clock, Duration, Period> aligned_to(
        std::chrono::time_point<Clock, Duration> origin
    ) const;

    /** @brief Returns the time a period after the present.
        @param now The present; everything after it is ignored.
        @return `now + period()`, the period rounded up to the unit of `now`, at most the end of time.
        Nothing if that is not later than `now`.
    */
    template <class Clock, class Duration, class... Ignored>
    std::optional<std::chrono::time_point<Clock, Duration>>
    operator()(std::chrono::time_point<Clock, Duration> now, const Ignored&...) const;

    /** @brief Compares the periods.
        @return Whether they are equal.
    */
    friend bool operator==(const every&, const every&) = default;

private:
    Period period_;
};

/** @brief Says that something is due once a day, at a time of a zone with a fixed offset.

    @snippet calendar.cpp daily_at
*/
class daily_at
{
public:
    /** @brief Makes it from a time of day.
        @param hour The hour, from 0 to 23.
        @param minute The minute, from 0 to 59.
        @param offset How far the wall clock is ahead of UTC, from -18 h to 18 h.
        @throws std::invalid_argument One of them is out of its range.
    */
    daily_at(int hour, int minute, std::chrono::minutes offset = std::chrono::minutes::zero());

    /** @brief Returns the hour.
        @return From 0 to 23.
    */
    int hour() const noexcept { return hour_; }

    /** @brief Returns the minute.
        @return From 0 to 59.
    */
    int minute() const noexcept { return minute_; }

    /** @brief Returns the offset.
        @return How far the wall clock is ahead of UTC.
    */
    std::chrono::minutes offset() const noexcept { return offset_; }

    /** @brief Returns when it is that time of the day again.
        @param now The present; everything after it is ignored.
        @return The first such time later than `now`, or nothing if that is not before the end of time.
    */
    template <class Clock, class Duration, class... Ignored>
        requires calendar_time<Clock, Duration>
    std::optional<std::chrono::time_point<Clock, Duration>>
    operator()(std::chrono::time_point<Clock, Duration> now, const Ignored&...) const;

    /** @brief Compares hour, minute and offset.
        @return Whether all are equal.
    */
    friend bool operator==(const daily_at&, const daily_at&) = default;

private:
    int hour_;
    int minute_;
    std::chrono::minutes offset_;
};

/** @brief Says that something is due when a cron expression matches.

    The expression has five fields, separated by spaces, for minute, hour, day, month and weekday, or
    six, with the second first. A field is a list, with commas, of numbers, ranges as `9-17`, and `*` for
    all, or `?` if it is for days or weekdays. With a step, as in `10-50/10`, only every so many of them
    count, from the first on; a number with a step, as `5/15`, goes on to the end. Months and weekdays
    have names, `jan` to `dec` and `sun` to `sat` in any case; Sunday is 0 and 7.

    If neither the day nor the weekday begins with `*` or `?`, one of the two is enough.

    `@yearly`, `@annually`, `@monthly`, `@weekly`, `@daily`, `@midnight` and `@hourly` are expressions too.

    **Semantics.** A match is a second, or with five fields the first second of a minute, by a wall clock
    that is ahead of UTC by a fixed offset: without daylight saving time no match is skipped and none
    comes twice. To find the next one takes a look at each month that has none, at most 40 years of them.
    The calendar is the Gregorian one at all times.

    **Thread safety.** Distinct objects: safe. Shared ones: all `const` members are safe.

    @snippet calendar.cpp cron
*/
class cron
{
public:
    /** @brief Makes it from an expression.
        @param text The expression.
        @param offset How far the wall clock is ahead of UTC, from -18 h to 18 h.
        @throws cron_error The expression is wrong, or is one that never matches, such as 30 February.
        @throws std::invalid_argument `offset` is out of its range.
    */
    explicit cron(
        std::string_view text,
        std::chrono::minutes offset = std::chrono::minutes::zero()
    );

    /** @brief Returns the expression.
        @return What the constructor was given.
    */
    const std::string& text() const noexcept { return text_; }

    /** @brief Returns the offset.
        @return How far the wall clock is ahead of UTC.
    */
    std::chrono::minutes offset() const noexcept { return offset_; }

    /** @brief Returns when the expression matches next.
        @param now The present; everything after it is ignored.
        @return The first match later than `now`, or nothing if that is not before the end of time.
    */
    template <class Clock, class Duration, class... Ignored>
        requires calendar_time<Clock, Duration>
    std::optional<std::chrono::time_point<Clock, Duration>>
    operator()(std::chrono::time_point<Clock, Duration> now, const Ignored&...) const;

    /** @brief Compares what the fields stand for, and the offset.
        @param a An expression.
        @param b Another one.
        @return Whether all are equal; `@daily` and `0 0 * * *` are.
    */
    friend bool operator==(const cron& a, const cron& b) noexcept
    {
        return a.fields_ == b.fields_ && a.offset_ == b.offset_;
    }

private:
    std::string text_;
    detail::cron_fields fields_;
    std::chrono::minutes offset_;
};

}

#include <timewheel/impl/calendar.hpp>

#endif
