// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

// How a wheel ends: stop, close, destruction, and contexts that are gone first.

#include <timewheel/wheel.hpp>

#include <test_common/cancellation_types.hpp>
#include <test_common/checked_token.hpp>
#include <test_common/job_fixture.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/test/unit_test.hpp>

#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace timewheel::test {

namespace {

using fixture = job_fixture<struct wheel_shutdown_test>;
using clock = fixture::clock;
using job_context = fixture::job_context;
using virtual_wheel = fixture::wheel_for<>;

// A coroutine that runs until it is cancelled.
asio::awaitable<void> for_ever()
{
    asio::steady_timer timer(
        co_await asio::this_coro::executor, asio::steady_timer::time_point::max()
    );
    co_await timer.async_wait(asio::use_awaitable);
}

constexpr auto all_modes =
    {repeat_mode::fixed_rate, repeat_mode::fixed_delay, repeat_mode::skip_if_running};

}

BOOST_FIXTURE_TEST_SUITE(wheel_shutdown, fixture)

// XF3: each timer ends once, and what was to run is told as cancelled.
BOOST_AUTO_TEST_CASE(stop_ends_all_timers)
{
    auto w = make_wheel({.max_queued = 2, .observer = observer()});
    watch(w);
    int ran = 0;
    const auto job = [&] { ++ran; };
    const timer_id queued = w.add(1ms, job);
    const timer_id repeating = w.add_repeating(1ms, job);
    const timer_id blocked = w.add(1ms, job);
    const timer_id waiting = w.add(1h, job);
    const timer_id fixed = w.add_repeating(1h, job, {.mode = repeat_mode::fixed_delay});
    wheel_at(1ms);
    BOOST_TEST(w.stats().queued == 2u);
    BOOST_TEST(w.stats().pending == 4u);
    w.stop();
    const error_code aborted = asio::error::operation_aborted;
    const std::vector<told_job> expected{
        {queued, job_outcome::cancelled, 1, 1ms, 0ms, 0ms, 0, aborted},
        {repeating, job_outcome::cancelled, 2, 2ms, 0ms, 0ms, 0, aborted},
        {repeating, job_outcome::cancelled, 1, 1ms, 0ms, 0ms, 0, aborted},
        {blocked, job_outcome::cancelled, 1, 1ms, 0ms, 0ms, 0, aborted},
        {waiting, job_outcome::cancelled, 1, 1h, 0ms, 0ms, 0, aborted},
        {fixed, job_outcome::cancelled, 1, 1h, 0ms, 0ms, 0, aborted},
    };
    BOOST_TEST(take_told() == expected, boost::test_tools::per_element());
    BOOST_TEST(w.pending_timers().empty());
    const wheel_stats s = checked(w);
    BOOST_TEST(s.cancelled == 6u);
    BOOST_TEST(s.pending == 0u);
    BOOST_TEST(s.queued == 0u);
    BOOST_TEST(s.removed == 0u);
    w.stop();
    w.close();
    w.wait();
    at(10h);
    BOOST_TEST(ran == 0);
    BOOST_TEST(told.empty());
    BOOST_TEST(ctx.stopped());
}

BOOST_AUTO_TEST_CASE(stop_in_a_job)
{
    for (const auto mode : all_modes) {
        for (const bool on_one_context : {false, true}) {
            clock::set({});
            virtual_wheel w(ctx, on_one_context ? ctx : workers, {.observer = observer()});
            w.start();
            watch(w);
            int ran = 0;
            const auto job = [&](job_context& context) {
                ++ran;
                BOOST_TEST(!context.stop_requested());
                w.stop();
                BOOST_TEST(context.stop_requested());
                check();
            };
            for (int i = 0; i != 5; ++i)
                w.add_repeating(1ms, job, {.mode = mode});
            at(1ms);
            at(10ms);
            BOOST_TEST(ran == 1);
            BOOST_TEST(w.stats().completed == 1u);
            BOOST_TEST(ctx.stopped());
            unwatch();
        }
    }
}

