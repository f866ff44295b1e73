// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#include <timewheel/idle_timer.hpp>

#include <timewheel/basic_waitable_timer.hpp>
#include <timewheel/manual_clock.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/test/unit_test.hpp>

#include <chrono>
#include <future>
#include <utility>

namespace {

namespace asio = boost::asio;
using boost::system::error_code;
using namespace std::chrono_literals;

//! [async_wait] tag::async_wait[]
// Ends the session when the peer has been silent for too long. Returns whether that was so.
template <class Clock>
asio::awaitable<bool>
guard(asio::awaitable<void> session, timewheel::basic_idle_timer<Clock>& activity)
{
    using namespace asio::experimental::awaitable_operators;
    const auto first = co_await (std::move(session) || activity.async_wait(asio::use_awaitable));
    co_return first.index() == 1;
}
//! [async_wait] end::async_wait[]

template <class Clock>
asio::awaitable<void> sleep(timewheel::basic_waitable_timer<Clock>& timer)
{
    co_await timer.async_wait(asio::use_awaitable);
}

template <class Clock>
asio::awaitable<void> until_idle(timewheel::basic_idle_timer<Clock>& activity)
{
    // tag::race[]
    do
        co_await activity.async_wait(asio::use_awaitable);
    while (activity.expiry() > Clock::now()); // touched since the wheel has looked
    // end::race[]
}

BOOST_AUTO_TEST_SUITE(idle_timer)

BOOST_AUTO_TEST_CASE(touch)
{
    using clock = timewheel::manual_clock<struct touch_test>;
    using idle_timer = timewheel::basic_idle_timer<clock>;
    asio::io_context context;
    bool open = true;
    //! [idle_timer] tag::idle_timer[]
    idle_timer activity{context, 30s};
    activity.async_wait([&](error_code ec) {
        if (!ec) // 30 seconds without a touch
            open = false;
    });
    const auto on_message = [&] { activity.touch(); }; // from any thread
    //! [idle_timer] end::idle_timer[]
    clock::advance(29s);
    on_message();
    clock::advance(29s);
    context.poll();
    BOOST_TEST(open);
    clock::advance(1s);
    context.poll();
    BOOST_TEST(!open);
}

BOOST_AUTO_TEST_CASE(guarded_session)
{
    using clock = timewheel::manual_clock<struct session_test>;
    asio::io_context context;
    timewheel::basic_waitable_timer<clock> session{context, 2h};
    timewheel::basic_idle_timer<clock> activity{context, 30s};
    auto was_idle = asio::co_spawn(context, guard(sleep(session), activity), asio::use_future);
    context.poll();
    clock::advance(30s);
    context.run();
    BOOST_TEST(was_idle.get());

    activity.touch();
    session.expires_after(20s);
    was_idle = asio::co_spawn(context, guard(sleep(session), activity), asio::use_future);
    context.restart();
    context.poll();
    clock::advance(20s);
    context.run();
    BOOST_TEST(!was_idle.get());
}

BOOST_AUTO_TEST_CASE(race)
{
    using clock = timewheel::manual_clock<struct race_test>;
    asio::io_context context;
    timewheel::basic_idle_timer<clock> activity{context, 30s};
    timewheel::basic_idle_timer<clock> same_time{context, 30s};
    same_time.async_wait([&](error_code) { activity.touch(); }); // when both have become due
    auto ended = asio::co_spawn(context, until_idle(activity), asio::use_future);
    context.poll();
    clock::advance(30s);
    context.poll();
    BOOST_CHECK((ended.wait_for(0s) == std::future_status::timeout));
    clock::advance(30s);
    context.run();
    BOOST_CHECK_NO_THROW(ended.get());
}

BOOST_AUTO_TEST_SUITE_END()

}
