// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

// Jobs that are coroutines: stop, removal, timeouts, and executors that are gone.

#include <timewheel/wheel.hpp>

#include <test_common/checked_token.hpp>
#include <test_common/job_fixture.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/test/unit_test.hpp>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace timewheel::test {

namespace {

using fixture = job_fixture<struct wheel_coroutines_test>;
using clock = fixture::clock;
using job_context = fixture::job_context;

asio::awaitable<void> turn()
{
    co_await asio::post(co_await asio::this_coro::executor, asio::use_awaitable);
}

asio::awaitable<void> for_ever()
{
    asio::steady_timer timer(
        co_await asio::this_coro::executor, asio::steady_timer::time_point::max()
    );
    co_await timer.async_wait(asio::use_awaitable);
}

}

BOOST_FIXTURE_TEST_SUITE(wheel_coroutines, fixture)

BOOST_AUTO_TEST_CASE(a_job_runs_until_its_coroutine_ends)
{
    auto w = make_wheel({.observer = observer()});
    watch(w);
    int steps = 0;
    const timer_id id = w.add(1ms, [&](job_context& job) -> asio::awaitable<void> {
        BOOST_TEST(job.cancellation_slot().is_connected());
        ++steps;
        co_await turn();
        ++steps;
        clock::advance(5ms);
        co_await turn();
        ++steps;
        BOOST_TEST((job.scheduled_for() == clock::time_point(1ms)));
    });
    at(1ms);
    BOOST_TEST(steps == 3);
    BOOST_TEST(take_one() == (told_job{id, job_outcome::completed, 1, 1ms, 0ms, 5ms}));
}

// Told to stop, without an observer: that it ends by an exception is no accident.
BOOST_AUTO_TEST_CASE(a_coroutine_that_is_told_to_stop)
{
    enum class by
    {
        stop,
        removal,
        timeout,
        destruction
    };
    for (const auto what : {by::stop, by::removal, by::timeout, by::destruction}) {
        for (const bool is_observed : {false, true}) {
            clock::set({});
            fixture::options_for<> options{.run_timeout = 5ms};
            int errors = 0;
            if (is_observed) {
                options.observer = observer();
                options.on_error = [&](auto...) { ++errors; };
            }
            std::optional<fixture::wheel_for<>> w(make_wheel(std::move(options)));
            watch(*w);
            bool was_stopped = false;
            const timer_id id = w->add(1ms, [&](job_context& job) -> asio::awaitable<void> {
                const std::stop_callback callback(job.stop_token(), [&] { was_stopped = true; });
                co_await for_ever();
            });
            at(1ms);
            BOOST_TEST(w->stats().running == 1u);
            job_outcome expected = job_outcome::cancelled;
            switch (what) {
            case by::stop: w->stop(); break;
            case by::removal:
                BOOST_TEST(w->remove(id) == remove_result::running);
                BOOST_TEST(!was_stopped);
                BOOST_TEST(w->remove(id, cancel_running) == remove_result::running);
                break;
            case by::timeout:
                at(5ms);
                BOOST_TEST(!was_stopped);
                clock::set(clock::time_point(6ms));
                poll_wheel();
                expected = job_outcome::timed_out;
                break;
            case by::destruction:
                unwatch();
                w.reset();
                break;
            }
            BOOST_TEST(was_stopped);
            poll();
            BOOST_TEST(ctx.stopped());
            if (w)
                BOOST_TEST(w->stats().running == 0u);
            BOOST_TEST(errors == 0);
            if (is_observed && w) {
                const told_job job = take_one();
                BOOST_TEST(job.outcome == expected);
                BOOST_TEST((
                    expected == job_outcome::timed_out ? job.error == timewheel::error::timed_out
                                                       : job.error == asio::error::operation_aborted
                ));
            }
            unwatch();
        }
    }
}

