// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#include <timewheel/cancel_after.hpp>
#include <timewheel/detail/signal_link.hpp>
#include <timewheel/idle_timer.hpp>
#include <timewheel/repeating_timer.hpp>
#include <timewheel/sleep.hpp>
#include <timewheel/steady_timer.hpp>
#include <timewheel/wheel.hpp>

#include "harness.hpp"

#include <test_common/random_source.hpp>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/cancellation_type.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/experimental/parallel_group.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>

#include <chrono>
#include <future>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

// Signals on one thread, ends on another one. The first operation of a group to end signals to the
// others from wherever it is, when these may be ending too. Asio's timers bear that, since their ends
// do not touch the slot.

using namespace timewheel;
using namespace timewheel::test;
using namespace std::chrono_literals;

namespace {

using duration = std::chrono::steady_clock::duration;

duration some_time(random_source& random)
{
    return std::chrono::microseconds(50 + random.below(100));
}

// Where groups run: several threads for the context, and a pool for what is bound to that.
struct workshop
{
    asio::io_context ctx;
    asio::thread_pool pool{2};
};

// Groups that follow each other.
template <class MakeGroup>
class chain
{
public:
    chain(workshop& shop, MakeGroup make_group, std::uint64_t seed)
        : shop_(shop)
        , make_group_(make_group)
        , random_(seed)
        , work_(shop.ctx.get_executor())
    {}

    void next()
    {
        if (left_-- == 0)
            work_.reset();
        else
            make_group_(shop_, random_, [this] { next(); });
    }

    bool is_over() const { return left_ < 0; }

private:
    workshop& shop_;
    const MakeGroup make_group_;
    random_source random_;
    int left_ = 300;
    asio::executor_work_guard<asio::io_context::executor_type> work_;
};

template <class MakeGroup>
void run_groups(const char* what, MakeGroup make_group)
{
    workshop shop;
    asio::make_service<wheel_service>(shop.ctx, wheel_service_options{.tick = 10us});
    crew runners(shop.ctx, 3);
    std::vector<std::unique_ptr<chain<MakeGroup>>> chains;
    for (std::uint64_t seed = 1; seed <= 16; ++seed) {
        auto& each =
            *chains.emplace_back(std::make_unique<chain<MakeGroup>>(shop, make_group, seed));
        asio::post(shop.ctx, [&each] { each.next(); });
    }
    runners.finish();
    shop.pool.join();
    for (const auto& each : chains)
        check(each->is_over(), what);
}

template <class Handler, class... Operations>
void start_group(Handler handler, Operations... operations)
{
    asio::experimental::make_parallel_group(std::move(operations)...)
        .async_wait(asio::experimental::wait_for_one(), std::move(handler));
}

struct timer_pair
{
    timer_pair(asio::io_context& ctx, random_source& random)
        : a(ctx, some_time(random))
        , b(ctx, some_time(random))
    {}

