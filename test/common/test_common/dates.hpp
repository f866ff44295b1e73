// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#ifndef TIMEWHEEL_TEST_COMMON_DATES_HPP
#define TIMEWHEEL_TEST_COMMON_DATES_HPP

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <stdexcept>
#include <string>

namespace timewheel::test {

// "2024-02-29 12:30" or "2024-02-29 12:30:15", with years that fit into a std::chrono::year.
inline std::chrono::sys_seconds date(const std::string& text)
{
    int year = 0;
    unsigned month = 0;
    unsigned day = 0;
    int hour = 0;
    int minute = 0;
    int second = 0;
    const char* const form = "%d-%u-%u %d:%d:%d";
    if (std::sscanf(text.c_str(), form, &year, &month, &day, &hour, &minute, &second) < 3)
        throw std::invalid_argument("not a date: " + text);
    const auto date = std::chrono::year(year) / std::chrono::month(month) / std::chrono::day(day);
    if (!date.ok())
        throw std::invalid_argument("no such day: " + text);
    return std::chrono::sys_days(date) + std::chrono::hours(hour) + std::chrono::minutes(minute) +
           std::chrono::seconds(second);
}

// The other way round, with the weekday: "Thu 2024-02-29 12:30:15".
template <class Clock, class Duration>
std::string date_text(std::optional<std::chrono::time_point<Clock, Duration>> time)
{
    if (!time)
        return "never";
    const std::chrono::sys_seconds seconds(
        std::chrono::floor<std::chrono::seconds>(time->time_since_epoch())
    );
    const auto day = std::chrono::floor<std::chrono::days>(seconds);
    const std::chrono::year_month_day date(day);
    const std::chrono::hh_mm_ss clock(seconds - day);
    constexpr const char* weekdays[] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
    char text[80];
    std::snprintf(
        text,
        sizeof(text),
        "%s %d-%02u-%02u %02d:%02d:%02d",
        weekdays[std::chrono::weekday(day).c_encoding()],
        static_cast<int>(date.year()),
        static_cast<unsigned>(date.month()),
        static_cast<unsigned>(date.day()),
        static_cast<int>(clock.hours().count()),
        static_cast<int>(clock.minutes().count()),
        static_cast<int>(clock.seconds().count())
    );
    return text;
}

}

#endif
