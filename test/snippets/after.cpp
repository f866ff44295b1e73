// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#include <timewheel/after.hpp>

#include <timewheel/sleep.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/test/unit_test.hpp>

#include <chrono>
#include <string>

namespace {

namespace asio = boost::asio;
using namespace std::chrono_literals;

//! [coroutine] tag::coroutine[]
asio::awaitable<std::string> warm_up()
{
    // The coroutine has started late; what it waits for now takes its own time and no more.
    co_await timewheel::sleep_for(2ms);
    co_return "warm";
}
//! [coroutine] end::coroutine[]

BOOST_AUTO_TEST_SUITE(after)

BOOST_AUTO_TEST_CASE(after_a_duration)
{
    bool posted = false;
    const auto begin = std::chrono::steady_clock::now();
    //! [after] tag::after[]
    asio::io_context context;
    asio::post(timewheel::after(context, 10ms), [&] { posted = true; });
    context.run(); // returns in 10 ms, when the function has run
    //! [after] end::after[]
    BOOST_TEST(posted);
    BOOST_CHECK(std::chrono::steady_clock::now() - begin >= 10ms);
}

BOOST_AUTO_TEST_CASE(after_a_time)
{
    int posted = 0;
    asio::io_context context;
    //! [after_time] tag::after_time[]
    const auto opening = std::chrono::system_clock::now() + 10ms;
    const auto at_opening = timewheel::after(context, opening); // may be used again and again
    asio::post(at_opening, [&] { ++posted; });
    asio::post(at_opening, [&] { ++posted; });
    //! [after_time] end::after_time[]
    context.run();
    BOOST_TEST(posted == 2);
    BOOST_CHECK(std::chrono::system_clock::now() >= opening);
}

BOOST_AUTO_TEST_CASE(coroutine)
{
    asio::io_context context;
    const auto begin = std::chrono::steady_clock::now();
    //! [co_spawn] tag::co_spawn[]
    auto result = asio::co_spawn(timewheel::after(context, 10ms), warm_up(), asio::use_future);
    //! [co_spawn] end::co_spawn[]
    context.run();
    BOOST_TEST(result.get() == "warm");
    BOOST_CHECK(std::chrono::steady_clock::now() - begin >= 12ms);
}

BOOST_AUTO_TEST_SUITE_END()

}
