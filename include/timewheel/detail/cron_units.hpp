// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#ifndef TIMEWHEEL_DETAIL_CRON_UNITS_HPP
#define TIMEWHEEL_DETAIL_CRON_UNITS_HPP

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

namespace timewheel::detail {

// A part of an expression, and where it begins in it.
struct cron_word
{
    std::string_view text;
    std::size_t begin = 0;

    cron_word part(std::size_t from, std::size_t count = std::string_view::npos) const
    {
        return {text.substr(from, count), begin + from};
    }
};

// What a field of an expression counts.
struct cron_unit
{
    const char* name;    // with its article
    const char* allowed; // for messages
    int first;
    int last;
    std::string_view names{}; // three letters each
    bool is_day = false;

    constexpr bool is_weekday() const noexcept { return is_day && first == 0; }
    constexpr int count() const noexcept { return last - first + 1; }
};

inline constexpr std::array<cron_unit, 6> cron_units{{
    {"a second", "0 to 59", 0, 59},
    {"a minute", "0 to 59", 0, 59},
    {"an hour", "0 to 23", 0, 23},
    {"a day", "1 to 31", 1, 31, {}, true},
    {"a month", "1 to 12 or jan to dec", 1, 12, "janfebmaraprmayjunjulaugsepoctnovdec"},
    {"a weekday", "0 to 7 or sun to sat", 0, 6, "sunmontuewedthufrisat", true},
}};

struct cron_macro
{
    std::string_view name;
    const char* stands_for;
};

inline constexpr std::array<cron_macro, 7> cron_macros{{
    {"@yearly", "0 0 1 1 *"},
    {"@annually", "0 0 1 1 *"},
    {"@monthly", "0 0 1 * *"},
    {"@weekly", "0 0 * * 0"},
    {"@daily", "0 0 * * *"},
    {"@midnight", "0 0 * * *"},
    {"@hourly", "0 * * * *"},
}};

// Of the characters that are not ASCII letters, none becomes one.
inline std::string cron_lower(std::string_view text)
{
    std::string lower(text);
    for (char& c : lower) {
        if (c >= 'A' && c <= 'Z')
            c = static_cast<char>(c - 'A' + 'a');
    }
    return lower;
}

// As it is in a message. What would not be seen there, or would end it, is shown by its number.
inline std::string cron_quoted(std::string_view text)
{
    std::string quoted = "\"";
    for (const char c : text) {
        const auto code = static_cast<unsigned char>(c);
        if (code >= ' ' && code != 0x7f) {
            quoted += c;
        } else {
            constexpr std::string_view digits = "0123456789abcdef";
            quoted += {'\\', 'x', digits[code / 16], digits[code % 16]};
        }
    }
    return quoted + '"';
}

// Numbers that are not in the range are all alike: -1.
inline int cron_number(std::string_view text, int first, int last)
{
    int number = text.empty() ? -1 : 0;
    for (const char c : text) {
        if (c < '0' || c > '9' || number > last)
            return -1;
        number = number * 10 + (c - '0');
    }
    return number < first || number > last ? -1 : number;
}

}

#endif
