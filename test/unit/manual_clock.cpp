// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#include <timewheel/manual_clock.hpp>

#include <test_common/checked_token.hpp>
#include <test_common/io_fixture.hpp>
#include <test_common/run.hpp>
#include <test_common/virtual_time.hpp>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/test/unit_test.hpp>

#include <atomic>
#include <ctime>
#include <future>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace timewheel::test {

BOOST_FIXTURE_TEST_SUITE(manual_clock, io_fixture)

BOOST_AUTO_TEST_CASE(starts_at_the_epoch_and_moves_when_told)
{
    struct tag;
    using clock = timewheel::manual_clock<tag>;
    BOOST_TEST((clock::now() == clock::time_point()));
    clock::advance(5ns);
    BOOST_TEST((clock::now() == clock::time_point(5ns)));
    clock::advance(0ns);
    clock::advance_to(clock::time_point(5ns));
    BOOST_TEST((clock::now() == clock::time_point(5ns)));
    clock::advance_to(clock::time_point(1h));
    BOOST_TEST((clock::now() == clock::time_point(1h)));
    clock::set(clock::time_point(-1h));
    BOOST_TEST((clock::now() == clock::time_point(-1h)));
    clock::advance((clock::duration::max)());
    clock::advance((clock::duration::max)());
    BOOST_TEST((clock::now() == (clock::time_point::max)()));
    clock::set((clock::time_point::min)());
    BOOST_TEST((clock::now() == (clock::time_point::min)()));
}

BOOST_AUTO_TEST_CASE(each_tag_is_a_clock_of_its_own)
{
    struct tag_a;
    struct tag_b;
    timewheel::manual_clock<tag_a>::advance(1s);
    BOOST_TEST((timewheel::manual_clock<tag_b>::now().time_since_epoch() == 0s));
}

BOOST_AUTO_TEST_CASE(backward_moves_throw_and_name_the_argument)
{
    struct tag;
    using clock = timewheel::manual_clock<tag>;
    clock::advance(10ns);
    const auto says = [](std::vector<std::string> parts) {
        return [parts](const std::invalid_argument& e) {
            const std::string what = e.what();
            for (const std::string& part : parts) {
                if (what.find(part) == std::string::npos)
                    return false;
            }
            return true;
        };
    };
    BOOST_CHECK_EXCEPTION(clock::advance(-7ns), std::invalid_argument, says({"advance", "-7"}));
    BOOST_CHECK_EXCEPTION(
        clock::advance_to(clock::time_point(9ns)),
        std::invalid_argument,
        says({"advance_to", "9", "10"})
    );
    BOOST_TEST((clock::now() == clock::time_point(10ns)));
    // A move that failed has left no lock behind.
    clock::advance(1ns);
    BOOST_TEST((clock::now() == clock::time_point(11ns)));
}

BOOST_AUTO_TEST_CASE(one_poll_after_advance_completes_all_that_is_due)
{
    struct tag;
    using timer = virtual_timer<tag>;
    std::size_t fired = 0;
    std::vector<timer> timers;
    for (int i = 0; i != 5000; ++i) {
        timers.emplace_back(ctx, std::chrono::milliseconds(i % 1000));
        timers.back().async_wait([&](error_code ec) { fired += !ec; });
    }
    timewheel::manual_clock<tag>::advance(999ms);
    ctx.poll();
    BOOST_TEST(fired == timers.size());
}

// Each handler arms the next timer, which is due already.
BOOST_AUTO_TEST_CASE(one_poll_completes_a_chain_of_rearms_that_are_due)
{
    struct tag;
    using clock = timewheel::manual_clock<tag>;
    using timer = virtual_timer<tag>;
    timer later(ctx, 1h);
    later.async_wait(is_aborted());
    timer chain(ctx, clock::time_point(1s));
    int links = 0;
    std::function<void(error_code)> next = [&](error_code) {
        if (++links != 1000) {
            chain.expires_at(chain.expiry() + 1ms);
            chain.async_wait([&](error_code ec) { next(ec); });
        }
    };
    chain.async_wait([&](error_code ec) { next(ec); });
    clock::advance(1s + 999ms);
    ctx.poll();
    BOOST_TEST(links == 1000);
    later.cancel();
}

// What was started after the last move is due without another one.
BOOST_AUTO_TEST_CASE(one_poll_completes_what_is_started_past_its_deadline)
{
    struct tag;
    using clock = timewheel::manual_clock<tag>;
    using timer = virtual_timer<tag>;
    timer later(ctx, 1h), first(ctx, 10s);
    later.async_wait(is_aborted());
    outcome results[4];
    first.async_wait(succeeds().into(results[0]));
    clock::advance(20s); // past what the alarm is set to
    ctx.poll();
    BOOST_TEST(results[0].done());
    clock::advance(10s); // nothing is due by that
    ctx.poll();
    timer now(ctx, 0s), past(ctx, clock::time_point(25s)), exact(ctx, clock::time_point(30s));
    now.async_wait(succeeds().into(results[1]));
    ctx.poll();
    BOOST_TEST(results[1].done());
    past.async_wait(succeeds().into(results[2]));
    ctx.poll();
    BOOST_TEST(results[2].done());
    exact.async_wait(succeeds().into(results[3]));
    ctx.poll();
    BOOST_TEST(results[3].done());
    later.cancel();
}

