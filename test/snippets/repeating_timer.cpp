// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#include <timewheel/repeating_timer.hpp>

#include <timewheel/manual_clock.hpp>

#include <boost/asio/as_tuple.hpp>
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

// tag::full_minutes[]
asio::awaitable<void> every_minute(int times)
{
    using clock = std::chrono::system_clock;
    timewheel::basic_repeating_timer<clock> timer{co_await asio::this_coro::executor, 1min};
    timer.restart(std::chrono::floor<std::chrono::minutes>(clock::now()));
    for (; times != 0; --times)
        co_await timer.async_wait(); // at 12:00, 12:01, 12:02
}
// end::full_minutes[]

// tag::fixed_delay[]
// Looks for mail a second after the last look is over, however long that took.
template <class Clock>
class mailbox
{
public:
    explicit mailbox(asio::io_context& context)
        : timer_{context, 1s, timewheel::repeat_mode::fixed_delay}
    {}

    asio::awaitable<void> watch()
    {
        while (!closed_) {
            const auto [ec, tick] = co_await timer_.async_wait(asio::as_tuple(asio::use_awaitable));
            if (ec || closed_) // a tick that is due when it is cancelled still comes
                break;
            ++looks_;
        }
    }

    void close()
    {
        closed_ = true;
        timer_.cancel();
    }

    int looks() const { return looks_; }

private:
    timewheel::basic_repeating_timer<Clock> timer_;
    bool closed_ = false;
    int looks_ = 0;
};
// end::fixed_delay[]

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

BOOST_AUTO_TEST_CASE(full_minutes)
{
    asio::io_context context;
    auto none = asio::co_spawn(context, every_minute(0), asio::use_future);
    context.run();
    BOOST_CHECK_NO_THROW(none.get());
}

BOOST_AUTO_TEST_CASE(fixed_delay)
{
    using clock = timewheel::manual_clock<struct fixed_delay_test>;
    asio::io_context context;
    mailbox<clock> box{context};
    auto done = asio::co_spawn(context, box.watch(), asio::use_future);
    context.poll();
    clock::advance(1s);
    context.poll();
    BOOST_TEST(box.looks() == 1);
    clock::advance(1s);
    box.close(); // too late to cancel, but not for the flag
    context.run();
    done.get();
    BOOST_TEST(box.looks() == 1);
}

BOOST_AUTO_TEST_CASE(period)
{
    using clock = timewheel::manual_clock<struct period_test>;
    using repeating_timer = timewheel::basic_repeating_timer<clock>;
    std::uint64_t number = 0;
    asio::io_context context;
    // tag::period[]
    repeating_timer timer{context, 1min};
    timer.async_wait([&](error_code, const auto& tick) { number = tick.sequence; });
    timer.period(10s); // the wait stays, and is over in ten seconds
    // end::period[]
    clock::advance(10s);
    context.poll();
    BOOST_TEST(number == 1U);
}

BOOST_AUTO_TEST_SUITE_END()

}
