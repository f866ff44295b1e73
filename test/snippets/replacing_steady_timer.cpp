// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

// tag::alias[]
#include <boost/asio/steady_timer.hpp>
#include <timewheel/steady_timer.hpp>

#if defined(USE_ASIO_TIMERS)
using app_timer = boost::asio::steady_timer;
#else
using app_timer = timewheel::steady_timer;
#endif
// end::alias[]

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/test/unit_test.hpp>

#include <chrono>
#include <tuple>

namespace {

namespace asio = boost::asio;
using boost::system::error_code;
using namespace std::chrono_literals;

// tag::generic[]
template <class Timer>
bool expires(asio::io_context& context, Timer& timer)
{
    bool expired = false;
    timer.expires_after(2ms);
    timer.async_wait([&](error_code ec) { expired = !ec; });
    context.run();
    return expired;
}
// end::generic[]

// tag::default_token[]
using default_timer = asio::use_awaitable_t<>::as_default_on_t<timewheel::steady_timer>;

asio::awaitable<void> pause(default_timer& timer)
{
    timer.expires_after(2ms);
    co_await timer.async_wait();
}
// end::default_token[]

BOOST_AUTO_TEST_SUITE(replacing_steady_timer)

using timers = std::tuple<asio::steady_timer, app_timer>;

BOOST_AUTO_TEST_CASE_TEMPLATE(generic, Timer, timers)
{
    asio::io_context context;
    Timer timer{context};
    BOOST_TEST(expires(context, timer));
}

BOOST_AUTO_TEST_CASE(default_token)
{
    asio::io_context context;
    default_timer timer{context};
    auto done = asio::co_spawn(context, pause(timer), asio::use_future);
    context.run();
    BOOST_CHECK_NO_THROW(done.get());
}

BOOST_AUTO_TEST_SUITE_END()

}
