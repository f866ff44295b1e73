// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

// Cron expressions against a clock that goes through ten years minute by minute. TIMEWHEEL_SEED
// repeats a run, TIMEWHEEL_OPERATIONS makes it longer.

#include <timewheel/calendar.hpp>

#include "cron_reference.hpp"

#include <test_common/random_source.hpp>

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace timewheel::test {

namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using std::chrono::sys_seconds;

std::string random_value(random_source& random, std::size_t field, int first, int last)
{
    const auto n = static_cast<std::size_t>(first) +
                   random.below(static_cast<std::uint64_t>(last - first + 1));
    constexpr const char* months[] = {
        "", "jan", "Feb", "MAR", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"
    };
    constexpr const char* weekdays[] = {"sun", "Mon", "TUE", "wed", "thu", "fri", "sat", "7"};
    if (field == 4 && random.one_in(3))
        return months[n];
    if (field == 5 && random.one_in(3))
        return weekdays[n];
    return std::to_string(n);
}

// Some are no good, such as ranges that go backwards.
std::string random_field(random_source& random, std::size_t field)
{
    constexpr int first[] = {0, 0, 0, 1, 1, 0};
    constexpr int last[] = {59, 59, 23, 31, 12, 7};
    // Most days and months, or little would ever match.
    if (random.one_in(field < 3 ? 8 : 2))
        return field == 3 || field == 5 ? (random.one_in(2) ? "*" : "?") : "*";
    std::string text;
    do {
        if (!text.empty())
            text += ',';
        const std::uint64_t form = random.below(8);
        text += form == 0 ? "*" : random_value(random, field, first[field], last[field]);
        if (form >= 5)
            text += '-' + random_value(random, field, first[field], last[field]);
        if (form == 0 || form == 4 || form == 7)
            text +=
                '/' + std::to_string(1 + random.below(static_cast<std::uint64_t>(last[field] / 2)));
    } while (random.one_in(3));
    return text;
}

std::string random_expression(random_source& random, std::size_t first_field)
{
    std::string text;
    for (std::size_t field = first_field; field != 6; ++field)
        text += (text.empty() ? "" : " ") + random_field(random, field);
    return text;
}

plain_calendar random_start(random_source& random)
{
    plain_calendar start;
    for (auto days = random.below(800 * 365); days != 0; --days)
        start.next_day();
    return start;
}

class walk
{
public:
    walk(const std::string& text, plain_calendar start, minutes offset, random_source& random)
        : expression_(text, offset)
        , reference_(text)
        , random_(random)
        , at_(start)
        , offset_(offset)
        , next_(expression_(here() - seconds(1)))
    {}

    // Whether the expression says what the clock does, in each minute of a day that matches. After
    // so many matches, that is enough.
    bool run(int days, bool with_seconds, std::uint64_t enough = 1'000'000)
    {
        std::vector<int> seconds_in_minute;
        for (int second = 0; second != (with_seconds ? 60 : 1); ++second) {
            if (reference_.second_matches(second))
                seconds_in_minute.push_back(second);
        }
        const std::int64_t end = at_.days + days;
        for (; at_.days != end && count_ < enough; at_.next_day()) {
            if (!reference_.day_matches(at_))
                continue;
            for (at_.hour = 0; at_.hour != 24; ++at_.hour) {
                for (at_.minute = 0; at_.minute != 60; ++at_.minute) {
                    if (!reference_.minute_matches(at_))
                        continue;
                    for (const int second : seconds_in_minute) {
                        if (!is_next(at_.seconds() + second))
                            return false;
                    }
                }
            }
            at_.hour = 0;
            at_.minute = 0;
        }
        return !next_ || *next_ >= here();
    }

    std::string text() const
    {
        return expression_.text() + " at " + std::to_string(at_.year) + '-' +
               std::to_string(at_.month) + '-' + std::to_string(at_.day) + ' ' +
               std::to_string(at_.hour) + ':' + std::to_string(at_.minute) + ", offset " +
               std::to_string(offset_.count());
    }

    std::uint64_t count() const { return count_; }

private:
    // Nothing is skipped, and nothing comes that the reference has not.
    bool is_next(std::int64_t local)
    {
        const sys_seconds match = sys_seconds(seconds(local) - offset_);
        if (next_ != match)
            return false;
        if (random_.one_in(64)) { // whoever asks in between is told the same
            const auto gap = static_cast<std::uint64_t>((match - last_).count());
            if (expression_(last_ + seconds(random_.below(gap)), 1) != match)
                return false;
        }
        last_ = match;
        next_ = expression_(match);
        ++count_;
        return true;
    }

    sys_seconds here() const { return sys_seconds(seconds(at_.seconds()) - offset_); }

    timewheel::cron expression_;
    cron_reference reference_;
    random_source& random_;
    plain_calendar at_;
    minutes offset_;
    std::optional<sys_seconds> next_;
    sys_seconds last_ = here() - seconds(1);
    std::uint64_t count_ = 0;
};

constexpr int ten_years = 3653;

BOOST_AUTO_TEST_SUITE(cron_model)

BOOST_AUTO_TEST_CASE(chosen_expressions)
{
    random_source random(test_seed("cron/chosen_expressions"));
    constexpr const char* expressions[] = {
        "*/5 9-17 * * 1-5",  "0 0 29 2 *",       "0 0 29 2 */7",
        "0 0 31 * *",        "30 6 30 * *",      "59 23 28-31 * *",
        "0 0 13 * fri",      "0 0 */2 * mon",    "0 12 1/10 * *",
        "7,37 */6 1,15 * ?", "@yearly",          "@monthly",
        "@weekly",           "@hourly",          "0 0 31 2,4,12 fri-sun",
        "0 0 * 2 7",         "15 3 29-31 2-3 ?", "0 0-23/7 ? jan/2 tue/3",
        "59 23 31 12 *",
    };
    for (const char* const text : expressions) {
        // 1896 to 1904 and 2096 to 2104 have no leap day in between.
        for (const int year : {1894, 1995, 2095}) {
            plain_calendar start;
            while (start.year != year)
                start.next_day();
            walk run(text, start, minutes(static_cast<int>(random.below(1561)) - 720), random);
            BOOST_REQUIRE_MESSAGE(run.run(ten_years, false), run.text());
        }
    }
}

BOOST_AUTO_TEST_CASE(every_minute)
{
    random_source random(test_seed("cron/every_minute"));
    walk run("* * * * *", random_start(random), minutes(0), random);
    BOOST_REQUIRE_MESSAGE(run.run(400, false), run.text());
    BOOST_TEST(run.count() == 400u * 24 * 60);
}

BOOST_AUTO_TEST_CASE(random_expressions)
{
    const std::uint64_t seed = test_seed("cron/random_expressions");
    const std::uint64_t runs = number_from_environment("TIMEWHEEL_OPERATIONS", 1'000'000) / 40'000;
    random_source random(seed);
    std::uint64_t refused = 0;
    std::uint64_t matches = 0;
    for (std::uint64_t i = 0; i != runs;) {
        const bool with_seconds = random.one_in(5);
        const std::string text = random_expression(random, with_seconds ? 0 : 1);
        try {
            const auto offset = minutes(static_cast<int>(random.below(2161)) - 1080);
            walk run(text, random_start(random), offset, random);
            ++i;
            BOOST_REQUIRE_MESSAGE(
                run.run(with_seconds ? 60 : ten_years, with_seconds, 100'000),
                run.text() << ", TIMEWHEEL_SEED=" << seed
            );
            matches += run.count();
        } catch (const cron_error&) {
            ++refused;
        }
    }
    BOOST_TEST_MESSAGE(
        runs << " expressions with " << matches << " matches, " << refused << " refused"
    );
    BOOST_TEST(matches > runs);
}

BOOST_AUTO_TEST_SUITE_END()

}

}
