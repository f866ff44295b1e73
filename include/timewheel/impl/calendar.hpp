// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#ifndef TIMEWHEEL_IMPL_CALENDAR_HPP
#define TIMEWHEEL_IMPL_CALENDAR_HPP

#include <timewheel/calendar.hpp>

namespace timewheel {

template <class Clock, class Duration, class Period>
aligned_every<Clock, Duration, Period>::aligned_every(
    Period period,
    std::chrono::time_point<Clock, Duration> origin
)
    : period_(every<Period>(period).period())
    , origin_(origin)
{}

template <class Clock, class Duration, class Period>
template <class D, class... Ignored>
std::optional<std::chrono::time_point<Clock, D>> aligned_every<Clock, Duration, Period>::operator()(
    std::chrono::time_point<Clock, D> now,
    const Ignored&...
) const
{
    using time_point = std::chrono::time_point<Clock, D>;
    const time_point origin(detail::saturated_ceil<D>(origin_.time_since_epoch()));
    return detail::next_on_grid(origin, detail::saturated_ceil<D>(period_), now);
}

template <detail::chrono_duration Period>
every<Period>::every(Period period) : period_(period)
{
    if (!(period > Period::zero()))
        detail::throw_bad_calendar(
            "the period of every", detail::duration_text(period), "positive"
        );
}

template <detail::chrono_duration Period>
template <class Clock, class Duration>
aligned_every<Clock, Duration, Period> every<Period>::aligned_to(
    std::chrono::time_point<Clock, Duration> origin
) const
{
    return {period_, origin};
}

template <detail::chrono_duration Period>
template <class Clock, class Duration, class... Ignored>
std::optional<std::chrono::time_point<Clock, Duration>>
every<Period>::operator()(std::chrono::time_point<Clock, Duration> now, const Ignored&...) const
{
    const Duration next = Duration(detail::saturated_add(
        now.time_since_epoch().count(), detail::saturated_ceil<Duration>(period_).count()
    ));
    if (!(next > now.time_since_epoch()))
        return std::nullopt;
    return std::chrono::time_point<Clock, Duration>(next);
}

inline daily_at::daily_at(int hour, int minute, std::chrono::minutes offset)
    : hour_(hour)
    , minute_(minute)
    , offset_(offset)
{
    if (hour < 0 || hour > 23)
        detail::throw_bad_calendar("the hour of daily_at", std::to_string(hour), "from 0 to 23");
    if (minute < 0 || minute > 59)
        detail::throw_bad_calendar(
            "the minute of daily_at", std::to_string(minute), "from 0 to 59"
        );
    detail::check_offset("the offset of daily_at", offset);
}

template <class Clock, class Duration, class... Ignored>
    requires calendar_time<Clock, Duration>
std::optional<std::chrono::time_point<Clock, Duration>>
daily_at::operator()(std::chrono::time_point<Clock, Duration> now, const Ignored&...) const
{
    return detail::next_local(now, offset_, [this](detail::local_second after) {
        const std::int64_t second = (hour_ * 60 + minute_) * 60;
        return detail::local_second{after.day + (second > after.second ? 0 : 1), second};
    });
}

inline cron::cron(std::string_view text, std::chrono::minutes offset)
    : text_(text)
    , fields_(detail::parse_cron(text))
    , offset_(offset)
{
    detail::check_offset("the offset of cron", offset);
}

template <class Clock, class Duration, class... Ignored>
    requires calendar_time<Clock, Duration>
std::optional<std::chrono::time_point<Clock, Duration>>
cron::operator()(std::chrono::time_point<Clock, Duration> now, const Ignored&...) const
{
    return detail::next_local(now, offset_, [this](detail::local_second after) {
        return fields_.next(after);
    });
}

}

#endif
