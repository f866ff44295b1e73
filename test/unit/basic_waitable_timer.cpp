// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#include <timewheel/basic_waitable_timer.hpp>

#include <test_common/allocation_counter.hpp>
#include <test_common/checked_token.hpp>
#include <test_common/io_fixture.hpp>
#include <test_common/run.hpp>
#include <test_common/virtual_time.hpp>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/strand.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <deque>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace timewheel::test {

namespace {

// What has become of a timer's wait when the timer is moved or destroyed.
enum class stage
{
    idle,
    waiting,
    due,         // its time has come, and the service has not looked yet
    handed_out,  // the handler is queued
    cancelled,   // the handler is queued, and the timer still has its place in the wheel
    moved_later, // lazily: the place in the wheel is that of an earlier time
    waits_mixed  // the first wait cancelled, the others pending
};

constexpr stage stages[]{
    stage::idle,
    stage::waiting,
    stage::due,
    stage::handed_out,
    stage::cancelled,
    stage::moved_later,
    stage::waits_mixed
};

// A timer in some stage, with the numbers of waits that will end one way and the other.
template <class Tag, class Executor = asio::any_io_executor>
struct staged
{
    using clock = timewheel::manual_clock<Tag>;
    using timer = virtual_timer<Tag, Executor>;

    staged(asio::io_context& ctx, stage s) : object(std::in_place, Executor(ctx.get_executor()), 1s)
    {
        if (s == stage::idle)
            return;
        if (s == stage::handed_out) {
            // A turn hands out all that is due, and completes one of it.
            timer first(ctx.get_executor(), 1s);
            first.async_wait([](error_code) {});
            wait(3);
            clock::advance(1s);
            while (service_of<timer>(ctx).stats().pending != 0)
                ctx.poll_one();
            successes = 3;
            return;
        }
        wait(3);
        aborts = 3;
        switch (s) {
        case stage::due: clock::advance(1s); break;
        case stage::cancelled: BOOST_TEST(object->cancel() == 3u); break;
        case stage::moved_later:
            BOOST_TEST(object->expires_after(1h) == 3u);
            wait(2);
            aborts += 2;
            break;
        case stage::waits_mixed: BOOST_TEST(object->cancel_one() == 1u); break;
        default: break;
        }
    }

    void wait(int n)
    {
        for (; n != 0; --n) {
            object->async_wait([this](error_code ec) { ++(ec ? aborted : succeeded); });
        }
    }

    void check() const
    {
        BOOST_TEST(aborted == aborts);
        BOOST_TEST(succeeded == successes);
    }

    std::optional<timer> object;
    int aborts = 0; // if the timer is destroyed
    int successes = 0;
    int aborted = 0;
    int succeeded = 0;
};

template <class Function>
void in_each_stage(Function function)
{
    for (const stage s : stages) {
        BOOST_TEST_CONTEXT("stage " << static_cast<int>(s))
        function(s);
    }
}

}

BOOST_FIXTURE_TEST_SUITE(basic_waitable_timer, io_fixture)

BOOST_AUTO_TEST_CASE(destroyed_in_each_stage)
{
    struct tag;
    in_each_stage([&](stage s) {
        staged<tag> t(ctx, s);
        t.object.reset();
        ctx.poll();
        t.check();
        timewheel::manual_clock<tag>::advance(2h);
        ctx.poll();
        t.check();
        ctx.restart();
    });
}

BOOST_AUTO_TEST_CASE(moved_in_each_stage)
{
    struct tag;
    using timer = virtual_timer<tag>;
    in_each_stage([&](stage s) {
        staged<tag> t(ctx, s);
        const auto expiry = t.object->expiry();
        timer to(std::move(*t.object));
        BOOST_TEST((to.expiry() == expiry));
        BOOST_TEST((t.object->expiry() == timer::time_point()));
        BOOST_TEST(t.object->cancel() == 0u);
        // What was moved from is as good as new.
        outcome again;
        t.object->expires_after(1ms);
        t.object->async_wait(succeeds().into(again));
        timewheel::manual_clock<tag>::advance(2h);
        ctx.poll();
        BOOST_TEST(again.done());
        BOOST_TEST(t.aborted + t.succeeded == t.aborts + t.successes);
        const int stay_aborted = s == stage::cancelled || s == stage::moved_later ? 3
                                 : s == stage::waits_mixed                        ? 1
                                                                                  : 0;
        BOOST_TEST(t.aborted == stay_aborted);
        ctx.restart();
    });
}

