// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#include <timewheel/calendar.hpp>

#include <test_common/dates.hpp>
#include <test_common/random_source.hpp>

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <ratio>
#include <stdexcept>
#include <string>
#include <type_traits>

namespace timewheel::test {

namespace {

using namespace std::chrono_literals;
using std::chrono::sys_days;
using std::chrono::sys_seconds;
using std::chrono::system_clock;

template <class Rep, class Period = std::nano>
struct clock_of
{
    using duration = std::chrono::duration<Rep, Period>;
    using time_point = std::chrono::time_point<clock_of, duration>;

    static time_point at(Rep count) { return time_point(duration(count)); }
};

using nano_clock = clock_of<std::int64_t>;
using short_clock = clock_of<std::int16_t, std::milli>;
using unsigned_clock = clock_of<std::uint64_t>;
using double_clock = clock_of<double, std::ratio<1>>;

constexpr std::int64_t lowest = (std::numeric_limits<std::int64_t>::min)();
constexpr std::int64_t highest = (std::numeric_limits<std::int64_t>::max)();

template <class Function>
std::string message_of(Function function)
{
    try {
        function();
    } catch (const std::invalid_argument& e) {
        return e.what();
    }
    return "nothing was thrown";
}

// A day of a calendar clock of somebody else's.
struct office_clock
{
    using duration = std::chrono::duration<std::int64_t, std::milli>;
    using time_point = std::chrono::time_point<office_clock, duration>;
};

}

}

template <>
inline constexpr bool timewheel::is_calendar_clock_v<timewheel::test::office_clock> = true;

