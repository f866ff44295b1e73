// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#include "families.hpp"
#include "stepped_clock.hpp"

#include <test_common/checked_token.hpp>
#include <test_common/io_fixture.hpp>
#include <test_common/move_only_handler.hpp>
#include <test_common/run.hpp>
#include <test_common/tracker_executor.hpp>

#include <boost/asio/bind_executor.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/system_executor.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <numeric>
#include <optional>
#include <random>
#include <stdexcept>
#include <thread>
#include <vector>

namespace timewheel::test {

BOOST_AUTO_TEST_SUITE(conformance_completion)

namespace {

using io_executor = asio::io_context::executor_type;

template <class Family, class Executor>
using steady_on = typename Family::template basic<
    std::chrono::steady_clock,
    asio::wait_traits<std::chrono::steady_clock>,
    Executor>;

}

// C6: whatever is done to the timers, each wait ends once. Every token checks that by itself.
BOOST_FIXTURE_TEST_CASE_TEMPLATE(every_wait_ends_exactly_once, Family, families, io_fixture)
{
    std::minstd_rand random{20};
    std::deque<typename Family::steady> timers;
    for (int i = 0; i < 20; ++i)
        timers.emplace_back(ctx);

    int started = 0;
    int ended = 0;
    auto busy = std::make_optional(asio::make_work_guard(ctx));
    for (int step = 0; step < 2000; ++step) {
        auto& timer = timers[random() % timers.size()];
        switch (random() % 6) {
        case 0: timer.expires_after(std::chrono::microseconds{random() % 3000}); break;
        case 1: timer.cancel(); break;
        case 2: timer.cancel_one(); break;
        case 3: ctx.poll_one(); break;
        default: ++started; timer.async_wait(ends().then([&ended] { ++ended; }));
        }
    }
    busy.reset();
    BOOST_TEST(run_to_end(ctx));
    BOOST_TEST(ended == started);
}

// C7: the waits of one timer complete in the order in which they were started.
BOOST_FIXTURE_TEST_CASE_TEMPLATE(waits_of_one_timer_are_fifo, Family, families, io_fixture)
{
    typename Family::steady timer{ctx, 2ms};
    std::vector<int> order;
    for (int i = 0; i < 5; ++i)
        timer.async_wait(succeeds().then([&order, i] { order.push_back(i); }));
    BOOST_TEST(run_to_end(ctx));
    BOOST_TEST(order == (std::vector{0, 1, 2, 3, 4}), boost::test_tools::per_element());

    // The same when they are cancelled.
    order.clear();
    ctx.restart();
    timer.expires_after(1h);
    for (int i = 0; i < 5; ++i)
        timer.async_wait(is_aborted().then([&order, i] { order.push_back(i); }));
    BOOST_TEST(timer.cancel() == 5U);
    BOOST_TEST(run_to_end(ctx));
    BOOST_TEST(order == (std::vector{0, 1, 2, 3, 4}), boost::test_tools::per_element());
}

// C7: a wait that joins later queues behind the others, whether or not the context ran in between.
BOOST_FIXTURE_TEST_CASE_TEMPLATE(a_late_wait_queues_at_the_end, Family, families, io_fixture)
{
    using clock = stepped_clock<class late_wait_tag>;
    clock::set(1h);
    stepped_timer<Family, clock> timer{ctx, 5ms};
    std::vector<int> order;
    timer.async_wait(succeeds().then([&] {
        order.push_back(0);
        timer.async_wait(succeeds().then([&] { order.push_back(3); }));
    }));
    timer.async_wait(succeeds().then([&] { order.push_back(1); }));
    poll_until_quiet(ctx);
    timer.async_wait(succeeds().then([&] { order.push_back(2); }));
    clock::advance(6ms);
    BOOST_TEST(run_to_end(ctx));
    BOOST_TEST(order == (std::vector{0, 1, 2, 3}), boost::test_tools::per_element());
}

// C8: of different timers found due together, the earlier ones complete first.
BOOST_FIXTURE_TEST_CASE_TEMPLATE(earlier_timers_complete_first, Family, families, io_fixture)
{
    using clock = stepped_clock<class earlier_first_tag>;
    clock::set(1h);
    std::vector<int> arming(40);
    std::iota(arming.begin(), arming.end(), 0);
    std::shuffle(arming.begin(), arming.end(), std::minstd_rand{7});

    // Three milliseconds apart is more than a tick; the last ones are far ahead of the first.
    std::deque<stepped_timer<Family, clock>> timers;
    std::vector<int> order;
    for (const int i : arming) {
        const auto delay = i < 30 ? i * 3ms : i * 10s;
        timers.emplace_back(ctx, delay);
        timers.back().async_wait(succeeds().then([&order, i] { order.push_back(i); }));
    }
    poll_until_quiet(ctx);
    clock::advance(24h);
    BOOST_TEST(run_to_end(ctx));
    BOOST_TEST(order.size() == 40U);
    BOOST_TEST(std::is_sorted(order.begin(), order.end()));
}

// C8: for the same expiry Asio promises nothing; ours promises the order of arming, at any distance.
BOOST_FIXTURE_TEST_CASE_TEMPLATE(
    equal_timers_complete_in_arming_order,
    Family,
    families,
    io_fixture
)
{
    using clock = stepped_clock<class equal_timers_tag>;
    for (const std::chrono::nanoseconds delay :
         {1ms, 255ms, 256ms, 3'600'000ms, 32'400'000'000ms}) {
        BOOST_TEST_CONTEXT("delay " << delay.count() << " ns")
        {
            clock::set(1h + 123'456ns);
            const auto expiry = clock::now() + delay;
            std::deque<stepped_timer<Family, clock>> timers;
            std::vector<int> order;
            for (int i = 0; i < 10; ++i) {
                timers.emplace_back(ctx, expiry);
                timers.back().async_wait(succeeds().then([&order, i] { order.push_back(i); }));
                poll_until_quiet(ctx);
            }
            clock::advance(delay);
            clock::advance(2ms);
            BOOST_TEST(run_to_end(ctx));
            BOOST_TEST(order.size() == 10U);
            if constexpr (Family::is_ours)
                BOOST_TEST(std::is_sorted(order.begin(), order.end()));
            ctx.restart();
        }
    }
}

// C9: a wait that is ready can't be cancelled any more: cancel() says 0, the handler sees success.
BOOST_FIXTURE_TEST_CASE_TEMPLATE(a_ready_wait_is_out_of_reach, Family, families, io_fixture)
{
    typename Family::steady timer{ctx};
    outcome second;
    timer.async_wait(succeeds().then([&] {
        BOOST_TEST(timer.cancel() == 0U);
        BOOST_TEST(timer.cancel_one() == 0U);
    }));
    timer.async_wait(succeeds().into(second));
    BOOST_TEST(run_to_end(ctx));
    BOOST_TEST(second.invoked == 1);
}

// C9: the same for another timer that became due in the same moment, and when it is destroyed.
BOOST_FIXTURE_TEST_CASE_TEMPLATE(a_ready_wait_survives_its_timer, Family, families, io_fixture)
{
    using timer_type = typename Family::steady;
    const auto expiry = std::chrono::steady_clock::now() - 1s;
    auto a = std::make_unique<timer_type>(ctx, expiry);
    auto b = std::make_unique<timer_type>(ctx, expiry);
    int ended = 0;
    a->async_wait(succeeds().then([&] {
        if (ended++ == 0) {
            BOOST_TEST(b->cancel() == 0U);
            b.reset();
        }
    }));
    b->async_wait(succeeds().then([&] {
        if (ended++ == 0) {
            BOOST_TEST(a->cancel() == 0U);
            a.reset();
        }
    }));
    BOOST_TEST(run_to_end(ctx));
    BOOST_TEST(ended == 2);
}

// C11: one turn of the context completes one wait at most.
BOOST_FIXTURE_TEST_CASE_TEMPLATE(a_turn_completes_one_wait, Family, families, io_fixture)
{
    std::deque<typename Family::steady> timers;
    int ended = 0;
    for (int i = 0; i < 200; ++i) {
        timers.emplace_back(ctx, std::chrono::steady_clock::now() - 1s);
        timers.back().async_wait(succeeds().then([&] { ++ended; }));
    }
    // Turns that complete nothing are allowed, but few of them.
    int turns = 0;
    while (ended < 200) {
        const int before = ended;
        BOOST_REQUIRE(ctx.run_one() == 1U);
        BOOST_REQUIRE(ended - before <= 1);
        BOOST_REQUIRE(++turns < 300);
    }
    BOOST_TEST(run_to_end(ctx));
}

// C11: the same for waits that are cancelled together.
BOOST_FIXTURE_TEST_CASE_TEMPLATE(a_turn_completes_one_aborted_wait, Family, families, io_fixture)
{
    typename Family::steady timer{ctx, 1h};
    int ended = 0;
    for (int i = 0; i < 100; ++i)
        timer.async_wait(is_aborted().then([&] { ++ended; }));
    BOOST_TEST(timer.cancel() == 100U);
    int turns = 0;
    while (ended < 100) {
        const int before = ended;
        BOOST_REQUIRE(ctx.run_one() == 1U);
        BOOST_REQUIRE(ended - before <= 1);
        BOOST_REQUIRE(++turns < 150);
    }
    BOOST_TEST(run_to_end(ctx));
}

// C11: an exception leaves run(), and the waits that are ready complete in the next run().
BOOST_FIXTURE_TEST_CASE_TEMPLATE(a_throwing_handler_loses_no_other, Family, families, io_fixture)
{
    for (const bool cancelled : {false, true}) {
        BOOST_TEST_CONTEXT("cancelled " << cancelled)
        {
            typename Family::steady timer{ctx};
            if (cancelled)
                timer.expires_after(1h);
            int ended = 0;
            for (int i = 0; i < 5; ++i)
                timer.async_wait(ends().then([&] {
                    if (++ended % 2 == 0)
                        throw std::runtime_error{"on purpose"};
                }));
            if (cancelled)
                BOOST_TEST(timer.cancel() == 5U);
            BOOST_CHECK_THROW(ctx.run(), std::runtime_error);
            BOOST_TEST(ended == 2);
            BOOST_CHECK_THROW(ctx.run(), std::runtime_error);
            BOOST_TEST(ended == 4);
            BOOST_TEST(run_to_end(ctx));
            BOOST_TEST(ended == 5);
            ctx.restart();
        }
    }
}

// C11: after an exception the timer and the service work as before.
BOOST_FIXTURE_TEST_CASE_TEMPLATE(a_throwing_handler_may_have_rearmed, Family, families, io_fixture)
{
    typename Family::steady timer{ctx, 1ms};
    outcome again;
    timer.async_wait(succeeds().then([&] {
        timer.expires_after(1ms);
        timer.async_wait(succeeds().into(again));
        throw std::runtime_error{"on purpose"};
    }));
    BOOST_CHECK_THROW(ctx.run(), std::runtime_error);
    BOOST_TEST(run_to_end(ctx));
    BOOST_TEST(again.invoked == 1);
}

// C11: stop() in one handler leaves the others queued until the context is restarted.
BOOST_FIXTURE_TEST_CASE_TEMPLATE(stop_leaves_ready_waits_queued, Family, families, io_fixture)
{
    typename Family::steady timer{ctx};
    int ended = 0;
    for (int i = 0; i < 3; ++i)
        timer.async_wait(succeeds().then([&] {
            ++ended;
            ctx.stop();
        }));
    for (int i = 1; i <= 3; ++i) {
        ctx.run();
        BOOST_TEST(ended == i);
        BOOST_TEST(ctx.poll() == 0U);
        BOOST_TEST(ended == i);
        ctx.restart();
    }
    BOOST_TEST(run_to_end(ctx));
    BOOST_TEST(ended == 3);
}

// C11: a handler that blocks does not hold up the others while another thread runs the context.
BOOST_FIXTURE_TEST_CASE_TEMPLATE(a_blocking_handler_holds_up_no_other, Family, families, io_fixture)
{
    typename Family::steady timer{ctx};
    std::mutex mutex;
    std::condition_variable changed;
    int others = 0;
    bool met = false;
    timer.async_wait(succeeds().then([&] {
        std::unique_lock lock{mutex};
        met = changed.wait_for(lock, patience, [&] { return others == 9; });
    }));
    for (int i = 0; i < 9; ++i)
        timer.async_wait(succeeds().then([&] {
            const std::lock_guard lock{mutex};
            ++others;
            changed.notify_all();
        }));
    std::thread second{[&] { ctx.run(); }};
    ctx.run();
    second.join();
    BOOST_TEST(met);
    BOOST_TEST(others == 9);
}

// C11: many due timers do not keep other handlers of the context waiting until all are done.
BOOST_FIXTURE_TEST_CASE_TEMPLATE(a_flood_of_timers_starves_nobody, Family, families, io_fixture)
{
    typename Family::steady flood{ctx};
    // Several times as many as ours queues at once.
    constexpr int many = 20'000;
    int ended = 0;
    int ended_when_posted = many;
    flood.async_wait(succeeds().then([&] { asio::post(ctx, [&] { ended_when_posted = ended; }); }));
    // A timer that always re-arms at once must leave room for the others as well (fault XD1).
    typename Family::steady greedy{ctx};
    std::function<void()> again = [&] {
        if (ended < many)
            greedy.async_wait(succeeds().then(again));
    };
    again();
    for (int i = 0; i < many; ++i)
        flood.async_wait(succeeds().then([&] { ++ended; }));
    BOOST_TEST(run_to_end(ctx));
    BOOST_TEST(ended == many);
    if constexpr (Family::is_ours)
        BOOST_TEST(ended_when_posted < many / 2);
}

// C12: run() returns at once when the last wait is gone, however far its deadline was.
BOOST_FIXTURE_TEST_CASE_TEMPLATE(
    run_returns_when_the_last_wait_is_gone,
    Family,
    families,
    io_fixture
)
{
    typename Family::steady timer{ctx, 1h};
    timer.async_wait(is_aborted());
    poll_until_quiet(ctx);
    const stopwatch cancelled;
    timer.cancel();
    BOOST_TEST(run_to_end(ctx));
    BOOST_CHECK(cancelled.elapsed() < 1s);

    ctx.restart();
    {
        typename Family::steady destroyed{ctx, (Family::steady::duration::max)()};
        destroyed.async_wait(is_aborted());
        poll_until_quiet(ctx);
    }
    const stopwatch gone;
    BOOST_TEST(run_to_end(ctx));
    BOOST_CHECK(gone.elapsed() < 1s);

    // A timer without a wait is no work, though its deadline lies ahead.
    ctx.restart();
    typename Family::steady idle{ctx, 1h};
    const stopwatch never_armed;
    BOOST_TEST(run_to_end(ctx));
    BOOST_CHECK(never_armed.elapsed() < 1s);
}

// C12 (fault XB3): cancelled inside the running context by another timer; then used again.
BOOST_FIXTURE_TEST_CASE_TEMPLATE(
    run_returns_when_a_handler_cancels_the_last,
    Family,
    families,
    io_fixture
)
{
    typename Family::steady far{ctx, 1h};
    typename Family::steady near{ctx, 2ms};
    for (int round = 0; round < 3; ++round) {
        far.expires_after(1h);
        far.async_wait(is_aborted());
        near.expires_after(2ms);
        near.async_wait(succeeds().then([&] { BOOST_TEST(far.cancel() == 1U); }));
        const stopwatch watch;
        BOOST_TEST(run_to_end(ctx));
        BOOST_CHECK(watch.elapsed() < 1s);
        ctx.restart();
    }
}

// C12: the last completion is the end of the work: no turn is left that would wait for a tick.
BOOST_FIXTURE_TEST_CASE_TEMPLATE(
    run_returns_after_the_last_completion,
    Family,
    families,
    io_fixture
)
{
    typename Family::steady timer{ctx, 1ms};
    const stopwatch watch;
    timer.async_wait(succeeds());
    BOOST_TEST(run_to_end(ctx));
    BOOST_CHECK(watch.elapsed() < 1s);
    BOOST_TEST(ctx.stopped());
}

// C13: handlers need not be copyable, and are called as rvalues with a constant error code.
BOOST_FIXTURE_TEST_CASE_TEMPLATE(a_handler_need_only_be_movable, Family, families, io_fixture)
{
    typename Family::steady timer{ctx, 1ms};
    int ended = 0;
    timer.async_wait(move_only_handler{[&](const error_code& ec) {
        BOOST_TEST(!ec);
        ++ended;
    }});
    timer.async_wait([&, owned = std::make_unique<int>(1)](const error_code&) mutable {
        ended += std::exchange(*owned, 0);
    });
    timer.async_wait([&](error_code ec) { ended += ec ? 0 : 1; });
    BOOST_TEST(run_to_end(ctx));
    BOOST_TEST(ended == 3);
}

// C13: an lvalue handler is copied, and the caller's one stays as it was.
BOOST_FIXTURE_TEST_CASE_TEMPLATE(an_lvalue_handler_is_copied, Family, families, io_fixture)
{
    typename Family::steady timer{ctx, 1ms};
    const auto counter = std::make_shared<int>(0);
    const auto handler = [counter](error_code) { ++*counter; };
    timer.async_wait(handler);
    timer.async_wait(handler);
    BOOST_TEST(run_to_end(ctx));
    BOOST_TEST(*counter == 2);
    BOOST_TEST(counter.use_count() == 2);
}

// C15: a handler without an executor of its own completes on the timer's, by submission.
BOOST_FIXTURE_TEST_CASE_TEMPLATE(the_timer_executor_is_the_default, Family, families, io_fixture)
{
    const tracker_executor<io_executor> tracker{ctx.get_executor()};
    steady_on<Family, tracker_executor<io_executor>> timer{tracker, 1ms};
    BOOST_CHECK(timer.get_executor() == tracker);
    timer.async_wait(succeeds().on(tracker));
    BOOST_TEST(run_to_end(ctx));
    const int after_expiry = tracker.diary().submissions;
    BOOST_TEST(after_expiry >= 1);

    ctx.restart();
    timer.expires_after(1h);
    timer.async_wait(is_aborted().on(tracker));
    timer.cancel();
    BOOST_TEST(run_to_end(ctx));
    BOOST_TEST(tracker.diary().submissions > after_expiry);
    BOOST_TEST(tracker.diary().outstanding == 0);
}

// C15: the same through a type-erased executor.
BOOST_FIXTURE_TEST_CASE_TEMPLATE(the_timer_executor_may_be_erased, Family, families, io_fixture)
{
    const tracker_executor<io_executor> tracker{ctx.get_executor()};
    typename Family::steady timer{tracker, 1ms};
    timer.async_wait(succeeds().on(tracker));
    BOOST_TEST(run_to_end(ctx));
    BOOST_TEST(tracker.diary().outstanding == 0);
}

// C15: the handler's associated executor wins, for every way in which a wait ends.
BOOST_FIXTURE_TEST_CASE_TEMPLATE(the_associated_executor_wins, Family, families, io_fixture)
{
    const tracker_executor<io_executor> own{ctx.get_executor()};
    const tracker_executor<io_executor> bound{ctx.get_executor()};
    steady_on<Family, tracker_executor<io_executor>> timer{own, 1ms};

    timer.async_wait(asio::bind_executor(bound, succeeds().on(bound)));
    BOOST_TEST(run_to_end(ctx));
    BOOST_TEST(bound.diary().submissions == 1);

    ctx.restart();
    timer.expires_after(1h);
    timer.async_wait(asio::bind_executor(bound, is_aborted().on(bound)));
    timer.cancel();
    BOOST_TEST(run_to_end(ctx));
    BOOST_TEST(bound.diary().submissions == 2);

    ctx.restart();
    timer.expires_after(-1s);
    timer.async_wait(asio::bind_executor(bound, succeeds().on(bound)));
    BOOST_TEST(run_to_end(ctx));
    BOOST_TEST(bound.diary().submissions == 3);

    // Each wait its own: neighbours on one timer do not share an executor.
    ctx.restart();
    timer.async_wait(asio::bind_executor(bound, succeeds().on(bound)));
    timer.async_wait(succeeds().on(own));
    timer.async_wait(asio::bind_executor(bound, succeeds().on(bound)));
    BOOST_TEST(run_to_end(ctx));
    BOOST_TEST(own.diary().outstanding == 0);
    BOOST_TEST(bound.diary().outstanding == 0);
}

// C15: an executor of another context: the handler runs there and not where the timer runs.
BOOST_FIXTURE_TEST_CASE_TEMPLATE(
    a_handler_may_live_in_another_context,
    Family,
    families,
    io_fixture
)
{
    asio::thread_pool pool{1};
    typename Family::steady timer{ctx, 1ms};
    outcome result;
    std::thread::id ran_in;
    timer.async_wait(asio::bind_executor(pool, succeeds().into(result).then([&] {
        ran_in = std::this_thread::get_id();
    })));
    ctx.run();
    pool.join();
    BOOST_TEST(result.invoked == 1);
    BOOST_CHECK(ran_in != std::thread::id{});
    BOOST_CHECK(ran_in != std::this_thread::get_id());
}

// C15: bound to the system executor; not inline even though that one would run it anywhere.
BOOST_FIXTURE_TEST_CASE_TEMPLATE(
    a_handler_may_use_the_system_executor,
    Family,
    families,
    io_fixture
)
{
    typename Family::steady timer{ctx};
    outcome result;
    timer.async_wait(asio::bind_executor(asio::system_executor{}, succeeds().into(result)));
    BOOST_TEST(!result.done());
    ctx.run();
    const stopwatch watch;
    while (!result.done() && watch.elapsed() < patience)
        let_time_pass(1ms);
    BOOST_TEST(result.invoked == 1);
}

// C15: handlers on one strand never overlap, though their timers expire together on many threads.
BOOST_AUTO_TEST_CASE_TEMPLATE(a_strand_keeps_handlers_apart, Family, families)
{
    asio::thread_pool pool{3};
    const auto strand = asio::make_strand(pool);
    std::deque<typename Family::steady> timers;
    std::atomic<int> inside{0};
    std::atomic<int> overlaps{0};
    std::atomic<int> ended{0};
    for (int i = 0; i < 100; ++i) {
        timers.emplace_back(pool, 5ms);
        timers.back().async_wait(asio::bind_executor(strand, [&](error_code) {
            overlaps += inside++;
            --inside;
            ++ended;
        }));
    }
    pool.join();
    BOOST_TEST(ended == 100);
    BOOST_TEST(overlaps == 0);
}

// C16: a pending wait is work for the handler's context, so that its run() does not return early.
BOOST_FIXTURE_TEST_CASE_TEMPLATE(
    a_wait_is_work_for_the_handler_context,
    Family,
    families,
    io_fixture
)
{
    asio::io_context other;
    typename Family::steady timer{ctx, 2ms};
    outcome result;
    timer.async_wait(asio::bind_executor(other.get_executor(), succeeds().into(result)));

    poll_until_quiet(other);
    BOOST_TEST(!other.stopped());

    // The timer's side is done when the handler has been handed over.
    BOOST_TEST(run_to_end(ctx));
    BOOST_TEST(!result.done());
    BOOST_TEST(!other.stopped());
    BOOST_TEST(run_to_end(other));
    BOOST_TEST(result.invoked == 1);
}

// C16: both executors are told about the work, from the start of the wait to its completion.
BOOST_FIXTURE_TEST_CASE_TEMPLATE(work_is_tracked_on_both_executors, Family, families, io_fixture)
{
    const tracker_executor<io_executor> own{ctx.get_executor()};
    const tracker_executor<io_executor> bound{ctx.get_executor()};
    using timer_type = steady_on<Family, tracker_executor<io_executor>>;
    auto timer = std::make_unique<timer_type>(own, 2ms);
    const auto none_left = [&] {
        return own.diary().outstanding == 0 && bound.diary().outstanding == 0;
    };
    const auto both_busy = [&] {
        return own.diary().outstanding >= 1 && bound.diary().outstanding >= 1;
    };
    BOOST_TEST(none_left());

    timer->async_wait(asio::bind_executor(bound, succeeds().on(bound)));
    BOOST_TEST(both_busy());
    poll_until_quiet(ctx);
    BOOST_TEST(both_busy());
    BOOST_TEST(run_to_end(ctx));
    BOOST_TEST(none_left());

    // Cancelled, and then with the timer destroyed: the handler is still to be run.
    ctx.restart();
    timer->expires_after(1h);
    timer->async_wait(asio::bind_executor(bound, is_aborted().on(bound)));
    timer->cancel();
    BOOST_TEST(both_busy());
    BOOST_TEST(run_to_end(ctx));
    BOOST_TEST(none_left());

    ctx.restart();
    timer->async_wait(asio::bind_executor(bound, is_aborted().on(bound)));
    timer.reset();
    BOOST_TEST(both_busy());
    BOOST_TEST(run_to_end(ctx));
    BOOST_TEST(none_left());
}

// C16: several waits each hold their own share; one that ends does not release the others.
BOOST_FIXTURE_TEST_CASE_TEMPLATE(each_wait_is_its_own_work, Family, families, io_fixture)
{
    asio::io_context other;
    typename Family::steady timer{ctx, 1h};
    timer.async_wait(asio::bind_executor(other.get_executor(), is_aborted()));
    timer.async_wait(asio::bind_executor(other.get_executor(), is_aborted()));
    BOOST_TEST(timer.cancel_one() == 1U);
    poll_until_quiet(ctx);
    poll_until_quiet(other);
    BOOST_TEST(!ctx.stopped());
    BOOST_TEST(!other.stopped());
    BOOST_TEST(timer.cancel_one() == 1U);
    BOOST_TEST(run_to_end(ctx));
    BOOST_TEST(run_to_end(other));
}

BOOST_AUTO_TEST_SUITE_END()

}
