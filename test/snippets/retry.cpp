// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#include <timewheel/retry.hpp>

#include <boost/asio/error.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/test/unit_test.hpp>

#include <chrono>
#include <cstdio>

namespace {

namespace asio = boost::asio;
using boost::system::error_code;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(retry)

BOOST_AUTO_TEST_CASE(backoff)
{
    //! [backoff] tag::backoff[]
    const timewheel::exponential_backoff patient{
        .initial = 200ms, // so at most 200 ms, 400 ms, 800 ms and so on
        .maximum = 1min,
        .max_attempts = timewheel::exponential_backoff::unlimited,
        .retry_if = [](const error_code& ec) { return ec != asio::error::access_denied; },
        .on_retry =
            [](const error_code& ec, unsigned attempt, auto delay) {
                const auto ms = std::chrono::ceil<std::chrono::milliseconds>(delay).count();
                std::printf(
                    "attempt %u: %s; next one in %d ms\n",
                    attempt,
                    ec.message().c_str(),
                    static_cast<int>(ms)
                );
            }
    };
    //! [backoff] end::backoff[]
    BOOST_TEST(patient.retry_if(asio::error::connection_refused));
    BOOST_TEST(!patient.retry_if(asio::error::access_denied));
    patient.on_retry(asio::error::connection_refused, 1, 150ms);
}

BOOST_AUTO_TEST_CASE(retry)
{
    asio::io_context context;
    asio::ip::tcp::acceptor acceptor{context, {asio::ip::address_v4::loopback(), 0}};
    const auto server = acceptor.local_endpoint();
    int attempts = 0;
    bool connected = false;
    //! [retry] tag::retry[]
    asio::ip::tcp::socket socket{context};
    const auto connect = [&](auto token) {
        ++attempts;
        socket.close(); // what a failed attempt has left
        return socket.async_connect(server, token);
    };
    timewheel::async_retry(
        context,
        connect,
        timewheel::exponential_backoff{.initial = 50ms, .max_attempts = 3},
        [&](error_code ec) { connected = !ec; }
    );
    //! [retry] end::retry[]
    context.run();
    BOOST_TEST(attempts == 1);
    BOOST_TEST(connected);
}

BOOST_AUTO_TEST_SUITE_END()

}
