// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#ifndef TIMEWHEEL_DETAIL_CRON_PARSER_HPP
#define TIMEWHEEL_DETAIL_CRON_PARSER_HPP

#include <timewheel/cron_error.hpp>
#include <timewheel/detail/cron_field_parser.hpp>
#include <timewheel/detail/cron_fields.hpp>
#include <timewheel/detail/cron_units.hpp>

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

namespace timewheel::detail {

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
