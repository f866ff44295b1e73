// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#include <timewheel/steady_timer.hpp>

#include <boost/asio/error.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/test/unit_test.hpp>

#include <chrono>
#include <memory>

namespace {

namespace asio = boost::asio;
using boost::system::error_code;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(shutdown)

BOOST_AUTO_TEST_CASE(orderly)
{
    error_code end;
    // tag::orderly[]
    asio::io_context context;
    timewheel::steady_timer timer{context, 1h};
    timer.async_wait([&](error_code ec) { end = ec; });

    timer.cancel(); // nothing else is pending,
    context.run();  // so this calls the handler and returns
    BOOST_TEST(end == asio::error::operation_aborted);
    // end::orderly[]
}

BOOST_AUTO_TEST_CASE(context_goes_first)
{
    // tag::context_goes_first[]
    const auto resource = std::make_shared<int>(0);
    {
        asio::io_context context;
        const auto timer = std::make_shared<timewheel::steady_timer>(context, 1h);
        timer->async_wait([timer, resource](error_code) { BOOST_ERROR("never called"); });
    } // destroys the handler, and with it the timer
    BOOST_TEST(resource.use_count() == 1);
    // end::context_goes_first[]
}

BOOST_AUTO_TEST_SUITE_END()

}
