// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#ifndef TIMEWHEEL_EXAMPLE_IDLE_SERVER_LATENESS_HPP
#define TIMEWHEEL_EXAMPLE_IDLE_SERVER_LATENESS_HPP

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace example {

/** @brief How late things happened: a histogram of fixed size that any thread may add to and read.

    Counts in units of 1/64 ms, exactly up to 16 units and then with eight steps to each doubling,
    so that a percentile is at most one eighth too high and 1/4, 1/2, 1, 2, 4 ... ms are borders.
*/
class lateness_histogram
{
public:
    using duration = std::chrono::nanoseconds;

    /// Adds one value. A negative one, something that happened too early, is only counted.
    void record(duration lateness) noexcept
    {
        if (lateness < duration::zero()) {
            early_.fetch_add(1, std::memory_order_relaxed);
            return;
        }
        const auto units = static_cast<std::uint64_t>(lateness / unit);
        steps_[(std::min)(step_of(units), step_count - 1)].fetch_add(1, std::memory_order_relaxed);
        auto seen = max_.load(std::memory_order_relaxed);
        while (seen < lateness.count() &&
               !max_.compare_exchange_weak(seen, lateness.count(), std::memory_order_relaxed)) {}
    }

    [[nodiscard]] std::uint64_t early() const noexcept { return early_.load(); }

    [[nodiscard]] duration max() const noexcept { return duration(max_.load()); }

    /// How many values lay in [low, high).
    [[nodiscard]] std::uint64_t
    count(duration low = duration::zero(), duration high = (duration::max)()) const noexcept
    {
        std::uint64_t sum = 0;
        for (std::size_t step = 0; step < step_count; ++step) {
            if (upper_edge(step) > low && upper_edge(step) <= high)
                sum += steps_[step].load(std::memory_order_relaxed);
        }
        return sum;
    }

    /// The value that `share` (0 to 1) of all values do not exceed.
    [[nodiscard]] duration percentile(double share) const noexcept
    {
        const auto wanted = static_cast<std::uint64_t>(share * static_cast<double>(count()));
        std::uint64_t sum = 0;
        for (std::size_t step = 0; step < step_count; ++step) {
            sum += steps_[step].load(std::memory_order_relaxed);
            if (sum > wanted)
                return (std::min)(upper_edge(step), max());
        }
        return max();
    }

private:
    static constexpr duration unit{1'000'000 / 64};
    static constexpr std::size_t step_count = 256;

    static constexpr std::size_t step_of(std::uint64_t units) noexcept
    {
        const auto width = static_cast<std::size_t>(std::bit_width(units));
        const std::size_t shift = width > 4 ? width - 4 : 0;
        return shift * 8 + static_cast<std::size_t>(units >> shift);
    }

    static constexpr duration upper_edge(std::size_t step) noexcept
    {
        const std::size_t shift = step < 16 ? 0 : step / 8 - 1;
        return unit * (static_cast<std::int64_t>(step - shift * 8 + 1) << shift);
    }

    std::array<std::atomic<std::uint64_t>, step_count> steps_{};
    std::atomic<std::uint64_t> early_ = 0;
    std::atomic<std::int64_t> max_ = 0;
};

}

#endif
