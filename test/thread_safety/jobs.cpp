// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#include <timewheel/wheel.hpp>

#include "harness.hpp"

#include <test_common/allocation_counter.hpp>
#include <test_common/random_source.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <iostream>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

// Everything that a job wheel can be asked, from several threads at a time, while others run its
// context and its jobs. Each run that was accepted ends once, and the counters know how.

using namespace timewheel;
using namespace timewheel::test;
using namespace std::chrono_literals;

namespace {

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr std::uint64_t scale = 20;
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
constexpr std::uint64_t scale = 20;
#else
constexpr std::uint64_t scale = 1;
#endif
#else
constexpr std::uint64_t scale = 1;
#endif

std::uint64_t ended(const wheel_stats& s)
{
    return s.completed + s.failed + s.threw + s.timed_out + s.cancelled + s.dropped + s.skipped;
}

void check_law(const wheel_stats& s)
{
    check(
        s.scheduled == s.pending + s.queued + s.running + ended(s) + s.withdrawn,
        "the counters add up at any moment"
    );
}

void check_final(const wheel_stats& s)
{
    check_law(s);
    check(s.pending == 0 && s.queued == 0 && s.running == 0, "nothing is left");
}

// What a job needs to run: destroyed with the timer, so that the living ones can be counted.
struct counted
{
    explicit counted(std::atomic<std::int64_t>& n) : living(&n) { ++*living; }
    counted(const counted& other) : living(other.living) { ++*living; }
    counted& operator=(const counted&) = delete;
    ~counted() { --*living; }

    std::atomic<std::int64_t>* living;
};

class stress
{
public:
    stress(std::uint64_t seed, backpressure policy)
        : seed_(seed)
        , wheel_(
              ctx_,
              pool_,
              {.max_queued = policy == backpressure::block ? 4u : 50u,
               .policy = policy,
               .run_timeout = 2ms,
               .observer = [this](const auto&) { ++told_; }}
          )
    {
        wheel_.start();
    }

    void run()
    {
        {
            crew runners(ctx_, 2);
            in_threads(4, [this](unsigned number) { act(number); });
            wheel_.close();
            check_final(wheel_.stats());
            runners.finish();
        }
        const wheel_stats s = wheel_.stats();
        check(s.executed == begun_, "each job that begins is counted");
        check(told_ == ended(s), "the observer is told of each end once");
        check(operations_started_ == operations_ended_, "each operation ends once");
        check(living_ == 0, "no data is left");
    }

private:
    auto plain()
    {
        return [this](job_context& job, counted&) {
            ++begun_;
            if (job.sequence() % 3 == 0)
                wheel_.remove(job.id());
            (void)job.stop_token().stop_requested();
        };
    }

    auto coroutine()
    {
        return [this](job_context&) -> asio::awaitable<void> {
            ++begun_;
            const auto executor = co_await asio::this_coro::executor;
            co_await asio::post(executor, asio::use_awaitable);
            asio::steady_timer timer(executor, 1ms);
            co_await timer.async_wait(asio::use_awaitable);
        };
    }

    void act(unsigned number)
    {
        random_source random(seed_ + number);
        std::vector<timer_id> mine;
        for (int step = 0; step != 2000; ++step) {
            error_code ec;
            switch (random.below(12)) {
            case 0:
            case 1:
            case 2:
                mine.push_back(wheel_.add(any_delay(random), counted(living_), plain(), ec));
                break;
            case 3:
                mine.push_back(wheel_.add(any_delay(random), counted(living_), coroutine(), ec));
                break;
            case 4:
                mine.push_back(wheel_.add_repeating(
                    1ms,
                    counted(living_),
                    plain(),
                    {.mode = static_cast<repeat_mode>(random.below(3)),
                     .initial_delay = any_delay(random),
                     .count = 1 + random.below(5)},
                    ec
                ));
                break;
            case 5:
                if (!mine.empty())
                    wheel_.remove(random.any_of(mine), ec);
                break;
            case 6:
                if (!mine.empty())
                    wheel_.remove(random.any_of(mine), cancel_running, ec);
                break;
            case 7:
                if (!mine.empty()) {
                    ++operations_started_;
                    wheel_.async_remove(random.any_of(mine), [this](error_code, remove_result) {
                        ++operations_ended_;
                    });
                }
                break;
            case 8:
                ++operations_started_;
                wheel_.async_repeat(
                    1ms,
                    counted(living_),
                    coroutine(),
                    {.count = 2},
                    [this](error_code, std::uint64_t) { ++operations_ended_; }
                );
                break;
            case 9:
                if (!mine.empty())
                    (void)wheel_.next_fire_time(random.any_of(mine));
                break;
            case 10:
                if (random.one_in(20))
                    (void)wheel_.pending_timers();
                break;
            default: check_law(wheel_.stats());
            }
            if (random.one_in(50))
                std::this_thread::sleep_for(100us);
            if (number == 0 && step == 1900)
                wheel_.stop(ec);
            if (number == 1 && step == 1990)
                wheel_.close(ec);
        }
        ++operations_started_;
        wheel_.async_close([this](error_code) { ++operations_ended_; });
    }

    static std::chrono::microseconds any_delay(random_source& random)
    {
        return std::chrono::microseconds(random.below(4000));
    }