// The same when the clock was moved by another thread, after the last look of the service at it.
BOOST_AUTO_TEST_CASE(advance_does_not_touch_services_without_waits)
{
    struct tag;
    using clock = timewheel::manual_clock<tag>;
    using timer = virtual_timer<tag>;
    timer t(ctx, 1s);
    clock::advance(2s);
    BOOST_TEST(ctx.poll() == 0u);
    ctx.restart();
    outcome result;
    t.async_wait(succeeds().into(result));
    ctx.poll();
    BOOST_TEST(result.done());
}

BOOST_AUTO_TEST_CASE(advance_wakes_run_in_another_thread)
{
    struct tag;
    using clock = timewheel::manual_clock<tag>;
    using timer = virtual_timer<tag>;
    timer t(ctx);
    std::thread runner;
    for (int round = 0; round != 50; ++round) {
        std::promise<void> fired;
        t.expires_after(1h);
        t.async_wait([&](error_code) { fired.set_value(); });
        ctx.restart();
        runner = std::thread([&] { ctx.run(); });
        clock::advance(1h);
        const bool in_time = fired.get_future().wait_for(patience) == std::future_status::ready;
        BOOST_TEST(in_time);
        if (!in_time)
            ctx.stop();
        runner.join();
    }
}

// A thread in run() sleeps until the clock is moved, however near the deadline is.
BOOST_AUTO_TEST_CASE(clock_that_stands_costs_nothing)
{
    struct tag;
    using clock = timewheel::manual_clock<tag>;
    using timer = virtual_timer<tag>;
    timer t(ctx, 1ms);
    t.async_wait(succeeds());
    clock::advance(1ms - 1ns);
    ctx.poll();
    const std::clock_t before = std::clock();
    ctx.run_for(200ms);
    const double cpu = static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC;
    BOOST_TEST(cpu < 0.05);
    clock::advance(1ns);
    BOOST_TEST(run_to_end(ctx));
    // Nor does the alarm go off in real time and look at a clock that nobody has moved.
    BOOST_TEST(service_of<timer>(ctx).stats().wakeups <= 1u);
}

BOOST_AUTO_TEST_CASE(advance_to_next_goes_from_deadline_to_deadline)
{
    struct tag;
    using clock = timewheel::manual_clock<tag>;
    using timer = virtual_timer<tag>;
    BOOST_TEST(!clock::advance_to_next());
    timer a(ctx, 1500us), b(ctx, 1h), c(ctx, 24h * 365), never(ctx, (clock::time_point::max)());
    BOOST_TEST(!clock::advance_to_next());
    std::string order;
    a.async_wait([&](error_code) { order += 'a'; });
    b.async_wait([&](error_code) { order += 'b'; });
    c.async_wait([&](error_code) { order += 'c'; });
    never.async_wait(is_aborted());
    BOOST_TEST(clock::advance_to_next());
    BOOST_TEST((clock::now() == clock::time_point(2ms)));
    BOOST_TEST(clock::advance_to_next()); // not before it is over
    BOOST_TEST((clock::now() == clock::time_point(2ms)));
    ctx.poll();
    BOOST_TEST(order == "a");
    BOOST_TEST(clock::advance_to_next());
    BOOST_TEST((clock::now() == clock::time_point(1h)));
    ctx.poll();
    BOOST_TEST(order == "ab");
    b.expires_after(1h);
    b.async_wait([&](error_code) { order += 'B'; });
    c.cancel();
    ctx.poll();
    BOOST_TEST(order == "abc");
    BOOST_TEST(clock::advance_to_next());
    BOOST_TEST((clock::now() == clock::time_point(2h)));
    ctx.poll();
    BOOST_TEST(order == "abcB");
    BOOST_TEST(!clock::advance_to_next());
    never.cancel();
    ctx.poll();
}

BOOST_AUTO_TEST_CASE(advance_to_next_leaves_the_clock_if_deadlines_have_passed)
{
    struct tag;
    using clock = timewheel::manual_clock<tag>;
    using timer = virtual_timer<tag>;
    timer t(ctx, 1s);
    t.async_wait(succeeds());
    clock::advance(1min);
    BOOST_TEST(clock::advance_to_next());
    BOOST_TEST((clock::now() == clock::time_point(1min)));
    ctx.poll();
}

BOOST_AUTO_TEST_CASE(near_the_ends_of_time)
{
    struct tag;
    using clock = timewheel::manual_clock<tag>;
    using timer = virtual_timer<tag>;
    for (const auto start :
         {(clock::time_point::min)(),
          clock::time_point(-1ns),
          clock::time_point(-1ms),
          (clock::time_point::max)() - 10s}) {
        BOOST_TEST_CONTEXT("clock at " << start.time_since_epoch().count())
        {
            clock::set(start);
            outcome result;
            timer t(ctx, 1s);
            t.async_wait(succeeds().into(result));
            clock::advance(1s - 1ns);
            ctx.poll();
            BOOST_TEST(!result.done());
            clock::advance(1ms);
            ctx.poll();
            BOOST_TEST(result.done());
            ctx.restart();
        }
    }
}

