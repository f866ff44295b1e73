// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#include <timewheel/detail/wheel_driver.hpp>
#include <timewheel/steady_timer.hpp>

#include <test_common/checked_token.hpp>
#include <test_common/io_fixture.hpp>
#include <test_common/run.hpp>
#include <test_common/virtual_time.hpp>

#include <boost/asio/bind_executor.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/strand.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <atomic>
#include <deque>
#include <functional>
#include <future>
#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

// The turns of a driver, as a timer's user sees them: one completion is one turn of the context.

namespace timewheel::test {

namespace {

// Timers with one wait each, all due after the same time.
template <class Timer, class Handler>
std::deque<Timer>
arm(asio::io_context& ctx, std::size_t n, typename Timer::duration after, Handler handler)
{
    std::deque<Timer> timers;
    for (std::size_t i = 0; i != n; ++i) {
        timers.emplace_back(ctx, after);
        timers.back().async_wait([i, handler](error_code ec) { handler(i, ec); });
    }
    return timers;
}

struct too_much : std::runtime_error
{
    too_much() : std::runtime_error("thrown by a handler") {}
};

// Threads that run a context, until the context is out of work.
class crew
{
public:
    crew(asio::io_context& ctx, unsigned n)
    {
        for (; n != 0; --n)
            threads_.emplace_back([&ctx] { ctx.run(); });
    }

