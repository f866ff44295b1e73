// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#ifndef TIMEWHEEL_DETAIL_CRON_PARSER_HPP
#define TIMEWHEEL_DETAIL_CRON_PARSER_HPP

#include <timewheel/cron_error.hpp>
#include <timewheel/detail/cron_fields.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
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

// The words of an expression; of more than a field each, only the first that is too much.
struct cron_words
{
    std::array<cron_word, cron_units.size() + 1> word{};
    std::size_t count = 0;

    explicit cron_words(std::string_view text)
    {
        constexpr std::string_view space = " \t\r\n";
        std::size_t begin = text.find_first_not_of(space);
        while (begin != std::string_view::npos && count != word.size()) {
            const std::size_t end = text.find_first_of(space, begin);
            word[count++] = {text.substr(begin, end - begin), begin};
            begin = text.find_first_not_of(space, end);
        }
    }
};

inline cron_fields parse_cron(std::string_view text);

inline cron_fields parse_cron_macro(const cron_words& words)
{
    std::string known;
    const std::string name = cron_lower(words.word[0].text);
    for (const cron_macro& macro : cron_macros) {
        if (name == macro.name) {
            if (words.count == 1)
                return parse_cron(macro.stands_for);
            throw cron_error(
                words.word[1].begin + 1,
                cron_quoted(words.word[1].text) + " is too much: " + name + " is all there is"
            );
        }
        known += known.empty() ? "" : ", ";
        known += macro.name;
    }
    throw cron_error(
        words.word[0].begin + 1, cron_quoted(words.word[0].text) + " is not one of " + known
    );
}

inline cron_fields parse_cron(std::string_view text)
{
    const cron_words words(text);
    const std::string form = "minute hour day month weekday, or six fields with the second first";
    if (words.count != 0 && words.word[0].text[0] == '@')
        return parse_cron_macro(words);
    if (words.count < 5) {
        throw cron_error(
            text.size() + 1,
            std::string(cron_units[words.count + 1].name) + " is missing here: " + form
        );
    }
    if (words.count > cron_units.size()) {
        const cron_word& extra = words.word[cron_units.size()];
        throw cron_error(
            extra.begin + 1, cron_quoted(extra.text) + " is a field too many: " + form
        );
    }
    const std::size_t absent = cron_units.size() - words.count;
    const auto parse = [&](std::size_t unit) {
        return cron_field_parser(cron_units[unit]).parse(words.word[unit - absent]);
    };
    const auto is_restricted = [](const cron_word& word) {
        return word.text[0] != '*' && word.text[0] != '?';
    };
    cron_fields fields;
    if (absent == 0)
        fields.seconds = parse(0);
    fields.minutes = parse(1);
    fields.hours = parse(2);
    fields.days = parse(3);
    fields.months = parse(4);
    fields.weekdays = parse(5);
    const cron_word& days = words.word[3 - absent];
    fields.either = is_restricted(days) && is_restricted(words.word[5 - absent]);
    if (!fields.ever()) {
        throw cron_error(
            days.begin + 1,
            "no month of " + cron_quoted(words.word[4 - absent].text) + " has a day of " +
                cron_quoted(days.text)
        );
    }
    return fields;
}

}

#endif
