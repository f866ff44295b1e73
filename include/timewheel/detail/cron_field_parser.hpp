// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#ifndef TIMEWHEEL_DETAIL_CRON_FIELD_PARSER_HPP
#define TIMEWHEEL_DETAIL_CRON_FIELD_PARSER_HPP

#include <timewheel/cron_error.hpp>
#include <timewheel/detail/cron_units.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace timewheel::detail {

// A field: what stands between two spaces.
class cron_field_parser
{
public:
    explicit cron_field_parser(const cron_unit& unit) noexcept : unit_(unit) {}

    std::uint64_t parse(cron_word field) const
    {
        std::uint64_t bits = 0;
        for (;;) {
            const std::size_t comma = field.text.find(',');
            bits |= parse_item(field.part(0, comma));
            if (comma == std::string_view::npos)
                return bits;
            field = field.part(comma + 1);
        }
    }

private:
    struct range
    {
        int first;
        int last;
    };

    std::uint64_t parse_item(cron_word item) const
    {
        const std::size_t slash = item.text.find('/');
        const bool has_step = slash != std::string_view::npos;
        const auto [first, last] = parse_range(item.part(0, slash), has_step);
        const int step = has_step ? parse_step(item.part(slash + 1)) : 1;
        std::uint64_t bits = 0;
        for (int n = first; n <= last; n += step)
            bits |= std::uint64_t{1} << (unit_.is_weekday() ? n % 7 : n);
        return bits;
    }

    range parse_range(cron_word word, bool has_step) const
    {
        if (word.text == "*" || (word.text == "?" && unit_.is_day))
            return {unit_.first, unit_.last};
        // A sign is none: it is not at the begin.
        const std::size_t dash = word.text.find('-', 1);
        if (dash == std::string_view::npos) {
            const int n = parse_value(word);
            if (!has_step)
                return {n, n};
            return {unit_.is_weekday() ? n % 7 : n, unit_.last};
        }
        range result{parse_value(word.part(0, dash)), parse_value(word.part(dash + 1))};
        if (unit_.is_weekday()) { // Sunday begins a week, and ends one
            if (result.first == 7 && result.last != 7)
                result.first = 0;
            if (result.last == 0 && result.first != 0)
                result.last = 7;
        }
        if (result.first > result.last)
            fail_backwards(word, dash);
        return result;
    }

    int parse_value(cron_word word) const
    {
        const int largest = unit_.is_weekday() ? 7 : unit_.last;
        if (const int n = cron_number(word.text, unit_.first, largest); n >= 0)
            return n;
        if (word.text.size() == 3) {
            const std::size_t at = unit_.names.find(cron_lower(word.text));
            if (at != std::string_view::npos && at % 3 == 0)
                return unit_.first + static_cast<int>(at / 3);
        }
        fail(word, unit_.name, unit_.allowed);
    }

    int parse_step(cron_word word) const
    {
        if (const int n = cron_number(word.text, 1, unit_.count()); n >= 0)
            return n;
        const std::string allowed = "1 to " + std::to_string(unit_.count());
        fail(word, "a step", allowed);
    }

    [[noreturn]] static void fail(cron_word word, const char* name, const std::string& allowed)
    {
        if (word.text.empty())
            throw cron_error(word.begin + 1, std::string(name) + " is missing here: " + allowed);
        throw cron_error(
            word.begin + 1, cron_quoted(word.text) + " is not " + name + ": " + allowed
        );
    }

    // One end of the unit, written as the other end of the range is.
    std::string limit_like(std::string_view other, int limit) const
    {
        if (other[0] >= '0' && other[0] <= '9')
            return std::to_string(limit);
        return std::string(unit_.names.substr(static_cast<std::size_t>(limit - unit_.first) * 3, 3)
        );
    }

    [[noreturn]] void fail_backwards(cron_word word, std::size_t dash) const
    {
        const std::string first(word.text.substr(0, dash));
        const std::string last(word.text.substr(dash + 1));
        throw cron_error(
            word.begin + 1,
            cron_quoted(word.text) + " goes backwards: write \"" + first + '-' +
                limit_like(first, unit_.last) + ',' + limit_like(last, unit_.first) + '-' + last +
                "\" to begin again"
        );
    }

    const cron_unit& unit_;
};

}

#endif