BOOST_AUTO_TEST_CASE(a_blocking_close_in_a_job_would_wait_for_itself)
{
    int called = 0;
    std::optional<virtual_wheel> w;
    const auto would_deadlock = [&] {
        error_code ec;
        w->close(ec);
        BOOST_TEST((ec == timewheel::error::would_deadlock));
        ec = {};
        w->wait(ec);
        BOOST_TEST((ec == timewheel::error::would_deadlock));
        BOOST_CHECK_THROW(w->close(), boost::system::system_error);
        ++called;
    };
    w.emplace(
        ctx,
        workers,
        fixture::options_for<>{
            .observer = [&](const auto&) { would_deadlock(); },
            .on_error = [&](timer_id, std::exception_ptr) { would_deadlock(); },
            .logger = [&](std::string_view) { would_deadlock(); },
        }
    );
    w->start();
    watch(*w);
    w->add(1ms, would_deadlock);                 // and the observer
    w->add(2ms, [&]() -> asio::awaitable<void> { // and the observer
        would_deadlock();
        co_await asio::post(co_await asio::this_coro::executor, asio::use_awaitable);
        would_deadlock();
    });
    w->add(3ms, [] { throw std::runtime_error("told to on_error"); }); // and the observer
    w->add(4ms);                                                       // the logger, the observer
    timer_id id = timer_id::none;
    id = w->add(5ms, [&](job_context& job) { // and the observer
        const std::stop_callback callback(job.stop_token(), would_deadlock);
        // As well from outside of the job: it would wait for the one that calls it.
        std::thread([&] { w->remove(id, cancel_running); }).join();
    });
    for (auto t = 1ms; t != 6ms; t += 1ms)
        at(t);
    BOOST_TEST(called == 2 + 3 + 2 + 2 + 2);
    // The wheel goes on.
    w->add(1ms, [] {});
    at(6ms);
    BOOST_TEST(called == 12);
    // From a stop callback that stop() itself calls.
    w->add(1ms, [&](job_context& job) {
        const std::stop_callback callback(job.stop_token(), would_deadlock);
        std::thread([&] { w->stop(); }).join();
    });
    at(7ms);
    BOOST_TEST(called == 14);
    w->close();
    // Another wheel's job may close this one.
    auto other = make_wheel();
    other.add(1ms, [&] { w->close(); });
    at(8ms);
    BOOST_TEST(other.stats().completed == 1u);
    unwatch();
}

BOOST_AUTO_TEST_CASE(close_waits_for_jobs_and_observers)
{
    asio::thread_pool pool(2);
    std::atomic<int> running{0};
    std::atomic<bool> began{false};
    std::promise<void> go_on;
    const auto gate = go_on.get_future().share();
    virtual_wheel w(ctx, pool, {.observer = [&](const auto&) { running -= 1; }});
    w.start();
    w.add(1ms, [&] {
        ++running;
        began = true;
        gate.wait();
    });
    at(1ms);
    while (!began)
        std::this_thread::yield();
    std::thread closer([&] {
        w.close();
        BOOST_TEST(running == 0);
    });
    outcome end;
    w.async_close(succeeds().into(end));
    poll_wheel();
    BOOST_TEST(!end.done());
    go_on.set_value();
    closer.join();
    w.wait();
    // The handler has been posted, or will be by the thread that has ended the job.
    pool.join();
    poll_wheel();
    BOOST_TEST(end.done());
    checked(w);
}