    ~crew()
    {
        for (std::thread& thread : threads_)
            thread.join();
    }

private:
    std::vector<std::thread> threads_;
};

}

BOOST_FIXTURE_TEST_SUITE(wheel_driver, io_fixture)

// In real time, where the alarm that rings is the first turn.
BOOST_AUTO_TEST_CASE(run_one_runs_exactly_one_handler)
{
    for (const auto after : {0ms, 1ms, 20ms}) {
        BOOST_TEST_CONTEXT("after " << after.count() << " ms")
        {
            std::size_t done = 0;
            const auto timers =
                arm<steady_timer>(ctx, 60, after, [&](std::size_t i, error_code ec) {
                    BOOST_TEST(!ec);
                    BOOST_TEST(i == done++);
                });
            let_time_pass(after + 5ms);
            for (std::size_t turns = 1; turns <= 60; ++turns) {
                BOOST_TEST_REQUIRE(ctx.run_one() == 1u);
                BOOST_TEST_REQUIRE(done == turns);
            }
            BOOST_TEST(ctx.poll() == 0u);
            BOOST_TEST(ctx.stopped());
            ctx.restart();
        }
    }
}

// A turn is bounded: while a crowd is being refiled for a finer level, it may complete nothing.
BOOST_AUTO_TEST_CASE(run_one_never_runs_two_handlers)
{
    struct tag;
    using timer = virtual_timer<tag>;
    constexpr std::size_t n = 5000;
    std::size_t done = 0;
    const auto timers = arm<timer>(ctx, n, 1h, [&](std::size_t, error_code) { ++done; });
    manual_clock<tag>::advance(1h);
    std::size_t turns = 0;
    for (std::size_t before = 0; ctx.run_one() != 0; before = done) {
        ++turns;
        BOOST_TEST_REQUIRE(done <= before + 1);
    }
    BOOST_TEST(done == n);
    BOOST_TEST(turns <= n + n / 8);
}

BOOST_AUTO_TEST_CASE(each_poll_one_runs_one_cancelled_handler)
{
    struct tag;
    using timer = virtual_timer<tag>;
    std::size_t done = 0;
    auto timers = arm<timer>(ctx, 200, 1s, [&](std::size_t, error_code ec) {
        BOOST_TEST(ec == asio::error::operation_aborted);
        ++done;
    });
    timer later(ctx, 1h);
    later.async_wait(is_aborted());
    for (timer& each : timers)
        BOOST_TEST(each.cancel() == 1u);
    for (std::size_t turns = 1; turns <= 200; ++turns) {
        BOOST_REQUIRE(ctx.poll_one() == 1u);
        BOOST_REQUIRE(done == turns);
    }
    later.cancel();
    poll_until_quiet(ctx);
}

// Promise 6: what a handler throws concerns nobody else.
BOOST_AUTO_TEST_CASE(throwing_handlers_hold_up_nobody)
{
    struct tag;
    using timer = virtual_timer<tag>;
    constexpr std::size_t n = 1000;
    std::size_t thrown = 0;
    std::size_t done = 0;
    const auto timers = arm<timer>(ctx, n, 1s, [&](std::size_t i, error_code) {
        ++done;
        if (i % 3 == 0)
            throw too_much();
    });
    manual_clock<tag>::advance(1s);
    while (!ctx.stopped()) {
        try {
            ctx.run();
        } catch (const too_much&) {
            ++thrown;
        }
    }
    BOOST_TEST(done == n);
    BOOST_TEST(thrown == (n + 2) / 3);
    checked_stats<timer>(ctx, n);
}

BOOST_AUTO_TEST_CASE(stop_leaves_the_others_ready)
{
    struct tag;
    using timer = virtual_timer<tag>;
    constexpr std::size_t n = 300;
    std::size_t done = 0;
    const auto timers = arm<timer>(ctx, n, 1s, [&](std::size_t, error_code) {
        ++done;
        ctx.stop();
    });
    manual_clock<tag>::advance(1s);
    for (std::size_t runs = 1; runs <= n; ++runs) {
        ctx.restart();
        ctx.run();
        BOOST_REQUIRE(done == runs);
    }
}

// A handler that waits for all others to run needs every one of them to be queued, wherever it
// stands in the batch and however many there are.
BOOST_AUTO_TEST_CASE(blocking_handler_holds_up_nobody)
{
    struct tag;
    using timer = virtual_timer<tag>;
    for (const std::size_t n : {2u, 3u, 63u, 64u, 65u, 66u, 100u, 200u, 1000u}) {
        for (const std::size_t blocker : {std::size_t{0}, std::size_t{1}, n / 2, n - 1}) {
            BOOST_TEST_CONTEXT("handler " << blocker << " of " << n << " blocks")
            {
                std::atomic<std::size_t> done{0};
                std::promise<void> others;
                std::atomic<bool> stuck{false};
                const auto timers = arm<timer>(ctx, n, 1s, [&](std::size_t i, error_code) {
                    if (i == blocker) {
                        stuck =
                            others.get_future().wait_for(patience) == std::future_status::timeout;
                    } else if (++done == n - 1) {
                        others.set_value();
                    }
                });
                manual_clock<tag>::advance(1s);
                {
                    crew threads(ctx, 2);
                }
                BOOST_TEST(done == n - 1);
                BOOST_REQUIRE(!stuck);
                ctx.restart();
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(blocking_handler_of_a_cancelled_wait_holds_up_nobody)
{
    struct tag;
    using timer = virtual_timer<tag>;
    for (const std::size_t n : {2u, 64u, 65u, 200u}) {
        BOOST_TEST_CONTEXT(n << " waits")
        {
            std::atomic<std::size_t> done{0};
            std::promise<void> others;
            std::atomic<bool> stuck{false};
            auto timers = arm<timer>(ctx, n, 1s, [&](std::size_t i, error_code) {
                if (i == 0) {
                    stuck = others.get_future().wait_for(patience) == std::future_status::timeout;
                } else if (++done == n - 1) {
                    others.set_value();
                }
            });
            for (timer& each : timers)
                each.cancel();
            {
                crew threads(ctx, 2);
            }
            BOOST_REQUIRE(!stuck);
            ctx.restart();
        }
    }
}

// A timer that becomes due while a handler blocks is for the other thread.
BOOST_AUTO_TEST_CASE(blocking_handler_does_not_hold_up_later_deadlines)
{
    struct tag;
    using timer = virtual_timer<tag>;
    for (const std::size_t n : {1u, 64u, 200u}) {
        BOOST_TEST_CONTEXT(n << " timers at first")
        {
            std::promise<void> blocking;
            std::promise<void> unblock;
            const auto timers = arm<timer>(ctx, n, 1s, [&](std::size_t i, error_code) {
                if (i == 0) {
                    blocking.set_value();
                    unblock.get_future().wait();
                }
            });
            timer later(ctx, 2s);
            std::promise<void> fired;
            later.async_wait([&](error_code) { fired.set_value(); });
            manual_clock<tag>::advance(1s);
            {
                crew threads(ctx, 2);
                blocking.get_future().wait();
                manual_clock<tag>::advance(1s);
                BOOST_TEST((fired.get_future().wait_for(patience) == std::future_status::ready));
                unblock.set_value();
            }
            ctx.restart();
        }
    }
}

// Faults XD6: mass expiry leaves the context time for its other work, and keeps the order.
BOOST_AUTO_TEST_CASE(mass_expiry_starves_nobody)
{
    struct tag;
    using timer = virtual_timer<tag, asio::io_context::executor_type>;
    constexpr std::size_t n = 100'000;
    std::size_t done = 0;
    std::size_t done_before = 0;
    std::size_t longest = 0;
    std::size_t out_of_order = 0;
    std::function<void()> io = [&] {
        longest = (std::max)(longest, done - done_before);
        done_before = done;
        if (done != n)
            asio::post(ctx, [&] { io(); });
    };
    const auto timers = arm<timer>(ctx, n, 1s, [&](std::size_t i, error_code) {
        out_of_order += i != done;
        ++done;
    });
    asio::post(ctx, [&] { io(); });
    manual_clock<tag>::advance(1s);
    BOOST_TEST(run_to_end(ctx, 30s));
    BOOST_TEST(done == n);
    BOOST_TEST(out_of_order == 0u);
    BOOST_TEST(longest <= detail::runner_set::most + 1);
    checked_stats<timer>(ctx, n);
}

// Faults XD1, XD3: a timer that is always due again takes turns with the others.
BOOST_AUTO_TEST_CASE(rearming_with_zero_starves_nobody)
{
    struct tag;
    using timer = virtual_timer<tag>;
    for (const std::size_t n : {1u, 10u, 63u, 64u, 65u, 500u}) {
        BOOST_TEST_CONTEXT(n << " timers")
        {
            bool stop = false;
            std::vector<std::size_t> rounds(n);
            std::deque<timer> timers;
            std::function<void(std::size_t)> again = [&](std::size_t i) {
                timers[i].expires_after(i % 2 == 0 ? 0s : -1s);
                timers[i].async_wait([&, i](error_code ec) {
                    BOOST_TEST(!ec);
                    ++rounds[i];
                    if (!stop)
                        again(i);
                });
            };
            for (std::size_t i = 0; i != n; ++i) {
                timers.emplace_back(ctx);
                again(i);
            }
            timer other(ctx, 1ms);
            outcome fired;
            other.async_wait(succeeds().into(fired));
            std::size_t posted = 0;
            std::function<void()> io = [&] {
                ++posted;
                if (!stop)
                    asio::post(ctx, [&] { io(); });
            };
            io();
            for (std::size_t turns = 0; turns != 20 * (n + 1); ++turns)
                ctx.poll_one();
            BOOST_TEST(!fired.done());
            const auto [fewest, most] = std::minmax_element(rounds.begin(), rounds.end());
            BOOST_TEST(*fewest > 0u);
            BOOST_TEST(*most - *fewest <= 1u);
            BOOST_TEST(posted >= 18u);
            // A deadline that comes now is served although the others never pause.
            manual_clock<tag>::advance(1ms);
            std::size_t turns = 0;
            while (!fired.done() && turns < 3 * n + 200)
                turns += ctx.poll_one();
            BOOST_TEST(fired.done());
            stop = true;
            poll_until_quiet(ctx);
            ctx.restart();
        }
    }
}

// The same with deadlines in the past, which come before those of the others.
BOOST_AUTO_TEST_CASE(rearming_in_the_past_starves_nobody)
{
    struct tag;
    using clock = manual_clock<tag>;
    using timer = virtual_timer<tag>;
    clock::set(clock::time_point(1h));
    bool stop = false;
    std::deque<timer> timers;
    std::function<void(std::size_t)> again = [&](std::size_t i) {
        timers[i].expires_at(clock::time_point(std::chrono::seconds(i)));
        timers[i].async_wait([&, i](error_code) {
            if (!stop)
                again(i);
        });
    };
    for (std::size_t i = 0; i != 300; ++i) {
        timers.emplace_back(ctx);
        again(i);
    }
    outcome fired[3];
    timer other(ctx, 1ms);
    other.async_wait(succeeds().into(fired[0]));
    timer another(ctx, 5min);
    another.async_wait(succeeds().into(fired[1]));
    for (int turns = 0; turns != 1000; ++turns)
        ctx.poll_one();
    clock::advance(5min);
    timer just_now(ctx, 0s);
    just_now.async_wait(succeeds().into(fired[2]));
    for (int turns = 0; turns != 2000; ++turns)
        ctx.poll_one();
    BOOST_TEST(fired[0].done());
    BOOST_TEST(fired[1].done());
    BOOST_TEST(fired[2].done());
    stop = true;
    poll_until_quiet(ctx);
}

// Whatever executors are involved, waits are submitted in the order of their deadlines.
BOOST_AUTO_TEST_CASE(order_holds_across_executors)
{
    struct tag;
    using timer = virtual_timer<tag>;
    auto strand = asio::make_strand(ctx);
    std::vector<int> order;
    std::deque<timer> timers;
    for (int i = 0; i != 300; ++i) {
        if (i % 3 == 0)
            timers.emplace_back(strand);
        else
            timers.emplace_back(ctx);
        timers.back().expires_after(std::chrono::milliseconds(1000 - i / 10));
        const auto handler = [&order, i](error_code) { order.push_back(i); };
        if (i % 3 == 1)
            timers.back().async_wait(asio::bind_executor(strand, handler));
        else
            timers.back().async_wait(handler);
    }
    manual_clock<tag>::advance(1s);
    poll_until_quiet(ctx);
    BOOST_TEST_REQUIRE(order.size() == 300u);
    // Each executor's handlers keep their order; a strand's may come later than the context's.
    for (const bool on_strand : {false, true}) {
        int before = -1;
        int tick_before = 0;
        for (const int i : order) {
            if ((i % 3 != 2) != on_strand)
                continue;
            const int tick = 1000 - i / 10;
            BOOST_TEST((tick > tick_before || (tick == tick_before && i > before)));
            before = i;
            tick_before = tick;
        }
    }
}

// Completions of several kinds are handed out first come, first served.
BOOST_AUTO_TEST_CASE(cancelled_and_expired_waits_take_turns_in_order)
{
    struct tag;
    using timer = virtual_timer<tag>;
    for (const bool cancelled_first : {true, false}) {
        std::vector<int> order;
        timer a(ctx, 1s), b(ctx, 2s), c(ctx, 1s);
        a.async_wait([&](error_code ec) { order.push_back(ec ? -1 : 1); });
        b.async_wait([&](error_code ec) { order.push_back(ec ? -2 : 2); });
        c.async_wait([&](error_code ec) { order.push_back(ec ? -3 : 3); });
        if (cancelled_first)
            b.cancel();
        manual_clock<tag>::advance(1s);
        // What is due by now is found by a turn, and so comes later.
        if (!cancelled_first)
            b.cancel();
        poll_until_quiet(ctx);
        BOOST_TEST(order == (std::vector{-2, 1, 3}), boost::test_tools::per_element());
        ctx.restart();
    }
}

// A deadline that was moved later leaves nothing behind that could complete.
BOOST_AUTO_TEST_CASE(moved_deadlines_are_filed_again)
{
    struct tag;
    using timer = virtual_timer<tag>;
    constexpr std::size_t n = 1000;
    std::deque<timer> timers;
    std::size_t fired = 0;
    for (std::size_t i = 0; i != n; ++i) {
        timers.emplace_back(ctx, 100ms);
        timers.back().async_wait(is_aborted());
    }
    poll_until_quiet(ctx);
    for (timer& each : timers) {
        each.expires_after(1h);
        each.async_wait([&](error_code ec) { fired += !ec; });
    }
    manual_clock<tag>::advance(100ms);
    poll_until_quiet(ctx);
    BOOST_TEST(fired == 0u);
    BOOST_TEST(checked_stats<timer>(ctx, 2 * n).refiled == n);
    manual_clock<tag>::advance(1h - 100ms - 1ns);
    poll_until_quiet(ctx);
    BOOST_TEST(fired == 0u);
    manual_clock<tag>::advance(1ns);
    poll_until_quiet(ctx);
    BOOST_TEST(fired == n);
}

// Waits for its turn, and is moved to a later tick before it: it loses its place.
BOOST_AUTO_TEST_CASE(moved_later_while_due)
{
    struct tag;
    using clock = timewheel::manual_clock<tag>;
    using timer = virtual_timer<tag>;
    clock::set(clock::time_point(1h));
    std::vector<int> order;
    timer moved(ctx, clock::time_point(1s)), other(ctx, clock::time_point(2s));
    moved.async_wait(is_aborted());
    other.async_wait([&](error_code) { order.push_back(1); });
    moved.expires_after(10ms);
    moved.async_wait([&](error_code) { order.push_back(2); });
    clock::advance(10ms);
    poll_until_quiet(ctx);
    BOOST_TEST(order == (std::vector{1, 2}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()

}
