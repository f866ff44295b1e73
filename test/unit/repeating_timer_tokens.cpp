// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#include <timewheel/repeating_timer.hpp>

#include <test_common/allocation_counter.hpp>
#include <test_common/cancellation_types.hpp>
#include <test_common/checked_token.hpp>
#include <test_common/counting_allocator.hpp>
#include <test_common/io_fixture.hpp>
#include <test_common/tracker_executor.hpp>
#include <test_common/virtual_repeating.hpp>

#include <boost/asio/any_completion_handler.hpp>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_allocator.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/experimental/parallel_group.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/system/system_error.hpp>
#include <boost/test/unit_test.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

namespace timewheel::test {

namespace {

using tag = struct repeating_timer_tokens_test;
using clock = manual_clock<tag>;
using timer_type = virtual_repeating<tag>;
using info_type = timer_type::tick_info_type;

// A timer with a period of a second, at the epoch.
struct token_fixture : io_fixture
{
    token_fixture() : timer((clock::set({}), ctx), 1s) {}

    void poll()
    {
        ctx.restart();
        poll_until_quiet(ctx);
    }

    void advance(clock::duration by = 1s)
    {
        clock::advance(by);
        poll();
    }

    timer_type timer;
};

// What a handler of this operation must be able to do at the least.
struct move_only_tick_handler
{
    explicit move_only_tick_handler(std::uint64_t& told) : told_(new std::uint64_t*(&told)) {}

    void operator()(const error_code& ec, const info_type& tick) &&
    {
        const auto told = std::move(told_);
        if (!ec)
            **told = tick.sequence;
    }

    void operator()(error_code&, info_type&) && = delete;

