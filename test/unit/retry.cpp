// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#include <timewheel/retry.hpp>

#include <test_common/checked_token.hpp>
#include <test_common/retry_fixture.hpp>
#include <test_common/tracker_executor.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>
#include <boost/system/system_error.hpp>
#include <boost/test/unit_test.hpp>

#include <chrono>
#include <exception>
#include <functional>
#include <limits>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace timewheel::test {

BOOST_AUTO_TEST_SUITE(retry)

namespace errc = boost::system::errc;

static_assert(std::is_same_v<
              exponential_backoff,
              basic_exponential_backoff<std::chrono::steady_clock>>);
static_assert(std::is_aggregate_v<exponential_backoff>);

BOOST_FIXTURE_TEST_CASE(success_at_once, retry_fixture<struct success_at_once>)
{
    outcome result;
    async_retry(ctx, attempt(), options(), succeeds().into(result));
    BOOST_TEST(attempts == 1);
    run_ready();
    BOOST_TEST(result.done());
    BOOST_TEST(delays.empty());
}

BOOST_FIXTURE_TEST_CASE(success_after_failures, retry_fixture<struct success_later>)
{
    failures = 3;
    outcome result;
    async_retry(ctx, attempt(), options(), succeeds().into(result));
    run_ready();
    BOOST_TEST(attempts == 1);
    pass(10ms - 1ns);
    BOOST_TEST(attempts == 1);
    pass(1ns);
    BOOST_TEST(attempts == 2);
    pass(20ms);
    BOOST_TEST(attempts == 3);
    pass(40ms - 1ns);
    BOOST_TEST(!result.done());
    pass(1ns);
    BOOST_TEST(attempts == 4);
    BOOST_TEST(result.done());
    BOOST_TEST((delays == std::vector<std::chrono::nanoseconds>{10ms, 20ms, 40ms}));
}

BOOST_FIXTURE_TEST_CASE(gives_up_with_the_last_error, retry_fixture<struct gives_up>)
{
    failures = 100;
    auto backoff = options();
    backoff.max_attempts = 4;
    std::vector<std::string> log;
    backoff.on_retry = [&](const error_code& ec, unsigned attempt, auto delay) {
        log.push_back(
            std::to_string(attempt) + ": " + std::to_string(ec.value()) + " in " +
            std::to_string(delay / 1ms)
        );
    };
    outcome result;
    async_retry(ctx, attempt(), backoff, ends_with(error_number(4)).into(result));
    run_all();
    BOOST_TEST(result.done());
    BOOST_TEST(attempts == 4);
    BOOST_TEST(
        log == (std::vector<std::string>{"1: 1 in 10", "2: 2 in 20", "3: 3 in 40"}),
        boost::test_tools::per_element()
    );

    attempts = 0;
    backoff.max_attempts = 1;
    async_retry(ctx, attempt(), backoff, ends_with(error_number(1)).into(result));
    run_all();
    BOOST_TEST(attempts == 1);
    BOOST_TEST(result.invoked == 2);
}

BOOST_FIXTURE_TEST_CASE(unlimited_attempts, retry_fixture<struct no_limit>)
{
    failures = 1000;
    auto backoff = options();
    backoff.max_attempts = exponential_backoff::unlimited;
    outcome result;
    async_retry(ctx, attempt(), backoff, succeeds().into(result));
    run_all();
    BOOST_TEST(result.done());
    BOOST_TEST(attempts == 1001);
    BOOST_CHECK(delays.back() == 100ms);
}

// Which errors are worth another attempt.
BOOST_FIXTURE_TEST_CASE(retry_if, retry_fixture<struct retry_if>)
{
    failures = 100;
    auto backoff = options();
    backoff.retry_if = [](const error_code& ec) { return ec.value() < 3; };
    outcome result;
    async_retry(ctx, attempt(), backoff, ends_with(error_number(3)).into(result));
    run_all();
    BOOST_TEST(attempts == 3);

    // By default all but a cancellation, whoever has cancelled.
    attempts = 0;
    error = asio::error::operation_aborted;
    async_retry(ctx, attempt(), options(), is_aborted().into(result));
    run_all();
    BOOST_TEST(attempts == 1);

    attempts = 0;
    backoff.retry_if = [](const error_code&) { return true; };
    async_retry(ctx, attempt(), backoff, is_aborted().into(result));
    run_all();
    BOOST_TEST(attempts == 5);
    BOOST_TEST(result.invoked == 3);
}