BOOST_AUTO_TEST_CASE(set_back_loses_nothing_and_fires_nothing_early)
{
    struct tag;
    using clock = timewheel::manual_clock<tag>;
    using timer = virtual_timer<tag>;
    clock::set(clock::time_point(24h));
    outcome results[3];
    timer a(ctx, 1s), b(ctx, 1h);
    a.async_wait(succeeds().into(results[0]));
    b.async_wait(succeeds().into(results[1]));
    clock::advance(500ms);
    ctx.poll();
    clock::set(clock::time_point(1h));
    ctx.poll();
    timer c(ctx, 1s);
    c.async_wait(succeeds().into(results[2]));
    ctx.poll();
    BOOST_TEST(!results[2].done());
    BOOST_TEST(clock::advance_to_next());
    BOOST_TEST((clock::now() == clock::time_point(1h + 1s)));
    ctx.poll();
    BOOST_TEST(results[2].done());
    clock::set(a.expiry() - 1ns);
    ctx.poll();
    BOOST_TEST(!results[0].done());
    clock::set(a.expiry());
    ctx.poll();
    BOOST_TEST(results[0].done());
    clock::set(b.expiry());
    ctx.poll();
    BOOST_TEST(results[1].done());
}

BOOST_AUTO_TEST_CASE(two_contexts_share_a_clock)
{
    struct tag;
    using clock = timewheel::manual_clock<tag>;
    using timer = virtual_timer<tag>;
    asio::io_context other;
    outcome here;
    outcome there;
    timer a(ctx, 1s), b(other, 2s);
    a.async_wait(succeeds().into(here));
    b.async_wait(succeeds().into(there));
    BOOST_TEST(clock::advance_to_next());
    other.poll();
    ctx.poll();
    BOOST_TEST(here.done());
    BOOST_TEST(!there.done());
    BOOST_TEST(clock::advance_to_next());
    ctx.poll();
    other.poll();
    BOOST_TEST(there.done());
}

BOOST_AUTO_TEST_CASE(clock_outlives_its_contexts)
{
    struct tag;
    using clock = timewheel::manual_clock<tag>;
    using timer = virtual_timer<tag>;
    {
        asio::io_context gone;
        timer t(gone, 1s);
        t.async_wait(is_dropped());
        clock::advance(2s);
    }
    clock::advance(1s);
    BOOST_TEST(!clock::advance_to_next());
    {
        asio::thread_pool gone(1);
        virtual_timer<tag, asio::thread_pool::executor_type> t(gone.get_executor(), 1s);
        t.async_wait(ends().or_dropped());
        clock::advance(2s);
        gone.stop();
        gone.join();
    }
    clock::advance(1s);
}

BOOST_AUTO_TEST_CASE(clock_can_be_moved_from_handlers)
{
    struct tag;
    using clock = timewheel::manual_clock<tag>;
    using timer = virtual_timer<tag>;
    timer t(ctx, 1s);
    int steps = 0;
    std::function<void(error_code)> step = [&](error_code) {
        if (++steps == 100)
            return;
        t.expires_after(1s);
        t.async_wait([&](error_code ec) { step(ec); });
        clock::advance_to_next();
    };
    t.async_wait([&](error_code ec) { step(ec); });
    clock::advance(1s);
    ctx.poll();
    BOOST_TEST(steps == 100);
    BOOST_TEST((clock::now() == clock::time_point(100s)));
}

BOOST_AUTO_TEST_CASE(blocking_wait_ends_when_the_clock_gets_there)
{
    struct tag;
    using clock = timewheel::manual_clock<tag>;
    using timer = virtual_timer<tag>;
    timer t(ctx, 1h);
    std::atomic<bool> over{false};
    std::thread waiter([&] {
        t.wait();
        BOOST_TEST((clock::now() >= t.expiry()));
        over = true;
    });
    clock::advance(1h - 1ns);
    let_time_pass(10ms);
    BOOST_TEST(!over);
    clock::advance(1ns);
    waiter.join();
    BOOST_TEST(over);
    error_code ec = asio::error::operation_aborted;
    t.wait(ec); // past: returns at once
    BOOST_TEST(!ec);
}

BOOST_AUTO_TEST_CASE(moves_by_several_threads_follow_each_other)
{
    struct tag;
    using clock = timewheel::manual_clock<tag>;
    using timer = virtual_timer<tag>;
    outcome result;
    timer t(ctx, 4s);
    t.async_wait(succeeds().into(result));
    std::vector<std::thread> movers;
    for (int i = 0; i != 4; ++i) {
        movers.emplace_back([] {
            for (int step = 0; step != 1000; ++step)
                clock::advance(1ms);
        });
    }
    ctx.run();
    BOOST_TEST(result.done());
    for (std::thread& mover : movers)
        mover.join();
    BOOST_TEST((clock::now() == clock::time_point(4s)));
}

BOOST_AUTO_TEST_SUITE_END()

}