BOOST_AUTO_TEST_CASE(async_close)
{
    auto w = make_wheel({.observer = observer()});
    watch(w);
    w.add(1ms, for_ever);
    w.add(1h, [] {});
    at(1ms);
    BOOST_TEST(w.stats().running == 1u);
    outcome first;
    outcome second;
    w.async_close(succeeds().into(first));
    w.async_close(succeeds().into(second));
    BOOST_TEST(take_one().outcome == job_outcome::cancelled); // the one that waited
    poll_wheel();
    BOOST_TEST(!first.done());
    BOOST_TEST(!ctx.stopped());
    poll();
    BOOST_TEST(first.done());
    BOOST_TEST(second.done());
    BOOST_TEST(take_one().outcome == job_outcome::cancelled);
    BOOST_TEST(w.stats().cancelled == 2u);
    outcome third;
    w.async_close(succeeds().into(third));
    BOOST_TEST(!third.done());
    poll();
    BOOST_TEST(third.done());
    BOOST_TEST(ctx.stopped());
}

BOOST_AUTO_TEST_CASE(async_close_can_be_cancelled)
{
    for (const auto& each : cancellation_cases) {
        BOOST_TEST_CONTEXT(each.name)
        {
            clock::set({});
            auto w = make_wheel();
            watch(w);
            asio::cancellation_signal signal;
            outcome end;
            w.add(1ms, [&] {
                w.async_close(asio::bind_cancellation_slot(signal.slot(), [&](error_code ec) {
                    end.ec = ec;
                    ++end.invoked;
                }));
                signal.emit(each.type);
                poll_wheel();
                BOOST_TEST(end.done() == each.cancels);
            });
            at(1ms);
            BOOST_TEST(end.invoked == 1);
            BOOST_TEST((end.ec == (each.cancels ? asio::error::operation_aborted : error_code())));
            signal.emit(each.type); // too late
            poll();
            error_code ec;
            w.add(1ms, [] {}, ec);
            BOOST_TEST((ec == timewheel::error::closed));
            unwatch();
        }
    }
}

BOOST_AUTO_TEST_CASE(async_close_in_a_job_waits_for_it)
{
    auto w = make_wheel();
    watch(w);
    outcome plain;
    outcome coroutine;
    w.add(1ms, [&] {
        w.async_close(succeeds().into(plain));
        poll_wheel();
        BOOST_TEST(!plain.done());
    });
    w.add(1ms, [&]() -> asio::awaitable<void> {
        w.async_close(succeeds().into(coroutine));
        co_return;
    });
    at(1ms);
    BOOST_TEST(plain.done());
    BOOST_TEST(!coroutine.done()); // was stopped before it began
}

// XF4: the wheel is destroyed inside of what it calls.
BOOST_AUTO_TEST_CASE(the_wheel_is_destroyed_by_its_own)
{
    enum class who
    {
        job,
        coroutine,
        observer,
        on_error,
        logger,
        handler,
        stop_callback,
        dropped,
        stopping
    };
    for (const auto by :
         {who::job,
          who::coroutine,
          who::observer,
          who::on_error,
          who::logger,
          who::handler,
          who::stop_callback,
          who::dropped,
          who::stopping}) {
        for (const bool on_one_context : {false, true}) {
            clock::set({});
            std::optional<fixture::wheel_for<std::string>> w;
            int destroyed = 0;
            int others = 0;
            const auto destroy = [&](who caller) {
                if (caller != by || !w)
                    return;
                w.reset();
                ++destroyed;
            };
            w.emplace(
                ctx,
                on_one_context ? ctx : workers,
                fixture::options_for<std::string>{
                    .max_queued = by == who::dropped ? 1u : 100u,
                    .policy = backpressure::drop,
                    .observer =
                        [&](const auto& event) {
                            destroy(who::observer);
                            if (event.outcome == job_outcome::dropped)
                                destroy(who::dropped);
                            if (event.outcome == job_outcome::cancelled)
                                destroy(who::stopping);
                            BOOST_TEST(event.data == "some longer text to be allocated");
                        },
                    .on_error = [&](auto...) { destroy(who::on_error); },
                    .logger = [&](auto) { destroy(who::logger); }
                }
            );
            w->start();
            const std::string data = "some longer text to be allocated";
            w->add(1ms, data, [&](job_context& job, std::string& s) {
                destroy(who::job);
                BOOST_TEST(s == data);
                if (!w)
                    BOOST_TEST(job.stop_requested());
            });
            w->add(1ms, data, [&](std::string& s) -> asio::awaitable<void> {
                destroy(who::coroutine);
                co_await asio::post(co_await asio::this_coro::executor, asio::use_awaitable);
                BOOST_TEST(s == data);
            });
            w->add(1ms, data, [&] {
                if (by == who::on_error)
                    throw std::runtime_error("for on_error");
            });
            w->add(1ms, data);
            w->async_run_after(
                1ms,
                data,
                [] {},
                [&](error_code ec, const auto& event) {
                    ++others;
                    BOOST_TEST(ec == event.error);
                    destroy(who::handler);
                }
            );
            w->async_repeat(
                1ms, data, [] {}, {.count = 2}, [&](error_code, std::uint64_t) { ++others; }
            );
            timer_id id = timer_id::none;
            id = w->add(1ms, data, [&](job_context& job) {
                if (by != who::stop_callback)
                    return;
                const std::stop_callback callback(job.stop_token(), [&] {
                    destroy(who::stop_callback);
                });
                if (w)
                    w->remove(id, cancel_running);
            });
            if (by == who::stopping)
                w->stop();
            at(1ms);
            at(2ms);
            at(3ms);
            BOOST_TEST_CONTEXT("by " << static_cast<int>(by) << ", one context " << on_one_context)
            {
                BOOST_TEST(destroyed == 1);
                BOOST_TEST(others == 2);
                BOOST_TEST(ctx.stopped());
                BOOST_TEST(workers.stopped());
            }
            w.reset();
            told.clear();
        }
    }
}

