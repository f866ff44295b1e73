// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

// What happens to jobs that are due while the queue of the workers is full.

#include <timewheel/wheel.hpp>

#include <test_common/job_fixture.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/test/unit_test.hpp>

#include <chrono>
#include <functional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace timewheel::test {

namespace {

using fixture = job_fixture<struct wheel_backpressure_test>;
using clock = fixture::clock;
using job_context = fixture::job_context;

}

BOOST_FIXTURE_TEST_SUITE(wheel_backpressure, fixture)

BOOST_AUTO_TEST_CASE(block_waits_in_order_and_loses_nothing)
{
    for (const std::size_t room : {1u, 2u, 7u}) {
        clock::set({});
        auto w = make_wheel<int>({.max_queued = room, .observer = observer()});
        watch(w);
        std::vector<int> ran;
        std::vector<timer_id> ids;
        for (int i = 0; i != 20; ++i)
            ids.push_back(w.add(i < 10 ? 1ms : 2ms, i, [&](int n) { ran.push_back(n); }));
        wheel_at(1ms);
        BOOST_TEST(w.stats().queued == room);
        BOOST_TEST(w.stats().pending == 20 - room);
        // What waits for room is pending, and due in the past.
        BOOST_TEST((w.next_fire_time(ids[9]) == clock::time_point(1ms)));
        wheel_at(5ms);
        BOOST_TEST(w.stats().queued == room);
        BOOST_TEST(!ctx.stopped());
        BOOST_TEST(poll_worker());
        BOOST_TEST(ran.size() == 1u);
        BOOST_TEST(w.stats().queued == room);
        BOOST_TEST(w.pending_timers().size() == 19 - room);
        poll_workers();
        BOOST_TEST(ran.size() == 20u);
        for (int i = 0; i != 20; ++i)
            BOOST_TEST(ran[static_cast<std::size_t>(i)] == i);
        BOOST_TEST(w.stats().dropped == 0u);
        poll();
        BOOST_TEST(ctx.stopped());
        told.clear();
        unwatch();
    }
}

BOOST_AUTO_TEST_CASE(block_on_a_single_thread)
{
    fixture::wheel_for<> w(ctx, ctx, {.max_queued = 1});
    w.start();
    watch(w);
    int ran = 0;
    for (int i = 0; i != 1000; ++i)
        w.add(1ms, [&] { ++ran; });
    w.add_repeating(1ms, [&] { ++ran; }, {.mode = repeat_mode::fixed_delay, .count = 10});
    while (clock::advance_to_next())
        poll();
    BOOST_TEST(ran == 1010);
    BOOST_TEST(ctx.stopped());
}

BOOST_AUTO_TEST_CASE(what_waits_for_room_can_be_removed)
{
    auto w = make_wheel<int>({.max_queued = 1});
    watch(w);
    std::vector<int> ran;
    std::vector<timer_id> ids;
    for (int i = 0; i != 5; ++i)
        ids.push_back(w.add(1ms, i, [&](int n) { ran.push_back(n); }));
    wheel_at(1ms);
    for (const std::size_t i : {1u, 4u})
        BOOST_TEST(w.remove(ids[i]) == remove_result::removed);
    BOOST_TEST(w.stats().withdrawn == 2u);
    // The one in the queue makes room for the next.
    BOOST_TEST(w.remove(ids[0]) == remove_result::removed);
    BOOST_TEST(w.stats().queued == 1u);
    BOOST_TEST(w.stats().pending == 1u);
    poll();
    BOOST_TEST((ran == std::vector{2, 3}));
}

