// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#include <timewheel/wheel_service.hpp>

#include <timewheel/steady_timer.hpp>
#include <timewheel/system_timer.hpp>

#include <test_common/checked_token.hpp>
#include <test_common/io_fixture.hpp>
#include <test_common/run.hpp>
#include <test_common/virtual_time.hpp>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/strand.hpp>
#include <boost/test/unit_test.hpp>

#include <deque>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace timewheel::test {

BOOST_FIXTURE_TEST_SUITE(wheel_service, io_fixture)

BOOST_AUTO_TEST_CASE(tick_is_a_millisecond_by_default)
{
    BOOST_TEST((asio::use_service<timewheel::wheel_service>(ctx).tick() == 1ms));
}

BOOST_AUTO_TEST_CASE(tick_is_chosen_before_first_use)
{
    asio::make_service<timewheel::wheel_service>(ctx, wheel_service_options{.tick = 50us});
    const steady_timer t(ctx);
    BOOST_TEST((asio::use_service<timewheel::wheel_service>(ctx).tick() == 50us));
    BOOST_CHECK_THROW(
        asio::make_service<timewheel::wheel_service>(ctx), asio::service_already_exists
    );
}

BOOST_AUTO_TEST_CASE(tick_must_be_positive)
{
    for (const auto tick : {0ns, -1ns, -5000ns, (std::chrono::nanoseconds::min)()}) {
        BOOST_CHECK_EXCEPTION(
            asio::make_service<timewheel::wheel_service>(ctx, wheel_service_options{.tick = tick}),
            std::invalid_argument,
            [&](const std::invalid_argument& e) {
                const std::string what = e.what();
                return what.find("tick") != std::string::npos &&
                       what.find(std::to_string(tick.count())) != std::string::npos;
            }
        );
    }
    // Nothing is left of the attempts.
    const steady_timer t(ctx);
}

BOOST_AUTO_TEST_CASE(executor_must_be_of_the_context)
{
    asio::io_context other;
    BOOST_CHECK_THROW(
        asio::make_service<timewheel::wheel_service>(ctx, other.get_executor()),
        std::invalid_argument
    );
    asio::make_service<timewheel::wheel_service>(ctx, asio::make_strand(ctx));
    outcome result;
    steady_timer t(ctx, 1ms);
    t.async_wait(succeeds().into(result));
    BOOST_TEST(run_to_end(ctx));
    BOOST_TEST(result.done());
}

BOOST_AUTO_TEST_CASE(counters_add_up)
{
    struct tag;
    using clock = timewheel::manual_clock<tag>;
    using timer = virtual_timer<tag>;
    timer a(ctx, 1s), b(ctx, 2s);
    asio::cancellation_signal signal;
    for (int i = 0; i != 3; ++i)
        a.async_wait(ends());
    b.async_wait(asio::bind_cancellation_slot(signal.slot(), [](error_code) {}));
    b.async_wait(ends());
    BOOST_TEST(checked_stats<timer>(ctx, 5).pending == 5u);
    a.cancel_one();
    BOOST_TEST(checked_stats<timer>(ctx, 5).cancelled == 1u);
    signal.emit(asio::cancellation_type::total);
    BOOST_TEST(checked_stats<timer>(ctx, 5).cancelled == 2u);
    clock::advance(1s);
    ctx.poll();
    auto stats = checked_stats<timer>(ctx, 5);
    BOOST_TEST(stats.fired == 2u);
    BOOST_TEST(stats.pending == 1u);
    timer c(std::move(b));
    checked_stats<timer>(ctx, 5);
    c.async_wait(ends());
    c = timer(ctx);
    stats = checked_stats<timer>(ctx, 6);
    BOOST_TEST(stats.pending == 0u);
    BOOST_TEST(stats.cancelled == 4u);
    ctx.poll();
}

