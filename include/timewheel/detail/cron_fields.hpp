// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#ifndef TIMEWHEEL_DETAIL_CRON_FIELDS_HPP
#define TIMEWHEEL_DETAIL_CRON_FIELDS_HPP

#include <timewheel/detail/calendar_math.hpp>

#include <bit>
#include <chrono>
#include <cstdint>
#include <optional>

namespace timewheel::detail {

// The bits from 0 to n - 1.
constexpr std::uint64_t low_bits(int n) noexcept
{
    return (std::uint64_t{1} << n) - 1;
}

// The lowest number from `from` on whose bit is set.
constexpr std::optional<int> next_bit(std::uint64_t bits, int from) noexcept
{
    const std::uint64_t left = bits & ~low_bits(from);
    if (left == 0)
        return std::nullopt;
    return std::countr_zero(left);
}

/*  What a cron expression says: one bit for each second, minute, hour, day and month (from 1) and
    weekday (from Sunday, 0) that is in it.

    The next match is found from the coarsest field to the finest. The calendar repeats itself, weekdays
    included, every 400 years, and each date falls on each weekday in them: whatever comes at all, comes
    in that time.
*/
struct cron_fields
{
    std::uint64_t seconds = 1;
    std::uint64_t minutes = 0;
    std::uint64_t hours = 0;
    std::uint64_t days = 0;
    std::uint64_t months = 0;
    std::uint64_t weekdays = 0;
    bool either = false; // a day or a weekday is enough

    friend bool operator==(const cron_fields&, const cron_fields&) = default;

    // Whether there is a match at all, without which there is no next one.
    constexpr bool ever() const noexcept
    {
        constexpr std::uint64_t of_30 = 1 << 4 | 1 << 6 | 1 << 9 | 1 << 11;
        constexpr std::uint64_t february = 1 << 2;
        return either || (days & low_bits(30)) != 0 ||
               (bit(days, 30) && (months & ~february) != 0) ||
               (bit(days, 31) && (months & ~february & ~of_30) != 0);
    }

    // The first match after a time.
    local_second next(local_second after) const noexcept
    {
        const auto day = next_day(after.day);
        if (day == after.day) {
            if (const auto second = second_of_day(after.second + 1))
                return {day, *second};
        } else {
            return {day, *second_of_day(0)};
        }
        return {next_day(after.day + 1), *second_of_day(0)};
    }

private:
    static constexpr bool bit(std::uint64_t bits, int n) noexcept { return (bits >> n & 1) != 0; }

    // The first match within a day, from a second of it on.
    std::optional<std::int64_t> second_of_day(std::int64_t from) const noexcept
    {
        if (from == day_length)
            return std::nullopt;
        const int from_hour = static_cast<int>(from / 3600);
        const int from_minute = static_cast<int>(from / 60 % 60);
        const int from_second = static_cast<int>(from % 60);
        for (auto hour = next_bit(hours, from_hour); hour; hour = next_bit(hours, *hour + 1)) {
            const bool first_hour = *hour == from_hour;
            auto minute = next_bit(minutes, first_hour ? from_minute : 0);
            for (; minute; minute = next_bit(minutes, *minute + 1)) {
                const bool first_minute = first_hour && *minute == from_minute;
                if (const auto second = next_bit(seconds, first_minute ? from_second : 0))
                    return (*hour * 60 + *minute) * 60 + *second;
            }
        }
        return std::nullopt;
    }

    // The first day that matches, from a day on.
    std::int64_t next_day(std::int64_t from) const noexcept
    {
        constexpr std::int64_t cycle = 146'097; // days in 400 years
        const std::int64_t within = (from % cycle + cycle) % cycle;
        const std::chrono::sys_days day{std::chrono::days(static_cast<int>(within))};
        const std::chrono::year_month_day date(day);
        auto month = date.year() / date.month();
        auto begin = static_cast<int>(static_cast<unsigned>(date.day()));
        for (;; month += std::chrono::months(1), begin = 1) {
            if (!bit(months, static_cast<int>(static_cast<unsigned>(month.month()))))
                continue;
            if (const auto found = next_bit(days_of(month), begin)) {
                const std::chrono::sys_days first(month / 1);
                return from - within + first.time_since_epoch().count() + *found - 1;
            }
        }
    }

    // The days of a month that match, ignoring whether the month does.
    std::uint64_t days_of(std::chrono::year_month month) const noexcept
    {
        const unsigned first = std::chrono::weekday(month / 1).c_encoding();
        const unsigned last = static_cast<unsigned>((month / std::chrono::last).day());
        // A week that begins as the month does, five times over.
        const std::uint64_t week = (weekdays >> first | weekdays << (7 - first)) & low_bits(7);
        const std::uint64_t by_weekday = week * 0b10000001000000100000010000001 << 1;
        const std::uint64_t of_month = low_bits(static_cast<int>(last) + 1) & ~std::uint64_t{1};
        return (either ? days | by_weekday : days & by_weekday) & of_month;
    }
};

}

#endif
