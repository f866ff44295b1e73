// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#include <timewheel/steady_timer.hpp>

#include <boost/asio/io_context.hpp>
#include <boost/test/unit_test.hpp>

#include <chrono>
#include <memory>

namespace {

namespace asio = boost::asio;
using boost::system::error_code;
using namespace std::chrono_literals;

// tag::session[]
struct session : std::enable_shared_from_this<session>
{
    explicit session(asio::io_context& context) : idle{context} {}

    void on_message() // moves the timeout with every message
    {
        idle.expires_after(30s);
        idle.async_wait([self = shared_from_this()](error_code ec) {
            if (!ec) // not cancelled: 30 seconds without a message
                self->close();
        });
    }

    void close() { open = false; }

    timewheel::steady_timer idle;
    bool open = true;
};
// end::session[]

BOOST_AUTO_TEST_SUITE(introduction)

BOOST_AUTO_TEST_CASE(idle_session)
{
    asio::io_context context;
    const auto peer = std::make_shared<session>(context);
    for (int i = 0; i != 3; ++i)
        peer->on_message();
    BOOST_TEST(context.poll() >= 2U); // the waits that were replaced
    BOOST_TEST(peer.use_count() == 2);
    BOOST_TEST(peer->idle.expires_at({}) == 1U);
    peer->idle.async_wait([peer](error_code) { peer->close(); });
    context.run();
    BOOST_TEST(!peer->open);
    BOOST_TEST(peer.use_count() == 1);
}

BOOST_AUTO_TEST_SUITE_END()

}
