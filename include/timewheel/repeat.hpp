// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#ifndef TIMEWHEEL_REPEAT_HPP
#define TIMEWHEEL_REPEAT_HPP

#include <chrono>
#include <cstdint>

namespace timewheel {

/// When something that repeats is due again.
enum class repeat_mode : std::uint8_t
{
    /// On the grid `start + n * period`, however long each run takes.
    fixed_rate,

    /// A period after the previous run is over.
    fixed_delay,

    /// On the grid, but not while the previous run goes on: what would overlap is skipped.
    skip_if_running
};

/** @brief What a repeating timer tells with each tick.
    @tparam Clock The timer's clock.
*/
template <class Clock>
struct basic_tick_info
{
    /// When the tick was due.
    typename Clock::time_point scheduled_for{};

    /// How much later than that its handler was called; never negative.
    typename Clock::duration lateness{};

    /// How many ticks before this one passed without being delivered.
    std::uint64_t missed = 0;

    /// The number of the tick, from 1; missed ones count, so it grows by `missed + 1`.
    std::uint64_t sequence = 0;

    /** @brief Compares everything.
        @return Whether all members are equal.
    */
    friend bool operator==(const basic_tick_info&, const basic_tick_info&) = default;
};

/// What a @ref repeating_timer tells with each tick.
using tick_info = basic_tick_info<std::chrono::steady_clock>;

}

#endif
