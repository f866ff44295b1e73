// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#include "families.hpp"

#include <test_common/checked_token.hpp>
#include <test_common/counting_allocator.hpp>
#include <test_common/io_fixture.hpp>
#include <test_common/run.hpp>

#include <boost/asio/bind_allocator.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <boost/test/unit_test.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <deque>
#include <functional>
#include <thread>
#include <tuple>
#include <vector>

namespace timewheel::test {

BOOST_AUTO_TEST_SUITE(conformance_scenes)

namespace {

/// A family and one of its clocks.
template <class Family, class Timer>
struct scene
{
    using family = Family;
    using timer = Timer;
    using clock = typename Timer::clock_type;
};

template <class List>
struct scenes_of;

template <class... Families>
struct scenes_of<std::tuple<Families...>>
{
    using type = decltype(std::tuple_cat(std::tuple<
                                         scene<Families, typename Families::system>,
                                         scene<Families, typename Families::steady>>{}...));
};

}

// Section 1.6: the scenes of Asio's timer tests, on the wall clock and on the steady one.
using scenes = scenes_of<families>::type;

// Blocking waits one after another, each from where the last one ended.
BOOST_FIXTURE_TEST_CASE_TEMPLATE(blocking_waits_in_a_row, Scene, scenes, io_fixture)
{
    using clock = typename Scene::clock;
    using timer_type = typename Scene::timer;
    const auto start = clock::now();

    timer_type first{ctx, 3ms};
    first.wait();
    BOOST_CHECK(clock::now() >= start + 3ms);

    timer_type second{ctx.get_executor(), 2ms + 500us};
    second.wait();
    BOOST_CHECK(clock::now() >= start + 5ms + 500us);

    second.expires_at(second.expiry() + 2ms);
    second.wait();
    BOOST_CHECK(clock::now() >= start + 7ms + 500us);

    second.expires_after(3ms);
    second.wait();
    BOOST_CHECK(clock::now() >= start + 10ms + 500us);
    BOOST_CHECK(clock::now() < start + patience);
}

// An expiry that has passed delivers nothing until the context runs.
BOOST_FIXTURE_TEST_CASE_TEMPLATE(nothing_is_delivered_before_run, Scene, scenes, io_fixture)
{
    typename Scene::timer timer{ctx, 1ms};
    outcome result;
    timer.async_wait(succeeds().into(result));
    let_time_pass(5ms);
    BOOST_TEST(!result.done());
    BOOST_TEST(run_to_end(ctx));
    BOOST_TEST(result.invoked == 1);
}

// A countdown re-arms in its handler, without nesting, on a grid that does not creep.
BOOST_FIXTURE_TEST_CASE_TEMPLATE(a_countdown_rearms_itself, Scene, scenes, io_fixture)
{
    using clock = typename Scene::clock;
    const auto start = clock::now();
    typename Scene::timer timer{ctx, start + 2ms};
    int left = 5;
    int depth = 0;
    std::function<void()> next = [&] {
        BOOST_TEST(++depth == 1);
        if (--left > 0) {
            timer.expires_at(timer.expiry() + 2ms);
            timer.async_wait(succeeds().then(next));
        }
        --depth;
    };
    timer.async_wait(succeeds().then(next));
    BOOST_TEST(run_to_end(ctx));
    BOOST_TEST(left == 0);
    BOOST_CHECK(timer.expiry() == start + 10ms);
    BOOST_CHECK(clock::now() >= start + 10ms);
}

// One timer's handler cancels another; run() does not wait for it; a new wait reaches its expiry.
BOOST_FIXTURE_TEST_CASE_TEMPLATE(one_timer_cancels_another, Scene, scenes, io_fixture)
{
    using clock = typename Scene::clock;
    typename Scene::timer victim{ctx, 40ms};
    typename Scene::timer killer{ctx, 2ms};
    victim.async_wait(is_aborted());
    killer.async_wait(succeeds().then([&] { BOOST_TEST(victim.cancel() == 1U); }));
    BOOST_TEST(run_to_end(ctx));
    BOOST_CHECK(clock::now() >= killer.expiry());
    const bool in_time = clock::now() < victim.expiry();
    BOOST_WARN_MESSAGE(in_time, "the machine is too slow to see whether run() returned at once");

    ctx.restart();
    victim.async_wait(succeeds());
    BOOST_TEST(run_to_end(ctx));
    BOOST_CHECK(clock::now() >= victim.expiry());
}

// Two waits, of which cancel_one() takes the first; the second reaches the expiry.
BOOST_FIXTURE_TEST_CASE_TEMPLATE(the_second_wait_stays, Scene, scenes, io_fixture)
{
    using clock = typename Scene::clock;
    typename Scene::timer timer{ctx, 10ms};
    outcome first;
    timer.async_wait(is_aborted().into(first));
    timer.async_wait(succeeds().then([&] {
        BOOST_TEST(first.done());
        BOOST_CHECK(clock::now() >= timer.expiry());
    }));
    BOOST_TEST(timer.cancel_one() == 1U);
    BOOST_TEST(run_to_end(ctx));
}

// Fifty timers at the end of time; each can be picked out.
BOOST_FIXTURE_TEST_CASE_TEMPLATE(fifty_timers_at_the_end_of_time, Scene, scenes, io_fixture)
{
    std::deque<typename Scene::timer> timers;
    std::deque<outcome> results(50);
    for (std::size_t i = 0; i < 50; ++i) {
        timers.emplace_back(ctx, (Scene::clock::time_point::max)());
        timers.back().async_wait(is_aborted().into(results[i]));
    }
    poll_until_quiet(ctx);

    // Odd ones first, the last to the first; then the even ones by what the handlers say.
    for (std::size_t i = 50; i-- > 0;)
        if (i % 2 == 1)
            BOOST_TEST(timers[i].cancel() == 1U);
    poll_until_quiet(ctx);
    for (std::size_t i = 0; i < 50; ++i) {
        BOOST_TEST(results[i].done() == (i % 2 == 1));
        BOOST_TEST(timers[i].cancel() == (i % 2 == 1 ? 0U : 1U));
    }
    BOOST_TEST(run_to_end(ctx));
    for (const auto& result : results)
        BOOST_TEST(result.invoked == 1);
}

// A hundred timers at both ends of time, with memory from the handler; all of it comes back.
BOOST_FIXTURE_TEST_CASE_TEMPLATE(a_hundred_timers_return_their_memory, Scene, scenes, io_fixture)
{
    using time_point = typename Scene::clock::time_point;
    allocation_account account;
    const counting_allocator<> allocator{account};
    std::deque<typename Scene::timer> timers;
    int succeeded = 0;
    int aborted = 0;
    for (int i = 0; i < 100; ++i) {
        const bool never = i % 2 == 0;
        timers.emplace_back(ctx, never ? (time_point::max)() : (time_point::min)());
        timers.back().async_wait(asio::bind_allocator(
            allocator,
            ends_with(never ? error_code{asio::error::operation_aborted} : error_code{})
                .then([&, never] { ++(never ? aborted : succeeded); })
        ));
    }
    BOOST_TEST(account.blocks >= 100);
    BOOST_TEST(run_until(ctx, [&] { return succeeded == 50; }));
    poll_until_quiet(ctx);
    BOOST_TEST(aborted == 0);
    BOOST_TEST(account.blocks >= 50);
    for (auto& timer : timers)
        timer.cancel();
    BOOST_TEST(run_to_end(ctx));
    BOOST_TEST(aborted == 50);
    BOOST_TEST(account.settled());
}

// A wait is started by one thread while another runs the context, which its handler then stops.
BOOST_FIXTURE_TEST_CASE_TEMPLATE(a_wait_meets_a_running_thread, Scene, scenes, io_fixture)
{
    const auto work = asio::make_work_guard(ctx);
    typename Scene::timer before{ctx};
    typename Scene::timer after{ctx};
    std::atomic<int> ended{0};
    std::thread runner{[this] { ctx.run(); }};

    after.expires_after(4ms);
    after.async_wait([&](error_code ec) {
        ended += !ec;
        ctx.stop();
    });
    before.expires_after(2ms);
    before.async_wait([&](error_code ec) { ended += !ec; });
    runner.join();
    BOOST_TEST(ended == 2);
    leave_pending();
}

// Three waits on one timer; a signal takes the one in the middle, the others reach the expiry.
BOOST_FIXTURE_TEST_CASE_TEMPLATE(a_signal_takes_the_middle_one, Scene, scenes, io_fixture)
{
    asio::cancellation_signal signal;
    typename Scene::timer timer{ctx, 5ms};
    std::vector<int> order;
    const auto note = [&order](int i) { return [&order, i] { order.push_back(i); }; };
    timer.async_wait(succeeds().then(note(1)));
    timer.async_wait(asio::bind_cancellation_slot(signal.slot(), is_aborted().then(note(2))));
    timer.async_wait(succeeds().then(note(3)));
    poll_until_quiet(ctx);
    signal.emit(asio::cancellation_type::all);
    BOOST_TEST(run_to_end(ctx));
    BOOST_TEST(order == (std::vector{2, 1, 3}), boost::test_tools::per_element());
}

// Timers in two contexts on two threads cancel each other's plans by message, never by touch.
BOOST_FIXTURE_TEST_CASE_TEMPLATE(two_contexts_side_by_side, Scene, scenes, io_fixture)
{
    asio::io_context other;
    typename Scene::timer here{ctx, 3ms};
    typename Scene::timer there{other, 1h};
    outcome here_result;
    outcome there_result;
    there.async_wait(is_aborted().into(there_result));
    here.async_wait(succeeds().into(here_result).then([&] {
        asio::post(other, [&] { there.cancel(); });
    }));
    std::thread runner{[&] { other.run_for(patience); }};
    BOOST_TEST(run_to_end(ctx));
    runner.join();
    BOOST_TEST(here_result.invoked == 1);
    BOOST_TEST(there_result.invoked == 1);
}

BOOST_AUTO_TEST_SUITE_END()

}
