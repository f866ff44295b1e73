// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#include <timewheel/calendar.hpp>

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>

namespace {

using namespace std::chrono_literals;
using std::chrono::sys_days;
using std::chrono::system_clock;

BOOST_AUTO_TEST_SUITE(calendar)

BOOST_AUTO_TEST_CASE(every)
{
    //! [every] tag::every[]
    const timewheel::every next{5min};
    const auto now = system_clock::now();
    const auto then = next(now); // a std::optional, since time may end
    //! [every] end::every[]
    BOOST_CHECK(then == now + 5min);
}

BOOST_AUTO_TEST_CASE(aligned)
{
    const system_clock::time_point now = sys_days(2024y / 2 / 29) + 9h + 47min;
    //! [aligned] tag::aligned[]
    // At 0, 15, 30 and 45 minutes past the hour.
    const auto quarter = timewheel::every{15min}.aligned_to(sys_days{2024y / 1 / 1});
    const auto then = quarter(now); // 10:00 if now is 9:47
    //! [aligned] end::aligned[]
    BOOST_CHECK(then == sys_days(2024y / 2 / 29) + 10h);
}

BOOST_AUTO_TEST_CASE(daily_at)
{
    const system_clock::time_point now = sys_days(2024y / 2 / 29) + 9h + 47min;
    //! [daily_at] tag::daily_at[]
    const timewheel::daily_at backup{3, 30, 2h}; // 3:30 where it is two hours later than UTC
    const auto then = backup(now);               // 1:30 UTC
    //! [daily_at] end::daily_at[]
    BOOST_CHECK(then == sys_days(2024y / 3 / 1) + 1h + 30min);
}

BOOST_AUTO_TEST_CASE(cron)
{
    const system_clock::time_point now = sys_days(2024y / 3 / 1) + 17h + 55min;
    //! [cron] tag::cron[]
    const timewheel::cron working_hours{"*/5 9-17 * * mon-fri"};
    const auto then = working_hours(now); // 9:00 on Monday if now is 17:55 on Friday
    //! [cron] end::cron[]
    BOOST_CHECK(then == sys_days(2024y / 3 / 4) + 9h);
}

BOOST_AUTO_TEST_CASE(cron_error)
{
    std::string message;
    std::size_t column = 0;
    const std::string from_a_file = "*/5 9-25 * * *";
    //! [cron_error] tag::cron_error[]
    try {
        const timewheel::cron expression{from_a_file}; // "*/5 9-25 * * *"
    } catch (const timewheel::cron_error& error) {
        message = error.what();  // column 7: "25" is not an hour: 0 to 23
        column = error.column(); // 7
    }
    //! [cron_error] end::cron_error[]
    BOOST_TEST(message == "column 7: \"25\" is not an hour: 0 to 23");
    BOOST_TEST(column == 7u);
}

BOOST_AUTO_TEST_CASE(next_function)
{
    // tag::next_function[]
    struct report
    {
        std::string expression;
    };
    using time_point = system_clock::time_point;
    std::function<std::optional<time_point>(time_point, const std::string&, const report&)> next;

    next = timewheel::daily_at{6, 0}; // for all items alike
    next = [](time_point now, const std::string&, const report& item) {
        return timewheel::cron{item.expression}(now); // each when it says so itself
    };
    // end::next_function[]
    BOOST_CHECK(
        next(sys_days(2024y / 2 / 28), "sales", {"0 8 * * *"}) == sys_days(2024y / 2 / 28) + 8h
    );
}

BOOST_AUTO_TEST_SUITE_END()

}
