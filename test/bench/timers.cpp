// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

// The same workloads on Asio's timer and on ours, in one process. Run with interleaved repetitions:
//
//     timewheel_bench --benchmark_enable_random_interleaving=true --benchmark_repetitions=7
//
// Every timer is really waited for: without async_wait, Asio's does not touch its queue.

#include <timewheel/steady_timer.hpp>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include <benchmark/benchmark.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

namespace {

namespace asio = boost::asio;
using namespace std::chrono_literals;

using io_executor = asio::io_context::executor_type;
using steady_clock = std::chrono::steady_clock;
using asio_timer =
    asio::basic_waitable_timer<steady_clock, asio::wait_traits<steady_clock>, io_executor>;
using wheel_timer =
    timewheel::basic_waitable_timer<steady_clock, asio::wait_traits<steady_clock>, io_executor>;
using any_asio_timer = asio::steady_timer;
using any_wheel_timer = timewheel::steady_timer;

constexpr std::size_t polled_every = 64; // operations between two polls of the context

// Counts completions and is as small as a handler gets in practice: one pointer.
struct counting_handler
{
    std::uint64_t* completed;

    void operator()(const boost::system::error_code&) const { ++*completed; }
};

// A context with n pending timers, due in one to sixty minutes in random order.
template <class Timer>
class population
{
public:
    explicit population(std::size_t n)
    {
        timers_.reserve(n);
        for (std::size_t i = 0; i != n; ++i) {
            timers_.emplace_back(context_);
            arm(timers_.back());
        }
    }

    void arm(Timer& timer)
    {
        timer.expires_after(1min + std::chrono::milliseconds(random_() % 3'540'000));
        timer.async_wait(counting_handler{&completed_});
    }

    asio::io_context& context() { return context_; }
    std::vector<Timer>& timers() { return timers_; }
    std::uint64_t& completed() { return completed_; }

private:
    asio::io_context context_;
    std::minstd_rand random_{42};
    std::uint64_t completed_ = 0;
    std::vector<Timer> timers_;
};

// Arms a timer that is due before all others, and cancels it.
template <class Timer>
void arm_wait_cancel(benchmark::State& state)
{
    population<Timer> others(static_cast<std::size_t>(state.range(0)));
    Timer timer(others.context());
    std::uint64_t done = 0;
    for (auto _ : state) {
        timer.expires_after(10s);
        timer.async_wait(counting_handler{&others.completed()});
        timer.cancel();
        if (++done % polled_every == 0)
            others.context().poll();
    }
    others.context().poll();
    if (others.completed() != done)
        state.SkipWithError("a handler was lost or ran twice");
}

// Re-arms timers in random order; the handler of the aborted wait runs.
template <class Timer>
void rearm(benchmark::State& state)
{
    const auto n = static_cast<std::size_t>(state.range(0));
    population<Timer> all(n);
    std::minstd_rand random(7);
    std::uint64_t done = 0;
    for (auto _ : state) {
        all.arm(all.timers()[random() % n]);
        if (++done % polled_every == 0)
            all.context().poll();
    }
    all.context().poll();
    if (all.completed() != done)
        state.SkipWithError("a handler was lost or ran twice");
}

// All timers are due within one millisecond. CPU time from their expiry to the last handler.
template <class Timer>
void mass_expiry(benchmark::State& state)
{
    const auto n = static_cast<std::size_t>(state.range(0));
    for (auto _ : state) {
        state.PauseTiming();
        {
            asio::io_context context;
            std::uint64_t completed = 0;
            std::vector<Timer> timers;
            timers.reserve(n);
            const auto due = steady_clock::now() + 50ms + n * 1us;
            for (std::size_t i = 0; i != n; ++i) {
                timers.emplace_back(context, due + std::chrono::nanoseconds(i * 1'000'000 / n));
                timers.back().async_wait(counting_handler{&completed});
            }
            while (steady_clock::now() < due + 2ms)
                continue;
            state.ResumeTiming();
            context.run();
            state.PauseTiming();
            if (completed != n)
                state.SkipWithError("a handler was lost or ran twice");
        }
        state.ResumeTiming();
    }
    state.SetItemsProcessed(state.iterations() * state.range(0));
}

#define TIMEWHEEL_BENCHMARK(workload, ...)                                                         \
    BENCHMARK_TEMPLATE(workload, asio_timer) __VA_ARGS__;                                          \
    BENCHMARK_TEMPLATE(workload, wheel_timer) __VA_ARGS__;                                         \
    BENCHMARK_TEMPLATE(workload, any_asio_timer) __VA_ARGS__;                                      \
    BENCHMARK_TEMPLATE(workload, any_wheel_timer) __VA_ARGS__

TIMEWHEEL_BENCHMARK(arm_wait_cancel, ->Arg(1'000)->Arg(100'000)->Arg(1'000'000));
TIMEWHEEL_BENCHMARK(rearm, ->Arg(1'000)->Arg(100'000)->Arg(1'000'000));
TIMEWHEEL_BENCHMARK(mass_expiry, ->Arg(100'000)->Arg(1'000'000)->Unit(benchmark::kMillisecond));

}

BENCHMARK_MAIN();
