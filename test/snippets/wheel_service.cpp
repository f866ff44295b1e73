// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#include <timewheel/wheel_service.hpp>

#include <timewheel/steady_timer.hpp>

#include <boost/asio/execution_context.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/test/unit_test.hpp>

#include <chrono>
#include <vector>

namespace {

namespace asio = boost::asio;
using boost::system::error_code;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(wheel_service)

BOOST_AUTO_TEST_CASE(make_service)
{
    //! [make_service] tag::make_service[]
    asio::io_context context;
    const timewheel::wheel_service_options options{.tick = 100us};
    asio::make_service<timewheel::wheel_service>(context, options); // before the first timer
    timewheel::steady_timer timer{context, 5ms};                    // on that service
    //! [make_service] end::make_service[]
    const auto& service = asio::use_service<timewheel::wheel_service>(context);
    BOOST_CHECK(service.tick() == 100us);
    BOOST_CHECK_THROW(
        asio::make_service<timewheel::wheel_service>(context, options), asio::service_already_exists
    );
}

BOOST_AUTO_TEST_CASE(counters)
{
    asio::io_context context;
    std::vector<timewheel::steady_timer> timers;
    for (int i = 0; i != 3; ++i) {
        timers.emplace_back(context, 1h);
        timers.back().async_wait([](error_code) {});
    }
    timers.pop_back();
    //! [stats] tag::stats[]
    const auto& service = asio::use_service<timewheel::wheel_service>(context);
    const timewheel::wheel_service_stats stats = service.stats();
    const bool consistent = stats.pending == 2 && stats.fired == 0 && stats.cancelled == 1;
    const auto next = service.next_expiry(); // a time point, or nothing
    //! [stats] end::stats[]
    BOOST_TEST(consistent);
    BOOST_TEST(stats.os_arms == 1U);
    BOOST_CHECK(next && *next >= timers.front().expiry());
}

BOOST_AUTO_TEST_SUITE_END()

}
