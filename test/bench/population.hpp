// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#ifndef TIMEWHEEL_BENCH_POPULATION_HPP
#define TIMEWHEEL_BENCH_POPULATION_HPP

#include "bench.hpp"

#include <timewheel/steady_timer.hpp>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include <cstdint>

namespace timewheel::bench {

using steady_clock = std::chrono::steady_clock;

// The default timers, with an any_io_executor; and those that name the executor's type.
using asio_timer = asio::steady_timer;
using wheel_timer = timewheel::steady_timer;
using io_executor = asio::io_context::executor_type;
using io_asio_timer =
    asio::basic_waitable_timer<steady_clock, asio::wait_traits<steady_clock>, io_executor>;
using io_wheel_timer =
    timewheel::basic_waitable_timer<steady_clock, asio::wait_traits<steady_clock>, io_executor>;

constexpr std::size_t polled_every = 64; // operations between two polls of the context

// Counts completions and is as small as a handler gets in practice: one pointer.
struct counting_handler
{
    std::uint64_t* completed;

    void operator()(const error_code&) const { ++*completed; }
};

// Cheap next to what is measured, unlike the generators of the standard library with a modulo.
class random_numbers
{
public:
    explicit random_numbers(std::uint64_t seed) : state_(seed) {}

    // Less than `bound`, which is below 2^32.
    std::size_t below(std::size_t bound)
    {
        state_ = state_ * 6'364'136'223'846'793'005u + 1'442'695'040'888'963'407u;
        return static_cast<std::size_t>((state_ >> 32) * bound >> 32);
    }

private:
    std::uint64_t state_;
};

/** A context with n pending timers, due in one to sixty minutes in random order.

    Every timer is really waited for: without async_wait, Asio's does not touch its queue.
*/
template <class Timer>
class population
{
public:
    explicit population(std::size_t n, int concurrency_hint = 1) : context_(concurrency_hint)
    {
        timers_.reserve(n);
        for (std::size_t i = 0; i != n; ++i)
            arm(timers_.emplace_back(context_));
        started_ = 0;
    }

    population(const population&) = delete;
    population& operator=(const population&) = delete;

    // Some time between one and sixty minutes.
    std::chrono::milliseconds some_delay()
    {
        return 1min + std::chrono::milliseconds(random_.below(3'540'000));
    }

    // Files a wait; if the timer had one, that completes.
    void arm(Timer& timer) { arm(timer, some_delay()); }

    void arm(Timer& timer, std::chrono::milliseconds delay)
    {
        timer.expires_after(delay);
        timer.async_wait(counting_handler{&completed_});
        ++started_;
    }

    // Runs what has been posted, and fails unless each wait but those pending has completed once.
    void settle()
    {
        context_.poll();
        require(completed_ == started_, "a completion was lost or came twice");
    }

    asio::io_context& context() { return context_; }
    std::vector<Timer>& timers() { return timers_; }
    Timer& random_timer() { return timers_[random_.below(timers_.size())]; }

private:
    asio::io_context context_;
    random_numbers random_{42};
    std::uint64_t completed_ = 0;
    std::uint64_t started_ = 0;
    std::vector<Timer> timers_;
};

}

#endif
