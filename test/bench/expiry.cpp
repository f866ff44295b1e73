// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

// All timers are due within one millisecond, or spread over one second: CPU time for each of them.

#include "population.hpp"

#include <memory>
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

/** Timers that are all armed before the first one is due, which is soon after.

    How long that takes is found by trying.
*/
template <class Timer>
std::unique_ptr<due_timers<Timer>>
make_in_time(std::size_t n, std::chrono::nanoseconds span, steady_clock::time_point& first)
{
    for (auto slack = 20ms + n * 300ns; slack < 1min; slack *= 2) {
        first = steady_clock::now() + slack;
        auto timers = std::make_unique<due_timers<Timer>>(n, first, span);
        if (steady_clock::now() < first)
            return timers;
    }
    throw std::runtime_error("too slow to arm the timers");
}

template <class Timer>
double mass_expiry_sample(std::size_t n)
{
    steady_clock::time_point first;
    const auto timers = make_in_time<Timer>(n, 1ms, first);
    std::this_thread::sleep_until(first + 2ms);
    return timers->run();
}

template <class Timer>
double stream_sample(std::size_t n)
{
    steady_clock::time_point first;
    return make_in_time<Timer>(n, 1s, first)->run();
}

void mass_expiry(session& session)
{
    for (const std::size_t n : session.sizes({1'000, 10'000, 100'000, 1'000'000})) {
        if (session.quick && n < 100'000)
            continue;
        session.compare_fresh(
            "mass_expiry",
            n,
            {{"asio", [&] { return mass_expiry_sample<asio_timer>(n); }},
             {"wheel", [&] { return mass_expiry_sample<wheel_timer>(n); }}}
        );
    }
}

void stream(session& session)
{
    for (const std::size_t n : session.sizes({1'000, 10'000, 100'000})) {
        if (session.quick && n != 100'000)
            continue;
        session.compare_fresh(
            "stream",
            n,
            {{"asio", [&] { return stream_sample<asio_timer>(n); }},
             {"wheel", [&] { return stream_sample<wheel_timer>(n); }}}
        );
    }
}

const benchmark mass_expiry_known("mass_expiry", mass_expiry);
const benchmark stream_known("stream", stream);

}

}