BOOST_AUTO_TEST_CASE(a_destroyed_wheel_tells_nobody_but_its_operations)
{
    std::vector<error_code> codes;
    std::uint64_t runs = 0;
    {
        auto w = make_wheel({.observer = observer()});
        watch(w);
        w.add(1h, [] {});
        w.add(1ms, for_ever);
        w.async_run_after(
            1h,
            [] {},
            [&](error_code ec, const auto& event) {
                codes.push_back(ec);
                BOOST_TEST(event.outcome == job_outcome::cancelled);
            }
        );
        w.async_run_after(1ms, for_ever, [&](error_code ec, const auto& event) {
            codes.push_back(ec);
            BOOST_TEST(event.outcome == job_outcome::cancelled);
        });
        w.async_repeat(1ms, for_ever, repeat(), [&](error_code ec, std::uint64_t n) {
            codes.push_back(ec);
            runs = n;
        });
        timer_id id = w.add(1ms, for_ever);
        at(1ms);
        BOOST_TEST(w.stats().running == 4u);
        w.async_remove(id, [&](error_code ec, remove_result result) {
            codes.push_back(ec);
            BOOST_TEST(result == remove_result::running);
        });
        unwatch();
    }
    BOOST_TEST(codes.empty());
    poll_wheel(); // without the workers
    const std::vector<error_code> aborted(4, asio::error::operation_aborted);
    BOOST_TEST((codes == aborted));
    BOOST_TEST(runs == 1u);
    BOOST_TEST(ctx.stopped());
    poll();
    BOOST_TEST(told.empty());
    {
        auto w = make_wheel();
        w.add(1ms, for_ever);
        at(2ms);
        w.async_close([&](error_code ec) { codes.push_back(ec); });
    }
    poll_wheel();
    BOOST_TEST(codes.size() == 5u);
    BOOST_TEST((codes.back() == asio::error::operation_aborted));
    poll();
}