BOOST_FIXTURE_TEST_CASE(jitter_takes_a_part_of_the_delay, retry_fixture<struct jitter>)
{
    failures = 100;
    auto backoff = options();
    const auto delay_of = [&](double jitter, double random) {
        delays.clear();
        attempts = 0;
        backoff.jitter = jitter;
        backoff.random = [random] { return random; };
        async_retry(ctx, attempt(), backoff, asio::detached);
        run_all();
        return delays.at(1);
    };
    backoff.max_attempts = 3;
    BOOST_CHECK(delay_of(0, 0) == 20ms);
    BOOST_CHECK(delay_of(0, 1) == 20ms);
    BOOST_CHECK(delay_of(1, 0) == 0ms);
    BOOST_CHECK(delay_of(1, 0.25) == 5ms);
    BOOST_CHECK(delay_of(1, 1) == 20ms);
    BOOST_CHECK(delay_of(0.5, 0) == 10ms);
    BOOST_CHECK(delay_of(0.5, 0.5) == 15ms);
    BOOST_CHECK(delay_of(0.5, 1) == 20ms);
    // What is no fraction is not trusted.
    BOOST_CHECK(delay_of(1, 7) == 20ms);
    BOOST_CHECK(delay_of(1, -7) == 0ms);
    BOOST_CHECK(delay_of(1, std::numeric_limits<double>::quiet_NaN()) == 0ms);
}

// The generator of its own spreads the delays over all of [0, delay], differently each time.
BOOST_FIXTURE_TEST_CASE(full_jitter_by_default, retry_fixture<struct full_jitter>)
{
    BOOST_TEST(exponential_backoff().jitter == 1.0);
    failures = 10'000;
    auto backoff = options();
    backoff.jitter = 1;
    backoff.multiplier = 1;
    backoff.max_attempts = 1001;
    async_retry(ctx, attempt(), backoff, asio::detached);
    run_all();
    BOOST_REQUIRE(delays.size() == 1000U);
    double sum = 0;
    int low = 0, high = 0;
    for (const auto delay : delays) {
        BOOST_CHECK(delay >= 0ms);
        BOOST_CHECK(delay <= 10ms);
        sum += static_cast<double>(delay / 1ns) / 1e7;
        low += delay < 1ms;
        high += delay > 9ms;
    }
    BOOST_TEST(sum / 1000 > 0.45);
    BOOST_TEST(sum / 1000 < 0.55);
    BOOST_TEST(low > 50);
    BOOST_TEST(high > 50);

    const auto before = delays;
    delays.clear();
    attempts = 0;
    async_retry(ctx, attempt(), backoff, asio::detached);
    run_all();
    BOOST_CHECK(delays != before);
}

BOOST_FIXTURE_TEST_CASE(a_generator_of_the_users, retry_fixture<struct generator>)
{
    failures = 100;
    auto backoff = options();
    backoff.jitter = 1;
    backoff.random = [random = std::minstd_rand(7)]() mutable {
        return std::uniform_real_distribution<>()(random);
    };
    std::vector<std::vector<std::chrono::nanoseconds>> runs;
    for (int i = 0; i != 2; ++i) {
        attempts = 0;
        delays.clear();
        async_retry(ctx, attempt(), backoff, asio::detached);
        run_all();
        runs.push_back(delays);
    }
    BOOST_CHECK(runs[0] == runs[1]); // each operation has a copy
}

