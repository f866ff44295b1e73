// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#include <timewheel/calendar.hpp>

#include <timewheel/manual_clock.hpp>

#include <test_common/dates.hpp>

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace timewheel::test {

namespace {

using namespace std::chrono_literals;
using std::chrono::sys_seconds;
using std::chrono::system_clock;

// The matches that follow each other.
std::vector<std::string> matches(const cron& expression, const char* after, std::size_t count)
{
    std::vector<std::string> result;
    std::optional<sys_seconds> now = date(after);
    while (result.size() != count && (now = expression(*now)))
        result.push_back(date_text(now));
    return result;
}

void check(const char* expression, const char* after, const std::vector<std::string>& expected)
{
    BOOST_TEST_CONTEXT(expression << " after " << after)
    {
        const auto found = matches(cron(expression), after, expected.size());
        BOOST_TEST(found == expected, boost::test_tools::per_element());
    }
}

BOOST_AUTO_TEST_SUITE(cron)

using timewheel::cron;

BOOST_AUTO_TEST_CASE(working_hours)
{
    check(
        "*/20 9-17 * * 1-5",
        "2024-03-01 17:19:59",
        {"Fri 2024-03-01 17:20:00",
         "Fri 2024-03-01 17:40:00",
         "Mon 2024-03-04 09:00:00",
         "Mon 2024-03-04 09:20:00"}
    );
}

BOOST_AUTO_TEST_CASE(always_later_than_the_present)
{
    check("0 12 * * *", "2024-03-01 11:59:59", {"Fri 2024-03-01 12:00:00"});
    check("0 12 * * *", "2024-03-01 12:00:00", {"Sat 2024-03-02 12:00:00"});
    check("0 12 * * *", "2024-03-01 12:00:01", {"Sat 2024-03-02 12:00:00"});
    const system_clock::time_point noon = date("2024-03-01 12:00");
    BOOST_CHECK(cron("0 12 * * *")(noon - 1ns) == noon);
    BOOST_CHECK(cron("0 12 * * *")(noon) == noon + 24h);
    BOOST_CHECK(cron("0 12 * * *")(noon + 1ns) == noon + 24h);
    const system_clock::time_point early = date("1924-03-01 12:00");
    BOOST_CHECK(cron("0 12 * * *")(early - 1ns) == early);
    BOOST_CHECK(cron("* * * * * *")(early + 1ns) == early + 1s);
}

BOOST_AUTO_TEST_CASE(fields_carry_over)
{
    check("59 23 31 12 *", "2023-12-31 23:59", {"Tue 2024-12-31 23:59:00"});
    check("0 0 1 1 *", "2023-12-31 23:59:59", {"Mon 2024-01-01 00:00:00"});
    check("30 8-9 * * *", "2024-01-01 08:30", {"Mon 2024-01-01 09:30:00"});
    check("30 8-9 * * *", "2024-01-01 09:30", {"Tue 2024-01-02 08:30:00"});
    check("0 8 * * *", "2024-01-01 08:59", {"Tue 2024-01-02 08:00:00"});
    check("5,55 * * * *", "2024-02-29 23:55", {"Fri 2024-03-01 00:05:00"});
    check(
        "0 0 1 4,7 *", "2024-04-01 00:00", {"Mon 2024-07-01 00:00:00", "Tue 2025-04-01 00:00:00"}
    );
}

BOOST_AUTO_TEST_CASE(seconds)
{
    check(
        "*/25 59 23 * * *",
        "2024-02-28 23:59:20",
        {"Wed 2024-02-28 23:59:25", "Wed 2024-02-28 23:59:50", "Thu 2024-02-29 23:59:00"}
    );
    check(
        "59 59 23 31 12 ?",
        "2024-01-01 00:00",
        {"Tue 2024-12-31 23:59:59", "Wed 2025-12-31 23:59:59"}
    );
    check(
        "* * * * * *", "2024-02-29 23:59:58", {"Thu 2024-02-29 23:59:59", "Fri 2024-03-01 00:00:00"}
    );
    check("7 * * * * *", "2024-02-29 23:59:07", {"Fri 2024-03-01 00:00:07"});
}

BOOST_AUTO_TEST_CASE(month_ends)
{
    check(
        "0 0 31 * *",
        "2024-01-31 00:00",
        {"Sun 2024-03-31 00:00:00",
         "Fri 2024-05-31 00:00:00",
         "Wed 2024-07-31 00:00:00",
         "Sat 2024-08-31 00:00:00",
         "Thu 2024-10-31 00:00:00",
         "Tue 2024-12-31 00:00:00",
         "Fri 2025-01-31 00:00:00"}
    );
    check(
        "0 0 30 * *",
        "2024-01-30 00:00",
        {"Sat 2024-03-30 00:00:00", "Tue 2024-04-30 00:00:00", "Thu 2024-05-30 00:00:00"}
    );
    check(
        "0 12 28-31 * *",
        "2023-02-28 11:00",
        {"Tue 2023-02-28 12:00:00", "Tue 2023-03-28 12:00:00", "Wed 2023-03-29 12:00:00"}
    );
    // What doesn't come in one month may come in another.
    check(
        "0 0 31 2,4,5 *", "2024-01-01 00:00", {"Fri 2024-05-31 00:00:00", "Sat 2025-05-31 00:00:00"}
    );
}

BOOST_AUTO_TEST_CASE(leap_days)
{
    check(
        "0 0 29 2 *",
        "1996-02-29 00:00",
        {"Tue 2000-02-29 00:00:00", "Sun 2004-02-29 00:00:00", "Fri 2008-02-29 00:00:00"}
    );
    check("0 0 29 2 *", "2024-02-28 23:59", {"Thu 2024-02-29 00:00:00", "Tue 2028-02-29 00:00:00"});
    check("0 0 29 2 *", "2096-02-29 00:00", {"Fri 2104-02-29 00:00:00"});
    check("0 0 29 * *", "2100-01-29 00:00", {"Mon 2100-03-29 00:00:00"});
    check("0 0 * * *", "2100-02-28 00:00", {"Mon 2100-03-01 00:00:00"});
    check("0 0 * * *", "2000-02-28 00:00", {"Tue 2000-02-29 00:00:00", "Wed 2000-03-01 00:00:00"});
    // A weekday that must match as well, since it begins with a star: forty years at most.
    check("0 0 29 2 */7", "2088-02-29 00:00", {"Sun 2128-02-29 00:00:00"});
}

BOOST_AUTO_TEST_CASE(day_or_weekday)
{
    check(
        "0 0 13 * fri",
        "2024-09-06 00:00",
        {"Fri 2024-09-13 00:00:00",
         "Fri 2024-09-20 00:00:00",
         "Fri 2024-09-27 00:00:00",
         "Fri 2024-10-04 00:00:00",
         "Fri 2024-10-11 00:00:00",
         "Sun 2024-10-13 00:00:00"}
    );
    check("0 0 13 * *", "2024-09-14 00:00", {"Sun 2024-10-13 00:00:00"});
    check("0 0 * * fri", "2024-09-14 00:00", {"Fri 2024-09-20 00:00:00"});
    check("0 0 13 * ?", "2024-09-14 00:00", {"Sun 2024-10-13 00:00:00"});
    check("0 0 ? * fri", "2024-09-14 00:00", {"Fri 2024-09-20 00:00:00"});
    // A field that begins with a star restricts, but both have to match.
    check(
        "0 0 */2 * fri", "2024-09-13 00:00", {"Fri 2024-09-27 00:00:00", "Fri 2024-10-11 00:00:00"}
    );
    check(
        "0 0 13 * */5", "2024-09-01 00:00", {"Fri 2024-09-13 00:00:00", "Sun 2024-10-13 00:00:00"}
    );
    // No day 31 in February, but Mondays.
    check("0 0 31 2 1", "2024-02-26 00:00", {"Mon 2025-02-03 00:00:00"});
}

BOOST_AUTO_TEST_CASE(offsets)
{
    const auto next = [](const char* expression, std::chrono::minutes offset, const char* after) {
        return date_text(cron(expression, offset)(date(after)));
    };
    // 1 March begins on 29 February elsewhere.
    BOOST_TEST(next("0 0 1 3 *", 14h, "2024-02-01 00:00") == "Thu 2024-02-29 10:00:00");
    BOOST_TEST(next("0 0 1 3 *", 14h, "2024-02-29 10:00:00") == "Fri 2025-02-28 10:00:00");
    BOOST_TEST(next("0 0 1 3 *", -12h, "2024-02-01 00:00") == "Fri 2024-03-01 12:00:00");
    BOOST_TEST(next("30 23 29 2 *", -12h, "2024-02-01 00:00") == "Fri 2024-03-01 11:30:00");
    BOOST_TEST(next("0 0 * * mon", 5h + 45min, "2024-03-01 00:00") == "Sun 2024-03-03 18:15:00");
    BOOST_TEST(next("0 0 1 1 *", 1h, "1969-12-31 22:59:59") == "Wed 1969-12-31 23:00:00");
    BOOST_TEST(next("0 0 1 1 *", -1h, "1970-01-01 00:59:59") == "Thu 1970-01-01 01:00:00");
    BOOST_TEST(next("0 0 * * *", 18h, "2024-02-29 06:00:00") == "Fri 2024-03-01 06:00:00");
    BOOST_TEST(next("0 0 * * *", -18h, "2024-02-29 17:59:59") == "Thu 2024-02-29 18:00:00");
    try {
        cron("* * * * *", -1081min);
        BOOST_ERROR("nothing was thrown");
    } catch (const std::invalid_argument& e) {
        BOOST_TEST(
            e.what() ==
            std::string("timewheel: the offset of cron is -1081 min, but must be from -18 h to 18 h"
            )
        );
    }
}

// Each pair stands for the same times.
BOOST_AUTO_TEST_CASE(forms)
{
    constexpr const char* same[][2] = {
        {"0-59 0-23 1-31 1-12 0-6", "* * 1-31 * 0-7"},
        {"*/15 * * * *", "0,15,30,45 * * * *"},
        {"*/60 */24 */31 */12 */7", "0 0 */31 1 */7"},
        {"10-50/10 * * * *", "10,20,30,40,50 * * * *"},
        {"10-49/10 * * * *", "10,20,30,40 * * * *"},
        {"5/15 * * * *", "5,20,35,50 * * * *"},
        {"59/1 * * * *", "59 * * * *"},
        {"5,5,5-5,05,005 * * * *", "5 * * * *"},
        {"1-3,2-5,0 * * * *", "0-5 * * * *"},
        {"* * * JAN-Mar,dec *", "* * * 1-3,12 *"},
        {"* * * jan/3 *", "* * * 1,4,7,10 *"},
        {"* * * * SUN,tue-Thu", "* * * * 0,2,3,4"},
        {"* * * * 7", "* * * * 0"},
        {"* * * * 5-7", "* * * * 0,5,6"},
        {"* * * * fri-sun", "* * * * 5,6,7"},
        {"* * * * 5-0", "* * * * 5,6,7"},
        {"* * * * 7-2", "* * * * 0,1,2"},
        {"* * * * sun-7", "* * * * 0-6"},
        {"* * * * sun-sun", "* * * * 0"},
        {"* * * * 7-7", "* * * * 0"},
        {"* * * * 7/2", "* * * * 0,2,4,6"},
        {"* * * * mon/2", "* * * * 1,3,5"},
        {"* * * * 1-7/2", "* * * * 1,3,5,7"},
        {"0 0 ? * ?", "0 0 * * *"},
        {"0 0 ?/2 * *", "0 0 */2 * *"},
        {"  *\t*  * * \t * \r\n", "* * * * *"},
        {"0 5 4 3 2 1", "5 4 3 2 1"},
        {"@yearly", "0 0 1 1 *"},
        {"@annually", "0 0 1 1 *"},
        {"@monthly", "0 0 1 * *"},
        {"@weekly", "0 0 * * sun"},
        {"@daily", "0 0 * * *"},
        {"@midnight", "0 0 * * *"},
        {" @Hourly ", "0 * * * *"},
    };
    for (const auto& [form, meaning] : same)
        BOOST_CHECK_MESSAGE(cron(form) == cron(meaning), form << " is not " << meaning);
}

BOOST_AUTO_TEST_CASE(errors)
{
    struct row
    {
        std::string_view text;
        std::size_t column;
        std::string_view message;
    };
    constexpr std::string_view form =
        ": minute hour day month weekday, or six fields with the second first";
    const row rows[] = {
        {"* 60 * * * *", 3, "\"60\" is not a minute: 0 to 59"},
        {"60 * * * * *", 1, "\"60\" is not a second: 0 to 59"},
        {"60 * * * *", 1, "\"60\" is not a minute: 0 to 59"},
        {"0 24 * * *", 3, "\"24\" is not an hour: 0 to 23"},
        {"0 0 0 * *", 5, "\"0\" is not a day: 1 to 31"},
        {"0 0 32 * *", 5, "\"32\" is not a day: 1 to 31"},
        {"0 0 1 13 *", 7, "\"13\" is not a month: 1 to 12 or jan to dec"},
        {"0 0 1 0 *", 7, "\"0\" is not a month: 1 to 12 or jan to dec"},
        {"0 0 1 anf *", 7, "\"anf\" is not a month: 1 to 12 or jan to dec"},
        {"0 0 1 january *", 7, "\"january\" is not a month: 1 to 12 or jan to dec"},
        {"0 0 1 mon *", 7, "\"mon\" is not a month: 1 to 12 or jan to dec"},
        {"0 0 * * 8", 9, "\"8\" is not a weekday: 0 to 7 or sun to sat"},
        {"0 0 * * unm", 9, "\"unm\" is not a weekday: 0 to 7 or sun to sat"},
        {"0 0 * * 1,5,x", 13, "\"x\" is not a weekday: 0 to 7 or sun to sat"},
        {"0 0 * * 5L", 9, "\"5L\" is not a weekday: 0 to 7 or sun to sat"},
        {"0 0 * * 5#2", 9, "\"5#2\" is not a weekday: 0 to 7 or sun to sat"},
        {"1-x * * * *", 3, "\"x\" is not a minute: 0 to 59"},
        {"1-2-3 * * * *", 3, "\"2-3\" is not a minute: 0 to 59"},
        {"-5 * * * *", 1, "\"-5\" is not a minute: 0 to 59"},
        {"+5 * * * *", 1, "\"+5\" is not a minute: 0 to 59"},
        {"5.5 * * * *", 1, "\"5.5\" is not a minute: 0 to 59"},
        {"99999999999999999999 * * * *", 1, "\"99999999999999999999\" is not a minute: 0 to 59"},
        {"*-5 * * * *", 1, "\"*\" is not a minute: 0 to 59"},
        {"** * * * *", 1, "\"**\" is not a minute: 0 to 59"},
        {"*5 * * * *", 1, "\"*5\" is not a minute: 0 to 59"},
        {"? * * * *", 1, "\"?\" is not a minute: 0 to 59"},
        {"* * * ? *", 7, "\"?\" is not a month: 1 to 12 or jan to dec"},
        {"5- * * * *", 3, "a minute is missing here: 0 to 59"},
        {",5 * * * *", 1, "a minute is missing here: 0 to 59"},
        {"5, * * * *", 3, "a minute is missing here: 0 to 59"},
        {"5,,6 * * * *", 3, "a minute is missing here: 0 to 59"},
        {"/5 * * * *", 1, "a minute is missing here: 0 to 59"},
        {"- * * * *", 1, "\"-\" is not a minute: 0 to 59"},
        {"*/ * * * *", 3, "a step is missing here: 1 to 60"},
        {"*/0 * * * *", 3, "\"0\" is not a step: 1 to 60"},
        {"*/61 * * * *", 3, "\"61\" is not a step: 1 to 60"},
        {"*/5/5 * * * *", 3, "\"5/5\" is not a step: 1 to 60"},
        {"* */25 * * *", 5, "\"25\" is not a step: 1 to 24"},
        {"* * */32 * *", 7, "\"32\" is not a step: 1 to 31"},
        {"* * * */13 *", 9, "\"13\" is not a step: 1 to 12"},
        {"* * * * */8", 11, "\"8\" is not a step: 1 to 7"},
        {"50-10 * * * *", 1, "\"50-10\" goes backwards: write \"50-59,0-10\" to begin again"},
        {"0 22-2 * * *", 3, "\"22-2\" goes backwards: write \"22-23,0-2\" to begin again"},
        {"0 0 1,28-3 * *", 7, "\"28-3\" goes backwards: write \"28-31,1-3\" to begin again"},
        {"0 0 * nov-Feb *",
         7,
         "\"nov-Feb\" goes backwards: write \"nov-dec,jan-Feb\" to begin again"},
        {"0 0 * * fri-mon",
         9,
         "\"fri-mon\" goes backwards: write \"fri-sat,sun-mon\" to begin again"},
        {"0 0 * * 5-mon", 9, "\"5-mon\" goes backwards: write \"5-6,sun-mon\" to begin again"},
        {"0 0 30 2 *", 5, "no month of \"2\" has a day of \"30\""},
        {"0 0 0 31 feb,4,sep *", 7, "no month of \"feb,4,sep\" has a day of \"31\""},
        {"0 0 30-31 2 */2", 5, "no month of \"2\" has a day of \"30-31\""},
        {"@reboot",
         1,
         "\"@reboot\" is not one of @yearly, @annually, @monthly, @weekly, @daily, @midnight, "
         "@hourly"},
        {" @",
         2,
         "\"@\" is not one of @yearly, @annually, @monthly, @weekly, @daily, @midnight, @hourly"},
        {"@daily 5", 8, "\"5\" is too much: @daily is all there is"},
        {"5 @daily * * *", 3, "\"@daily\" is not an hour: 0 to 23"},
        {"5;6 * * * *", 1, "\"5;6\" is not a minute: 0 to 59"},
        {{"5\0 * * * *", 11}, 1, "\"5\\x00\" is not a minute: 0 to 59"},
        {"\x7f\n* * * *", 1, "\"\\x7f\" is not a minute: 0 to 59"},
        {"\xc2\xbd * * * *", 1, "\"\xc2\xbd\" is not a minute: 0 to 59"},
    };
    const auto expect = [](std::string_view text, std::size_t column, const std::string& message) {
        BOOST_TEST_CONTEXT(text)
        {
            try {
                const cron parsed(text);
                BOOST_ERROR("nothing was thrown");
            } catch (const cron_error& e) {
                BOOST_TEST(e.column() == column);
                BOOST_TEST(e.what() == "column " + std::to_string(column) + ": " + message);
            }
        }
    };
    for (const auto& [text, column, message] : rows)
        expect(text, column, std::string(message));
    const auto missing = [&](std::string_view text, const char* what) {
        expect(text, text.size() + 1, what + std::string(" is missing here") + std::string(form));
    };
    missing("", "a minute");
    missing(" \t", "a minute");
    missing("5", "an hour");
    missing("5 4", "a day");
    missing("5 4 *", "a month");
    missing("5 4 * * ", "a weekday");
    const std::string too_many = "\"2024\" is a field too many" + std::string(form);
    expect("0 0 0 1 1 * 2024", 13, too_many);
    expect("0 0 0 1 1 * 2024 8 9", 13, too_many);
}

// No year is too far away, and time ends where the clock's numbers do.
BOOST_AUTO_TEST_CASE(ends_of_time)
{
    const cron leap("0 0 29 2 *");
    BOOST_TEST(date_text(leap(date("-4-03-01 00:00"))) == "Tue 0-02-29 00:00:00");
    BOOST_TEST(date_text(leap(date("31996-02-29 00:00"))) == "Tue 32000-02-29 00:00:00");

    constexpr auto last = (system_clock::time_point::max)();
    constexpr auto first = (system_clock::time_point::min)();
    static_assert(last.time_since_epoch() == 9'223'372'036'854'775'807ns);
    BOOST_TEST(date_text(cron("* * * * *")(last - 1h)) == "Fri 2262-04-11 22:48:00");
    BOOST_CHECK(cron("* * * * *")(last - 1min) == date("2262-04-11 23:47"));
    BOOST_CHECK(cron("* * * * *")(last - 1s) == std::nullopt);
    BOOST_CHECK(cron("* * * * * *")(last - 1s) == date("2262-04-11 23:47:16"));
    for (const auto offset : {-18h, 0h, 18h}) {
        BOOST_CHECK(cron("* * * * * *", offset)(last) == std::nullopt);
        BOOST_CHECK(cron("0 0 29 2 *", offset)(last - 24h) == std::nullopt);
        BOOST_CHECK(cron("* * * * * *", offset)(first) == date("1677-09-21 00:12:44"));
        BOOST_CHECK(cron("* * * * *", offset)(first) == date("1677-09-21 00:13"));
    }

    // All seconds of 64 bits.
    constexpr auto limit = (sys_seconds::max)();
    BOOST_CHECK(cron("* * * * * *")(limit - 2s) == limit - 1s);
    BOOST_CHECK(cron("* * * * * *")(limit - 1s) == std::nullopt); // the end of time is never
    BOOST_CHECK(cron("0 0 29 2 *")(limit - 1s) == std::nullopt);
    BOOST_CHECK(cron("0 0 29 2 *", -18h)(limit) == std::nullopt);
    BOOST_CHECK(cron("* * * * * *", 18h)((sys_seconds::min)()) == (sys_seconds::min)() + 1s);
    BOOST_CHECK(cron("* * * * * *", -18h)((sys_seconds::min)()) == (sys_seconds::min)() + 1s);

    // The calendar repeats itself.
    constexpr auto cycle = std::chrono::days(146'097);
    for (const std::int64_t n : {-1'000'000, -1, 1, 700'000'000})
        BOOST_CHECK(
            leap(date("2024-01-01 00:00") + n * cycle) == date("2024-02-29 00:00") + n * cycle
        );
}

BOOST_AUTO_TEST_CASE(other_units_and_clocks)
{
    using millis = std::chrono::time_point<system_clock, std::chrono::milliseconds>;
    BOOST_CHECK(
        cron("0 12 * * *")(millis(date("2024-01-01 12:00") - 1ms)) == date("2024-01-01 12:00")
    );
    using floating = std::chrono::time_point<system_clock, std::chrono::duration<double>>;
    BOOST_CHECK(cron("* * * * *")(floating(59.75s)) == floating(60.0s));
    // A clock whose numbers end soon.
    using small =
        std::chrono::time_point<system_clock, std::chrono::duration<std::int16_t, std::milli>>;
    BOOST_CHECK(cron("* * * * *")(small{}) == std::nullopt);
    BOOST_CHECK((cron("*/30 * * * * *")(small{}) == small(small::duration(30'000))));

    using clock = manual_clock<struct cron_test>;
    BOOST_CHECK(cron("0 6 * * *")(clock::now()) == clock::time_point(6h));
}

BOOST_AUTO_TEST_CASE(text_and_equality)
{
    const cron expression(" */5 9-17 * * MON-FRI", 2h);
    BOOST_TEST(expression.text() == " */5 9-17 * * MON-FRI");
    BOOST_CHECK((expression.offset() == 2h));
    BOOST_CHECK(expression == cron("*/5 9-17 * * 1-5", 2h));
    BOOST_CHECK(expression != cron("*/5 9-17 * * 1-5"));
    BOOST_CHECK(expression != cron("*/5 9-17 * * 1-6", 2h));
    BOOST_CHECK(cron("0 * * * *") != cron("1 0 * * * *"));
    BOOST_CHECK(cron("0 0 * * 1") != cron("0 0 1-31 * 1")); // where either is enough
    BOOST_TEST(cron(std::string("@daily")).text() == "@daily");
}

BOOST_AUTO_TEST_SUITE_END()

}

}