// What is started later finds a wheel that is closed, wherever it has gone.
BOOST_AUTO_TEST_CASE(deferred_operations_outlive_the_wheel)
{
    for (const bool is_moved : {false, true}) {
        std::optional<virtual_wheel> w(make_wheel());
        std::optional<virtual_wheel> elsewhere;
        auto run = w->async_run_after(1ms, [] {}, asio::deferred);
        auto repeated = w->async_repeat(1ms, [] {}, {.count = 2}, asio::deferred);
        auto removed = w->async_remove(timer_id(1), asio::deferred);
        auto closed = w->async_close(asio::deferred);
        if (is_moved)
            elsewhere.emplace(std::move(*w));
        w.reset();
        const error_code expected = is_moved ? error_code() : error_code(timewheel::error::closed);
        outcome end[4];
        std::move(run)(ends_with(expected).into(end[0]));
        std::move(repeated)(ends_with(expected).into(end[1]));
        std::move(removed)(ends_with(expected).into(end[2]));
        at(now() + 1ms);
        at(now() + 1ms);
        std::move(closed)(succeeds().into(end[3]));
        poll();
        for (const outcome& each : end)
            BOOST_TEST(each.done());
    }
}

// Contexts, wheel and pool are destroyed in every order that is allowed.
BOOST_AUTO_TEST_CASE(orders_of_destruction)
{
    struct part
    {
        std::optional<asio::io_context> io{std::in_place};
        std::optional<asio::io_context> pool{std::in_place};
        std::optional<virtual_wheel> wheel;
    };
    using step = void (*)(part&);
    const step io = [](part& p) { p.io.reset(); };
    const step pool = [](part& p) { p.pool.reset(); };
    const step wheel = [](part& p) { p.wheel.reset(); };
    const step run = [](part& p) {
        if (p.pool)
            p.pool->restart(), p.pool->poll();
    };
    const std::vector<step> orders[] = {
        {wheel, io, pool},
        {wheel, pool, io},
        {pool, wheel, io},
        {wheel, run, io, pool},
        {wheel, io, run, pool},
        {run, wheel, io, pool},
    };
    for (const auto& order : orders) {
        for (const bool on_strands : {false, true}) {
            for (const bool stopped : {false, true}) {
                clock::set({});
                part p;
                if (on_strands)
                    p.wheel.emplace(asio::make_strand(*p.io), p.pool->get_executor());
                else
                    p.wheel.emplace(*p.io, *p.pool);
                p.wheel->start();
                int dropped = 0;
                const auto owned = std::shared_ptr<void>(nullptr, [&](void*) { ++dropped; });
                const auto job = [owned] {};
                const auto coroutine = [owned] { return for_ever(); };
                p.wheel->add(1h, job);
                p.wheel->add(2ms, job);
                p.wheel->add_repeating(1ms, job);
                p.wheel->add_repeating(1ms, coroutine);
                p.wheel->async_run_after(1ms, coroutine, [owned](auto...) {});
                p.wheel->async_run_after(1h, job, [owned](auto...) {});
                p.wheel->async_repeat(1h, job, repeat(), [owned](auto...) {});
                clock::set(clock::time_point(1ms));
                p.io->poll();
                p.pool->poll();
                p.io->poll();
                clock::set(clock::time_point(2ms));
                p.io->restart();
                p.io->poll_one();
                p.io->poll_one();
                if (stopped)
                    p.wheel->stop();
                for (const step each : order)
                    each(p);
            }
        }
    }
}

// A context that owns its wheel, by a handler that never runs.
BOOST_AUTO_TEST_CASE(a_wheel_that_its_context_destroys)
{
    for (const bool is_busy : {false, true}) {
        outcome end;
        asio::io_context pool;
        asio::io_context io;
        auto w = std::make_shared<virtual_wheel>(io, pool);
        w->start();
        w->add(1h, [] {});
        w->add_repeating(1ms, [] {}, {.mode = repeat_mode::fixed_delay, .initial_delay = 0s});
        w->add(1ms, for_ever);
        clock::set(clock::time_point(now() + 1ms));
        if (is_busy) {
            io.poll();
            pool.poll();
        }
        w->async_run_after(1h, [] {}, is_dropped().into(end));
        asio::post(io, [w] {});
        std::weak_ptr<virtual_wheel> alive = w;
        w.reset();
        BOOST_TEST(!alive.expired());
    }
}