// Delays grow to the maximum, and go no further, whatever the numbers are.
BOOST_AUTO_TEST_CASE(delays_saturate)
{
    using backoff = exponential_backoff;
    using nanoseconds = std::chrono::nanoseconds;
    const auto forever = (nanoseconds::max)();
    const auto nth = [](const backoff& options, int n) {
        detail::backoff_delays<nanoseconds> delays(options);
        for (; n > 1; --n)
            delays.next(options);
        return delays.next(options);
    };
    backoff fast{.initial = 1ns, .multiplier = 1e300, .maximum = forever, .jitter = 0};
    BOOST_CHECK(nth(fast, 1) == 1ns);
    BOOST_CHECK(nth(fast, 2) == forever);
    BOOST_CHECK(nth(fast, 100) == forever);
    fast.jitter = 1;
    fast.random = [] { return 0; };
    BOOST_CHECK(nth(fast, 3) == 0ns);
    backoff slow{.initial = 1ns, .multiplier = 1.25, .maximum = 1h, .jitter = 0};
    BOOST_CHECK(nth(slow, 2) == 2ns); // rounds up, and goes on from 1.25
    BOOST_CHECK(nth(slow, 3) == 2ns);
    BOOST_CHECK(nth(slow, 200) == 1h);
    backoff constant{.initial = forever, .multiplier = 1, .maximum = forever, .jitter = 0};
    BOOST_CHECK(nth(constant, 1) == forever);
    BOOST_CHECK(nth(constant, 50) == forever);

    using seconds = std::chrono::duration<double>;
    struct floating
    {
        seconds initial{0.5};
        double multiplier = 3;
        seconds maximum{std::numeric_limits<double>::infinity()};
        double jitter = 0;
        std::function<double()> random = nullptr;
    } options;
    detail::backoff_delays<seconds> delays(options);
    BOOST_TEST(delays.next(options).count() == 0.5);
    BOOST_TEST(delays.next(options).count() == 1.5);
    for (int i = 0; i != 1000; ++i)
        delays.next(options);
    BOOST_TEST(delays.next(options).count() == std::numeric_limits<double>::infinity());
}

BOOST_FIXTURE_TEST_CASE(bad_options_are_refused, retry_fixture<struct bad_options>)
{
    const double nan = std::numeric_limits<double>::quiet_NaN();
    const double infinite = std::numeric_limits<double>::infinity();
    const auto message = [&](auto change) -> std::string {
        auto backoff = options();
        change(backoff);
        try {
            async_retry(ctx, attempt(), backoff, is_dropped());
        } catch (const std::invalid_argument& e) {
            return e.what();
        }
        return "nothing was thrown";
    };
    const std::string prefix = "timewheel: exponential_backoff::";
    BOOST_TEST(message([](auto& b) {
                   b.initial = 0ns;
               }) == prefix + "initial is 0 ns, but must be positive");
    BOOST_TEST(message([](auto& b) {
                   b.initial = -3ns;
               }) == prefix + "initial is -3 ns, but must be positive");
    BOOST_TEST(message([](auto& b) {
                   b.multiplier = 0.5;
               }) == prefix + "multiplier is 0.500000, but must be finite and at least 1");
    BOOST_TEST(message([&](auto& b) { b.multiplier = nan; }).find(prefix + "multiplier is") == 0U);
    BOOST_TEST(message([&](auto& b) {
                   b.multiplier = infinite;
               }) == prefix + "multiplier is inf, but must be finite and at least 1");
    BOOST_TEST(message([](auto& b) {
                   b.maximum = 9ns;
               }) == prefix + "maximum is 9 ns, but must be at least initial, 10000000 ns");
    BOOST_TEST(message([](auto& b) {
                   b.jitter = -0.5;
               }) == prefix + "jitter is -0.500000, but must be from 0 to 1");
    BOOST_TEST(message([](auto& b) {
                   b.jitter = 1.5;
               }) == prefix + "jitter is 1.500000, but must be from 0 to 1");
    BOOST_TEST(message([&](auto& b) { b.jitter = nan; }).find(prefix + "jitter is") == 0U);
    BOOST_TEST(message([](auto& b) {
                   b.max_attempts = 0;
               }) == prefix + "max_attempts is 0, but must be at least 1");
    BOOST_TEST(attempts == 0);
}