BOOST_AUTO_TEST_CASE(assigned_over_in_each_stage)
{
    struct tag;
    using timer = virtual_timer<tag>;
    asio::io_context other;
    in_each_stage([&](stage s) {
        for (asio::io_context* const from : {&ctx, &other}) {
            staged<tag> t(ctx, s);
            timer source(*from, 1min);
            outcome result;
            source.async_wait(succeeds().into(result));
            *t.object = std::move(source);
            ctx.poll();
            t.check();
            BOOST_TEST(!result.done());
            timewheel::manual_clock<tag>::advance(2h);
            from->poll();
            BOOST_TEST(result.done());
            // It belongs to the other context now.
            BOOST_TEST((&asio::query(t.object->get_executor(), asio::execution::context) == from));
            outcome again;
            t.object->expires_after(0s);
            t.object->async_wait(succeeds().into(again));
            from->restart();
            from->poll();
            BOOST_TEST(again.done());
            ctx.restart();
            other.restart();
        }
    });
}

BOOST_AUTO_TEST_CASE(moved_to_itself_in_each_stage)
{
    struct tag;
    in_each_stage([&](stage s) {
        staged<tag> t(ctx, s);
        auto& same = *t.object;
        *t.object = std::move(same);
        t.object.reset();
        ctx.poll();
        t.check();
        ctx.restart();
    });
}

BOOST_AUTO_TEST_CASE(converted_in_each_stage)
{
    struct tag;
    in_each_stage([&](stage s) {
        staged<tag, asio::io_context::executor_type> t(ctx, s);
        virtual_timer<tag> to(std::move(*t.object));
        BOOST_TEST(t.object->cancel() == 0u);
        virtual_timer<tag> assigned(ctx);
        assigned = std::move(to);
        assigned.async_wait([](error_code) {});
        timewheel::manual_clock<tag>::advance(2h);
        ctx.poll();
        BOOST_TEST(t.aborted + t.succeeded == t.aborts + t.successes);
        ctx.restart();
    });
}

BOOST_AUTO_TEST_CASE(vector_of_timers_grows)
{
    struct tag;
    using timer = virtual_timer<tag>;
    std::vector<timer> timers;
    std::vector<int> order;
    for (int i = 0; i != 1000; ++i) {
        timers.emplace_back(ctx, std::chrono::milliseconds(i));
        timers.back().async_wait([&order, i](error_code ec) { order.push_back(ec ? -1 : i); });
    }
    timers.erase(timers.begin(), timers.begin() + 100); // moves the others down
    timewheel::manual_clock<tag>::advance(1s);
    ctx.poll();
    BOOST_TEST(order.size() == 1000u);
    BOOST_TEST(std::count(order.begin(), order.end(), -1) == 100);
    std::erase(order, -1);
    BOOST_TEST(std::is_sorted(order.begin(), order.end()));
}

BOOST_AUTO_TEST_CASE(signal_finds_the_wait_of_a_moved_timer)
{
    struct tag;
    using timer = virtual_timer<tag>;
    asio::cancellation_signal signal;
    outcome kept;
    timer a(ctx, 1h);
    int aborted = 0;
    a.async_wait(asio::bind_cancellation_slot(signal.slot(), [&](error_code ec) {
        aborted += ec == asio::error::operation_aborted;
    }));
    a.async_wait(succeeds().into(kept));
    timer b(std::move(a));
    signal.emit(asio::cancellation_type::partial);
    ctx.poll();
    BOOST_TEST(aborted == 1);
    BOOST_TEST(!kept.done());
    timewheel::manual_clock<tag>::advance(1h);
    ctx.poll();
    BOOST_TEST(kept.done());
}

