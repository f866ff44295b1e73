// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#include <timewheel/sleep.hpp>

#include <test_common/allocation_counter.hpp>
#include <test_common/cancellation_types.hpp>
#include <test_common/checked_token.hpp>
#include <test_common/counting_allocator.hpp>
#include <test_common/io_fixture.hpp>
#include <test_common/move_only_handler.hpp>
#include <test_common/tracker_executor.hpp>
#include <test_common/virtual_time.hpp>

#include <boost/asio/any_io_executor.hpp>
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
#include <chrono>
#include <cstddef>
#include <functional>
#include <future>
#include <memory>
#include <new>
#include <optional>
#include <utility>
#include <vector>

namespace timewheel::test {

namespace {

// One clock for the file, set back for each case.
using tag = struct sleep_test;
using clock = manual_clock<tag>;
using timer_type = virtual_timer<tag>;

struct sleep_fixture : io_fixture
{
    sleep_fixture() { clock::set({}); }

    void poll()
    {
        ctx.restart();
        poll_until_quiet(ctx);
    }

    void advance(clock::duration by)
    {
        clock::advance(by);
        poll();
    }

    template <class Token>
    auto sleep(clock::duration span, Token&& token)
    {
        ++started;
        return async_sleep_for<clock>(ctx, span, std::forward<Token>(token));
    }