BOOST_FIXTURE_TEST_CASE(empty_operations_are_refused, retry_fixture<struct empty_operations>)
{
    const auto message = [&](auto operation) -> std::string {
        try {
            async_retry(ctx, operation, options(), asio::detached);
        } catch (const std::invalid_argument& e) {
            return e.what();
        }
        return "nothing was thrown";
    };
    const std::string expected =
        "timewheel: the operation of async_retry is empty, but must be callable";
    BOOST_TEST(message(std::function<asio::awaitable<void>()>()) == expected);
    using pointer = asio::awaitable<int> (*)();
    BOOST_TEST(message(pointer()) == expected);
    run_ready();
    BOOST_TEST(ctx.stopped());
}

// A function object that is busy with nothing when the handler runs, or its memory goes away.
BOOST_FIXTURE_TEST_CASE(operation_is_kept_and_freed_in_time, retry_fixture<struct kept>)
{
    failures = 2;
    auto resource = std::make_shared<int>(0);
    const std::weak_ptr<int> watch = resource;
    outcome result;
    async_retry(
        ctx,
        [operation = attempt(), resource = std::move(resource)](auto token) {
            ++*resource;
            return operation(std::move(token));
        },
        options(),
        succeeds().into(result).then([&] { BOOST_TEST(watch.expired()); })
    );
    run_ready();
    BOOST_TEST(*watch.lock() == 1);
    run_all();
    BOOST_TEST(result.done());
}

BOOST_FIXTURE_TEST_CASE(a_move_only_operation, retry_fixture<struct move_only>)
{
    failures = 1;
    outcome result;
    async_retry(
        ctx,
        [operation = attempt(), resource = std::make_unique<int>(0)] {
            ++*resource;
            return operation(asio::deferred);
        },
        options(),
        succeeds().into(result)
    );
    run_all();
    BOOST_TEST(result.done());
}

BOOST_FIXTURE_TEST_CASE(handler_runs_on_its_executor, retry_fixture<struct executors>)
{
    failures = 2;
    const tracker_executor io{ctx.get_executor()};
    const tracker_executor bound{ctx.get_executor()};
    outcome first, second;
    async_retry(io, attempt(), options(), succeeds().into(first).on(io));
    async_retry(io, attempt(), options(), asio::bind_executor(bound, [&](error_code) {
                    BOOST_TEST(bound.running_here());
                    ++second.invoked;
                }));
    BOOST_TEST(io.diary().outstanding > 0);
    BOOST_TEST(bound.diary().outstanding > 0);
    run_all();
    BOOST_TEST(first.done());
    BOOST_TEST(second.done());
    BOOST_TEST(io.diary().outstanding == 0);
    BOOST_TEST(bound.diary().outstanding == 0);
}

BOOST_AUTO_TEST_CASE(shutdown_drops_everything)
{
    using fixture = retry_fixture<struct shutting_down>;
    auto resource = std::make_shared<int>(0);
    {
        fixture waiting;
        waiting.leave_pending();
        waiting.failures = 1;
        async_retry(waiting.ctx, waiting.attempt(), waiting.options(), [resource](error_code) {
            BOOST_ERROR("called at shutdown");
        });
        waiting.run_ready();
    }
    {
        fixture running;
        running.leave_pending();
        async_retry(running.ctx, running.attempt(), running.options(), [resource](error_code) {
            BOOST_ERROR("called at shutdown");
        });
    }
    BOOST_TEST(resource.use_count() == 1);
}

// What the function throws itself is not the failure of an attempt.
BOOST_FIXTURE_TEST_CASE(exceptions_of_the_function_pass, retry_fixture<struct throwing>)
{
    failures = 1;
    int calls = 0;
    const auto operation = [&] {
        if (++calls == 2)
            throw std::runtime_error("no attempt");
        return attempt()(asio::deferred);
    };
    outcome result;
    async_retry(ctx, operation, options(), is_dropped().into(result));
    run_ready();
    clock::advance(10ms);
    BOOST_CHECK_THROW(ctx.poll(), std::runtime_error);
    BOOST_TEST(result.dropped == 1);

    calls = 1;
    BOOST_CHECK_THROW(
        async_retry(ctx, operation, options(), is_dropped().into(result)), std::runtime_error
    );
    BOOST_TEST(result.dropped == 2);
}

BOOST_AUTO_TEST_SUITE_END()

}