    std::unique_ptr<std::uint64_t*> told_;
};

bool is_cancelled(const boost::system::system_error& e)
{
    return e.code() == asio::error::operation_aborted;
}

}

BOOST_FIXTURE_TEST_SUITE(repeating_timer_tokens, token_fixture)

using asio::awaitable;
using asio::bind_cancellation_slot;
using asio::bind_executor;
using asio::use_awaitable;

BOOST_AUTO_TEST_CASE(callables)
{
    std::uint64_t sum = 0;
    const auto add = [&sum](error_code ec, info_type tick) { sum += ec ? 0 : tick.sequence; };
    std::uint64_t told = 0;
    timer.async_wait(add);
    timer.async_wait(std::ref(add));
    timer.async_wait(std::function<void(error_code, info_type)>(add));
    timer.async_wait(asio::any_completion_handler<void(error_code, info_type)>(add));
    timer.async_wait([&sum](auto&&...) { ++sum; });
    timer.async_wait(move_only_tick_handler(told));
    timer.async_wait(asio::detached);
    timer.async_wait(succeeds());
    advance();
    BOOST_TEST(sum == 5u);
    BOOST_TEST(told == 1u);
}

BOOST_AUTO_TEST_CASE(futures)
{
    auto success = timer.async_wait(asio::use_future);
    advance(1200ms);
    BOOST_TEST(success.get().sequence == 1u);
    auto failure = timer.async_wait(asio::use_future);
    auto function = timer.async_wait(asio::use_future([](error_code ec, const info_type& tick) {
        return std::pair(ec, tick);
    }));
    timer.cancel();
    poll();
    BOOST_CHECK_EXCEPTION(failure.get(), boost::system::system_error, is_cancelled);
    const auto [ec, tick] = function.get();
    BOOST_TEST(ec == asio::error::operation_aborted);
    BOOST_CHECK(tick == info_type{});
}

BOOST_AUTO_TEST_CASE(deferred)
{
    auto operation = timer.async_wait();
    static_assert(std::is_same_v<decltype(operation), decltype(timer.async_wait(asio::deferred))>);
    advance(2500ms);
    // The wait is started now.
    outcome result;
    std::move(operation)(succeeds().into(result));
    BOOST_TEST(result.invoked == 0);
    poll();
    BOOST_TEST(result.invoked == 1);

    std::uint64_t sequence = 0;
    auto chain = timer.async_wait(asio::deferred([&](error_code ec, info_type tick) {
        BOOST_TEST(!ec);
        sequence = tick.sequence;
        return timer.async_wait(asio::deferred);
    }));
    std::move(chain)(succeeds());
    advance();
    BOOST_TEST(sequence == 3u);
    advance();
}

BOOST_AUTO_TEST_CASE(coroutines)
{
    std::uint64_t ticks = 0;
    const auto loop = [&]() -> awaitable<void> {
        ticks += (co_await timer.async_wait(use_awaitable)).sequence;
        ticks += (co_await timer.async_wait()).sequence;
        const auto [ec, tick] = co_await timer.async_wait(asio::as_tuple(use_awaitable));
        BOOST_TEST(!ec);
        ticks += tick.sequence;
        auto other = asio::as_tuple_t<asio::deferred_t>::as_default_on(std::move(timer));
        const auto [ec_2, tick_2] = co_await other.async_wait();
        ticks += ec_2 ? 0 : tick_2.sequence;
        timer = timer_type(co_await asio::this_coro::executor, 1s);
        co_await timer.async_wait(use_awaitable);
    };
    auto done = asio::co_spawn(ctx, loop, asio::use_future);
    poll();
    for (int i = 0; i < 4; ++i)
        advance();
    BOOST_TEST(ticks == 10u);
    timer.cancel();
    poll();
    BOOST_CHECK_EXCEPTION(done.get(), boost::system::system_error, is_cancelled);
}

BOOST_AUTO_TEST_CASE(awaitable_operators)
{
    using namespace asio::experimental::awaitable_operators;
    timer_type slow{ctx, 3s};
    const auto both = [&]() -> awaitable<void> {
        const auto first =
            co_await (slow.async_wait(use_awaitable) || timer.async_wait(use_awaitable));
        BOOST_TEST_REQUIRE(first.index() == 1u);
        BOOST_TEST(std::get<1>(first).sequence == 1u);
        const auto [one, other] =
            co_await (slow.async_wait(use_awaitable) && timer.async_wait(use_awaitable));
        // The quick one was told of the second tick when the slow one was still waiting.
        BOOST_TEST(one.sequence == 1u);
        BOOST_TEST(other.sequence == 2u);
    };
    auto done = asio::co_spawn(ctx, both, asio::use_future);
    poll();
    for (int i = 0; i < 3; ++i)
        advance();
    done.get();
}

BOOST_AUTO_TEST_CASE(parallel_group)
{
    namespace experimental = asio::experimental;
    timer_type slow{ctx, 1h};
    bool done = false;
    experimental::make_parallel_group(slow.async_wait(asio::deferred), timer.async_wait())
        .async_wait(
            experimental::wait_for_one(),
            [&](std::array<std::size_t, 2> order,
                error_code ec_1,
                info_type tick_1,
                error_code ec_2,
                info_type tick_2) {
                BOOST_TEST(order[0] == 1u);
                BOOST_TEST(ec_1 == asio::error::operation_aborted);
                BOOST_CHECK(tick_1 == info_type{});
                BOOST_TEST(!ec_2);
                BOOST_TEST(tick_2.sequence == 1u);
                done = true;
            }
        );
    advance();
    BOOST_TEST(done);
}

BOOST_AUTO_TEST_CASE(cancellation_types)
{
    for (const auto& each : cancellation_cases) {
        BOOST_TEST_CONTEXT(each.name)
        {
            timer.restart();
            asio::cancellation_signal signal;
            outcome cancelled;
            outcome other;
            timer.async_wait(succeeds().into(other));
            timer.async_wait(bind_cancellation_slot(signal.slot(), ends().into(cancelled)));
            timer.async_wait(succeeds().into(other));
            signal.emit(each.type);
            BOOST_TEST(cancelled.invoked == 0);
            poll();
            BOOST_TEST(cancelled.invoked == (each.cancels ? 1 : 0));
            BOOST_TEST(other.invoked == 0);
            advance();
            BOOST_TEST(cancelled.invoked == 1);
            BOOST_TEST((cancelled.ec == asio::error::operation_aborted) == each.cancels);
            BOOST_TEST(other.invoked == 2);
            // Too late, and then there is nothing any more.
            signal.emit(each.type);
            poll();
        }
    }
}

// The grid goes on without the wait that was cancelled, also after a move.
BOOST_AUTO_TEST_CASE(a_signal_after_a_move)
{
    asio::cancellation_signal signal;
    timer.async_wait(bind_cancellation_slot(signal.slot(), is_aborted()));
    timer_type moved{std::move(timer)};
    signal.emit(asio::cancellation_type::partial);
    advance(2500ms);
    auto tick = moved.async_wait(asio::use_future);
    poll();
    const info_type told = tick.get();
    BOOST_TEST(told.sequence == 2u);
    BOOST_TEST(told.missed == 1u);
}

BOOST_AUTO_TEST_CASE(handlers_run_on_their_executor)
{
    const tracker_executor own{ctx.get_executor()};
    const tracker_executor timers{ctx.get_executor()};
    virtual_repeating<tag, tracker_executor<asio::io_context::executor_type>> tracked{timers, 1s};
    tracked.async_wait(bind_executor(own, succeeds().on(own)));
    tracked.async_wait(succeeds().on(timers));
    BOOST_TEST(own.diary().outstanding == 1);
    BOOST_TEST(timers.diary().outstanding == 2);
    advance();
    BOOST_TEST(own.diary().outstanding == 0);
    BOOST_TEST(timers.diary().outstanding == 0);
    tracked.async_wait(bind_executor(own, is_aborted().on(own)));
    tracked.cancel();
    poll();
}

BOOST_AUTO_TEST_CASE(memory_is_the_handlers_and_back_before_it_runs)
{
    allocation_account account;
    const counting_allocator<> allocator{account};
    timer.async_wait(asio::bind_allocator(allocator, succeeds().then([&] {
        BOOST_TEST(account.settled());
    })));
    BOOST_TEST(account.requests == 1u);
    BOOST_TEST(account.blocks == 1);
    advance();
    timer.async_wait(asio::bind_allocator(allocator, is_aborted().then([&] {
        BOOST_TEST(account.settled());
    })));
    timer.cancel();
    poll();
    BOOST_TEST(account.requests == 2u);
    BOOST_TEST(account.settled());
}

BOOST_AUTO_TEST_CASE(a_wait_without_memory_leaves_the_timer_as_it_was)
{
    allocation_account account;
    account.refuse = 1;
    advance(1500ms);
    BOOST_CHECK_THROW(
        timer.async_wait(asio::bind_allocator(counting_allocator<>{account}, [](auto&&...) {})),
        std::bad_alloc
    );
    BOOST_TEST(timer.cancel() == 0u);
    auto tick = timer.async_wait(asio::use_future);
    poll();
    BOOST_TEST(tick.get().sequence == 1u);
}

BOOST_AUTO_TEST_CASE(the_steady_state_allocates_nothing)
{
    for (const auto mode : {repeat_mode::fixed_rate, repeat_mode::fixed_delay}) {
        repeating_timer steady{ctx, 200us, mode};
        std::optional<allocation_counter> counter;
        int ticks = 0;
        std::function<void()> again = [&] {
            steady.async_wait([&](error_code ec, const tick_info&) {
                BOOST_REQUIRE(!ec);
                if (++ticks == 20) // warm
                    counter.emplace();
                if (ticks < 120)
                    again();
                else
                    BOOST_TEST(counter->count() == 0u);
            });
        };
        again();
        ctx.restart();
        BOOST_TEST(run_to_end(ctx));
        BOOST_TEST(ticks == 120);
    }
}

namespace {

using pool_timer = basic_repeating_timer<
    std::chrono::steady_clock,
    asio::wait_traits<std::chrono::steady_clock>,
    asio::strand<asio::thread_pool::executor_type>>;

awaitable<void> count_ticks(pool_timer& timer, asio::thread_pool& others, int ticks)
{
    std::uint64_t told = 0;
    for (int i = 0; i < ticks; ++i) {
        // Every other handler runs beside the strand; the timer is used on it again afterwards.
        tick_info tick;
        if (i % 2 == 0)
            tick = co_await timer.async_wait(use_awaitable);
        else
            tick = co_await timer.async_wait(bind_executor(others.get_executor(), use_awaitable));
        told += tick.missed + 1;
        if (tick.sequence != told) // not BOOST_TEST, which is for one thread at a time
            throw std::logic_error("a tick was lost or told twice");
        if (i % 10 == 0) {
            timer.period(timer.period() == 1ms ? 300us : 1ms);
            pool_timer moved{std::move(timer)};
            timer = std::move(moved);
        }
    }
}

}

// For the thread sanitizer: timers on strands of a pool, handlers also elsewhere.
BOOST_AUTO_TEST_CASE(strands_and_threads)
{
    asio::thread_pool others{2};
    asio::thread_pool pool{2};
    std::vector<std::unique_ptr<pool_timer>> timers;
    std::vector<std::future<void>> done;
    for (int i = 0; i < 8; ++i) {
        const auto strand = asio::make_strand(pool.get_executor());
        timers.push_back(std::make_unique<pool_timer>(strand, 1ms));
        done.push_back(
            asio::co_spawn(strand, count_ticks(*timers.back(), others, 60), asio::use_future)
        );
    }
    for (auto& each : done)
        each.get();
}

// The handlers of two waits run at the same time, on threads that know nothing of the timer's.
BOOST_AUTO_TEST_CASE(handlers_beside_the_timer)
{
    asio::thread_pool others{2};
    repeating_timer steady{ctx, 1ms};
    std::vector<std::future<tick_info>> told;
    std::uint64_t last = 0;
    const auto work = asio::make_work_guard(ctx);
    std::thread runner{[&] { ctx.run(); }};
    for (int i = 0; i < 60; ++i) {
        std::array<std::future<tick_info>, 3> ticks;
        for (auto& each : ticks)
            each = steady.async_wait(bind_executor(others.get_executor(), asio::use_future));
        if (i % 8 == 7)
            steady.period(i % 16 == 7 ? 500us : 1ms);
        for (auto& each : ticks) {
            const tick_info tick = each.get();
            BOOST_REQUIRE(tick.sequence > last);
            BOOST_REQUIRE(tick.missed < tick.sequence - last + 3);
        }
        ++last;
    }
    ctx.stop();
    runner.join();
    ctx.restart();
}

BOOST_AUTO_TEST_SUITE_END()

}
