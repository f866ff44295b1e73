// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#include <timewheel/idle_timer.hpp>

#include <test_common/cancellation_types.hpp>
#include <test_common/checked_token.hpp>
#include <test_common/counting_allocator.hpp>
#include <test_common/io_fixture.hpp>
#include <test_common/move_only_handler.hpp>
#include <test_common/run.hpp>
#include <test_common/virtual_time.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_allocator.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/experimental/parallel_group.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/system/system_error.hpp>
#include <boost/test/unit_test.hpp>

#include <array>
#include <chrono>
#include <exception>
#include <future>
#include <type_traits>
#include <utility>
#include <variant>

namespace timewheel::test {

namespace {

using namespace asio::experimental::awaitable_operators;
using asio::awaitable;
using asio::use_awaitable;

// An idle timer of ten seconds on a clock of each test's own.
template <class Tag>
struct idle_fixture : io_fixture
{
    using clock = manual_clock<Tag>;
    using timer = basic_idle_timer<clock>;

    void run_ready()
    {
        ctx.restart();
        poll_until_quiet(ctx);
    }

    void pass(std::chrono::nanoseconds time)
    {
        clock::advance(time);
        run_ready();
    }

    // Runs a coroutine until it has to wait.
    template <class Coroutine>
    void start(Coroutine&& coroutine)
    {
        asio::co_spawn(ctx, std::forward<Coroutine>(coroutine), [this](std::exception_ptr e) {
            BOOST_TEST(!e);
            ended = true;
        });
        run_ready();
    }

