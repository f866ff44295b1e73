// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#ifndef TIMEWHEEL_DETAIL_DRIVEN_CLOCK_HPP
#define TIMEWHEEL_DETAIL_DRIVEN_CLOCK_HPP

#include <timewheel/detail/access.hpp>

#include <optional>

namespace timewheel::detail {

// Whoever wants to know that a clock which is driven by a program has been moved.
template <class TimePoint>
class clock_observer
{
public:
    // Any thread. Must not change which observers the clock has.
    virtual void on_clock_moved() noexcept = 0;

    // The earliest time for which something waits.
    virtual std::optional<TimePoint> next_deadline() = 0;

protected:
    ~clock_observer() = default;
};

// A clock that tells its observers, so that nobody needs to poll it.
template <class Clock>
concept driven_clock = requires(
    clock_observer<typename Clock::time_point>& observer,
    typename Clock::time_point when
) {
    access::add_observer<Clock>(observer);
    access::remove_observer<Clock>(observer);
    access::wait_until<Clock>(when);
};

}

#endif
