// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#include <timewheel/sleep.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/test/unit_test.hpp>

#include <chrono>
#include <utility>

namespace {

namespace asio = boost::asio;
using boost::system::error_code;
using namespace std::chrono_literals;

//! [sleep_for] tag::sleep_for[]
asio::awaitable<int> poll_three_times()
{
    int n = 0;
    while (n != 3) {
        co_await timewheel::sleep_for(2ms); // throws if it is cancelled
        ++n;
    }
    co_return n;
}
//! [sleep_for] end::sleep_for[]

// tag::either[]
// Whether the work was done within a second.
asio::awaitable<bool> in_time(asio::awaitable<void> work)
{
    using namespace asio::experimental::awaitable_operators;
    const auto first = co_await (std::move(work) || timewheel::sleep_for(1s)(asio::use_awaitable));
    co_return first.index() == 0;
}
// end::either[]

BOOST_AUTO_TEST_SUITE(sleep)

BOOST_AUTO_TEST_CASE(async_sleep_for)
{
    bool slept = false;
    //! [async_sleep_for] tag::async_sleep_for[]
    asio::io_context context;
    timewheel::async_sleep_for(context, 10ms, [&](error_code ec) { slept = !ec; });
    context.run();
    //! [async_sleep_for] end::async_sleep_for[]
    BOOST_TEST(slept);
}

BOOST_AUTO_TEST_CASE(async_sleep_until)
{
    bool slept = false;
    asio::io_context context;
    //! [async_sleep_until] tag::async_sleep_until[]
    const auto when = std::chrono::system_clock::now() + 10ms;
    timewheel::async_sleep_until(context, when, [&](error_code ec) { slept = !ec; });
    //! [async_sleep_until] end::async_sleep_until[]
    context.run();
    BOOST_TEST(slept);
    BOOST_CHECK(std::chrono::system_clock::now() >= when);
}

BOOST_AUTO_TEST_CASE(sleep_for)
{
    asio::io_context context;
    auto result = asio::co_spawn(context, poll_three_times(), asio::use_future);
    context.run();
    BOOST_TEST(result.get() == 3);
}

BOOST_AUTO_TEST_CASE(either)
{
    asio::io_context context;
    const auto work = []() -> asio::awaitable<void> { co_await timewheel::sleep_for(1ms); };
    auto result = asio::co_spawn(context, in_time(work()), asio::use_future);
    context.run();
    BOOST_TEST(result.get());
}

BOOST_AUTO_TEST_SUITE_END()

}