    timer idle{ctx, 10s};
    bool ended = false;
};

}

BOOST_AUTO_TEST_SUITE(idle_timer_tokens)

BOOST_FIXTURE_TEST_CASE(callbacks, idle_fixture<struct callbacks>)
{
    int calls = 0;
    const auto count = [&](error_code ec) { calls += !ec; };
    idle.async_wait(count);
    idle.async_wait(move_only_handler{count});
    idle.async_wait(asio::detached);
    pass(10s - 1ns);
    BOOST_TEST(calls == 0);
    pass(1ns);
    BOOST_TEST(calls == 2);
}

BOOST_FIXTURE_TEST_CASE(use_future, idle_fixture<struct use_future>)
{
    auto success = idle.async_wait(asio::use_future);
    pass(10s);
    BOOST_REQUIRE((success.wait_for(0s) == std::future_status::ready));
    BOOST_CHECK_NO_THROW(success.get());
    idle.touch();
    auto cancelled = idle.async_wait(asio::use_future([](error_code ec) { return ec; }));
    idle.cancel();
    run_ready();
    BOOST_TEST(cancelled.get() == asio::error::operation_aborted);
}

BOOST_FIXTURE_TEST_CASE(deferred_is_the_default, idle_fixture<struct deferred>)
{
    auto operation = idle.async_wait();
    static_assert(std::is_same_v<decltype(operation), decltype(idle.async_wait(asio::deferred))>);
    outcome result;
    std::move(operation)(succeeds().into(result));
    pass(10s);
    BOOST_TEST(result.done());
}

BOOST_FIXTURE_TEST_CASE(awaitables, idle_fixture<struct awaitables>)
{
    start([&]() -> awaitable<void> {
        co_await idle.async_wait(use_awaitable);
        idle.touch();
        co_await idle.async_wait();
        idle.touch();
        auto [ec] = co_await idle.async_wait(asio::as_tuple(use_awaitable));
        BOOST_TEST(ec == asio::error::operation_aborted);
        try {
            co_await idle.async_wait(use_awaitable);
            BOOST_ERROR("a cancelled wait did not throw");
        } catch (const boost::system::system_error& e) {
            BOOST_TEST(e.code() == asio::error::operation_aborted);
        }
    });
    pass(10s);
    pass(10s);
    BOOST_TEST(idle.cancel() == 1U);
    run_ready();
    BOOST_TEST(idle.cancel() == 1U);
    run_ready();
    BOOST_TEST(ended);
}

// The session that falls silent, and the one that ends first.
BOOST_FIXTURE_TEST_CASE(operators, idle_fixture<struct operators>)
{
    timer session{ctx, 35s};
    start([&]() -> awaitable<void> {
        auto first = co_await (session.async_wait(use_awaitable) || idle.async_wait(use_awaitable));
        BOOST_TEST(first.index() == 1U);
        idle.touch();
        first = co_await (session.async_wait(use_awaitable) || idle.async_wait(use_awaitable));
        BOOST_TEST(first.index() == 0U);
        co_await (session.async_wait(use_awaitable) && idle.async_wait(use_awaitable));
    });
    for (int i = 0; i != 3; ++i) {
        pass(6s);
        idle.touch();
    }
    pass(10s); // 28 s
    BOOST_TEST(!ended);
    pass(7s); // 35 s
    BOOST_TEST(!ended);
    pass(3s); // 38 s: idle for 10 s
    BOOST_TEST(ended);
    BOOST_TEST(idle.cancel() == 0U);
}

BOOST_FIXTURE_TEST_CASE(parallel_group, idle_fixture<struct parallel_group>)
{
    timer other{ctx, 20s};
    bool done = false;
    asio::experimental::make_parallel_group(
        idle.async_wait(asio::deferred), other.async_wait(asio::deferred)
    )
        .async_wait(
            asio::experimental::wait_for_one(),
            [&](std::array<std::size_t, 2> order, error_code first, error_code second) {
                done = true;
                BOOST_TEST(order[0] == 0U);
                BOOST_TEST(!first);
                BOOST_TEST(second == asio::error::operation_aborted);
            }
        );
    pass(10s);
    BOOST_TEST(done);
}

BOOST_FIXTURE_TEST_CASE(cancellation_types, idle_fixture<struct cancellation_types>)
{
    for (const cancellation_case& row : cancellation_cases) {
        BOOST_TEST_CONTEXT(row.name)
        {
            asio::cancellation_signal signal;
            outcome signalled, other;
            idle.touch();
            idle.async_wait(asio::bind_cancellation_slot(
                signal.slot(), (row.cancels ? is_aborted() : succeeds()).into(signalled)
            ));
            idle.async_wait(succeeds().into(other));
            run_ready();
            signal.emit(row.type);
            BOOST_TEST(!signalled.done());
            run_ready();
            BOOST_TEST(signalled.done() == row.cancels);
            signal.emit(row.type);
            idle.touch();
            pass(10s);
            BOOST_TEST(signalled.invoked == 1);
            BOOST_TEST(other.invoked == 1);
            signal.emit(row.type);
        }
    }
}

// A signal finds the wait wherever its timer has moved, and nothing when it comes too late.
BOOST_FIXTURE_TEST_CASE(signals_follow_a_moved_timer, idle_fixture<struct moved>)
{
    asio::cancellation_signal signal;
    outcome result;
    {
        timer source{ctx, 10s};
        source.async_wait(asio::bind_cancellation_slot(signal.slot(), is_aborted().into(result)));
        idle = std::move(source);
    }
    signal.emit(asio::cancellation_type::partial);
    run_ready();
    BOOST_TEST(result.done());

    idle.touch();
    idle.async_wait(asio::bind_cancellation_slot(signal.slot(), succeeds().into(result).then([&] {
        signal.emit(asio::cancellation_type::terminal);
    })));
    timer first{ctx, 10s};
    pass(10s);
    BOOST_TEST(result.invoked == 2);
}

BOOST_FIXTURE_TEST_CASE(memory_comes_from_the_handler, idle_fixture<struct memory>)
{
    allocation_account account;
    outcome result;
    idle.async_wait(
        asio::bind_allocator(counting_allocator<>(account), succeeds().into(result).then([&] {
            BOOST_TEST(account.settled());
        }))
    );
    BOOST_TEST(account.requests == 1U);
    for (int i = 0; i != 5; ++i) {
        pass(6s);
        idle.touch();
    }
    BOOST_TEST(account.requests == 1U);
    pass(10s);
    BOOST_TEST(result.done());
    BOOST_TEST(account.settled());

    account.refuse = 2;
    BOOST_CHECK_THROW(
        idle.async_wait(asio::bind_allocator(counting_allocator<>(account), [](error_code) {})),
        std::bad_alloc
    );
    BOOST_TEST(account.settled());
    BOOST_TEST(idle.cancel() == 0U);
}

BOOST_AUTO_TEST_SUITE_END()

}
