// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

// Two threads on one context: both re-arm timers of their own and run what has completed; or one of
// them runs the context, and the other arms and cancels timers. Nanoseconds of real time for each.

#include "population.hpp"

#include <boost/asio/executor_work_guard.hpp>

#include <array>
#include <atomic>
#include <barrier>
#include <thread>

namespace timewheel::bench {

namespace {

constexpr std::size_t timers_per_thread = 20'000;
constexpr std::size_t operations_per_sample = 100'000;

// Counts in the thread that the handler runs on, without anything that threads share.
thread_local std::uint64_t completed_here = 0;

struct local_counter
{
    void operator()(const error_code&) const { ++completed_here; }
};

double per_operation(steady_clock::duration time, std::size_t operations)
{
    return std::chrono::duration<double, std::nano>(time).count() / static_cast<double>(operations);
}

template <class Timer>
class two_threads
{
public:
    two_threads()
    {
        for (auto& timers : timers_) {
            timers.reserve(timers_per_thread);
            for (std::size_t i = 0; i != timers_per_thread; ++i)
                arm(timers.emplace_back(context_));
        }
    }

    double sample()
    {
        std::barrier<> start(3);
        std::atomic<std::uint64_t> completed = 0;
        const auto work = [&](std::size_t index) {
            random_numbers random(index);
            completed_here = 0;
            start.arrive_and_wait();
            for (std::size_t i = 1; i <= operations_per_sample; ++i) {
                arm(timers_[index][random.below(timers_per_thread)]);
                if (i % polled_every == 0)
                    context_.poll();
            }
            completed += completed_here;
        };
        std::thread first(work, 0), second(work, 1);
        start.arrive_and_wait();
        const auto begin = steady_clock::now();
        first.join();
        second.join();
        completed_here = 0;
        context_.poll();
        const auto end = steady_clock::now();
        completed += completed_here;
        require(completed == 2 * operations_per_sample, "a completion was lost or came twice");
        return per_operation(end - begin, 2 * operations_per_sample);
    }

private:
    static void arm(Timer& timer)
    {
        thread_local random_numbers delays(42);
        timer.expires_after(1min + std::chrono::milliseconds(delays.below(3'540'000)));
        timer.async_wait(local_counter());
    }

    asio::io_context context_{2};
    std::array<std::vector<Timer>, 2> timers_;
};

template <class Timer>
class remote_thread
{
public:
    remote_thread() : others_(timers_per_thread), work_(others_.context().get_executor())
    {
        for (std::size_t i = 0; i != 64; ++i)
            timers_.emplace_back(others_.context());
        runner_ = std::thread([this] { others_.context().run(); });
    }

    ~remote_thread()
    {
        others_.context().stop();
        runner_.join();
    }

    double sample()
    {
        completed_ = 0;
        const auto begin = steady_clock::now();
        for (std::size_t i = 0; i != operations_per_sample; ++i) {
            Timer& timer = timers_[i % timers_.size()];
            timer.expires_after(10s);
            timer.async_wait([this](const error_code&) {
                completed_.fetch_add(1, std::memory_order_relaxed);
            });
            timer.cancel();
        }
        while (completed_ != operations_per_sample)
            require(steady_clock::now() - begin < 30s, "a completion was lost");
        return per_operation(steady_clock::now() - begin, operations_per_sample);
    }

private:
    population<Timer> others_;
    asio::executor_work_guard<io_executor> work_;
    std::vector<Timer> timers_;
    std::atomic<std::size_t> completed_ = 0;
    std::thread runner_;
};

void threads(session& session)
{
    {
        two_threads<asio_timer> asio;
        two_threads<wheel_timer> wheel;
        session.compare(
            "two_threads",
            timers_per_thread,
            {{"asio", [&] { return asio.sample(); }}, {"wheel", [&] { return wheel.sample(); }}}
        );
    }
    if (session.quick)
        return;
    remote_thread<asio_timer> asio;
    remote_thread<wheel_timer> wheel;
    session.compare(
        "remote_cancel",
        timers_per_thread,
        {{"asio", [&] { return asio.sample(); }}, {"wheel", [&] { return wheel.sample(); }}}
    );
}

const benchmark known("threads", threads);

}

}
