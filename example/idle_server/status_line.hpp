// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#ifndef TIMEWHEEL_EXAMPLE_IDLE_SERVER_STATUS_LINE_HPP
#define TIMEWHEEL_EXAMPLE_IDLE_SERVER_STATUS_LINE_HPP

#include "../common/live_line.hpp"
#include "../common/text.hpp"
#include "lateness.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>

namespace example {

/// What the line shows.
struct status
{
    std::size_t connections;
    std::uint64_t pending;
    std::uint64_t fired;
    const lateness_histogram& lateness;
    std::uint64_t os_arms;
};

/// On a terminal one line that changes in place five times a second, elsewhere a line per second.
class status_line
{
public:
    using clock = std::chrono::steady_clock;

    status_line()
    {
        std::puts("  time   open   pending     fired   late ms p50   p99   max OS arms/s  phase");
    }

    void update(const status& now, const char* phase)
    {
        const auto time = clock::now();
        if (time < next_)
            return;
        const std::chrono::duration<double> elapsed = time - start_;
        // The rate is taken over a whole second; in between the last one stays.
        if (const std::chrono::duration<double> span = time - rate_time_; span.count() >= 0.95) {
            rate_ = static_cast<double>(now.os_arms - rate_arms_) / span.count();
            rate_arms_ = now.os_arms;
            rate_time_ = time;
        }
        line_.show(
            "%5.1fs %6zu %9s %9s %13s %5s %5s %9.0f  %s",
            elapsed.count(),
            now.connections,
            grouped(now.pending).c_str(),
            grouped(now.fired).c_str(),
            milliseconds(now.lateness.percentile(0.5)).c_str(),
            milliseconds(now.lateness.percentile(0.99)).c_str(),
            milliseconds(now.lateness.max()).c_str(),
            rate_,
            phase
        );
        next_ =
            time + (line_.on_terminal() ? std::chrono::milliseconds(200) : std::chrono::seconds(1));
    }

    /// Leaves the last state where it is and goes on below.
    void finish() { line_.finish(); }

private:
    live_line line_;
    clock::time_point start_ = clock::now();
    clock::time_point next_ = start_;
    clock::time_point rate_time_ = start_;
    std::uint64_t rate_arms_ = 0;
    double rate_ = 0;
};

}

#endif