// The handler of an operation owns the wheel, which owns the operation, while a job runs on workers
// that live on.
BOOST_AUTO_TEST_CASE(a_wheel_dies_with_its_context_in_a_coroutine)
{
    enum
    {
        closes,
        removes,
        runs_after,
        repeats,
        how_many
    };
    struct witness
    {
        bool& is_gone;

        ~witness() { is_gone = true; }
    };
    for (int which = 0; which != how_many; ++which) {
        for (const bool is_queued : {false, true}) {
            if (is_queued && which < runs_after)
                continue; // what is queued is withdrawn, and nothing waits for it
            clock::set({});
            asio::io_context pool;
            int begun = 0;
            bool is_gone = false;
            const auto job = [&begun] {
                ++begun;
                return for_ever();
            };
            {
                asio::io_context io;
                asio::co_spawn(
                    io,
                    [&]() -> asio::awaitable<void> {
                        const witness frame{is_gone};
                        virtual_wheel w(io, pool);
                        w.start();
                        const timer_id id = w.add(1ms, job);
                        w.add(1h, job);
                        w.add_repeating(1ms, job, {.mode = repeat_mode::fixed_delay});
                        switch (which) {
                        case closes:
                        case removes: {
                            clock::set(clock::time_point(now() + 1ms));
                            io.poll();
                            pool.poll();
                            if (which == closes)
                                co_await w.async_close(asio::use_awaitable);
                            co_await w.async_remove(id, asio::use_awaitable);
                            break;
                        }
                        case runs_after:
                            co_await w.async_run_after(1ms, job, asio::use_awaitable);
                            break;
                        default: co_await w.async_repeat(1ms, job, {}, asio::use_awaitable);
                        }
                        BOOST_ERROR("the job goes on");
                    },
                    asio::detached
                );
                io.poll();
                if (which >= runs_after) {
                    clock::set(clock::time_point(now() + 1ms));
                    io.poll();
                    if (!is_queued)
                        pool.poll();
                }
                BOOST_TEST(!is_gone);
            }
            BOOST_TEST(is_gone);
            const int had_begun = begun;
            BOOST_TEST(had_begun == (is_queued ? 0 : which >= runs_after ? 3 : 2));
            pool.restart();
            BOOST_TEST(pool.poll() != 0u); // the jobs were told to stop
            BOOST_TEST(pool.stopped());
            BOOST_TEST(begun == had_begun);
        }
    }
}

// Timers whose turn has not come are destroyed like all others, and so are those of a wheel that was
// never started.
BOOST_AUTO_TEST_CASE(handlers_of_timers_that_are_on_their_way)
{
    for (const int turns : {0, 1, 2, 3}) {
        clock::set({});
        asio::io_context pool;
        const auto handler = std::make_shared<int>();
        std::optional<virtual_wheel> w;
        {
            asio::io_context io;
            w.emplace(io, pool);
            w->start();
            const auto keep = [handler](error_code, auto&&...) {
                BOOST_ERROR("called although the context is gone");
            };
            timer_id last{};
            for (int i = 0; i != 3; ++i) {
                w->async_repeat(1ms, for_ever, {}, keep);
                last = w->add_repeating(1ms, for_ever);
            }
            clock::set(clock::time_point(now() + 1ms));
            io.poll();
            pool.poll();
            w->async_remove(last, keep);
            clock::set(clock::time_point(now() + 1ms));
            for (int i = 0; i != turns; ++i)
                io.poll_one();
            BOOST_TEST(handler.use_count() > 1);
        }
        BOOST_TEST(handler.use_count() == 1);
        pool.restart();
        pool.poll();
        BOOST_TEST(pool.stopped());
        w.reset();
    }
    std::optional<virtual_wheel> unused;
    {
        asio::io_context io;
        unused.emplace(io, io);
    }
    unused.reset();
}

