// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

// Jobs beside what one builds by hand: a map of Asio's timers behind a mutex, whose handlers post to
// a thread pool. To add and remove one while others wait; and to run many that are due at once.

#include "population.hpp"

#include <timewheel/wheel.hpp>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>

#include <atomic>
#include <functional>
#include <mutex>
#include <unordered_map>

namespace timewheel::bench {

namespace {

constexpr std::size_t jobs_per_sample = 100'000;

// What a program without a job wheel would write: thread-safe, ids, removal.
class jobs_by_hand
{
public:
    jobs_by_hand(asio::io_context& ctx, asio::thread_pool& pool) : ctx_(ctx), pool_(pool) {}

    std::uint64_t add(std::chrono::milliseconds delay, std::function<void()> job)
    {
        const std::lock_guard lock(mutex_);
        const std::uint64_t id = ++last_id_;
        entry& added = entries_.try_emplace(id, ctx_, std::move(job)).first->second;
        added.timer.expires_after(delay);
        added.timer.async_wait([this, id](const error_code& ec) {
            if (!ec)
                fire(id);
        });
        return id;
    }

    bool remove(std::uint64_t id)
    {
        const std::lock_guard lock(mutex_);
        return entries_.erase(id) != 0;
    }

private:
    struct entry
    {
        entry(asio::io_context& ctx, std::function<void()> call) : timer(ctx), job(std::move(call))
        {}

        asio::steady_timer timer;
        std::function<void()> job;
    };

    void fire(std::uint64_t id)
    {
        std::function<void()> job;
        {
            const std::lock_guard lock(mutex_);
            const auto found = entries_.find(id);
            if (found == entries_.end())
                return;
            job = std::move(found->second.job);
            entries_.erase(found);
        }
        asio::post(pool_, std::move(job));
    }

    asio::io_context& ctx_;
    asio::thread_pool& pool_;
    std::mutex mutex_;
    std::uint64_t last_id_ = 0;
    std::unordered_map<std::uint64_t, entry> entries_;
};

class wheel_jobs : public wheel<>
{
public:
    wheel_jobs(asio::io_context& ctx, asio::thread_pool& pool) : wheel<>(ctx, pool) { start(); }
};

template <class Jobs>
class job_scene
{
public:
    explicit job_scene(std::size_t pending) : jobs_(ctx_, pool_)
    {
        for (std::size_t i = 0; i != pending; ++i)
            jobs_.add(some_delay(), count());
    }

    void add_and_remove()
    {
        jobs_.remove(jobs_.add(some_delay(), count()));
        if (++done_ % polled_every == 0)
            ctx_.poll();
    }

    // Adds jobs that are due at once, and runs them. Returns nanoseconds of real time for one.
    double fire()
    {
        ran_ = 0;
        for (std::size_t i = 0; i != jobs_per_sample; ++i)
            jobs_.add(10ms, count());
        const auto due = steady_clock::now() + 12ms;
        while (steady_clock::now() < due) {}
        const auto begin = steady_clock::now();
        while (ran_.load(std::memory_order_relaxed) != jobs_per_sample)
            ctx_.poll();
        const auto time = steady_clock::now() - begin;
        return std::chrono::duration<double, std::nano>(time).count() / jobs_per_sample;
    }

private:
    auto count()
    {
        return [this] { ran_.fetch_add(1, std::memory_order_relaxed); };
    }

    std::chrono::milliseconds some_delay()
    {
        return 1min + std::chrono::milliseconds(random_.below(3'540'000));
    }

    asio::io_context ctx_;
    // Not restarted: it might stop after that, since the workers are not quite done when all jobs ran.
    asio::executor_work_guard<io_executor> work_{ctx_.get_executor()};
    asio::thread_pool pool_{1};
    std::atomic<std::size_t> ran_{0};
    std::size_t done_ = 0;
    random_numbers random_{42};
    Jobs jobs_;
};

const benchmark add_and_remove("jobs_add_remove", [](session& session) {
    for (const std::size_t n : session.sizes({1'000, 100'000})) {
        job_scene<jobs_by_hand> by_hand(n);
        job_scene<wheel_jobs> wheel(n);
        const auto sample = [&session](auto& scene) {
            return [&] {
                return session.time(polled_every, [&] {
                    for (std::size_t i = 0; i != polled_every; ++i)
                        scene.add_and_remove();
                });
            };
        };
        session.compare(
            "jobs_add_remove", n, {{"asio", sample(by_hand)}, {"wheel", sample(wheel)}}
        );
    }
});

const benchmark fire("jobs_fire", [](session& session) {
    job_scene<jobs_by_hand> by_hand(0);
    job_scene<wheel_jobs> wheel(0);
    session.compare(
        "jobs_fire",
        jobs_per_sample,
        {{"asio", [&] { return by_hand.fire(); }}, {"wheel", [&] { return wheel.fire(); }}}
    );
});

}

}