    const std::uint64_t seed_;
    std::atomic<std::int64_t> living_{0};
    std::atomic<std::uint64_t> begun_{0};
    std::atomic<std::uint64_t> told_{0};
    std::atomic<std::uint64_t> operations_started_{0};
    std::atomic<std::uint64_t> operations_ended_{0};
    asio::io_context ctx_;
    asio::thread_pool pool_{2};
    wheel<counted> wheel_;
};

// Wheels that are destroyed while their timers come due and their jobs run.
void comings_and_goings()
{
    asio::io_context ctx;
    asio::thread_pool pool(2);
    std::atomic<std::int64_t> living{0};
    std::atomic<std::uint64_t> started{0};
    std::atomic<std::uint64_t> completed{0};
    {
        crew runners(ctx, 2);
        in_threads(2, [&](unsigned number) {
            random_source random(number);
            for (int i = 0; i != 200; ++i) {
                wheel<counted> w(
                    ctx, pool, {.max_queued = 3, .run_timeout = 1ms, .observer = [](const auto&) {}}
                );
                w.start();
                for (int n = 0; n != 20; ++n) {
                    const std::chrono::microseconds delay(random.below(1500));
                    w.add(delay, counted(living), [] {});
                    w.add_repeating(1ms, counted(living), [] {}, {.initial_delay = delay});
                    w.add(delay, counted(living), []() -> asio::awaitable<void> {
                        const auto executor = co_await asio::this_coro::executor;
                        asio::steady_timer timer(executor, 1ms);
                        co_await timer.async_wait(asio::use_awaitable);
                    });
                    ++started;
                    w.async_repeat(
                        1ms,
                        counted(living),
                        [] {},
                        {.initial_delay = delay},
                        [&](error_code ec, std::uint64_t) {
                            check(ec == asio::error::operation_aborted, "ended with the wheel");
                            ++completed;
                        }
                    );
                }
                if (random.one_in(2))
                    std::this_thread::sleep_for(std::chrono::microseconds(random.below(2000)));
                if (random.one_in(3))
                    w.stop();
            }
        });
        runners.finish();
    }
    pool.join();
    check(started == completed, "each operation ends once");
    check(living == 0, "no data is left when the last run is over");
}

// Half of a million jobs are removed, some of them in the nick of time, and all memory comes back.
// Contexts that are destroyed while jobs end in a pool: by then each operation has ended once. Some of
// the wheels are destroyed before, the others belong to their operations.
void contexts_that_are_destroyed()
{
    asio::thread_pool pool(2);
    std::atomic<int> ended{0};
    int started = 0;
    for (std::uint64_t round = 0; round != 6000 / scale; ++round) {
        random_source random(round);
        asio::io_context io;
        const auto some_time = [&] { return std::chrono::microseconds(random.below(400)); };
        auto w = std::make_shared<wheel<>>(
            io,
            pool,
            wheel<>::options_type{
                .tick = 50us,
                .run_timeout = random.one_in(2) ? 200us : wheel<>::duration::max(),
                .observer = [](const auto&) { std::this_thread::yield(); }
            }
        );
        w->start();
        const bool is_owned = random.one_in(2);
        const auto handler = [&] {
            ++started;
            return ending(ended, is_owned ? w : nullptr);
        };
        for (int n = 0; n != 12; ++n) {
            const auto job = [] { std::this_thread::yield(); };
            const auto delay = some_time();
            switch (random.below(4)) {
            case 0: w->async_run_after(delay, job, handler()); break;
            case 1: w->async_repeat(delay + 50us, job, {}, handler()); break;
            case 2: w->async_remove(w->add(delay, job), handler()); break;
            default: w->add_repeating(delay + 50us, job);
            }
        }
        io.run_for(some_time());
        if (random.one_in(2))
            w->async_close(handler());
        io.run_for(some_time());
        w.reset();
    }
    check(ended == started, "each operation ends once, at the latest with its context");
    pool.join();
    std::cout << started << " operations of contexts that were destroyed" << std::endl;
}

void million()
{
    const std::uint64_t each = 500'000 / scale;
    asio::io_context ctx;
    asio::thread_pool pool(2);
    wheel<> w(ctx, pool);
    w.start();
    std::atomic<std::uint64_t> ran{0};
    std::atomic<std::uint64_t> removed{0};
    const auto job = [&] { ran.fetch_add(1, std::memory_order_relaxed); };
    const auto add_all = [&](std::uint64_t n) {
        in_threads(2, [&, n](unsigned number) {
            random_source random(number);
            std::vector<timer_id> ids(n);
            for (std::uint64_t i = 0; i != n; ++i) {
                // Half are due while they are added and removed, the others later.
                const bool is_near = random.one_in(2);
                ids[i] =
                    w.add(std::chrono::microseconds(random.below(is_near ? 5'000 : 500'000)), job);
                if (i % 2 == 1 && w.remove(ids[i - random.below((std::min)(i, std::uint64_t{100}))]
                                  ) == remove_result::removed)
                    ++removed;
            }
        });
    };
    crew runners(ctx, 1);
    add_all(1000); // so that whatever keeps memory has it
    const std::size_t before = live_allocations();
    add_all(each);
    runners.finish(); // when nothing waits, is queued or runs
    w.close();
    const wheel_stats s = w.stats();
    check_final(s);
    check(s.added == 2 * each + 2000, "all were added");
    check(s.scheduled == s.added, "each was scheduled once");
    check(s.removed == removed && s.withdrawn == removed, "each removal is counted once");
    check(s.executed == ran && s.completed == ran, "each run is counted once");
    check(ran + removed == s.added, "each job either ran or was removed");
    const std::size_t after = live_allocations();
    // The runs that are kept to be used again are a few hundred.
    check(!counts_allocations() || after <= before + 500, "all memory came back");
    std::cout << "ran " << ran << ", removed " << removed << ", blocks before " << before
              << ", after " << after << std::endl;
}

}

int main()
{
    for (const auto policy : {backpressure::block, backpressure::drop, backpressure::run_inline})
        stress(test_seed("jobs"), policy).run();
    comings_and_goings();
    contexts_that_are_destroyed();
    million();
}