// Its context has closed it.
BOOST_AUTO_TEST_CASE(a_wheel_that_outlives_its_context)
{
    for (const bool is_busy : {false, true}) {
        clock::set({});
        asio::io_context pool;
        std::optional<virtual_wheel> w;
        {
            asio::io_context io;
            w.emplace(io, pool, virtual_wheel::options_type{.run_timeout = 1s});
            w->start();
            w->add(1ms, for_ever);
            w->add(1ms, [] { BOOST_ERROR("begun after the end"); });
            w->add(1h, [] {});
            clock::set(clock::time_point(now() + 1ms));
            io.poll();
            if (is_busy)
                pool.poll_one();
        }
        error_code ec;
        BOOST_CHECK((w->add(1ms, [] {}, ec) == timer_id::none));
        BOOST_CHECK((ec == error::closed));
        pool.poll();
        BOOST_TEST(pool.stopped());
        const wheel_stats s = checked(*w);
        BOOST_TEST(s.pending + s.queued + s.running == 0u);
        BOOST_TEST(s.cancelled == 3u);
        w.reset();
    }
}

// Jobs that the pool has in its queue when it is stopped are cancelled when it is destroyed.
BOOST_AUTO_TEST_CASE(a_pool_that_is_destroyed_with_queued_jobs)
{
    for (const std::size_t room : {3u, 1000u}) {
        clock::set({});
        virtual_wheel w = [&] {
            asio::thread_pool pool(1);
            virtual_wheel made(ctx, pool, {.max_queued = room, .observer = observer()});
            pool.stop();
            made.start();
            for (int i = 0; i != 10; ++i)
                made.add(1ms, [] {});
            made.async_run_after(
                1ms,
                [] {},
                [](error_code ec, const auto&) {
                    BOOST_TEST((ec == asio::error::operation_aborted));
                }
            );
            at(1ms);
            checked(made);
            return made;
        }();
        const wheel_stats s = checked(w);
        BOOST_TEST(s.cancelled == (std::min)(room, std::size_t{11}));
        BOOST_TEST(s.queued == 0u);
        BOOST_TEST(told.empty());
        w.stop();
        poll();
        BOOST_TEST(ctx.stopped());
        checked(w);
        told.clear();
    }
}

// run() returns when all is done, and not before.
BOOST_AUTO_TEST_CASE(the_context_has_work_while_anything_is_left)
{
    auto w = make_wheel({.max_queued = 1});
    watch(w);
    poll();
    BOOST_TEST(ctx.stopped());
    w.add(1ms, [] {});
    w.add(1ms, for_ever);
    poll_wheel();
    BOOST_TEST(!ctx.stopped()); // one waits
    wheel_at(1ms);
    BOOST_TEST(!ctx.stopped()); // one is queued and one waits for room
    poll();
    BOOST_TEST(w.stats().running == 1u);
    BOOST_TEST(!ctx.stopped()); // one runs
    timer_id id = w.add(1ms, for_ever);
    at(2ms);
    BOOST_TEST(w.stats().running == 2u);
    w.remove(id, cancel_running);
    poll();
    BOOST_TEST(!ctx.stopped());
    w.stop();
    poll();
    BOOST_TEST(ctx.stopped());
}

// Another thread runs the context while the wheel comes and goes.
BOOST_AUTO_TEST_CASE(destroyed_while_timers_come_due)
{
    asio::io_context io;
    asio::thread_pool pool(1);
    auto work = asio::make_work_guard(io);
    std::thread runner([&] { io.run(); });
    for (int i = 0; i != 300; ++i) {
        wheel<std::string> w(io, pool, {.observer = [](const auto&) {}});
        w.start();
        for (int j = 0; j != 20; ++j)
            w.add(0s, "some text that is long enough", [](std::string& s) { s += '.'; });
        w.async_run_after(0s, "more text that is long enough", [] {}, [](auto, const auto&) {});
        if (i % 2 == 0)
            std::this_thread::yield();
    }
    work.reset();
    runner.join();
    pool.join();
}

BOOST_AUTO_TEST_SUITE_END()

}