    steady_timer a;
    steady_timer b;
};

void check_waits()
{
    run_groups("waits", [](workshop& shop, random_source& random, auto handler) {
        const auto both = std::make_shared<timer_pair>(shop.ctx, random);
        start_group(
            [both, handler](const auto&...) { handler(); },
            both->a.async_wait(asio::deferred),
            both->b.async_wait(asio::deferred)
        );
    });
}

void check_waits_in_a_pool()
{
    run_groups("waits in a pool", [](workshop& shop, random_source& random, auto handler) {
        const auto both = std::make_shared<timer_pair>(shop.ctx, random);
        start_group(
            [both, handler](const auto&...) { handler(); },
            both->a.async_wait(asio::bind_executor(shop.pool, asio::deferred)),
            both->b.async_wait(asio::bind_executor(shop.pool, asio::deferred))
        );
    });
}

void check_other_waits()
{
    struct timers
    {
        timers(asio::io_context& ctx, random_source& random)
            : idle(ctx, some_time(random))
            , repeating(ctx, some_time(random))
        {}

        idle_timer idle;
        repeating_timer repeating;
    };
    run_groups("other waits", [](workshop& shop, random_source& random, auto handler) {
        const auto both = std::make_shared<timers>(shop.ctx, random);
        start_group(
            [both, handler](const auto&...) { handler(); },
            both->idle.async_wait(asio::deferred),
            both->repeating.async_wait(asio::deferred),
            async_sleep_for(shop.ctx, some_time(random), asio::deferred)
        );
    });
}

void check_deadlines()
{
    run_groups("deadlines", [](workshop& shop, random_source& random, auto handler) {
        const auto both = std::make_shared<timer_pair>(shop.ctx, random);
        start_group(
            [both, handler](const auto&...) { handler(); },
            both->a.async_wait(timeout_after(some_time(random), asio::deferred)),
            both->b.async_wait(
                cancel_after(some_time(random), timeout_after(some_time(random), asio::deferred))
            )
        );
    });
}

void check_jobs()
{
    struct owned
    {
        owned(workshop& shop, random_source& random)
            : timer(shop.ctx, some_time(random))
            , jobs(shop.ctx, shop.pool, {.tick = 10us})
        {
            jobs.start();
        }

        steady_timer timer;
        wheel<> jobs;
    };
    run_groups("jobs", [](workshop& shop, random_source& random, auto handler) {
        const auto all = std::make_shared<owned>(shop, random);
        const auto job = [] {};
        start_group(
            [all, handler](const auto&...) { handler(); },
            all->timer.async_wait(asio::deferred),
            all->jobs.async_run_after(some_time(random), job, asio::deferred),
            all->jobs.async_repeat(some_time(random), job, {.count = 3}, asio::deferred)
        );
    });
}

// The handler is on its way in a pool when the context of the timer has gone, and the signal comes.
void check_late_signals()
{
    asio::thread_pool pool(1);
    std::promise<void> held;
    asio::post(pool, [until = held.get_future().share()] { until.wait(); });
    asio::cancellation_signal signal;
    std::atomic<int> calls{0};
    {
        asio::io_context gone;
        steady_timer timer(gone, 0s);
        timer.async_wait(asio::bind_cancellation_slot(
            signal.slot(), asio::bind_executor(pool, [&](error_code ec) { calls += !ec; })
        ));
        gone.run();
    }
    signal.emit(asio::cancellation_type::terminal);
    held.set_value();
    pool.join();
    check(calls == 1, "a late signal has no effect");
}

// The tie behind it: the operation ends, as a signal comes, or as the slot goes.
void check_ties()
{
    // The counts are not atomic: the tie is what keeps a signal and the end apart.
    struct operation
    {
        explicit operation(int& seen_at_end) : seen(seen_at_end) {}

        ~operation()
        {
            link.untie();
            seen += signals;
        }

        int& seen;
        int signals = 0;
        detail::signal_link link;
    };
    using peer = detail::signal_link::peer;
    int sent = 0;
    int seen = 0;
    for (int round = 0; round != 4000; ++round) {
        auto op = std::make_unique<operation>(seen);
        auto in_slot = std::make_unique<peer>(op->link);
        int& signals = op->signals;
        std::atomic<int> ready{0};
        const auto meet = [&ready] {
            ++ready;
            while (ready != 2)
                std::this_thread::yield();
        };
        std::thread ending([&] {
            meet();
            if (round % 3 == 0)
                std::this_thread::yield();
            op.reset();
        });
        meet();
        if (round % 2 == 0)
            in_slot->with_operation([&] {
                ++signals;
                ++sent;
            });
        in_slot.reset();
        ending.join();
    }
    check(seen == sent, "what reaches an operation does so before its end");
    check(sent != 0, "some signals come in time");
}

}

int main()
{
    check_waits();
    check_waits_in_a_pool();
    check_other_waits();
    check_deadlines();
    check_jobs();
    check_late_signals();
    check_ties();
}