namespace timewheel::test {

namespace {

BOOST_AUTO_TEST_SUITE(calendar)

BOOST_AUTO_TEST_CASE(every_is_a_period_later)
{
    const auto now = system_clock::now();
    BOOST_CHECK(every(5min)(now) == now + 5min);
    BOOST_CHECK(every(5min)(now, 1, "ignored") == now + 5min);
    const auto steady = std::chrono::steady_clock::now();
    BOOST_CHECK(every(1ns)(steady) == steady + 1ns);
    BOOST_CHECK((every(5min).period() == 5min));

    // Rounded up to what the clock counts.
    BOOST_CHECK(every(1ns)(short_clock::at(5)) == short_clock::at(6));
    BOOST_CHECK(every(1001us)(short_clock::at(5)) == short_clock::at(7));
    BOOST_CHECK(every(250ms)(double_clock::at(0.5)) == double_clock::at(0.75));
    BOOST_CHECK(
        every(std::chrono::duration<double>(0.5))(nano_clock::at(0)) == nano_clock::at(500'000'000)
    );
}

BOOST_AUTO_TEST_CASE(every_saturates)
{
    BOOST_CHECK(every(2ns)(nano_clock::at(highest - 2)) == nano_clock::at(highest));
    BOOST_CHECK(every(2ns)(nano_clock::at(highest - 1)) == nano_clock::at(highest));
    BOOST_CHECK(every(2ns)(nano_clock::at(highest)) == std::nullopt);
    BOOST_CHECK((every((std::chrono::hours::max)())(nano_clock::at(7)) == nano_clock::at(highest)));
    BOOST_CHECK(every(1h)(short_clock::at(0)) == short_clock::at(32'767));
    BOOST_CHECK(every(1ns)(nano_clock::at(lowest)) == nano_clock::at(lowest + 1));
    // Where a number is too large to tell one second from the next, there is no later time.
    BOOST_CHECK(every(1s)(double_clock::at(1e300)) == std::nullopt);
    const double nan = std::numeric_limits<double>::quiet_NaN();
    BOOST_CHECK(every(1s)(double_clock::at(nan)) == std::nullopt);
}

BOOST_AUTO_TEST_CASE(grid_goes_both_ways)
{
    const auto origin = date("2024-01-01 00:10");
    const auto quarters = every(15min).aligned_to(origin);
    BOOST_CHECK(quarters(origin) == origin + 15min);
    BOOST_CHECK(quarters(origin - 1s) == origin);
    BOOST_CHECK(quarters(origin - 15min) == origin);
    BOOST_CHECK(quarters(origin - 15min - 1s) == origin - 15min);
    BOOST_CHECK(quarters(origin + 14min) == origin + 15min);
    BOOST_CHECK(quarters(date("1930-05-05 05:39:59"), 1) == date("1930-05-05 05:40"));
    BOOST_CHECK(quarters(date("2124-05-05 05:40"), 1) == date("2124-05-05 05:55"));
    BOOST_CHECK((quarters.period() == 15min));
    BOOST_CHECK(quarters.origin() == origin);

    // In the units of the time asked for.
    const auto weekly = every(24h * 7).aligned_to(sys_days(2024y / 1 / 1));
    const system_clock::time_point now = date("2024-02-29 12:00");
    BOOST_CHECK(weekly(now + 1ns) == date("2024-03-04 00:00"));
    BOOST_CHECK(
        every(1500us).aligned_to(short_clock::at(0))(short_clock::at(1)) == short_clock::at(2)
    );
}

BOOST_AUTO_TEST_CASE(grid_holds_to_the_ends_of_the_clock)
{
    const auto at = [](std::int64_t count) { return nano_clock::at(count); };
    for (const std::int64_t origin : {lowest, std::int64_t{0}, highest - 1}) {
        const auto each = every(1ns).aligned_to(at(origin));
        BOOST_CHECK(each(at(lowest)) == at(lowest + 1));
        BOOST_CHECK(each(at(-1)) == at(0));
        BOOST_CHECK(each(at(highest - 2)) == at(highest - 1));
        // The end of time is never.
        BOOST_CHECK(each(at(highest - 1)) == std::nullopt);
        BOOST_CHECK(each(at(highest)) == std::nullopt);
    }
    BOOST_CHECK(every(5ns).aligned_to(at(highest))(at(highest - 1)) == std::nullopt);
    BOOST_CHECK(every(5ns).aligned_to(at(highest))(at(highest - 6)) == at(highest - 5));
    const auto longest = every(std::chrono::nanoseconds(highest));
    BOOST_CHECK(longest.aligned_to(at(lowest))(at(lowest)) == at(-1));
    BOOST_CHECK(longest.aligned_to(at(lowest))(at(-1)) == at(highest - 1));
    BOOST_CHECK(longest.aligned_to(at(5))(at(lowest)) == at(5 - highest));
    BOOST_CHECK(longest.aligned_to(at(5))(at(5)) == std::nullopt);
    BOOST_CHECK(
        every(30s).aligned_to(short_clock::at(-32'000))(short_clock::at(-2000)) ==
        short_clock::at(28'000)
    );
    BOOST_CHECK(
        every(30s).aligned_to(short_clock::at(-32'000))(short_clock::at(28'000)) == std::nullopt
    );
    BOOST_CHECK(
        every(3ns).aligned_to(unsigned_clock::at(7))(unsigned_clock::at(0)) == unsigned_clock::at(1)
    );
    BOOST_CHECK(
        every(3ns).aligned_to(unsigned_clock::at(7))(unsigned_clock::at(~0ull - 1)) == std::nullopt
    );
}

__extension__ typedef __int128 wide;

BOOST_AUTO_TEST_CASE(grid_against_wider_numbers)
{
    random_source random(test_seed("calendar/grid_against_wider_numbers"));
    const auto any = [&] {
        const auto n = static_cast<std::int64_t>(random.any_magnitude());
        switch (random.below(4)) {
        case 0: return n;
        case 1: return static_cast<std::int64_t>(-static_cast<std::uint64_t>(n));
        case 2: return lowest + (n & highest);
        default: return highest - (n & highest);
        }
    };
    for (int i = 0; i != 200'000; ++i) {
        const std::int64_t origin = any();
        const std::int64_t now = any();
        const auto period = static_cast<std::int64_t>(random.any_magnitude() >> 1 | 1);
        wide n = (wide{now} - origin) / period - 2;
        while (origin + n * period <= now)
            ++n;
        const wide expected = origin + n * period;
        const auto next = every(std::chrono::nanoseconds(period))
                              .aligned_to(nano_clock::at(origin))(nano_clock::at(now));
        BOOST_TEST_INFO("origin " << origin << ", now " << now << ", period " << period);
        if (expected >= highest)
            BOOST_REQUIRE(!next);
        else
            BOOST_REQUIRE((next && *next == nano_clock::at(static_cast<std::int64_t>(expected))));
    }
}

BOOST_AUTO_TEST_CASE(grid_of_floating_point_numbers)
{
    const auto tenths = every(100ms).aligned_to(double_clock::at(0.05));
    double_clock::time_point now = double_clock::at(-20);
    for (int i = 0; i != 1000; ++i) {
        const auto next = tenths(now);
        BOOST_REQUIRE(next.has_value());
        BOOST_REQUIRE((*next > now));
        BOOST_REQUIRE(((*next - now).count() < 0.1 + 1e-9));
        if (i > 0)
            BOOST_REQUIRE(((*next - now).count() > 0.1 - 1e-9));
        now = *next;
    }
    BOOST_CHECK(tenths(double_clock::at(1e300)) == std::nullopt);
    BOOST_CHECK(tenths(double_clock::at(std::numeric_limits<double>::quiet_NaN())) == std::nullopt);
}

BOOST_AUTO_TEST_CASE(bad_periods_are_refused)
{
    const std::string prefix = "timewheel: the period of every is ";
    BOOST_TEST(message_of([] { every(0s); }) == prefix + "0 s, but must be positive");
    BOOST_TEST(message_of([] { every(-5min); }) == prefix + "-5 min, but must be positive");
    BOOST_TEST(message_of([] { every(-2h); }) == prefix + "-2 h, but must be positive");
    const double nan = std::numeric_limits<double>::quiet_NaN();
    BOOST_TEST(message_of([&] { every(std::chrono::duration<double>(nan)); }).find(prefix) == 0u);
    using aligned = aligned_every<system_clock, system_clock::duration, std::chrono::seconds>;
    BOOST_TEST(message_of([] { aligned(-1s, {}); }) == prefix + "-1 s, but must be positive");
}

BOOST_AUTO_TEST_CASE(daily_is_once_a_day)
{
    const daily_at lunch(12, 30);
    BOOST_CHECK(lunch(date("2024-02-28 12:29:59")) == date("2024-02-28 12:30"));
    BOOST_CHECK(lunch(date("2024-02-28 12:30"), 1, 2) == date("2024-02-29 12:30"));
    BOOST_CHECK(lunch(date("2024-02-29 23:00")) == date("2024-03-01 12:30"));
    BOOST_CHECK(lunch(date("1969-12-31 13:00")) == date("1970-01-01 12:30"));
    BOOST_CHECK(lunch(date("1931-12-31 12:00")) == date("1931-12-31 12:30"));
    const system_clock::time_point now = date("2024-02-28 12:30");
    BOOST_CHECK(lunch(now - 1ns) == now);
    BOOST_CHECK(lunch(now) == now + 24h);
    BOOST_TEST(lunch.hour() == 12);
    BOOST_TEST(lunch.minute() == 30);
    BOOST_CHECK((lunch.offset() == 0min));

    const daily_at midnight(0, 0);
    BOOST_CHECK(midnight(date("2024-12-31 23:59:59")) == date("2025-01-01 00:00"));
    BOOST_CHECK(midnight(date("2025-01-01 00:00")) == date("2025-01-02 00:00"));
    BOOST_CHECK(daily_at(23, 59)(date("2024-12-31 23:59")) == date("2025-01-01 23:59"));
}

BOOST_AUTO_TEST_CASE(daily_by_the_clock_of_a_zone)
{
    const daily_at kiritimati(6, 0, 14h);
    BOOST_CHECK(kiritimati(date("2024-02-28 15:59:59")) == date("2024-02-28 16:00"));
    BOOST_CHECK(kiritimati(date("2024-02-28 16:00")) == date("2024-02-29 16:00"));
    const daily_at baker_island(18, 0, -12h);
    BOOST_CHECK(baker_island(date("2024-02-29 05:00")) == date("2024-02-29 06:00"));
    const daily_at kathmandu(0, 15, 5h + 45min);
    BOOST_CHECK(kathmandu(date("2024-02-29 18:29:59")) == date("2024-02-29 18:30"));
    BOOST_CHECK(kathmandu(date("2024-02-29 18:30")) == date("2024-03-01 18:30"));
    for (const auto offset : {-18h, 18h}) {
        const auto next = daily_at(0, 0, offset)(date("1970-01-01 00:00"));
        BOOST_CHECK(next == date("1970-01-01 00:00") + (offset < 0h ? 18h : 6h));
    }
}

BOOST_AUTO_TEST_CASE(bad_times_of_day_are_refused)
{
    const std::string prefix = "timewheel: the ";
    BOOST_TEST(message_of([] {
                   daily_at(24, 0);
               }) == prefix + "hour of daily_at is 24, but must be from 0 to 23");
    BOOST_TEST(message_of([] {
                   daily_at(-1, 0);
               }) == prefix + "hour of daily_at is -1, but must be from 0 to 23");
    BOOST_TEST(message_of([] {
                   daily_at(0, 60);
               }) == prefix + "minute of daily_at is 60, but must be from 0 to 59");
    BOOST_TEST(message_of([] {
                   daily_at(0, -1);
               }) == prefix + "minute of daily_at is -1, but must be from 0 to 59");
    BOOST_TEST(message_of([] {
                   daily_at(0, 0, 18h + 1min);
               }) == prefix + "offset of daily_at is 1081 min, but must be from -18 h to 18 h");
    BOOST_TEST(message_of([] {
                   daily_at(0, 0, -1081min);
               }) == prefix + "offset of daily_at is -1081 min, but must be from -18 h to 18 h");
}

// Every clock can be asked that counts from the same epoch, in whatever units.
BOOST_AUTO_TEST_CASE(daily_of_other_clocks)
{
    const auto eight = daily_at(8, 0);
    BOOST_CHECK(eight(office_clock::time_point(7h)) == office_clock::time_point(8h));
    using seconds = std::chrono::duration<double>;
    using floating = std::chrono::time_point<system_clock, seconds>;
    BOOST_CHECK(eight(floating(seconds(3600 * 8 - 0.5))) == floating(8h));
    BOOST_CHECK(eight(floating(seconds(-0.5))) == floating(8h));
    for (const double count : {1e300, -1e300, std::numeric_limits<double>::quiet_NaN()})
        BOOST_CHECK(eight(floating(seconds(count))) == std::nullopt);

    static_assert(calendar_time<system_clock, std::chrono::nanoseconds>);
    static_assert(calendar_time<system_clock, std::chrono::seconds>);
    static_assert(!calendar_time<system_clock, std::chrono::minutes>);
    static_assert(!calendar_time<system_clock, std::chrono::duration<unsigned>>);
    static_assert(!calendar_time<std::chrono::steady_clock, std::chrono::nanoseconds>);
    static_assert(!std::is_invocable_v<daily_at, std::chrono::steady_clock::time_point>);
    static_assert(std::is_invocable_v<daily_at, system_clock::time_point>);
}

// The shape that a keyed scheduler asks for.
BOOST_AUTO_TEST_CASE(all_are_functions_of_an_item)
{
    using time_point = system_clock::time_point;
    std::function<std::optional<time_point>(time_point, const std::string&, const int&)> next;
    const time_point now = date("2024-02-29 11:59:30");
    next = every(1min);
    BOOST_TEST(date_text(next(now, "key", 1)) == "Thu 2024-02-29 12:00:30");
    next = every(1min).aligned_to(sys_days(2024y / 1 / 1));
    BOOST_TEST(date_text(next(now, "key", 1)) == "Thu 2024-02-29 12:00:00");
    next = daily_at(13, 0);
    BOOST_TEST(date_text(next(now, "key", 1)) == "Thu 2024-02-29 13:00:00");
    next = cron("* * * * *");
    BOOST_TEST(date_text(next(now, "key", 1)) == "Thu 2024-02-29 12:00:00");
}

BOOST_AUTO_TEST_CASE(equality)
{
    BOOST_CHECK(every(60s) == every(60s));
    BOOST_CHECK(every(60s) != every(61s));
    const auto aligned = every(60s).aligned_to(sys_days());
    BOOST_CHECK(aligned == every(60s).aligned_to(sys_days()));
    BOOST_CHECK(aligned != every(60s).aligned_to(sys_days() + std::chrono::days(1)));
    BOOST_CHECK(aligned != every(61s).aligned_to(sys_days()));
    BOOST_CHECK(daily_at(1, 2, 3min) == daily_at(1, 2, 3min));
    BOOST_CHECK(daily_at(1, 2, 3min) != daily_at(1, 2, 4min));
    BOOST_CHECK(daily_at(1, 2, 3min) != daily_at(1, 3, 3min));
    BOOST_CHECK(daily_at(1, 2, 3min) != daily_at(2, 2, 3min));
}

BOOST_AUTO_TEST_SUITE_END()

}

}