BOOST_AUTO_TEST_CASE(told_to_stop_between_two_steps)
{
    auto w = make_wheel();
    watch(w);
    int steps = 0;
    const timer_id id = w.add(1ms, [&](job_context& job) -> asio::awaitable<void> {
        BOOST_TEST(!job.stop_requested());
        ++steps;
        co_await turn();
        BOOST_TEST(job.stop_requested());
        co_await turn(); // the signal comes behind what its strand has queued
        co_await turn();
        ++steps;
    });
    wheel_at(1ms);
    poll_worker();
    BOOST_TEST(steps == 1);
    BOOST_TEST(w.stats().running == 1u);
    BOOST_TEST(w.remove(id, cancel_running) == remove_result::running);
    poll();
    BOOST_TEST(steps == 1);
    BOOST_TEST(w.stats().cancelled == 1u);
}

BOOST_AUTO_TEST_CASE(a_job_may_ignore_that_it_is_told_to_stop)
{
    auto w = make_wheel({.run_timeout = 5ms, .observer = observer()});
    watch(w);
    const timer_id id = w.add(1ms, [&]() -> asio::awaitable<error_code> {
        asio::steady_timer timer(
            co_await asio::this_coro::executor, asio::steady_timer::time_point::max()
        );
        error_code ec;
        co_await timer.async_wait(asio::redirect_error(asio::use_awaitable, ec));
        BOOST_TEST((ec == asio::error::operation_aborted));
        co_return error_code();
    });
    at(1ms);
    w.remove(id, cancel_running);
    poll();
    BOOST_TEST(take_one().outcome == job_outcome::completed);
}

BOOST_AUTO_TEST_CASE(run_timeouts)
{
    struct row
    {
        nanoseconds timeout;
        nanoseconds takes; // of a job that stops when it is told to
        job_outcome outcome;
        nanoseconds ends;
    };
    const row rows[] = {
        {5ms, 1ms, job_outcome::completed, 1ms},
        {5ms, 4'999'999ns, job_outcome::completed, 4'999'999ns},
        {5ms, 6ms, job_outcome::timed_out, 5ms},
        {1ns, 10ms, job_outcome::timed_out, 1ms},
        {nanoseconds::max(), 1h, job_outcome::completed, 1h},
        {nanoseconds::max() - 1ns, 1h, job_outcome::completed, 1h},
    };
    for (const row& each : rows) {
        clock::set({});
        auto w = make_wheel({.run_timeout = each.timeout, .observer = observer()});
        watch(w);
        using timer_type = virtual_timer<struct wheel_coroutines_test>;
        const timer_id id = w.add(0s, [&]() -> asio::awaitable<void> {
            timer_type timer(co_await asio::this_coro::executor, each.takes);
            co_await timer.async_wait(asio::use_awaitable);
        });
        poll();
        while (told.empty() && clock::advance_to_next()) {
            poll();
            if (clock::now() == clock::time_point(5ms) && each.takes == 4'999'999ns)
                break;
        }
        const told_job job = take_one();
        if (each.takes == 4'999'999ns) { // is due together with the timeout: either is right
            BOOST_TEST(
                (job.outcome == job_outcome::completed || job.outcome == job_outcome::timed_out)
            );
        } else {
            BOOST_TEST(job.id == id);
            BOOST_TEST(job.outcome == each.outcome);
            BOOST_TEST(job.took == each.ends);
        }
        w.stop();
        unwatch();
        poll();
        told.clear();
    }
}

// A plain function can't be told while it has the only thread, but has taken too long all the same.
BOOST_AUTO_TEST_CASE(a_plain_job_that_takes_too_long)
{
    for (const bool on_one_context : {false, true}) {
        clock::set({});
        fixture::wheel_for<> w(
            ctx, on_one_context ? ctx : workers, {.run_timeout = 5ms, .observer = observer()}
        );
        w.start();
        watch(w);
        w.add(1ms, [] { clock::advance(5ms); });
        w.add(1ms, [&](job_context& job) {
            clock::advance(6ms);
            BOOST_TEST(!job.stop_requested());
        });
        at(1ms);
        BOOST_TEST_REQUIRE(told.size() == 2u);
        BOOST_TEST(told[0].outcome == job_outcome::completed);
        BOOST_TEST(told[1].outcome == job_outcome::timed_out);
        BOOST_TEST((told[1].error == timewheel::error::timed_out));
        BOOST_TEST(w.stats().timed_out == 1u);
        told.clear();
        BOOST_TEST(ctx.stopped());
        unwatch();
    }
}

