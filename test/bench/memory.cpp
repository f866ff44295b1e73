// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

// Heap bytes for each timer that is pending, the timer object included.

#include "population.hpp"

#include <timewheel/idle_timer.hpp>

#include <malloc.h>

namespace timewheel::bench {

namespace {

double heap_bytes()
{
    const struct mallinfo2 info = ::mallinfo2();
    return static_cast<double>(info.uordblks + info.hblkhd);
}

// Makes n timers with `make(context)`, each with one wait.
template <class Timer, class Make>
double bytes_per_timer(std::size_t n, Make make)
{
    const double before = heap_bytes();
    asio::io_context context{1};
    std::uint64_t completed = 0;
    std::vector<Timer> timers;
    timers.reserve(n);
    for (std::size_t i = 0; i != n; ++i) {
        timers.push_back(make(context));
        timers.back().async_wait(counting_handler{&completed});
    }
    return (heap_bytes() - before) / static_cast<double>(n);
}

template <class Timer>
double bytes_per_timer(std::size_t n)
{
    return bytes_per_timer<Timer>(n, [](auto& context) { return Timer(context, 1min); });
}

void memory(session& session)
{
    for (const std::size_t n : session.sizes({1'000'000})) {
        const auto record = [&](const char* subject, double bytes) {
            session.record("memory", n, "bytes", subject, {bytes});
        };
        record("asio", bytes_per_timer<asio_timer>(n));
        record("wheel", bytes_per_timer<wheel_timer>(n));
        if (session.quick)
            continue;
        record("asio, executor type", bytes_per_timer<io_asio_timer>(n));
        record("wheel, executor type", bytes_per_timer<io_wheel_timer>(n));
        record("idle_timer", bytes_per_timer<idle_timer>(n));
        record("object, asio", sizeof(asio_timer));
        record("object, wheel", sizeof(wheel_timer));
        record("object, idle_timer", sizeof(idle_timer));
    }
}

const benchmark known("memory", memory);

}

}
