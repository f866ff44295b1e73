// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#include <timewheel/error.hpp>

#include <boost/system/errc.hpp>
#include <boost/system/system_error.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>

namespace {

namespace errc = boost::system::errc;

constexpr std::array all_errors{
    timewheel::error::not_started,
    timewheel::error::closed,
    timewheel::error::already_running,
    timewheel::error::would_deadlock,
    timewheel::error::too_many_timers,
    timewheel::error::no_job,
    timewheel::error::timed_out,
    timewheel::error::queue_full,
    timewheel::error::job_threw,
    timewheel::error::empty_job,
    timewheel::error::invalid_period,
    timewheel::error::invalid_count,
    timewheel::error::unknown_key,
};

static_assert(std::is_convertible_v<timewheel::error, timewheel::error_code>);
static_assert(noexcept(timewheel::error_category()));
static_assert(noexcept(make_error_code(timewheel::error::closed)));

// Static initialisation order: a code made before main must already have its category.
const timewheel::error_code made_before_main = timewheel::error::closed;

BOOST_AUTO_TEST_SUITE(error)

BOOST_AUTO_TEST_CASE(code_has_value_and_category)
{
    const timewheel::error_code ec = timewheel::error::not_started;
    BOOST_TEST(ec.failed());
    BOOST_TEST(ec.value() == 1);
    BOOST_TEST(&ec.category() == &timewheel::error_category());
    BOOST_TEST((ec == timewheel::error::not_started));
    BOOST_TEST((ec != timewheel::error::closed));
    BOOST_TEST((made_before_main == timewheel::error::closed));
}

BOOST_AUTO_TEST_CASE(success_is_no_error)
{
    const timewheel::error_code ec{0, timewheel::error_category()};
    BOOST_TEST(!ec.failed());
    for (auto e : all_errors)
        BOOST_TEST((ec != e));
}

BOOST_AUTO_TEST_CASE(category_is_its_own)
{
    const auto& category = timewheel::error_category();
    BOOST_TEST(std::string_view(category.name()) == "timewheel");
    BOOST_TEST((category != boost::system::generic_category()));
    BOOST_TEST((category != boost::system::system_category()));
    BOOST_TEST((category == timewheel::detail::error_category_type{}));
}

BOOST_AUTO_TEST_CASE(messages_differ_and_say_what_to_do)
{
    std::set<std::string> seen;
    for (auto e : all_errors) {
        const timewheel::error_code ec = e;
        BOOST_TEST_CONTEXT(ec.message())
        {
            BOOST_TEST(seen.insert(ec.message()).second);
            BOOST_TEST(ec.message().find(": ") != std::string::npos);
            char buffer[8];
            BOOST_TEST(std::string_view(ec.message(buffer, sizeof buffer)) == ec.message());
        }
    }
}

BOOST_AUTO_TEST_CASE(message_of_unknown_value)
{
    const timewheel::error_code ec{4711, timewheel::error_category()};
    BOOST_TEST(ec.message() == "unknown timewheel error");
    BOOST_TEST((ec.default_error_condition().category() == timewheel::error_category()));
}

BOOST_AUTO_TEST_CASE(equivalence_boost)
{
    struct row
    {
        timewheel::error error;
        errc::errc_t condition;
    };
    constexpr std::array rows{
        row{timewheel::error::would_deadlock, errc::resource_deadlock_would_occur},
        row{timewheel::error::too_many_timers, errc::resource_unavailable_try_again},
        row{timewheel::error::timed_out, errc::timed_out},
        row{timewheel::error::queue_full, errc::resource_unavailable_try_again},
        row{timewheel::error::empty_job, errc::invalid_argument},
        row{timewheel::error::invalid_period, errc::invalid_argument},
        row{timewheel::error::invalid_count, errc::invalid_argument},
    };
    for (auto e : all_errors) {
        for (const auto& r : rows) {
            const timewheel::error_code ec = e;
            BOOST_TEST_CONTEXT(ec.message())
            {
                const bool is_equal = std::any_of(rows.begin(), rows.end(), [&](const row& each) {
                    return each.error == e && each.condition == r.condition;
                });
                BOOST_TEST((ec == r.condition) == is_equal);
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(equivalence_std)
{
    const timewheel::error_code timed_out = timewheel::error::timed_out;
    BOOST_TEST((timed_out == std::errc::timed_out));
    BOOST_TEST((timed_out != std::errc::operation_canceled));

    const timewheel::error_code would_deadlock = timewheel::error::would_deadlock;
    BOOST_TEST((would_deadlock == std::errc::resource_deadlock_would_occur));

    const timewheel::error_code too_many = timewheel::error::too_many_timers;
    BOOST_TEST((too_many == std::errc::resource_unavailable_try_again));

    const timewheel::error_code closed = timewheel::error::closed;
    BOOST_TEST((closed != std::errc::operation_canceled));
}

BOOST_AUTO_TEST_CASE(conversion_to_std_error_code)
{
    const timewheel::error_code ec = timewheel::error::timed_out;
    const std::error_code converted = ec;
    BOOST_TEST(converted.value() == ec.value());
    BOOST_TEST(converted.message() == ec.message());
    BOOST_TEST(std::string_view(converted.category().name()) == "timewheel");
    BOOST_TEST((converted == std::errc::timed_out));
}

BOOST_AUTO_TEST_CASE(thrown_as_system_error)
{
    const auto is_closed = [](const boost::system::system_error& e) {
        return e.code() == timewheel::error::closed;
    };
    BOOST_CHECK_EXCEPTION(
        throw boost::system::system_error(timewheel::error::closed),
        boost::system::system_error,
        is_closed
    );
}

BOOST_AUTO_TEST_SUITE_END()

}
