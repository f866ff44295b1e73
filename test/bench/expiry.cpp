// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

// All timers are due within one millisecond, or spread over one second: CPU time for each of them.

#include "population.hpp"

#include <thread>

namespace timewheel::bench {

namespace {

// n timers, due one after the other from `first` on.
template <class Timer>
class due_timers
{
public:
    due_timers(std::size_t n, steady_clock::time_point first, std::chrono::nanoseconds span)
    {
        timers_.reserve(n);
        for (std::size_t i = 0; i != n; ++i) {
            timers_.emplace_back(context_, first + span * i / n);
            timers_.back().async_wait(counting_handler{&completed_});
        }
        context_.poll(); // or the first poll of the reactor is in the measurement
    }

    // Returns the time for one of them.
    double run()
    {
        const auto start = thread_cpu_time();
        context_.run();
        const auto used = thread_cpu_time() - start;
        require(completed_ == timers_.size(), "a completion was lost or came twice");
        return static_cast<double>(used.count()) / static_cast<double>(timers_.size());
    }

private:
    asio::io_context context_{1};
    std::uint64_t completed_ = 0;
    std::vector<Timer> timers_;
};

// Enough to arm n timers before the first one is due.
steady_clock::time_point start_for(std::size_t n)
{
    return steady_clock::now() + 20ms + n * 1us;
}

template <class Timer>
double mass_expiry_sample(std::size_t n)
{
    const auto first = start_for(n);
    due_timers<Timer> timers(n, first, 1ms);
    require(steady_clock::now() < first, "too slow to arm the timers in time");
    std::this_thread::sleep_until(first + 2ms);
    return timers.run();
}

template <class Timer>
double stream_sample(std::size_t n)
{
    const auto first = start_for(n);
    due_timers<Timer> timers(n, first, 1s);
    require(steady_clock::now() < first, "too slow to arm the timers in time");
    return timers.run();
}

void expiry(session& session)
{
    for (const std::size_t n : session.sizes({1'000, 10'000, 100'000, 1'000'000}))
        session.compare(
            "mass_expiry",
            n,
            {{"asio", [&] { return mass_expiry_sample<asio_timer>(n); }},
             {"wheel", [&] { return mass_expiry_sample<wheel_timer>(n); }}}
        );
    const std::vector<std::size_t> sizes = session.quick
                                               ? std::vector<std::size_t>{100'000}
                                               : std::vector<std::size_t>{1'000, 10'000, 100'000};
    for (const std::size_t n : session.sizes(sizes))
        session.compare(
            "stream",
            n,
            {{"asio", [&] { return stream_sample<asio_timer>(n); }},
             {"wheel", [&] { return stream_sample<wheel_timer>(n); }}}
        );
}

const benchmark known("expiry", expiry);

}

}