BOOST_AUTO_TEST_CASE(handler_destroys_other_timers_and_its_own)
{
    struct tag;
    using timer = virtual_timer<tag>;
    for (const bool due : {false, true}) {
        std::vector<std::unique_ptr<timer>> timers;
        std::size_t aborted = 0;
        for (int i = 0; i != 100; ++i)
            timers.push_back(std::make_unique<timer>(ctx, due || i == 50 ? 1s : 1h));
        for (int i = 0; i != 100; ++i) {
            timers[static_cast<std::size_t>(i)]->async_wait([&](error_code ec) {
                aborted += ec == asio::error::operation_aborted;
                timers.clear();
            });
        }
        timewheel::manual_clock<tag>::advance(1s);
        ctx.poll();
        BOOST_TEST(timers.empty());
        BOOST_TEST(aborted == (due ? 0u : 99u));
        ctx.restart();
    }
}

// Fault XC2, XC3: a handler cancels waits of its own batch.
BOOST_AUTO_TEST_CASE(handler_cancels_a_wait_that_is_due)
{
    struct tag;
    using timer = virtual_timer<tag>;
    timer a(ctx, 1s), b(ctx, 1s), c(ctx, 1s);
    std::size_t cancelled = 99;
    outcome results[2];
    a.async_wait([&](error_code) {
        cancelled = b.cancel() + c.cancel();
        a.expires_after(1s);
        a.async_wait(is_aborted());
    });
    b.async_wait(succeeds().into(results[0])); // handed out with it: too late to cancel, as in Asio
    c.async_wait(succeeds().into(results[1]));
    timewheel::manual_clock<tag>::advance(1s);
    ctx.poll();
    BOOST_TEST(cancelled == 0u);
    BOOST_TEST(results[0].done());
    BOOST_TEST(results[1].done());
    a.cancel();
    ctx.poll();
}

// Promise 7. From within handlers, as Asio keeps freed memory for the thread that runs the context.
template <class Timer, class Executor>
void makes_no_allocations(asio::io_context& ctx, const Executor& executor)
{
    using clock = typename Timer::clock_type;
    BOOST_TEST_REQUIRE(counts_allocations());
    std::deque<Timer> timers;
    for (int i = 0; i != 100; ++i)
        timers.emplace_back(executor);
    struct chain
    {
        std::deque<Timer>& timers;
        std::size_t done = 0;
        std::size_t end = 0;

        void step()
        {
            if (done == end)
                return;
            Timer& t = timers[done % timers.size()];
            const std::chrono::milliseconds after(done % 1000 + 1);
            t.expires_after(after);
            t.async_wait([this](error_code) {
                ++done;
                step();
            });
            if (done % 3 == 0)
                t.cancel();
            else
                clock::advance(after);
        }
    };
    chain links{timers};
    const auto run = [&](std::size_t n) {
        links.end += n;
        asio::post(executor, [&] { links.step(); });
        ctx.restart();
        ctx.run();
    };
    run(1000);
    const allocation_counter counter;
    run(1);
    const std::size_t to_begin = counter.count();
    run(1001);
    BOOST_TEST(counter.count() == 2 * to_begin);
    BOOST_TEST(links.done == 2002u);
}

BOOST_AUTO_TEST_CASE(steady_state_makes_no_allocations)
{
    struct io_tag;
    makes_no_allocations<virtual_timer<io_tag, asio::io_context::executor_type>>(
        ctx, ctx.get_executor()
    );
    struct any_tag;
    makes_no_allocations<virtual_timer<any_tag>>(ctx, ctx.get_executor());
    struct strand_tag;
    using strand = asio::strand<asio::io_context::executor_type>;
    makes_no_allocations<virtual_timer<strand_tag, strand>>(ctx, asio::make_strand(ctx));
}

BOOST_AUTO_TEST_SUITE_END()

}
