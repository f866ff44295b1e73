// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#include <timewheel/cancel_after.hpp>

#include <timewheel/error.hpp>
#include <timewheel/steady_timer.hpp>

#include <boost/asio/io_context.hpp>
#include <boost/test/unit_test.hpp>

#include <chrono>

namespace {

namespace asio = boost::asio;
using boost::system::error_code;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(cancel_after)

BOOST_AUTO_TEST_CASE(timeout_after)
{
    bool timed_out = false;
    //! [timeout_after] tag::timeout_after[]
    asio::io_context context;
    timewheel::steady_timer operation{context, 1h}; // any other will do
    operation.async_wait(timewheel::timeout_after(10ms, [&](error_code ec) {
        timed_out = ec == timewheel::error::timed_out;
    }));
    context.run();
    //! [timeout_after] end::timeout_after[]
    BOOST_TEST(timed_out);
}

BOOST_AUTO_TEST_SUITE_END()

}
