// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#include "text.hpp"

#include <boost/json/serialize.hpp>

#include <array>
#include <charconv>
#include <cmath>

namespace wheel_service {

namespace json = boost::json;

namespace {

// The length of the readable character at the beginning, or 0 if there is none.
std::size_t readable_length(std::string_view text)
{
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    const unsigned first = byte(0);
    if (first < 0x80)
        return first >= 0x20 && first != 0x7F ? 1 : 0;
    const std::size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
    if (first < 0xC2 || first > 0xF4 || text.size() < length)
        return 0;
    // Neither too long a form, nor half of a surrogate pair, nor beyond the last character.
    const unsigned low = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
    const unsigned high = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
    if (byte(1) < low || byte(1) > high)
        return 0;
    for (std::size_t i = 2; i != length; ++i) {
        if (byte(i) < 0x80 || byte(i) > 0xBF)
            return 0;
    }
    if (first == 0xC2 && byte(1) < 0xA0)
        return 0;
    return length;
}

void append(std::string& text, const json::value& value)
{
    if (const double* const number = value.if_double()) {
        text += plain_number(*number);
    } else if (const json::array* const array = value.if_array()) {
        text += '[';
        for (const json::value& each : *array) {
            if (&each != array->begin())
                text += ',';
            append(text, each);
        }
        text += ']';
    } else if (const json::object* const object = value.if_object()) {
        text += '{';
        for (const auto& each : *object) {
            if (&each != object->begin())
                text += ',';
            text += json::serialize(each.key());
            text += ':';
            append(text, each.value());
        }
        text += '}';
    } else {
        text += json::serialize(value);
    }
}

}

bool is_readable(std::string_view text)
{
    while (!text.empty()) {
        const std::size_t length = readable_length(text);
        if (length == 0)
            return false;
        text.remove_prefix(length);
    }
    return true;
}

std::string quotable(std::string_view text, std::size_t most)
{
    std::string shown;
    while (!text.empty()) {
        const std::size_t length = readable_length(text);
        const std::string_view next = length != 0 ? text.substr(0, length) : "\xEF\xBF\xBD";
        if (shown.size() + next.size() > most)
            return shown + "...";
        shown += next;
        text.remove_prefix(length != 0 ? length : 1);
    }
    return shown;
}

std::string plain_number(double number)
{
    if (!std::isfinite(number))
        return number < 0 ? "-1e999" : "1e999"; // as it was written
    std::array<char, 400> text{};
    const auto [end, error] =
        std::to_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
    return {text.data(), end};
}

std::string to_text(const json::value& value)
{
    std::string text;
    append(text, value);
    return text;
}

}
