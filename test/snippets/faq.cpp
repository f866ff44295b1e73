// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#include <timewheel/basic_waitable_timer.hpp>
#include <timewheel/manual_clock.hpp>

#include <boost/asio/io_context.hpp>
#include <boost/test/unit_test.hpp>

#include <chrono>

namespace {

namespace asio = boost::asio;
using boost::system::error_code;
using namespace std::chrono_literals;

using clock = timewheel::manual_clock<struct faq_test>;

struct connection
{
    // tag::late_cancel[]
    void on_message()
    {
        idle.expires_after(30s);
        idle.async_wait([this](error_code ec) {
            if (ec || idle.expiry() > clock::now())
                return; // cancelled, or moved when the handler was on its way
            open = false;
        });
    }
    // end::late_cancel[]

    timewheel::basic_waitable_timer<clock> idle;
    bool open = true;
};

BOOST_AUTO_TEST_SUITE(faq)

BOOST_AUTO_TEST_CASE(late_cancel)
{
    asio::io_context context;
    timewheel::basic_waitable_timer<clock> message{context, 30s};
    connection peer{timewheel::basic_waitable_timer<clock>{context}};
    message.async_wait([&](error_code) { peer.on_message(); });
    peer.on_message();
    clock::advance(30s); // both waits are due, the message comes first
    BOOST_TEST(context.poll() >= 2U);
    BOOST_TEST(peer.open);

    clock::advance(30s);
    context.poll();
    BOOST_TEST(!peer.open);
}

BOOST_AUTO_TEST_SUITE_END()

}
