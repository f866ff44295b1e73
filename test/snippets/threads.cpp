// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#include <timewheel/steady_timer.hpp>

#include <boost/asio/bind_executor.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/test/unit_test.hpp>

#include <chrono>
#include <thread>

namespace {

namespace asio = boost::asio;
using boost::system::error_code;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(threads)

BOOST_AUTO_TEST_CASE(timers_on_a_strand)
{
    // tag::strand[]
    asio::thread_pool pool{2};
    const auto strand = asio::make_strand(pool);
    timewheel::steady_timer first{strand, 5ms};
    timewheel::steady_timer second{strand, 5ms};
    int calls = 0; // only touched on the strand
    first.async_wait([&](error_code) { ++calls; });
    second.async_wait([&](error_code) { ++calls; });

    asio::dispatch(strand, [&] { // from any thread
        first.expires_after(10ms);
        first.async_wait([&](error_code) { ++calls; });
    });
    pool.join();
    BOOST_TEST(calls == 3);
    // end::strand[]
}

BOOST_AUTO_TEST_CASE(bound_executor)
{
    std::thread::id ran_in;
    // tag::bound_executor[]
    asio::io_context timers;
    asio::thread_pool workers{1};
    timewheel::steady_timer timer{timers, 5ms};
    timer.async_wait(asio::bind_executor(workers, [&](error_code) {
        ran_in = std::this_thread::get_id(); // a thread of the pool
    }));
    timers.run();   // waits
    workers.join(); // calls the handler
    // end::bound_executor[]
    BOOST_CHECK(ran_in != std::thread::id());
    BOOST_CHECK(ran_in != std::this_thread::get_id());
}

BOOST_AUTO_TEST_SUITE_END()

}
