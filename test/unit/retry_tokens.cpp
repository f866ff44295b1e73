// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#include <timewheel/retry.hpp>

#include <test_common/allocation_counter.hpp>
#include <test_common/cancellation_types.hpp>
#include <test_common/checked_token.hpp>
#include <test_common/counting_allocator.hpp>
#include <test_common/move_only_handler.hpp>
#include <test_common/retry_fixture.hpp>

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
#include <optional>
#include <stdexcept>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

namespace timewheel::test {

namespace {

using namespace asio::experimental::awaitable_operators;
using asio::awaitable;
using asio::use_awaitable;
using io_executor = asio::io_context::executor_type;

// A result that can't be made from nothing, like the socket of an accept operation.
struct connection
{
    explicit connection(int n) : number(std::make_unique<int>(n)) {}

    std::unique_ptr<int> number;
};

error_code code_of(const std::exception_ptr& exception)
{
    try {
        if (exception)
            std::rethrow_exception(exception);
    } catch (const boost::system::system_error& e) {
        return e.code();
    }
    return {};
}

}

BOOST_AUTO_TEST_SUITE(retry_tokens)

BOOST_FIXTURE_TEST_CASE(callbacks, retry_fixture<struct callbacks>)
{
    failures = 1;
    int calls = 0;
    const auto count = [&](error_code ec) { calls += !ec; };
    async_retry(ctx.get_executor(), attempt(), options(), count);
    async_retry(ctx, attempt(), options(), move_only_handler{count});
    async_retry(asio::any_io_executor(ctx.get_executor()), attempt(), options(), asio::detached);
    run_all();
    BOOST_TEST(calls == 2);
}

BOOST_FIXTURE_TEST_CASE(use_future, retry_fixture<struct use_future>)
{
    failures = 1;
    auto success = async_retry(ctx, attempt(), options(), asio::use_future);
    run_all();
    BOOST_CHECK_NO_THROW(success.get());
    failures = 100;
    auto failure = async_retry(ctx, attempt(), options(), asio::use_future);
    run_all();
    BOOST_CHECK_THROW(failure.get(), boost::system::system_error);
}

BOOST_FIXTURE_TEST_CASE(deferred_is_the_default, retry_fixture<struct deferred>)
{
    failures = 1;
    auto operation = async_retry(ctx, attempt(), options());
    BOOST_TEST(attempts == 0);
    outcome result;
    std::move(operation)(succeeds().into(result));
    run_all();
    BOOST_TEST(attempts == 2);
    BOOST_TEST(result.done());
}

BOOST_FIXTURE_TEST_CASE(awaitables, retry_fixture<struct awaitables>)
{
    bool ended = false;
    asio::co_spawn(
        ctx,
        [&]() -> awaitable<void> {
            const auto executor = co_await asio::this_coro::executor;
            failures = 2;
            co_await async_retry(executor, attempt(), options(), use_awaitable);
            co_await async_retry(executor, attempt(), options());
            failures = 100;
            auto [ec] =
                co_await async_retry(executor, attempt(), options(), asio::as_tuple(use_awaitable));
            BOOST_CHECK(ec.category() == boost::system::generic_category());
            try {
                co_await async_retry(executor, attempt(), options(), use_awaitable);
                BOOST_ERROR("a failure did not throw");
            } catch (const boost::system::system_error&) {
                ended = true;
            }
        },
        asio::detached
    );
    run_all();
    BOOST_TEST(ended);
}

BOOST_FIXTURE_TEST_CASE(operators_and_groups, retry_fixture<struct operators>)
{
    failures = 100;
    timer limit{ctx, 25ms};
    bool ended = false;
    asio::co_spawn(
        ctx,
        [&]() -> awaitable<void> {
            auto first = co_await (
                async_retry(ctx, attempt(), options(), use_awaitable) ||
                limit.async_wait(use_awaitable)
            );
            BOOST_TEST(first.index() == 1U);
            failures = attempts + 1;
            co_await (
                async_retry(ctx, attempt(), options(), use_awaitable) &&
                limit.async_wait(use_awaitable)
            );
            ended = true;
        },
        asio::detached
    );
    run_all();
    BOOST_TEST(ended);
    BOOST_TEST(attempts == 2 + 2);

    failures = 100;
    limit.expires_after(5ms);
    ended = false;
    asio::experimental::make_parallel_group(
        async_retry(ctx, attempt(), options(), asio::deferred), limit.async_wait(asio::deferred)
    )
        .async_wait(
            asio::experimental::wait_for_one(),
            [&](std::array<std::size_t, 2> order, error_code retried, error_code waited) {
                ended = true;
                BOOST_TEST(order[0] == 1U);
                BOOST_TEST(retried == asio::error::operation_aborted);
                BOOST_TEST(!waited);
            }
        );
    run_all();
    BOOST_TEST(ended);
}

// Whatever the attempt's results are, they are the results; of a cancelled delay, the last ones.
BOOST_FIXTURE_TEST_CASE(results, retry_fixture<struct results>)
{
    const auto accept = [this](auto token) {
        return asio::async_initiate<decltype(token), void(error_code, connection, std::string)>(
            [this](auto handler) {
                const int n = ++attempts;
                const error_code ec = n > failures ? error_code() : error_number(n);
                asio::post(ctx, [handler = std::move(handler), n, ec]() mutable {
                    std::move(handler)(ec, connection(n), "a string literal");
                });
            },
            token
        );
    };
    static_assert(std::is_same_v<
                  retry_signature_t<decltype(accept), io_executor>,
                  void(error_code, connection, std::string)>);
    failures = 2;
    int calls = 0;
    async_retry(ctx, accept, options(), [&](error_code ec, connection c, std::string text) {
        ++calls;
        BOOST_TEST(!ec);
        BOOST_TEST(*c.number == 3);
        BOOST_TEST(text == "a string literal");
    });
    run_all();
    BOOST_TEST(calls == 1);

    failures = 100;
    asio::cancellation_signal signal;
    async_retry(
        ctx,
        accept,
        options(),
        asio::bind_cancellation_slot(
            signal.slot(),
            [&](error_code ec, connection c, std::string) {
                ++calls;
                BOOST_TEST(ec == asio::error::operation_aborted);
                BOOST_TEST(*c.number == 4);
            }
        )
    );
    run_ready();
    signal.emit(asio::cancellation_type::total);
    run_all();
    BOOST_TEST(calls == 2);
}

BOOST_FIXTURE_TEST_CASE(functions_that_return_an_operation, retry_fixture<struct functions>)
{
    failures = 2;
    outcome result;
    async_retry(ctx, [&] { return attempt()(asio::deferred); }, options(), succeeds().into(result));
    run_all();
    BOOST_TEST(attempts == 3);
    BOOST_TEST(result.done());
}

// Coroutines fail by an exception; what is not an error code is not tried again.
BOOST_FIXTURE_TEST_CASE(coroutines, retry_fixture<struct coroutines>)
{
    failures = 2;
    const auto attempt_in_coroutine = [this]() -> awaitable<int> {
        co_await attempt()(use_awaitable);
        co_return attempts;
    };
    static_assert(std::is_same_v<
                  retry_signature_t<decltype(attempt_in_coroutine), io_executor>,
                  void(std::exception_ptr, int)>);
    auto success = async_retry(ctx, attempt_in_coroutine, options(), asio::use_future);
    run_all();
    BOOST_TEST(success.get() == 3);

    failures = 100;
    attempts = 0;
    auto failure = async_retry(
        ctx,
        std::function<awaitable<void>()>([&]() -> awaitable<void> {
            co_await attempt()(use_awaitable);
        }),
        options(),
        asio::use_future
    );
    run_all();
    BOOST_TEST(attempts == 5);
    BOOST_CHECK_EXCEPTION(failure.get(), boost::system::system_error, [](const auto& e) {
        return e.code() == error_number(5);
    });

    attempts = 0;
    auto foreign = async_retry(
        ctx,
        [&]() -> awaitable<void> {
            ++attempts;
            throw std::logic_error("a bug");
            co_return;
        },
        options(),
        asio::use_future
    );
    run_all();
    BOOST_TEST(attempts == 1);
    BOOST_CHECK_THROW(foreign.get(), std::logic_error);
}

// Coroutines may also fail by an error code that they return.
BOOST_FIXTURE_TEST_CASE(coroutines_that_return_errors, retry_fixture<struct returned_errors>)
{
    const auto coroutine = [this]() -> awaitable<error_code> {
        auto [ec] = co_await attempt()(asio::as_tuple(use_awaitable));
        co_return ec;
    };
    failures = 2;
    auto success = async_retry(ctx, coroutine, options(), asio::use_future);
    run_all();
    BOOST_TEST(!success.get());
    BOOST_TEST(attempts == 3);
    failures = 100;
    attempts = 0;
    auto failure = async_retry(ctx, coroutine, options(), asio::use_future);
    run_all();
    BOOST_TEST(attempts == 5);
    BOOST_TEST(failure.get() == error_number(5));

    int calls = 0;
    asio::cancellation_signal signal;
    async_retry(
        ctx,
        coroutine,
        options(),
        asio::bind_cancellation_slot(
            signal.slot(),
            [&](std::exception_ptr exception, error_code ec) {
                ++calls;
                BOOST_TEST(!exception);
                BOOST_TEST(ec == asio::error::operation_aborted);
            }
        )
    );
    run_ready();
    signal.emit(asio::cancellation_type::terminal);
    run_all();
    BOOST_TEST(calls == 1);
}

BOOST_FIXTURE_TEST_CASE(cancellation_types_in_a_delay, retry_fixture<struct in_a_delay>)
{
    for (const cancellation_case& row : cancellation_cases) {
        BOOST_TEST_CONTEXT(row.name)
        {
            failures = 1;
            attempts = 0;
            asio::cancellation_signal signal;
            outcome result;
            async_retry(
                ctx,
                attempt(),
                options(),
                asio::bind_cancellation_slot(
                    signal.slot(), (row.cancels ? is_aborted() : succeeds()).into(result)
                )
            );
            run_ready();
            BOOST_TEST(attempts == 1);
            signal.emit(row.type);
            BOOST_TEST(!result.done());
            run_ready();
            BOOST_TEST(result.done() == row.cancels);
            run_all();
            BOOST_TEST(result.invoked == 1);
            BOOST_TEST(attempts == (row.cancels ? 1 : 2));
            signal.emit(row.type);
        }
    }
}

// The running attempt gets the signal as it is.
BOOST_FIXTURE_TEST_CASE(cancellation_types_in_an_attempt, retry_fixture<struct in_an_attempt>)
{
    for (const cancellation_case& row : cancellation_cases) {
        BOOST_TEST_CONTEXT(row.name)
        {
            attempts = 0;
            timer attempt_time{ctx, 1s};
            asio::cancellation_signal signal;
            outcome result;
            async_retry(
                ctx,
                [&] {
                    ++attempts;
                    return attempt_time.async_wait(asio::deferred);
                },
                options(),
                asio::bind_cancellation_slot(
                    signal.slot(), (row.cancels ? is_aborted() : succeeds()).into(result)
                )
            );
            run_ready();
            signal.emit(row.type);
            run_ready();
            BOOST_TEST(result.done() == row.cancels);
            run_all();
            BOOST_TEST(result.invoked == 1);
            BOOST_TEST(attempts == 1);
        }
    }
}

// An attempt that takes no notice is the last one: success counts, a failure is the cancellation.
BOOST_FIXTURE_TEST_CASE(attempt_ignores_the_signal, retry_fixture<struct ignoring>)
{
    for (const int n : {0, 100}) {
        failures = n;
        attempts = 0;
        asio::cancellation_signal signal;
        outcome result;
        auto with_all = options();
        with_all.retry_if = [](const error_code&) { return true; };
        async_retry(
            ctx,
            attempt(), // is posted: nothing can cancel it
            with_all,
            asio::bind_cancellation_slot(
                signal.slot(), (n == 0 ? succeeds() : is_aborted()).into(result)
            )
        );
        signal.emit(asio::cancellation_type::partial);
        run_all();
        BOOST_TEST(result.invoked == 1);
        BOOST_TEST(attempts == 1);
    }
}

// A signal between the end of a delay and the turn of its completion is in time.
BOOST_FIXTURE_TEST_CASE(signal_at_the_end_of_a_delay, retry_fixture<struct end_of_delay>)
{
    failures = 1;
    asio::cancellation_signal signal;
    outcome result;
    // Due in the same tick and started before, so that its handler runs before the delay's.
    timer before{ctx, 10ms};
    before.async_wait([&](error_code) { signal.emit(asio::cancellation_type::terminal); });
    async_retry(
        ctx,
        attempt(),
        options(),
        asio::bind_cancellation_slot(signal.slot(), is_aborted().into(result))
    );
    run_ready();
    pass(10ms);
    BOOST_TEST(result.invoked == 1);
    BOOST_TEST(attempts == 1);
}

// Coroutines take what they ask for: only terminal ones by default.
BOOST_FIXTURE_TEST_CASE(cancelling_a_coroutine, retry_fixture<struct cancelled_coroutine>)
{
    timer attempt_time{ctx, 1s};
    asio::cancellation_signal signal;
    error_code ec;
    async_retry(
        ctx,
        [&]() -> awaitable<void> {
            ++attempts;
            co_await attempt_time.async_wait(use_awaitable);
        },
        options(),
        asio::bind_cancellation_slot(signal.slot(), [&](std::exception_ptr e) { ec = code_of(e); })
    );
    run_ready();
    signal.emit(asio::cancellation_type::terminal);
    run_all();
    BOOST_TEST(attempts == 1);
    BOOST_TEST(ec == asio::error::operation_aborted);
}

BOOST_FIXTURE_TEST_CASE(memory_comes_from_the_handler, retry_fixture<struct memory>)
{
    failures = 3;
    allocation_account account;
    outcome result;
    async_retry(
        ctx,
        attempt(),
        options(),
        asio::bind_allocator(counting_allocator<>(account), succeeds().into(result).then([&] {
            BOOST_TEST(account.settled());
        }))
    );
    BOOST_TEST(account.requests > 0U);
    run_all();
    BOOST_TEST(result.done());
    BOOST_TEST(account.settled());

    account.requests = 0;
    account.refuse = 1;
    BOOST_CHECK_THROW(
        async_retry(
            ctx,
            attempt(),
            options(),
            asio::bind_allocator(counting_allocator<>(account), [](error_code) {})
        ),
        std::bad_alloc
    );
    BOOST_TEST(account.settled());
}

BOOST_FIXTURE_TEST_CASE(attempts_allocate_nothing_in_the_steady_state, retry_fixture<struct steady>)
{
    BOOST_REQUIRE(counts_allocations());
    failures = 1'000'000;
    std::optional<allocation_counter> counter;
    std::size_t allocations = 1;
    // In real time and within one run(), as Asio keeps memory for the next handler no longer.
    const exponential_backoff quick{
        .initial = 1ms,
        .maximum = 1ms,
        .max_attempts = 150,
        .on_retry =
            [&](const error_code&, unsigned n, std::chrono::nanoseconds) {
                if (n == 50)
                    counter.emplace();
                if (n == 149)
                    allocations = counter->count();
            }
    };
    async_retry(ctx, attempt(), quick, ends_with(error_number(150)));
    ctx.run();
    BOOST_TEST(attempts == 150);
    BOOST_TEST(allocations == 0U);
}

BOOST_AUTO_TEST_SUITE_END()

}
