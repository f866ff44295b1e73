// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#include "families.hpp"

#include <test_common/io_fixture.hpp>
#include <test_common/run.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/experimental/channel.hpp>
#include <boost/asio/multiple_exceptions.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/system/system_error.hpp>
#include <boost/test/unit_test.hpp>

#include <chrono>
#include <exception>
#include <future>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

namespace timewheel::test {

BOOST_AUTO_TEST_SUITE(conformance_coroutines)

namespace this_coro = asio::this_coro;
using asio::awaitable;
using asio::cancellation_type;
using asio::use_awaitable;

namespace {

/** Runs a coroutine to its end on the context, and rethrows what it throws. The function object
    lives as long as the coroutine does, and so do its captures.
*/
template <class Function>
void run_coroutine(asio::io_context& ctx, Function function)
{
    ctx.restart();
    bool ended = false;
    std::exception_ptr failure;
    asio::co_spawn(ctx, function, [&](std::exception_ptr e) {
        ended = true;
        failure = e;
    });
    BOOST_TEST(run_to_end(ctx));
    BOOST_TEST(ended);
    if (failure)
        std::rethrow_exception(failure);
}

bool is_cancelled(const boost::system::system_error& e)
{
    return e.code() == asio::error::operation_aborted;
}

}

// use_awaitable: success resumes, an error throws or is redirected.
BOOST_FIXTURE_TEST_CASE_TEMPLATE(a_coroutine_awaits_a_timer, Family, families, io_fixture)
{
    run_coroutine(ctx, [&]() -> awaitable<void> {
        typename Family::steady timer{co_await this_coro::executor};
        for (int i = 0; i < 3; ++i) {
            timer.expires_after(1ms);
            co_await timer.async_wait(use_awaitable);
            BOOST_CHECK(std::chrono::steady_clock::now() >= timer.expiry());
        }
        co_await timer.async_wait(use_awaitable);
        co_await timer.async_wait(asio::deferred);
        if constexpr (Family::is_ours)
            co_await timer.async_wait();

        timer.expires_after(1h);
        asio::post(ctx, [&] { timer.cancel(); });
        error_code ec;
        co_await timer.async_wait(asio::redirect_error(use_awaitable, ec));
        BOOST_TEST(ec == asio::error::operation_aborted);

        asio::post(ctx, [&] { timer.cancel(); });
        const auto [tuple_ec] = co_await timer.async_wait(asio::as_tuple(use_awaitable));
        BOOST_TEST(tuple_ec == asio::error::operation_aborted);
        asio::post(ctx, [&] { timer.cancel(); });
        const auto [deferred_ec] = co_await timer.async_wait(asio::as_tuple(asio::deferred));
        BOOST_TEST(deferred_ec == asio::error::operation_aborted);
    });

    BOOST_CHECK_EXCEPTION(
        run_coroutine(
            ctx,
            [&]() -> awaitable<void> {
                typename Family::steady timer{ctx, 1h};
                asio::post(ctx, [&] { timer.cancel(); });
                co_await timer.async_wait(use_awaitable);
            }
        ),
        boost::system::system_error,
        is_cancelled
    );
}

// The default token of a rebound timer.
BOOST_FIXTURE_TEST_CASE_TEMPLATE(a_rebound_timer_is_awaited, Family, families, io_fixture)
{
    using clock = std::chrono::steady_clock;
    using plain = typename Family::
        template basic<clock, asio::wait_traits<clock>, asio::io_context::executor_type>;
    using timer_type = asio::use_awaitable_t<>::as_default_on_t<plain>;
    using tuple_timer = asio::as_tuple_t<asio::use_awaitable_t<>>::as_default_on_t<plain>;
    run_coroutine(ctx, [&]() -> awaitable<void> {
        timer_type timer{plain{ctx, 1ms}};
        co_await timer.async_wait();
        tuple_timer other{ctx, 1ms};
        const auto [ec] = co_await other.async_wait();
        BOOST_TEST(!ec);
    });
}

// Cancelling the coroutine cancels the wait it is suspended in.
BOOST_FIXTURE_TEST_CASE_TEMPLATE(
    cancelling_a_coroutine_cancels_the_wait,
    Family,
    families,
    io_fixture
)
{
    for (const auto type : {cancellation_type::terminal, cancellation_type::total}) {
        asio::cancellation_signal signal;
        typename Family::steady timer{ctx, 1h};
        std::exception_ptr failure;
        int ended = 0;
        const auto coroutine = [&]() -> awaitable<void> {
            co_await this_coro::reset_cancellation_state(asio::enable_total_cancellation());
            co_await timer.async_wait(use_awaitable);
        };
        asio::co_spawn(
            ctx,
            coroutine,
            asio::bind_cancellation_slot(
                signal.slot(),
                [&](std::exception_ptr e) {
                    failure = e;
                    ++ended;
                }
            )
        );
        poll_until_quiet(ctx);
        BOOST_TEST(ended == 0);
        signal.emit(type);
        BOOST_TEST(run_to_end(ctx));
        BOOST_TEST(ended == 1);
        BOOST_REQUIRE(failure);
        BOOST_CHECK_EXCEPTION(
            std::rethrow_exception(failure), boost::system::system_error, is_cancelled
        );
        ctx.restart();
    }
}

// C22 for coroutines: the wait is over, the coroutine goes on, and a late request finds nothing.
BOOST_FIXTURE_TEST_CASE_TEMPLATE(a_coroutine_outlives_its_timer, Family, families, io_fixture)
{
    asio::cancellation_signal signal;
    typename Family::steady second{ctx, 1h};
    int ended = 0;
    bool first_done = false;
    const auto coroutine = [&]() -> awaitable<void> {
        {
            typename Family::steady first{ctx, 1ms};
            co_await first.async_wait(use_awaitable);
            first_done = true;
        }
        co_await second.async_wait(asio::as_tuple(use_awaitable));
    };
    asio::co_spawn(
        ctx,
        coroutine,
        asio::bind_cancellation_slot(signal.slot(), [&](std::exception_ptr) { ++ended; })
    );
    BOOST_TEST(run_until(ctx, [&] { return first_done; }));
    signal.emit(cancellation_type::terminal);
    BOOST_TEST(run_to_end(ctx));
    BOOST_TEST(ended == 1);
}

// `||`: the first to end wins and the other is cancelled.
BOOST_FIXTURE_TEST_CASE_TEMPLATE(operator_or, Family, families, io_fixture)
{
    using namespace asio::experimental::awaitable_operators;
    run_coroutine(ctx, [&]() -> awaitable<void> {
        typename Family::steady fast{ctx, 2ms};
        typename Family::steady slow{ctx, 1h};
        const stopwatch watch;
        const auto first =
            co_await (fast.async_wait(use_awaitable) || slow.async_wait(use_awaitable));
        BOOST_TEST(first.index() == 0U);
        fast.expires_after(2ms);
        const auto second =
            co_await (slow.async_wait(use_awaitable) || fast.async_wait(use_awaitable));
        BOOST_TEST(second.index() == 1U);
        BOOST_CHECK(watch.elapsed() < patience);
        BOOST_TEST(slow.cancel() == 0U);

        // Again and again on the same two timers: nothing of a finished round is left behind.
        for (int i = 0; i < 20; ++i) {
            fast.expires_after(100us);
            co_await (slow.async_wait(use_awaitable) || fast.async_wait(use_awaitable));
        }
    });
}

// `&&`: both end; an error of one cancels the other.
BOOST_FIXTURE_TEST_CASE_TEMPLATE(operator_and, Family, families, io_fixture)
{
    using namespace asio::experimental::awaitable_operators;
    run_coroutine(ctx, [&]() -> awaitable<void> {
        typename Family::steady a{ctx, 2ms};
        typename Family::steady b{ctx, 4ms};
        co_await (a.async_wait(use_awaitable) && b.async_wait(use_awaitable));
        BOOST_CHECK(std::chrono::steady_clock::now() >= b.expiry());

        a.expires_after(1h);
        b.expires_after(1h);
        asio::post(ctx, [&] { a.cancel(); });
        bool thrown = false;
        try {
            co_await (a.async_wait(use_awaitable) && b.async_wait(use_awaitable));
        } catch (const asio::multiple_exceptions&) {
            thrown = true; // both were aborted: one by the call, the other because of it
        }
        BOOST_TEST(thrown);
    });
}

// A channel with a deadline, the way a timeout is written by hand.
BOOST_FIXTURE_TEST_CASE_TEMPLATE(a_channel_with_a_deadline, Family, families, io_fixture)
{
    using namespace asio::experimental::awaitable_operators;
    run_coroutine(ctx, [&]() -> awaitable<void> {
        asio::experimental::channel<void(error_code, int)> channel{ctx};
        typename Family::steady deadline{ctx, 2ms};
        const auto none =
            co_await (channel.async_receive(use_awaitable) || deadline.async_wait(use_awaitable));
        BOOST_TEST(none.index() == 1U);

        deadline.expires_after(1h);
        channel.async_send(error_code{}, 42, asio::detached);
        const auto some =
            co_await (channel.async_receive(use_awaitable) || deadline.async_wait(use_awaitable));
        BOOST_REQUIRE(some.index() == 0U);
        BOOST_TEST(std::get<0>(some) == 42);
    });
}

// A coroutine on a strand of a pool resumes on the strand, whichever thread the timer fires on.
BOOST_AUTO_TEST_CASE_TEMPLATE(a_coroutine_stays_on_its_strand, Family, families)
{
    asio::thread_pool pool{2};
    const auto strand = asio::make_strand(pool);
    int off_strand = 0;
    const auto coroutine = [&]() -> awaitable<void> {
        typename Family::steady timer{pool};
        for (int i = 0; i < 20; ++i) {
            timer.expires_after(200us);
            co_await timer.async_wait(use_awaitable);
            off_strand += !strand.running_in_this_thread();
        }
    };
    auto ended = asio::co_spawn(strand, coroutine, asio::use_future);
    BOOST_REQUIRE((ended.wait_for(patience) == std::future_status::ready));
    BOOST_CHECK_NO_THROW(ended.get());
    pool.join();
    BOOST_TEST(off_strand == 0);
}

// C27: coroutines that are suspended in a wait are destroyed with their context, and their timers
// with them.
BOOST_AUTO_TEST_CASE_TEMPLATE(suspended_coroutines_are_destroyed, Family, families)
{
    const auto object = std::make_shared<int>(0);
    {
        asio::io_context ctx;
        for (int i = 0; i < 5; ++i)
            asio::co_spawn(
                ctx,
                [](asio::io_context& where, std::shared_ptr<int>) -> awaitable<void> {
                    typename Family::steady timer{where, 1h};
                    co_await timer.async_wait(use_awaitable);
                    BOOST_ERROR("resumed at shutdown");
                }(ctx, object),
                asio::detached
            );
        poll_until_quiet(ctx);
        BOOST_TEST(object.use_count() == 6);
    }
    BOOST_TEST(object.use_count() == 1);
}

BOOST_AUTO_TEST_SUITE_END()

}
