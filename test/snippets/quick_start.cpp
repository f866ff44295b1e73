// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#include <timewheel/steady_timer.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/test/unit_test.hpp>

#include <chrono>

namespace {

// tag::names[]
namespace asio = boost::asio;
using boost::system::error_code;
using namespace std::chrono_literals;
// end::names[]

// tag::coroutine[]
asio::awaitable<int> count_to(int last)
{
    timewheel::steady_timer timer{co_await asio::this_coro::executor};
    int n = 0;
    while (n != last) {
        timer.expires_after(5ms);
        co_await timer.async_wait(asio::use_awaitable); // throws if it is cancelled
        ++n;
    }
    co_return n;
}
// end::coroutine[]

BOOST_AUTO_TEST_SUITE(quick_start)

BOOST_AUTO_TEST_CASE(callback)
{
    bool called = false;
    // tag::callback[]
    asio::io_context context;
    timewheel::steady_timer timer{context, 10ms};
    timer.async_wait([&](error_code ec) { called = !ec; });
    context.run();
    // end::callback[]
    BOOST_TEST(called);
}

BOOST_AUTO_TEST_CASE(coroutine)
{
    asio::io_context context;
    auto result = asio::co_spawn(context, count_to(3), asio::use_future);
    context.run();
    BOOST_TEST(result.get() == 3);
}

BOOST_AUTO_TEST_CASE(cancel)
{
    asio::io_context context;
    error_code first_end;
    error_code second_end;
    // tag::cancel[]
    timewheel::steady_timer timer{context, 1h};
    asio::cancellation_signal signal;
    const auto first = [&](error_code ec) { first_end = ec; };
    const auto second = [&](error_code ec) { second_end = ec; };
    timer.async_wait(asio::bind_cancellation_slot(signal.slot(), first));
    timer.async_wait(second);

    signal.emit(asio::cancellation_type::total); // ends the first wait only
    timer.cancel();                              // ends all that are left: returns 1
    context.run();                               // runs both handlers, with an error
    // end::cancel[]
    BOOST_TEST(first_end == asio::error::operation_aborted);
    BOOST_TEST(second_end == asio::error::operation_aborted);
}

BOOST_AUTO_TEST_SUITE_END()

}