BOOST_AUTO_TEST_CASE(what_repeats_waits_for_room_too)
{
    auto w = make_wheel({.max_queued = 1, .observer = observer()});
    watch(w);
    const timer_id a = w.add_repeating(10ms, [] {});
    const timer_id b = w.add_repeating(10ms, [] {});
    wheel_at(10ms);
    wheel_at(35ms);
    // Nothing more of b is due while it waits, and of a what is due waits as well.
    BOOST_TEST(w.stats().queued == 1u);
    BOOST_TEST(w.stats().pending == 2u);
    poll();
    const std::vector<told_job> expected{
        {a, job_outcome::completed, 1, 10ms, 25ms},
        {b, job_outcome::completed, 1, 10ms, 25ms},
        {a, job_outcome::completed, 2, 20ms, 15ms},
    };
    BOOST_TEST(take_told() == expected, boost::test_tools::per_element());
    at(40ms);
    const std::vector<told_job> next{
        {b, job_outcome::completed, 4, 40ms, 0ms, 0ms, 2},
        {a, job_outcome::completed, 4, 40ms, 0ms, 0ms, 1},
    };
    BOOST_TEST(take_told() == next, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(drop_is_told_and_the_timer_goes_on)
{
    for (const auto mode :
         {repeat_mode::fixed_rate, repeat_mode::fixed_delay, repeat_mode::skip_if_running}) {
        clock::set({});
        auto w =
            make_wheel({.max_queued = 1, .policy = backpressure::drop, .observer = observer()});
        watch(w);
        int ran = 0;
        w.add(5ms, [&] { ran += 100; });
        const timer_id id = w.add_repeating(10ms, [&] { ++ran; }, {.mode = mode, .count = 2});
        const timer_id once = w.add(10ms, [&] { ran += 1000; });
        wheel_at(10ms);
        const error_code full = timewheel::error::queue_full;
        const std::vector<told_job> expected{
            {id, job_outcome::dropped, 1, 10ms, 0ms, 0ms, 0, full},
            {once, job_outcome::dropped, 1, 10ms, 0ms, 0ms, 0, full},
        };
        BOOST_TEST(take_told() == expected, boost::test_tools::per_element());
        BOOST_TEST(w.stats().dropped == 2u);
        BOOST_TEST((w.next_fire_time(id) == clock::time_point(20ms)));
        BOOST_TEST((w.next_fire_time(once) == std::nullopt));
        poll();
        BOOST_TEST(ran == 100);
        at(20ms);
        BOOST_TEST(ran == 101);
        at(30ms);
        BOOST_TEST(ran == 102); // what was dropped did not count
        at(40ms);
        BOOST_TEST(ran == 102);
        BOOST_TEST(ctx.stopped());
        told.clear();
        unwatch();
    }
}

BOOST_AUTO_TEST_CASE(run_inline_runs_in_the_wheels_context)
{
    auto w = make_wheel<int>(
        {.max_queued = 2, .policy = backpressure::run_inline, .observer = observer()}
    );
    watch(w);
    std::vector<int> ran;
    for (int i = 0; i != 6; ++i)
        w.add(1ms, i, [&](int n) { ran.push_back(n); });
    wheel_at(1ms);
    BOOST_TEST((ran == std::vector{2, 3, 4, 5}));
    BOOST_TEST(w.stats().queued == 2u);
    BOOST_TEST(w.stats().completed == 4u);
    BOOST_TEST(told.size() == 4u);
    poll();
    BOOST_TEST((ran == std::vector{2, 3, 4, 5, 0, 1}));
    BOOST_TEST(w.stats().queued == 0u);
    // There is room again.
    w.add(2ms, 6, [&](int n) { ran.push_back(n); });
    wheel_at(3ms);
    BOOST_TEST(w.stats().queued == 1u);
    poll();
    BOOST_TEST(ran.size() == 7u);
}

BOOST_AUTO_TEST_CASE(a_coroutine_runs_inline_in_the_wheels_context)
{
    auto w = make_wheel({.max_queued = 1, .policy = backpressure::run_inline});
    watch(w);
    int ran = 0;
    w.add(1ms, [] {});
    w.add(1ms, [&]() -> asio::awaitable<void> {
        BOOST_TEST(ctx.get_executor().running_in_this_thread());
        co_await asio::post(co_await asio::this_coro::executor, asio::use_awaitable);
        BOOST_TEST(ctx.get_executor().running_in_this_thread());
        ++ran;
    });
    wheel_at(1ms);
    BOOST_TEST(ran == 1);
    poll();
}

BOOST_AUTO_TEST_CASE(a_job_that_throws_inline)
{
    auto w = make_wheel({.max_queued = 1, .policy = backpressure::run_inline});
    watch(w);
    int ran = 0;
    w.add(1ms, [&] { ++ran; });
    w.add_repeating(
        1ms,
        [&] {
            ++ran;
            throw std::runtime_error("inline");
        },
        {.count = 2}
    );
    w.add(1ms, [&] { ++ran; });
    clock::set(clock::time_point(1ms));
    BOOST_CHECK_THROW(ctx.poll(), std::runtime_error);
    check();
    poll_wheel();
    BOOST_TEST(ran == 2);
    BOOST_TEST(w.stats().threw == 1u);
    clock::set(clock::time_point(2ms));
    BOOST_CHECK_THROW((ctx.restart(), ctx.poll()), std::runtime_error);
    poll();
    BOOST_TEST(ran == 4);
}

// XD1: a job that adds itself again while the queue is full runs in a turn of its own each time.
BOOST_AUTO_TEST_CASE(inline_jobs_do_not_recurse)
{
    auto w = make_wheel({.max_queued = 1, .policy = backpressure::run_inline});
    watch(w);
    int depth = 0;
    int deepest = 0;
    int ran = 0;
    std::function<void()> again = [&] {
        deepest = (std::max)(deepest, ++depth);
        if (++ran < 1000)
            w.add(0s, again);
        --depth;
    };
    w.add(1ms, [] {});
    w.add(1ms, again);
    wheel_at(1ms);
    BOOST_TEST(ran == 1000);
    BOOST_TEST(deepest == 1);
    poll();
}

BOOST_AUTO_TEST_CASE(a_hundred_thousand_at_once)
{
    for (const auto policy : {backpressure::block, backpressure::drop, backpressure::run_inline}) {
        clock::set({});
        auto w = make_wheel({.max_queued = 10, .policy = policy});
        int ran = 0;
        for (int i = 0; i != 100'000; ++i)
            w.add(1ms, [&] { ++ran; });
        clock::set(clock::time_point(1ms));
        poll();
        const wheel_stats s = checked(w);
        BOOST_TEST(s.executed == static_cast<unsigned>(ran));
        BOOST_TEST(s.executed + s.dropped == 100'000u);
        BOOST_TEST((policy == backpressure::drop) == (s.dropped != 0));
    }
}

// Removed jobs that the workers have in their queue take no room there for ever.
BOOST_AUTO_TEST_CASE(removed_jobs_do_not_pile_up_in_the_queue)
{
    auto w = make_wheel({.max_queued = 2});
    watch(w);
    int ran = 0;
    for (int i = 0; i != 1000; ++i) {
        const timer_id id = w.add(0s, [&] { ++ran; });
        poll_wheel();
        BOOST_TEST(w.remove(id) == remove_result::removed);
    }
    workers.restart();
    BOOST_TEST(workers.poll() <= 2u);
    BOOST_TEST(ran == 0);
    w.add(0s, [&] { ++ran; });
    poll();
    BOOST_TEST(ran == 1);
}

BOOST_AUTO_TEST_SUITE_END()

}
