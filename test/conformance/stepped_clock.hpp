// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#ifndef TIMEWHEEL_TEST_CONFORMANCE_STEPPED_CLOCK_HPP
#define TIMEWHEEL_TEST_CONFORMANCE_STEPPED_CLOCK_HPP

/** @file
    A clock that a test moves by hand, made from nothing but what Asio documents: wait traits that
    let the timer look at the clock every millisecond of real time. Any timer family can use it.
*/

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>

namespace timewheel::test {

/// Each `Tag` is a clock of its own. A test sets it before use, since others ran before.
template <class Tag, class Duration = std::chrono::nanoseconds>
struct stepped_clock
{
    using duration = Duration;
    using rep = typename duration::rep;
    using period = typename duration::period;
    using time_point = std::chrono::time_point<stepped_clock>;

    static constexpr bool is_steady = false;

    static time_point now() noexcept { return time_point{duration{ticks_.load()}}; }

    static void set(duration since_epoch) noexcept { ticks_ = since_epoch.count(); }

    static void advance(duration d) noexcept { ticks_ += d.count(); }

private:
    static inline std::atomic<rep> ticks_{0};
};

/// Wait traits that look at `Clock` every millisecond of real time.
template <class Clock>
struct polling_traits
{
    static typename Clock::duration to_wait_duration(const typename Clock::duration& d)
    {
        using namespace std::chrono_literals;
        // A clock too coarse for a millisecond is looked at all the time.
        const auto poll = std::chrono::floor<typename Clock::duration>(1ms);
        return (std::min)(d, poll);
    }

    static typename Clock::duration to_wait_duration(const typename Clock::time_point& t)
    {
        return to_wait_duration(t - Clock::now());
    }
};

/// The timer of a family on a stepped clock.
template <class Family, class Clock>
using stepped_timer = typename Family::template basic<Clock, polling_traits<Clock>>;

}

#endif