// The timeout is due, and its turn queued, when the run ends.
BOOST_AUTO_TEST_CASE(a_timeout_on_its_way)
{
    for (const bool destroys : {false, true}) {
        clock::set({});
        std::optional<fixture::wheel_for<>> w(make_wheel({.run_timeout = 5ms}));
        outcome end;
        int ran = 0;
        w->async_run_after(
            1ms,
            [&] {
                ++ran;
                clock::advance(5ms);
                ctx.restart();
                ctx.poll_one(); // finds it due, with others
                if (destroys)
                    w.reset();
            },
            ends().into(end)
        );
        for (int i = 0; i != 3; ++i)
            w->add(6ms, [] {});
        at(1ms);
        at(6ms);
        BOOST_TEST(ran == 1);
        BOOST_TEST(end.done());
        BOOST_TEST(ctx.stopped());
        if (w)
            checked(*w);
    }
}

BOOST_AUTO_TEST_CASE(a_fixed_delay_of_coroutines)
{
    auto w = make_wheel({.observer = observer()});
    watch(w);
    int running = 0;
    w.add_repeating(
        1ms,
        [&]() -> asio::awaitable<void> {
            BOOST_TEST(++running == 1);
            co_await turn();
            co_await turn();
            --running;
        },
        {.mode = repeat_mode::fixed_delay, .count = 5}
    );
    for (auto t = 1ms; t != 10ms; t += 1ms)
        at(t);
    BOOST_TEST(take_told().size() == 5u);
}

// The frames of coroutines are destroyed with the pool.
BOOST_AUTO_TEST_CASE(a_pool_that_is_destroyed_with_running_coroutines)
{
    std::optional<asio::io_context> pool(std::in_place);
    fixture::wheel_for<> w(
        ctx, *pool, {.max_queued = 1, .run_timeout = 1h, .observer = observer()}
    );
    w.start();
    watch(w);
    int destroyed = 0;
    outcome end;
    const auto job = [&]() -> asio::awaitable<void> {
        const std::shared_ptr<void> owned(nullptr, [&](void*) { ++destroyed; });
        co_await for_ever();
    };
    w.add(1ms, job);
    w.async_run_after(2ms, job, is_aborted().into(end));
    w.add_repeating(3ms, job, {.mode = repeat_mode::fixed_delay});
    for (auto t = 1ms; t != 4ms; t += 1ms) {
        wheel_at(t);
        pool->poll();
        check();
    }
    BOOST_TEST(w.stats().running == 3u);
    pool.reset();
    BOOST_TEST(destroyed == 3);
    BOOST_TEST(w.stats().running == 0u);
    BOOST_TEST(w.stats().cancelled == 3u);
    BOOST_TEST(w.pending_timers().empty());
    poll_wheel();
    BOOST_TEST(end.done());
    BOOST_TEST(told.empty());
    BOOST_TEST(ctx.stopped());
}

BOOST_AUTO_TEST_CASE(coroutines_on_many_threads)
{
    asio::thread_pool pool(3);
    asio::io_context io;
    wheel<int> w(io, pool, {.max_queued = 3});
    w.start();
    std::atomic<int> ran{0};
    for (int i = 0; i != 1000; ++i)
        w.add(0s, i, [&](int n) -> asio::awaitable<void> {
            co_await turn();
            ran += n;
        });
    io.run();
    BOOST_TEST(ran == 999 * 500);
    w.close();
    checked(w);
}

BOOST_AUTO_TEST_SUITE_END()

}