BOOST_AUTO_TEST_CASE(next_expiry_is_exact)
{
    struct tag;
    using clock = timewheel::manual_clock<tag>;
    using timer = virtual_timer<tag>;
    auto& service = service_of<timer>(ctx);
    const auto next = [&]() -> std::optional<std::chrono::nanoseconds> {
        const auto when = service.next_expiry();
        return when ? std::optional(when->time_since_epoch()) : std::nullopt;
    };
    BOOST_TEST(!next().has_value());
    timer never(ctx, (clock::time_point::max)());
    never.async_wait(is_aborted());
    BOOST_TEST(!next().has_value());
    timer far(ctx, 24h * 365), near(ctx, 70s);
    far.async_wait(ends());
    BOOST_TEST((next() == 24h * 365));
    near.async_wait(ends());
    BOOST_TEST((next() == 70s));
    near.expires_after(1500us); // earlier, and rounded up
    near.async_wait(ends());
    BOOST_TEST((next() == 2ms));
    near.expires_after(90s); // later, which leaves the node where it is
    BOOST_TEST((next() == 24h * 365));
    near.async_wait(ends());
    BOOST_TEST((next() == 90s));
    {
        timer gone(ctx, 5s);
        gone.async_wait(ends());
        BOOST_TEST((next() == 5s));
    }
    BOOST_TEST((next() == 90s));
    near.cancel(); // stays filed
    BOOST_TEST((next() == 24h * 365));
    far.cancel();
    BOOST_TEST(!next().has_value());
    never.cancel();
    ctx.poll();
}

// Promise 4: while a later timer is pending, arm and cancel do not touch the operating system's timer.
BOOST_AUTO_TEST_CASE(alarm_is_not_set_for_each_arm_and_cancel)
{
    auto& service = asio::use_service<timewheel::wheel_service>(ctx);
    steady_timer later(ctx, 1h), t(ctx);
    later.async_wait(is_aborted());
    for (int i = 0; i != 10'000; ++i) {
        t.expires_after(10s);
        t.async_wait([](error_code) {});
        t.cancel();
        ctx.poll();
    }
    BOOST_TEST(service.stats().os_arms < 20u);
    BOOST_TEST(service.stats().wakeups == 0u);
    later.cancel();
    ctx.poll();
}

BOOST_AUTO_TEST_CASE(cancel_never_touches_the_alarm)
{
    struct tag;
    using timer = virtual_timer<tag>;
    std::deque<timer> timers;
    for (int i = 100; i != 0; --i) {
        timers.emplace_back(ctx, std::chrono::seconds(i));
        timers.back().async_wait([](error_code) {});
    }
    ctx.poll();
    auto& service = service_of<timer>(ctx);
    const auto arms = service.stats().os_arms;
    while (timers.size() > 1) {
        timers.back().cancel(); // the earliest
        timers.pop_back();
        ctx.poll();
    }
    BOOST_TEST(service.stats().os_arms == arms);
    timers.clear();
    ctx.poll();
    BOOST_TEST(ctx.stopped());
}

BOOST_AUTO_TEST_CASE(nothing_pending_nothing_to_run)
{
    steady_timer t(ctx, 1h);
    t.async_wait(is_aborted());
    t.cancel();
    const stopwatch watch;
    ctx.run();
    BOOST_TEST((watch.elapsed() < 1s));
    BOOST_TEST(asio::use_service<timewheel::wheel_service>(ctx).stats().wakeups == 0u);
    ctx.restart();
    BOOST_TEST(ctx.run() == 0u);
}

// Fault XB4: the later one still fires; at most one wake-up for the one that is gone.
BOOST_AUTO_TEST_CASE(later_timer_fires_after_the_earlier_is_cancelled)
{
    steady_timer later(ctx, 60ms), earlier(ctx, 20ms);
    outcome result;
    later.async_wait(succeeds().into(result));
    earlier.async_wait(is_aborted());
    earlier.cancel();
    BOOST_TEST(run_to_end(ctx));
    BOOST_TEST(result.done());
    BOOST_TEST((std::chrono::steady_clock::now() >= later.expiry()));
    BOOST_TEST(asio::use_service<timewheel::wheel_service>(ctx).stats().wakeups <= 2u);
}

