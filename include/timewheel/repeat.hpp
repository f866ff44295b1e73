// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#ifndef TIMEWHEEL_REPEAT_HPP
#define TIMEWHEEL_REPEAT_HPP

#include <chrono>
#include <cstdint>
#include <limits>
#include <optional>

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

/** @brief How a job repeats, besides its period.
    @tparam Clock The wheel's clock.
*/
template <class Clock>
struct basic_repeat_options
{
    /// For `count`: no limit.
    static constexpr std::uint64_t unlimited = (std::numeric_limits<std::uint64_t>::max)();

    /// When the next run is due.
    repeat_mode mode = repeat_mode::fixed_rate;

    /// The time until the first run, from which the grid is counted; a period if not given.
    std::optional<typename Clock::duration> initial_delay{};

    /// How many runs there are, at least 1; skipped, dropped and missed ones don't count.
    std::uint64_t count = unlimited;

    /// No run is scheduled for later than this; if the first one were, there is none.
    std::optional<typename Clock::time_point> until{};
};

/// How a job of a wheel on the steady clock repeats.
using repeat_options = basic_repeat_options<std::chrono::steady_clock>;

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
