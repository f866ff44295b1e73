// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#include <timewheel/basic_waitable_timer.hpp>

#include "../conformance/stepped_clock.hpp"

#include <test_common/checked_token.hpp>
#include <test_common/io_fixture.hpp>
#include <test_common/run.hpp>
#include <test_common/virtual_time.hpp>

#include <boost/asio/io_context.hpp>
#include <boost/test/unit_test.hpp>

#include <atomic>
#include <chrono>
#include <ctime>
#include <deque>
#include <vector>

// Clocks that are set while timers wait (faults XE2, XE3, XE4).

namespace timewheel::test {

namespace {

// Real time, corrected now and then, like the wall clock.
template <class Tag>
struct corrected_clock
{
    using duration = std::chrono::nanoseconds;
    using rep = duration::rep;
    using period = duration::period;
    using time_point = std::chrono::time_point<corrected_clock>;

    static constexpr bool is_steady = false;

    static time_point now() noexcept
    {
        return time_point(std::chrono::steady_clock::now().time_since_epoch() + offset_.load());
    }

    static void step(duration by) noexcept { offset_ = offset_.load() + by; }

private:
    static inline std::atomic<duration> offset_{24h};
};

template <class Tag>
using corrected_timer = basic_waitable_timer<corrected_clock<Tag>>;

// A clock that only a test moves, and that nobody is told about.
template <class Tag>
using polled_timer = basic_waitable_timer<stepped_clock<Tag>, polling_traits<stepped_clock<Tag>>>;

// Long enough to notice any step, and to spare on a loaded machine.
constexpr auto notice = 1s + 500ms;

}

BOOST_FIXTURE_TEST_SUITE(clock_steps, io_fixture)

BOOST_AUTO_TEST_CASE(step_forward_is_noticed_within_a_second)
{
    struct tag;
    corrected_timer<tag> t(ctx, 1h);
    outcome result;
    t.async_wait(succeeds().into(result));
    run_during(ctx, 20ms);
    corrected_clock<tag>::step(1h);
    const stopwatch watch;
    BOOST_TEST(run_until(ctx, [&] { return result.done(); }));
    BOOST_TEST((watch.elapsed() < notice));
}

BOOST_AUTO_TEST_CASE(step_back_does_not_delay_new_waits)
{
    struct tag;
    corrected_timer<tag> pending(ctx, 10s);
    pending.async_wait(is_aborted());
    run_during(ctx, 20ms);
    corrected_clock<tag>::step(-1h);
    const stopwatch watch;
    for (const auto after : {50ms, 20ms, 500ms}) {
        outcome result;
        corrected_timer<tag> t(ctx, after);
        t.async_wait(succeeds().into(result));
        BOOST_TEST(run_until(ctx, [&] { return result.done(); }));
        BOOST_TEST((corrected_clock<tag>::now() >= t.expiry()));
    }
    BOOST_TEST((watch.elapsed() < notice));
    pending.cancel();
}

BOOST_AUTO_TEST_CASE(step_back_and_forward_again_is_noticed_within_a_second)
{
    struct tag;
    corrected_timer<tag> t(ctx, 10s);
    outcome result;
    t.async_wait(succeeds().into(result));
    run_during(ctx, 20ms);
    corrected_clock<tag>::step(-1h);
    run_during(ctx, 1200ms); // so that the service sleeps by the new time
    BOOST_TEST(!result.done());
    corrected_clock<tag>::step(1h + 10s);
    const stopwatch watch;
    BOOST_TEST(run_until(ctx, [&] { return result.done(); }));
    BOOST_TEST((watch.elapsed() < notice));
}

BOOST_AUTO_TEST_CASE(step_back_fires_nothing_early_and_does_not_spin)
{
    struct tag;
    corrected_timer<tag> t(ctx, 50ms);
    outcome result;
    t.async_wait(succeeds().into(result));
    corrected_clock<tag>::step(-1h);
    const std::clock_t before = std::clock();
    run_during(ctx, 300ms);
    BOOST_TEST((std::clock() - before) * 1000 / CLOCKS_PER_SEC < 100);
    BOOST_TEST(!result.done());
    corrected_clock<tag>::step(1h);
    BOOST_TEST(run_until(ctx, [&] { return result.done(); }));
}

// The clock is set back while most of what was due still waits for its turn.
BOOST_AUTO_TEST_CASE(step_back_in_the_middle_of_a_backlog)
{
    struct tag;
    using clock = stepped_clock<tag>;
    using timer = polled_timer<tag>;
    for (const std::size_t n : {65u, 1000u, 10'000u}) {
        for (const std::size_t turns : {0u, 1u, 2u, 10u, 64u}) {
            BOOST_TEST_CONTEXT(turns << " turns of " << n)
            {
                clock::set(24h);
                std::vector<int> done(n);
                std::deque<timer> timers;
                for (std::size_t i = 0; i != n; ++i) {
                    timers.emplace_back(ctx, std::chrono::milliseconds(1 + i % 10));
                    timers.back().async_wait([&, i](error_code ec) { done[i] += ec ? 100 : 1; });
                }
                clock::advance(10ms);
                for (std::size_t i = 0; i != turns; ++i)
                    ctx.run_one();
                clock::set(1h);
                run_during(ctx, 10ms);
                const auto fired = service_of<timer>(ctx).stats().fired;
                const auto so_far =
                    static_cast<std::size_t>(std::count(done.begin(), done.end(), 1));
                BOOST_TEST(so_far <= turns + 2 * detail::runner_set::most);
                // Nothing more happens until the time is there again.
                clock::set(24h);
                run_during(ctx, 5ms);
                BOOST_TEST(service_of<timer>(ctx).stats().fired == fired);
                ctx.restart();
                outcome result;
                timer late(ctx, 10ms);
                late.async_wait(succeeds().into(result));
                clock::set(24h + 10ms);
                BOOST_TEST(run_to_end(ctx));
                BOOST_TEST(result.done());
                BOOST_TEST(std::count(done.begin(), done.end(), 1) == std::ptrdiff_t(n));
                ctx.restart();
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(step_back_keeps_the_order)
{
    struct tag;
    using clock = stepped_clock<tag>;
    using timer = polled_timer<tag>;
    clock::set(24h);
    constexpr int n = 500;
    std::vector<int> order;
    std::deque<timer> timers;
    for (int i = 0; i != n; ++i) {
        timers.emplace_back(ctx, clock::time_point(24h + std::chrono::milliseconds(i / 5)));
        timers.back().async_wait([&, i](error_code) { order.push_back(i); });
    }
    clock::set(23h);
    run_during(ctx, 5ms);
    timer early(ctx, 1ms);
    early.async_wait([&](error_code) { order.push_back(-1); });
    clock::set(25h);
    BOOST_TEST(run_to_end(ctx));
    BOOST_TEST_REQUIRE(order.size() == std::size_t(n + 1));
    // What was due before the step has been handed out by then; the rest is in order.
    BOOST_TEST(std::is_sorted(order.begin(), std::find(order.begin(), order.end(), -1)));
    BOOST_TEST(std::is_sorted(std::find(order.begin(), order.end(), -1), order.end()));
}

// Each step by a random span, up and down: nothing early, nothing lost.
BOOST_AUTO_TEST_CASE(clock_that_jumps_about)
{
    struct tag;
    using clock = stepped_clock<tag>;
    using timer = polled_timer<tag>;
    clock::set(-1h);
    std::size_t done = 0;
    std::size_t early = 0;
    std::deque<timer> timers;
    for (int step = 0; step != 500; ++step) {
        timers.emplace_back(ctx, std::chrono::milliseconds(step * 7919 % 5000));
        const auto expiry = timers.back().expiry();
        timers.back().async_wait([&, expiry](error_code ec) {
            early += ec || clock::now() < expiry;
            ++done;
        });
        clock::advance(std::chrono::milliseconds(step * 104729 % 20001 - 10000));
        ctx.poll();
    }
    BOOST_TEST(early == 0u);
    clock::set(1000h);
    BOOST_TEST(run_to_end(ctx));
    BOOST_TEST(done == timers.size());
    BOOST_TEST(early == 0u);
    checked_stats<timer>(ctx, timers.size());
}

// A day at a tick of a millisecond is not gone through tick by tick (fault XE2).
BOOST_AUTO_TEST_CASE(jump_of_years_takes_no_time)
{
    struct tag;
    using clock = timewheel::manual_clock<tag>;
    using timer = virtual_timer<tag>;
    timer t(ctx, 1ms), later(ctx, 24h * 365 * 200);
    outcome result;
    t.async_wait(succeeds());
    later.async_wait(succeeds().into(result));
    clock::advance(24h * 365 * 100);
    BOOST_TEST(ctx.poll() < 10u);
    BOOST_TEST(!result.done());
    clock::advance(24h * 365 * 100);
    BOOST_TEST(ctx.poll() < 10u);
    BOOST_TEST(result.done());
}

BOOST_AUTO_TEST_SUITE_END()

}