// Fault XB3: the alarm is set again after the last timer was gone.
BOOST_AUTO_TEST_CASE(alarm_is_set_again_after_a_pause)
{
    for (int round = 0; round != 5; ++round) {
        steady_timer t(ctx, 5ms), cancelled(ctx, 1ms);
        cancelled.async_wait(is_aborted());
        cancelled.cancel();
        t.async_wait(succeeds());
        BOOST_TEST(run_to_end(ctx));
        ctx.restart();
    }
}

// Promises 1 and 2, for every phase of the clock inside a tick and about each deadline.
BOOST_AUTO_TEST_CASE(never_early_and_at_most_a_tick_late)
{
    struct tag;
    using clock = timewheel::manual_clock<tag>;
    using timer = virtual_timer<tag>;
    for (const std::int64_t tick : {1'000, 999'983, 1'000'000, 7'000'000}) {
        asio::io_context with_tick;
        const wheel_service_options options{.tick = std::chrono::nanoseconds(tick)};
        asio::make_service<service_for<timer>>(with_tick, options);
        for (const std::int64_t phase : {-1'000'003, -1, 0, 1, 500'000, 999'999}) {
            for (const std::int64_t delay :
                 {std::int64_t{1},
                  tick - 1,
                  tick,
                  tick + 1,
                  255 * tick,
                  256 * tick,
                  256 * tick + 1,
                  65536 * tick,
                  65536 * tick - 1}) {
                BOOST_TEST_CONTEXT("tick " << tick << ", phase " << phase << ", delay " << delay)
                {
                    clock::set(clock::time_point(1h + std::chrono::nanoseconds(phase)));
                    with_tick.restart();
                    outcome result;
                    timer t(with_tick, std::chrono::nanoseconds(delay));
                    t.async_wait(succeeds().into(result));
                    clock::set(t.expiry() - 1ns);
                    with_tick.poll();
                    BOOST_TEST(!result.done());
                    clock::set(t.expiry() + options.tick - 1ns);
                    with_tick.poll();
                    BOOST_TEST(result.done());
                }
            }
        }
    }
}

// Deadlines in the same tick share a wake-up.
BOOST_AUTO_TEST_CASE(deadlines_are_coalesced_on_ticks)
{
    asio::make_service<timewheel::wheel_service>(ctx, wheel_service_options{.tick = 20ms});
    std::deque<steady_timer> timers;
    for (int i = 0; i != 100; ++i) {
        timers.emplace_back(ctx, std::chrono::microseconds(i * 300));
        timers.back().async_wait(succeeds());
    }
    BOOST_TEST(run_to_end(ctx));
    BOOST_TEST(asio::use_service<timewheel::wheel_service>(ctx).stats().wakeups <= 4u);
}

// Promise 9.
BOOST_AUTO_TEST_CASE(order_is_by_tick_then_by_start)
{
    struct tag;
    using clock = timewheel::manual_clock<tag>;
    using timer = virtual_timer<tag>;
    std::vector<int> order;
    std::deque<timer> timers;
    const auto add = [&](std::chrono::nanoseconds after, int number) {
        timers.emplace_back(ctx, after);
        timers.back().async_wait([&order, number](error_code) { order.push_back(number); });
    };
    add(300s, 3);
    add(299s + 999'900us, 4); // the same tick, though earlier
    add(300s, 5);
    add(1s, 0);
    add(999'999us, 1);
    add(299s, 2);
    clock::advance(200s);
    ctx.poll();
    add(100s, 6); // comes to where the others have been for long
    clock::advance(100s);
    ctx.poll();
    BOOST_TEST(order == (std::vector{0, 1, 2, 3, 4, 5, 6}), boost::test_tools::per_element());
}

// A clock in coarser units than the tick, and the wall clock.
BOOST_AUTO_TEST_CASE(each_clock_has_a_service_of_its_own)
{
    steady_timer a(ctx, 1ms);
    system_timer b(ctx, 1ms);
    a.async_wait(succeeds());
    b.async_wait(succeeds());
    BOOST_TEST(asio::use_service<timewheel::wheel_service>(ctx).stats().pending == 1u);
    BOOST_TEST(run_to_end(ctx));
}

BOOST_AUTO_TEST_SUITE_END()

}
