// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#ifndef TIMEWHEEL_TEST_MODEL_CRON_REFERENCE_HPP
#define TIMEWHEEL_TEST_MODEL_CRON_REFERENCE_HPP

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <string>
#include <vector>

namespace timewheel::test {

/*  A wall clock that goes forward minute by minute, as children learn it. It begins on Saturday,
    1 January 1600.
*/
struct plain_calendar
{
    static constexpr std::int64_t first_day = -135'140; // since 1970-01-01

    int year = 1600;
    int month = 1;
    int day = 1;
    int weekday = 6; // 0 is Sunday
    int hour = 0;
    int minute = 0;
    std::int64_t days = first_day;

    std::int64_t seconds() const { return ((days * 24 + hour) * 60 + minute) * 60; }

    int days_in_month() const
    {
        constexpr int length[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
        const bool is_leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
        return month == 2 && is_leap ? 29 : length[month - 1];
    }

    void next_day()
    {
        ++days;
        weekday = weekday == 6 ? 0 : weekday + 1;
        if (++day <= days_in_month())
            return;
        day = 1;
        if (++month <= 12)
            return;
        month = 1;
        ++year;
    }

    // Whether a new day begins.
    bool next_minute()
    {
        if (++minute != 60)
            return false;
        minute = 0;
        if (++hour != 24)
            return false;
        hour = 0;
        next_day();
        return true;
    }
};

/*  What an expression means, which must be a good one: for each field a list of all that is in it,
    found item by item. Nothing here is fast, or knows what comes next.
*/
class cron_reference
{
public:
    explicit cron_reference(const std::string& text)
    {
        std::istringstream stream(text);
        std::vector<std::string> words;
        for (std::string word; stream >> word;)
            words.push_back(lower(word));
        if (words.at(0)[0] == '@')
            words = macro(words[0]);
        if (words.size() == 5)
            words.insert(words.begin(), "0");
        std::size_t i = 0;
        for (const std::string& word : words) {
            std::istringstream items(word);
            for (std::string item; std::getline(items, item, ',');)
                add(i, item);
            ++i;
        }
        both_ = is_star(words.at(3)) || is_star(words.at(5));
    }

    bool day_matches(const plain_calendar& at) const
    {
        const bool by_day = is_in(3, at.day);
        const bool by_weekday = is_in(5, at.weekday);
        return is_in(4, at.month) && (both_ ? by_day && by_weekday : by_day || by_weekday);
    }

    bool minute_matches(const plain_calendar& at) const
    {
        return is_in(2, at.hour) && is_in(1, at.minute);
    }

    bool second_matches(int second) const { return is_in(0, second); }

private:
    static constexpr int first_of[] = {0, 0, 0, 1, 1, 0};
    static constexpr int last_of[] = {59, 59, 23, 31, 12, 6};

    bool is_in(std::size_t field, int n) const
    {
        return values_[field][static_cast<std::size_t>(n)];
    }

    static bool is_star(const std::string& word) { return word[0] == '*' || word[0] == '?'; }

    static std::string lower(std::string word)
    {
        for (char& c : word) {
            if (std::strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZ", c) && c != '\0')
                c = static_cast<char>(c + 32);
        }
        return word;
    }

    static std::vector<std::string> macro(const std::string& word)
    {
        std::vector<std::string> fields{"0", "0", "*", "*", "*"};
        if (word == "@hourly")
            fields[1] = "*";
        if (word == "@weekly")
            fields[4] = "sun";
        if (word == "@monthly" || word == "@yearly" || word == "@annually")
            fields[2] = "1";
        if (word == "@yearly" || word == "@annually")
            fields[3] = "jan";
        return fields;
    }

    static int value(std::size_t field, const std::string& word)
    {
        const std::vector<std::string> months{
            "", "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"
        };
        const std::vector<std::string> weekdays{"sun", "mon", "tue", "wed", "thu", "fri", "sat"};
        const auto& names = field == 4 ? months : weekdays;
        for (std::size_t i = 0; i != names.size(); ++i) {
            if (field >= 4 && names[i] == word)
                return static_cast<int>(i);
        }
        return std::atoi(word.c_str());
    }

    void add(std::size_t field, const std::string& item)
    {
        const std::size_t slash = item.find('/');
        const bool has_step = slash != std::string::npos;
        const std::string range = item.substr(0, slash);
        const std::size_t dash = range.find('-');
        int first = first_of[field];
        int last = last_of[field];
        if (!is_star(range)) {
            first = value(field, range.substr(0, dash));
            if (dash != std::string::npos)
                last = value(field, range.substr(dash + 1));
            else if (!has_step)
                last = first;
        }
        if (field == 5 && !(first == 0 && last == 7)) { // both are Sundays: a week from the one on
            first %= 7;
            last = first + (last - first + 7) % 7;
        }
        const int step = has_step ? std::atoi(item.c_str() + slash + 1) : 1;
        for (int n = first; n <= last; n += step)
            values_[field][static_cast<std::size_t>(field == 5 ? n % 7 : n)] = true;
    }

    std::array<std::array<bool, 60>, 6> values_{};
    bool both_ = false;
};

}

#endif
