// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#include <timewheel/repeating_timer.hpp>

#include <timewheel/manual_clock.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/test/unit_test.hpp>

#include <chrono>
#include <cstdint>

namespace {

namespace asio = boost::asio;
using boost::system::error_code;
using namespace std::chrono_literals;

//! [loop] tag::loop[]
// Counts the samples that should have been taken while three are.
asio::awaitable<std::uint64_t> take_samples()
{
    timewheel::repeating_timer timer{co_await asio::this_coro::executor, 5ms};
    std::uint64_t due = 0;
    for (int taken = 0; taken != 3; ++taken) {
        const timewheel::tick_info tick = co_await timer.async_wait(asio::use_awaitable);
        due += 1 + tick.missed;
    }
    co_return due;
}
//! [loop] end::loop[]

BOOST_AUTO_TEST_SUITE(repeating_timer)

BOOST_AUTO_TEST_CASE(loop)
{
    asio::io_context context;
    auto due = asio::co_spawn(context, take_samples(), asio::use_future);
    context.run();
    BOOST_TEST(due.get() >= 3U);
}

BOOST_AUTO_TEST_CASE(async_wait)
{
    using clock = timewheel::manual_clock<struct async_wait_test>;
    using repeating_timer = timewheel::basic_repeating_timer<clock>;
    std::uint64_t missed = 0;
    std::uint64_t number = 0;
    asio::io_context context;
    //! [async_wait] tag::async_wait[]
    repeating_timer timer{context, 1s};
    timer.async_wait([&](error_code ec, repeating_timer::tick_info_type tick) {
        if (ec)
            return; // cancelled
        number = tick.sequence;
        missed = tick.missed; // ticks of which nobody was told
    });
    //! [async_wait] end::async_wait[]
    clock::advance(3500ms);
    context.poll();
    BOOST_TEST(number == 3U);
    BOOST_TEST(missed == 2U);
}

BOOST_AUTO_TEST_SUITE_END()

}
