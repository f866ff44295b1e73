// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#include <timewheel/basic_waitable_timer.hpp>

#include <timewheel/steady_timer.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/test/unit_test.hpp>

#include <chrono>

namespace {

namespace asio = boost::asio;
using boost::system::error_code;
using namespace std::chrono_literals;

//! [async_wait] tag::async_wait[]
// Returns whether the time passed, false if somebody cancelled the timer.
asio::awaitable<bool> pause(timewheel::steady_timer& timer, std::chrono::milliseconds span)
{
    timer.expires_after(span);
    const auto [ec] = co_await timer.async_wait(asio::as_tuple(asio::use_awaitable));
    co_return ec != asio::error::operation_aborted;
}
//! [async_wait] end::async_wait[]

BOOST_AUTO_TEST_SUITE(basic_waitable_timer)

BOOST_AUTO_TEST_CASE(wait)
{
    bool expired = false;
    //! [wait] tag::wait[]
    asio::io_context context;
    timewheel::steady_timer timer{context, 50ms};
    timer.async_wait([&](error_code ec) {
        if (!ec) // else somebody cancelled the wait
            expired = true;
    });
    timer.expires_after(10ms); // cancels the wait; its handler runs in context.run(), with an error
    timer.async_wait([&](error_code ec) { expired = !ec; });
    context.run(); // returns when nothing is pending any more
    //! [wait] end::wait[]
    BOOST_TEST(expired);
    BOOST_CHECK(std::chrono::steady_clock::now() >= timer.expiry());
}

BOOST_AUTO_TEST_CASE(async_wait)
{
    asio::io_context context;
    timewheel::steady_timer timer{context};
    auto passed = asio::co_spawn(context, pause(timer, 5ms), asio::use_future);
    context.run();
    BOOST_TEST(passed.get());

    context.restart();
    auto cancelled = asio::co_spawn(context, pause(timer, 1h), asio::use_future);
    context.poll();
    BOOST_TEST(timer.cancel() == 1U);
    context.run();
    BOOST_TEST(!cancelled.get());
}

BOOST_AUTO_TEST_SUITE_END()

}
