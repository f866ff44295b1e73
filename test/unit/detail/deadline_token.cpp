// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#include <timewheel/detail/deadline_token.hpp>

#include <timewheel/cancel_after.hpp>

#include <test_common/checked_token.hpp>
#include <test_common/io_fixture.hpp>
#include <test_common/move_only_handler.hpp>
#include <test_common/run.hpp>
#include <test_common/virtual_time.hpp>

#include <boost/asio/append.hpp>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/consign.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/experimental/parallel_group.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/system/system_error.hpp>
#include <boost/test/unit_test.hpp>

#include <array>
#include <chrono>
#include <exception>
#include <functional>
#include <future>
#include <memory>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>

namespace timewheel::test {

BOOST_FIXTURE_TEST_SUITE(deadline_token, io_fixture)

using namespace asio::experimental::awaitable_operators;
using timewheel::cancel_after;
using timewheel::timeout_after;

namespace {

const error_code aborted = asio::error::operation_aborted;
const error_code timed_out = error::timed_out;

bool is_timeout(const boost::system::system_error& e)
{
    return e.code() == timed_out;
}

struct with_executor
{
    using executor_type = asio::io_context::executor_type;
    executor_type get_executor() const noexcept { return executor; }
    void operator()(auto&&) const {}
    executor_type executor;
};

struct without_executor
{
    void operator()(auto&&) const {}
};

/// Runs a coroutine while the time goes by, and rethrows what it throws.
template <class Clock, class Coroutine>
void run_coroutine(asio::io_context& ctx, Coroutine coroutine)
{
    bool done = false;
    std::exception_ptr exception;
    asio::co_spawn(ctx, std::move(coroutine), [&](std::exception_ptr e) {
        done = true;
        exception = e;
    });
    for (int steps = 0; steps != 100 && !done; ++steps) {
        poll_until_quiet(ctx);
        if (!done)
            Clock::advance(1ms);
    }
    poll_until_quiet(ctx);
    BOOST_TEST(done);
    if (exception)
        std::rethrow_exception(exception);
}

}

BOOST_AUTO_TEST_CASE(functions_of_all_kinds)
{
    struct tag;
    using clock = manual_clock<tag>;
    virtual_timer<tag> timer(ctx, 1h);
    int calls = 0;
    const auto count = [&](error_code ec) { calls += ec == timed_out; };
    std::function<void(error_code)> function = count;
    timer.async_wait(timeout_after<clock>(1ms, count));
    timer.async_wait(timeout_after<clock>(1ms, function));
    timer.async_wait(timeout_after<clock>(1ms, move_only_handler(count)));
    timer.async_wait(timeout_after<clock>(1ms)(move_only_handler(count)));
    timer.async_wait(timeout_after<clock>(1ms, cancel_after<clock>(1h, move_only_handler(count))));
    timer.async_wait(timeout_after<clock>(1ms, [&](auto&&... all) { (count(all), ...); }));
    clock::advance(1ms);
    poll_until_quiet(ctx);
    BOOST_TEST(calls == 6);
}

BOOST_AUTO_TEST_CASE(use_future)
{
    struct tag;
    using clock = manual_clock<tag>;
    virtual_timer<tag> timer(ctx, 2ms);
    auto late = timer.async_wait(timeout_after<clock>(1ms, asio::use_future));
    auto in_time = timer.async_wait(timeout_after<clock>(3ms, asio::use_future));
    auto function = timer.async_wait(timeout_after<clock>(1ms, asio::use_future([](error_code ec) {
                                                              return ec;
                                                          })));
    clock::advance(1ms);
    poll_until_quiet(ctx);
    BOOST_CHECK_EXCEPTION(late.get(), boost::system::system_error, is_timeout);
    BOOST_TEST(function.get() == timed_out);
    clock::advance(1ms);
    poll_until_quiet(ctx);
    BOOST_CHECK_NO_THROW(in_time.get());
}

BOOST_AUTO_TEST_CASE(detached)
{
    struct tag;
    using clock = manual_clock<tag>;
    virtual_timer<tag> timer(ctx, 1h);
    timer.async_wait(timeout_after<clock>(1ms, asio::detached));
    clock::advance(1ms);
    poll_until_quiet(ctx);
    BOOST_TEST(ctx.stopped());
}

// What adapts a token may stand on either side of the deadline. Outside, it need not tell the
// executor of the operation, so one is named.
BOOST_AUTO_TEST_CASE(other_adapters)
{
    struct tag;
    using clock = manual_clock<tag>;
    virtual_timer<tag> timer(ctx, 1h);
    int calls = 0;
    error_code redirected;
    const auto with_number = [&](error_code ec, int n) { calls += ec == timed_out && n == 7; };
    const auto with_tuple = [&](std::tuple<error_code> t) { calls += std::get<0>(t) == timed_out; };
    timer.async_wait(timeout_after<clock>(1ms, asio::append(with_number, 7)));
    timer.async_wait(asio::append(timeout_after<clock>(ctx, 1ms, with_number), 7));
    timer.async_wait(timeout_after<clock>(1ms, asio::as_tuple(with_tuple)));
    timer.async_wait(timeout_after<clock>(
        1ms,
        asio::consign([&](error_code ec) { calls += ec == timed_out; }, std::make_unique<int>(1))
    ));
    timer.async_wait(timeout_after<clock>(1ms, asio::redirect_error([&] { ++calls; }, redirected)));
    // Inside, there is no error code left to report the timeout with.
    timer.async_wait(asio::as_tuple(timeout_after<clock>(ctx, 1ms, [&](std::tuple<error_code> t) {
        calls += std::get<0>(t) == aborted;
    })));
    clock::advance(1ms);
    poll_until_quiet(ctx);
    BOOST_TEST(calls == 6);
    BOOST_TEST(redirected == timed_out);
}

BOOST_AUTO_TEST_CASE(deferred)
{
    struct tag;
    using clock = manual_clock<tag>;
    virtual_timer<tag> timer(ctx, 1h);
    outcome fate;
    auto operation = timer.async_wait(timeout_after<clock>(1ms, asio::deferred));
    static_assert(asio::is_async_operation<decltype(operation)>::value);
    clock::advance(30min);
    poll_until_quiet(ctx);
    ctx.restart();
    std::move(operation)(ends_with(timed_out).into(fate));
    clock::advance(1ms);
    poll_until_quiet(ctx);
    BOOST_TEST(fate.done());
}

BOOST_AUTO_TEST_CASE(chains_of_deferred_operations)
{
    struct tag;
    using clock = manual_clock<tag>;
    virtual_timer<tag> timer(ctx, 1h);
    outcome fate;
    auto chain =
        timer.async_wait(timeout_after<clock>(1ms, asio::deferred([&](error_code ec) {
                                                  BOOST_TEST(ec == timed_out);
                                                  return timer.async_wait(timeout_after<clock>(2ms)
                                                  );
                                              })));
    std::move(chain)(ends_with(timed_out).into(fate));
    clock::advance(1ms);
    poll_until_quiet(ctx);
    BOOST_TEST(!fate.done());
    clock::advance(2ms);
    poll_until_quiet(ctx);
    BOOST_TEST(fate.done());
}

BOOST_AUTO_TEST_CASE(coroutines)
{
    struct tag;
    using clock = manual_clock<tag>;
    run_coroutine<clock>(ctx, [&]() -> asio::awaitable<void> {
        virtual_timer<tag> timer(ctx, 1h);
        const auto start = clock::now();

        // with use_awaitable
        BOOST_CHECK_EXCEPTION(
            co_await timer.async_wait(timeout_after<clock>(1ms, asio::use_awaitable)),
            boost::system::system_error,
            is_timeout
        );
        auto [ec] =
            co_await timer.async_wait(timeout_after<clock>(1ms, asio::as_tuple(asio::use_awaitable))
            );
        BOOST_TEST(ec == timed_out);

        // with the default token, which is deferred
        BOOST_CHECK_EXCEPTION(
            co_await timer.async_wait(timeout_after<clock>(1ms)),
            boost::system::system_error,
            is_timeout
        );
        BOOST_CHECK_THROW(
            co_await timer.async_wait(cancel_after<clock>(ctx, 1ms)), boost::system::system_error
        );
        BOOST_CHECK_EXCEPTION(
            co_await (timer.async_wait() | timeout_after<clock>(1ms)),
            boost::system::system_error,
            is_timeout
        );
        co_await timer.async_wait(
            timeout_after<clock>(1ms, asio::redirect_error(asio::use_awaitable, ec))
        );
        BOOST_TEST(ec == timed_out);
        BOOST_CHECK((clock::now() - start == 6ms));

        // in time
        timer.expires_after(1ms);
        co_await timer.async_wait(timeout_after<clock>(2ms));
        BOOST_CHECK((clock::now() - start == 7ms));
    });
    BOOST_TEST(!clock::advance_to_next());
}

BOOST_AUTO_TEST_CASE(default_tokens)
{
    struct tag;
    using clock = manual_clock<tag>;
    using timer_type = asio::use_awaitable_t<>::as_default_on_t<virtual_timer<tag>>;
    using tuple_type =
        asio::as_tuple_t<asio::use_awaitable_t<>>::as_default_on_t<virtual_timer<tag>>;
    run_coroutine<clock>(ctx, [&]() -> asio::awaitable<void> {
        timer_type timer(ctx, 1h);
        asio::awaitable<void> operation = timer.async_wait(timeout_after<clock>(1ms));
        BOOST_CHECK_EXCEPTION(
            co_await std::move(operation), boost::system::system_error, is_timeout
        );
        tuple_type tuple_timer(ctx, 1h);
        const auto [ec] = co_await tuple_timer.async_wait(timeout_after<clock>(1ms));
        BOOST_TEST(ec == timed_out);
    });
}

BOOST_AUTO_TEST_CASE(a_whole_coroutine)
{
    struct tag;
    using clock = manual_clock<tag>;
    const auto nap = [&](std::chrono::milliseconds time) -> asio::awaitable<int> {
        virtual_timer<tag> timer(ctx, time);
        co_await timer.async_wait(asio::use_awaitable);
        co_return 1;
    };
    run_coroutine<clock>(ctx, [&]() -> asio::awaitable<void> {
        BOOST_CHECK_EXCEPTION(
            co_await asio::co_spawn(ctx, nap(1h), timeout_after<clock>(1ms, asio::use_awaitable)),
            boost::system::system_error,
            is_timeout
        );
        const int result =
            co_await asio::co_spawn(ctx, nap(1ms), timeout_after<clock>(1h, asio::use_awaitable));
        BOOST_TEST(result == 1);
    });
    BOOST_TEST(!clock::advance_to_next());
}

BOOST_AUTO_TEST_CASE(the_cancellation_of_a_coroutine)
{
    struct tag;
    using clock = manual_clock<tag>;
    bool cancelled = false;
    run_coroutine<clock>(ctx, [&]() -> asio::awaitable<void> {
        const auto inner = [&]() -> asio::awaitable<void> {
            virtual_timer<tag> timer(ctx, 1h);
            error_code ec;
            co_await timer.async_wait(
                timeout_after<clock>(30min, asio::redirect_error(asio::use_awaitable, ec))
            );
            cancelled = ec == aborted;
        };
        // It takes the signal for what it is, and so it succeeds.
        co_await asio::co_spawn(ctx, inner(), timeout_after<clock>(1ms, asio::use_awaitable));
    });
    BOOST_TEST(cancelled);
    BOOST_TEST(!clock::advance_to_next());
}

BOOST_AUTO_TEST_CASE(awaitable_operators)
{
    struct tag;
    using clock = manual_clock<tag>;
    run_coroutine<clock>(ctx, [&]() -> asio::awaitable<void> {
        virtual_timer<tag> slow(ctx, 1h);
        virtual_timer<tag> fast(ctx, 2ms);
        const auto tuple = asio::as_tuple(asio::use_awaitable);

        // The one that is in time cancels the other, which is no timeout then.
        auto either = co_await (
            slow.async_wait(timeout_after<clock>(5ms, tuple)) ||
            fast.async_wait(timeout_after<clock>(5ms, tuple))
        );
        BOOST_TEST(either.index() == 1u);
        BOOST_TEST(!std::get<0>(std::get<1>(either)));

        // The one that is timed out is the first.
        fast.expires_after(2ms);
        either = co_await (
            slow.async_wait(timeout_after<clock>(1ms, tuple)) ||
            fast.async_wait(timeout_after<clock>(5ms, tuple))
        );
        BOOST_TEST(either.index() == 0u);
        BOOST_TEST(std::get<0>(std::get<0>(either)) == timed_out);

        // Both, each with its own end.
        fast.expires_after(2ms);
        const auto both = co_await (
            slow.async_wait(timeout_after<clock>(1ms, tuple)) &&
            fast.async_wait(timeout_after<clock>(5ms, tuple))
        );
        BOOST_TEST(std::get<0>(both) == timed_out);
        BOOST_TEST(!std::get<0>(std::get<1>(both)));
    });
    BOOST_TEST(!clock::advance_to_next());
}

BOOST_AUTO_TEST_CASE(parallel_groups)
{
    struct tag;
    using clock = manual_clock<tag>;
    using asio::experimental::make_parallel_group;
    using asio::experimental::wait_for_all;
    using asio::experimental::wait_for_one;
    virtual_timer<tag> slow(ctx, 1h);
    virtual_timer<tag> fast(ctx, 2ms);
    int calls = 0;

    // deadlines inside
    make_parallel_group(
        slow.async_wait(timeout_after<clock>(1ms)),
        fast.async_wait(timeout_after<clock>(5ms, asio::deferred))
    )
        .async_wait(
            wait_for_all(),
            [&](std::array<std::size_t, 2> order, error_code of_slow, error_code of_fast) {
                BOOST_TEST(order[0] == 0u);
                BOOST_TEST(of_slow == timed_out);
                BOOST_TEST(!of_fast);
                ++calls;
            }
        );
    clock::advance(1ms);
    poll_until_quiet(ctx);
    clock::advance(1ms);
    poll_until_quiet(ctx);
    BOOST_TEST(calls == 1);

    // a deadline around: there is no error code that comes first
    ctx.restart();
    make_parallel_group(slow.async_wait(asio::deferred), slow.async_wait(asio::deferred))
        .async_wait(
            wait_for_one(),
            timeout_after<clock>(
                ctx,
                1ms,
                [&](std::array<std::size_t, 2>, error_code first, error_code second) {
                    BOOST_TEST(first == aborted);
                    BOOST_TEST(second == aborted);
                    ++calls;
                }
            )
        );
    clock::advance(1ms);
    poll_until_quiet(ctx);
    BOOST_TEST(calls == 2);
    BOOST_TEST(!clock::advance_to_next());
}

// The initiation that an adapter makes of another tells the executor if that one does.
BOOST_AUTO_TEST_CASE(initiations)
{
    using deadline = detail::deadline<
        std::chrono::steady_clock,
        asio::wait_traits<std::chrono::steady_clock>,
        std::chrono::steady_clock::duration,
        detail::operation_executor>;
    static_assert(detail::has_executor<detail::deadline_initiation<with_executor, deadline>>);
    static_assert(!detail::has_executor<detail::deadline_initiation<without_executor, deadline>>);
    const detail::deadline_initiation<with_executor, deadline> initiation(
        with_executor{ctx.get_executor()}, deadline{}
    );
    BOOST_CHECK(initiation.get_executor() == ctx.get_executor());
}

BOOST_AUTO_TEST_SUITE_END()

}