    std::uint64_t started = 0;
};

constexpr clock::time_point at(clock::duration time)
{
    return clock::time_point(time);
}

bool is_cancelled(const boost::system::system_error& e)
{
    return e.code() == asio::error::operation_aborted;
}

}

BOOST_FIXTURE_TEST_SUITE(sleep, sleep_fixture)

using asio::awaitable;
using asio::bind_cancellation_slot;
using asio::bind_executor;
using asio::use_awaitable;

BOOST_AUTO_TEST_CASE(completes_when_the_time_has_come)
{
    outcome span;
    outcome until;
    sleep(100ms, succeeds().into(span));
    async_sleep_until(ctx, at(150ms), succeeds().into(until));
    advance(99ms);
    BOOST_TEST(span.invoked == 0);
    advance(1ms);
    BOOST_TEST(span.invoked == 1);
    advance(49ms);
    BOOST_TEST(until.invoked == 0);
    advance(1ms);
    BOOST_TEST(until.invoked == 1);
    checked_stats<timer_type>(ctx, 2);
    BOOST_TEST(ctx.stopped());
}

// XA4, XA5: never early, at most a tick late, from every phase of a tick.
BOOST_AUTO_TEST_CASE(rounds_up)
{
    for (const auto phase : {0us, 1us, 500us, 999us}) {
        for (const auto span : {1us, 500us, 999us, 1000us, 1001us, 255'999us, 256'001us}) {
            clock::set(at(phase));
            outcome result;
            sleep(span, succeeds().into(result));
            clock::set(at(phase + span - 1us));
            poll();
            BOOST_REQUIRE(result.invoked == 0);
            clock::set(at(phase + span + 1ms));
            poll();
            BOOST_REQUIRE(result.invoked == 1);
        }
    }
}

BOOST_AUTO_TEST_CASE(what_is_over_completes_at_once_but_not_inline)
{
    for (const auto start : {0ms, -5000ms, 7000ms}) {
        clock::set(at(start));
        outcome result;
        sleep(0ms, succeeds().into(result));
        sleep(-1ms, succeeds().into(result));
        sleep((clock::duration::min)(), succeeds().into(result));
        async_sleep_until(ctx, clock::now() - 1h, succeeds().into(result));
        async_sleep_until(ctx, (clock::time_point::min)(), succeeds().into(result));
        async_sleep_until(ctx, clock::now(), succeeds().into(result));
        BOOST_TEST(result.invoked == 0);
        poll();
        BOOST_TEST(result.invoked == 6);
    }
}

BOOST_AUTO_TEST_CASE(the_end_of_time_never_comes)
{
    asio::cancellation_signal signal;
    clock::set(at(1h));
    sleep((clock::duration::max)(), bind_cancellation_slot(signal.slot(), is_aborted()));
    advance(24h * 365 * 200);
    BOOST_TEST(!ctx.stopped());
    signal.emit(asio::cancellation_type::terminal);
    poll();
    async_sleep_until(
        ctx, (clock::time_point::max)(), bind_cancellation_slot(signal.slot(), is_aborted())
    );
    poll();
    BOOST_TEST(!ctx.stopped());
    signal.emit(asio::cancellation_type::terminal);
    poll();
}

// The sleep begins when it is started, not when the operation is made.
BOOST_AUTO_TEST_CASE(deferred)
{
    auto operation = sleep(100ms, asio::deferred);
    auto by_default = async_sleep_for<clock>(ctx, 100ms);
    static_assert(std::is_same_v<decltype(operation), decltype(by_default)>);
    advance(1h);
    outcome result;
    std::move(operation)(succeeds().into(result));
    std::move(by_default)(succeeds().into(result));
    advance(99ms);
    BOOST_TEST(result.invoked == 0);
    advance(1ms);
    BOOST_TEST(result.invoked == 2);
}

BOOST_AUTO_TEST_CASE(tokens)
{
    int calls = 0;
    const auto count = [&calls](error_code ec) { calls += !ec; };
    sleep(1s, count);
    sleep(1s, std::function<void(error_code)>(count));
    sleep(1s, move_only_handler{count});
    sleep(1s, [&calls](auto&&...) { ++calls; });
    sleep(1s, asio::detached);
    sleep(1s, succeeds());
    auto future = sleep(1s, asio::use_future);
    sleep(1s, asio::as_tuple(asio::deferred))([&calls](std::tuple<error_code> result) {
        calls += !std::get<0>(result);
    });
    advance(1s);
    BOOST_TEST(calls == 5);
    BOOST_CHECK_NO_THROW(future.get());

    asio::cancellation_signal signal;
    auto cancelled = sleep(1s, bind_cancellation_slot(signal.slot(), asio::use_future));
    signal.emit(asio::cancellation_type::total);
    poll();
    BOOST_CHECK_EXCEPTION(cancelled.get(), boost::system::system_error, is_cancelled);
}

BOOST_AUTO_TEST_CASE(executors_contexts_and_units)
{
    outcome result;
    const asio::any_io_executor any = ctx.get_executor();
    async_sleep_for<clock>(any, 1s, succeeds().into(result));
    async_sleep_for<clock>(ctx.get_executor(), 1s, succeeds().into(result));
    async_sleep_for<clock>(asio::make_strand(ctx), 1s, succeeds().into(result));
    async_sleep_for<clock>(asio::make_strand(any), 1s, succeeds().into(result));
    const std::chrono::time_point<clock, std::chrono::hours> hour{1h};
    async_sleep_until(any, hour, succeeds().into(result));
    async_sleep_until(ctx, std::chrono::time_point<clock, std::chrono::duration<double>>{}, ends());
    advance(1s);
    BOOST_TEST(result.invoked == 4);
    advance(1h);
    BOOST_TEST(result.invoked == 5);

    // Real time, on contexts with threads.
    asio::thread_pool pool{1};
    const auto begin = std::chrono::steady_clock::now();
    auto a = async_sleep_for(pool, 5ms, asio::use_future);
    auto b = async_sleep_for(asio::system_executor(), 5ms, asio::use_future);
    auto c = async_sleep_for<std::chrono::system_clock>(pool, 5ms, asio::use_future);
    auto d = async_sleep_until(pool, begin + 5ms, asio::use_future);
    a.get();
    b.get();
    BOOST_CHECK(std::chrono::steady_clock::now() - begin >= 5ms);
    c.get();
    d.get();
    pool.join();
}

// Sleeps and timers share the wheel, and complete in its order.
BOOST_AUTO_TEST_CASE(order)
{
    std::vector<int> log;
    const auto add = [&log](int i) { return [&log, i](error_code) { log.push_back(i); }; };
    timer_type timer{ctx, 2s};
    sleep(3s, add(4));
    sleep(2s, add(1));
    timer.async_wait(add(2));
    sleep(2s, add(3));
    sleep(1s, add(0));
    advance(3s);
    BOOST_TEST((log == std::vector{0, 1, 2, 3, 4}));
}

BOOST_AUTO_TEST_CASE(cancellation_types)
{
    for (const auto& each : cancellation_cases) {
        BOOST_TEST_CONTEXT(each.name)
        {
            asio::cancellation_signal signal;
            outcome result;
            sleep(1s, bind_cancellation_slot(signal.slot(), ends().into(result)));
            sleep(1s, succeeds());
            signal.emit(each.type);
            BOOST_TEST(result.invoked == 0);
            poll();
            BOOST_TEST(result.invoked == (each.cancels ? 1 : 0));
            advance(1s);
            BOOST_TEST(result.invoked == 1);
            BOOST_TEST((result.ec == asio::error::operation_aborted) == each.cancels);
            signal.emit(each.type);
            poll();
        }
    }
    checked_stats<timer_type>(ctx, started);
}

// Due when the signal comes: the sleep succeeds.
BOOST_AUTO_TEST_CASE(a_signal_that_is_too_late)
{
    asio::io_context busy;
    asio::cancellation_signal signal;
    outcome result;
    sleep(
        1s,
        bind_cancellation_slot(
            signal.slot(), bind_executor(busy.get_executor(), succeeds().into(result))
        )
    );
    advance(1s);
    signal.emit(asio::cancellation_type::all);
    poll();
    busy.poll();
    BOOST_TEST(result.invoked == 1);
    // A signal from the handler of another one that is due in the same moment is in time or not,
    // but each of the two completes once.
    outcome both;
    sleep(1s, succeeds().into(both).then([&] { signal.emit(asio::cancellation_type::all); }));
    sleep(1s, bind_cancellation_slot(signal.slot(), ends().into(both)));
    advance(1s);
    BOOST_TEST(both.invoked == 2);
}

// XF1: what is cancelled gives everything back at once, long before its time.
BOOST_AUTO_TEST_CASE(cancelled_sleeps_leave_nothing)
{
    allocation_account account;
    {
        std::vector<asio::cancellation_signal> signals(1000);
        for (auto& signal : signals)
            sleep(
                1h,
                bind_cancellation_slot(
                    signal.slot(), asio::bind_allocator(counting_allocator<>{account}, is_aborted())
                )
            );
        BOOST_TEST(account.blocks == 1000);
        for (std::size_t i = 0; i < signals.size(); ++i)
            signals[i * 7 % signals.size()].emit(asio::cancellation_type::partial);
        poll();
    }
    BOOST_TEST(account.settled());
    BOOST_TEST(account.requests == 1000u);
    BOOST_TEST(ctx.stopped());
    BOOST_TEST(!service_of<timer_type>(ctx).next_expiry().has_value());
    advance(2h);
    checked_stats<timer_type>(ctx, started);
}

BOOST_AUTO_TEST_CASE(memory_is_the_handlers_and_back_before_it_runs)
{
    allocation_account account;
    const counting_allocator<> allocator{account};
    sleep(1s, asio::bind_allocator(allocator, succeeds().then([&] {
              BOOST_TEST(account.settled());
          })));
    BOOST_TEST(account.requests == 1u);
    advance(1s);
    BOOST_TEST(account.settled());

    account.refuse = 2;
    BOOST_CHECK_THROW(
        sleep(1s, asio::bind_allocator(allocator, [](error_code) {})), std::bad_alloc
    );
    poll();
    BOOST_TEST(ctx.stopped());
    --started;
    checked_stats<timer_type>(ctx, started);
}

BOOST_AUTO_TEST_CASE(the_steady_state_allocates_nothing)
{
    std::optional<allocation_counter> counter;
    int sleeps = 0;
    std::function<void()> again = [&] {
        async_sleep_for(ctx, 100us, [&](error_code) {
            if (++sleeps == 20) // warm
                counter.emplace();
            if (sleeps < 120)
                again();
            else
                BOOST_TEST(counter->count() == 0u);
        });
    };
    again();
    BOOST_TEST(run_to_end(ctx));
    BOOST_TEST(sleeps == 120);
}

BOOST_AUTO_TEST_CASE(handlers_run_on_their_executor)
{
    const tracker_executor own{ctx.get_executor()};
    const tracker_executor io{ctx.get_executor()};
    async_sleep_for<clock>(io, 1s, bind_executor(own, succeeds().on(own)));
    async_sleep_for<clock>(io, 1s, succeeds().on(io));
    BOOST_TEST(own.diary().outstanding == 1);
    BOOST_TEST(io.diary().outstanding == 2);
    advance(1s);
    BOOST_TEST(own.diary().outstanding == 0);
    BOOST_TEST(io.diary().outstanding == 0);
    asio::cancellation_signal signal;
    async_sleep_for<clock>(
        io, 1s, bind_cancellation_slot(signal.slot(), bind_executor(own, is_aborted().on(own)))
    );
    signal.emit(asio::cancellation_type::total);
    poll();
}

BOOST_AUTO_TEST_CASE(a_context_that_goes_first_drops_sleeps)
{
    outcome result;
    asio::cancellation_signal signal;
    {
        asio::io_context gone;
        async_sleep_for<clock>(
            gone, 1h, bind_cancellation_slot(signal.slot(), is_dropped().into(result))
        );
        // Sleeps that are started by what is destroyed are destroyed as well.
        auto again = std::shared_ptr<void>(nullptr, [&](void*) {
            async_sleep_for<clock>(gone, 1h, is_dropped().into(result));
        });
        async_sleep_for<clock>(gone, 2h, is_dropped().into(result).then([again] {}));
    }
    BOOST_TEST(result.dropped == 3);
    signal.emit(asio::cancellation_type::total);
}

namespace {

template <class Executor>
awaitable<void, Executor> sleeper(clock::time_point& woken)
{
    co_await sleep_for<clock>(100ms);
    co_await sleep_until(at(200ms));
    const auto executor = co_await asio::this_coro::executor;
    co_await async_sleep_for<clock>(executor, 100ms);
    co_await async_sleep_until(executor, at(400ms), asio::use_awaitable_t<Executor>());
    const auto [ec] = co_await sleep_for<clock>(100ms)(asio::as_tuple(asio::deferred));
    BOOST_TEST(!ec);
    woken = clock::now();
}

template <class Executor>
void check_sleeper(sleep_fixture& test, const Executor& executor)
{
    clock::set({});
    clock::time_point woken;
    auto done = asio::co_spawn(executor, sleeper<Executor>(woken), asio::use_future);
    test.poll();
    for (int i = 0; i < 5; ++i)
        test.advance(100ms);
    done.get();
    BOOST_CHECK(woken == at(500ms));
}

}

BOOST_AUTO_TEST_CASE(coroutines_on_any_executor)
{
    check_sleeper(*this, ctx.get_executor());
    check_sleeper(*this, asio::any_io_executor(ctx.get_executor()));
    check_sleeper(*this, asio::make_strand(ctx));
    check_sleeper(*this, tracker_executor{ctx.get_executor()});
    check_sleeper(*this, asio::any_io_executor(asio::make_strand(ctx)));
}

// Who has no executor sleeps where Asio lets it run: on the system's.
BOOST_AUTO_TEST_CASE(a_handler_without_an_executor)
{
    std::promise<void> woken;
    sleep_for(1ms)([&](error_code ec) {
        if (!ec)
            woken.set_value();
    });
    woken.get_future().get();
}

BOOST_AUTO_TEST_CASE(a_sleeping_coroutine_is_cancelled)
{
    asio::cancellation_signal signal;
    auto done = asio::co_spawn(
        ctx,
        []() -> awaitable<void> { co_await sleep_for<clock>(1h); },
        bind_cancellation_slot(signal.slot(), asio::use_future)
    );
    poll();
    signal.emit(asio::cancellation_type::terminal);
    poll();
    BOOST_CHECK_EXCEPTION(done.get(), boost::system::system_error, is_cancelled);
}

BOOST_AUTO_TEST_CASE(awaitable_operators)
{
    using namespace asio::experimental::awaitable_operators;
    const auto race = []() -> awaitable<std::size_t> {
        const auto executor = co_await asio::this_coro::executor;
        const auto first =
            co_await (sleep_for<clock>(1h)(use_awaitable) || sleep_for<clock>(1s)(use_awaitable));
        co_await (
            async_sleep_for<clock>(executor, 1s, use_awaitable) &&
            async_sleep_for<clock>(executor, 2s, use_awaitable)
        );
        co_return first.index();
    };
    auto winner = asio::co_spawn(ctx, race, asio::use_future);
    poll();
    for (int i = 0; i < 3; ++i)
        advance(1s);
    BOOST_TEST(winner.get() == 1u);
    BOOST_TEST(ctx.stopped());
}

BOOST_AUTO_TEST_CASE(parallel_group)
{
    namespace experimental = asio::experimental;
    bool done = false;
    experimental::make_parallel_group(sleep(1h, asio::deferred), sleep(1s, asio::deferred))
        .async_wait(
            experimental::wait_for_one(),
            [&](std::array<std::size_t, 2> order, error_code first, error_code second) {
                BOOST_TEST(order[0] == 1u);
                BOOST_TEST(first == asio::error::operation_aborted);
                BOOST_TEST(!second);
                done = true;
            }
        );
    advance(1s);
    BOOST_TEST(done);
}

// For the thread sanitizer: sleepers on a pool, some of which are cancelled.
BOOST_AUTO_TEST_CASE(threads)
{
    using namespace asio::experimental::awaitable_operators;
    asio::thread_pool pool{3};
    std::vector<std::future<void>> done;
    for (int i = 0; i < 40; ++i)
        done.push_back(asio::co_spawn(
            asio::make_strand(pool),
            [i]() -> awaitable<void> {
                for (int n = 0; n < 10; ++n) {
                    co_await (
                        sleep_for(std::chrono::microseconds(100 * (i % 7)))(use_awaitable) ||
                        sleep_for(std::chrono::microseconds(100 * (n % 7)))(use_awaitable)
                    );
                }
            },
            asio::use_future
        ));
    for (auto& each : done)
        each.get();
}

BOOST_AUTO_TEST_SUITE_END()

}
