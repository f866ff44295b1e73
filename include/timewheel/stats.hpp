// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#ifndef TIMEWHEEL_STATS_HPP
#define TIMEWHEEL_STATS_HPP

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace timewheel {

/** @brief Counts spans of time by their length, to an eighth of it.

    Each power of two of nanoseconds is divided into eight equal parts, so that a percentile is at most
    12.5 % more than the truth; below 8 ns it is exact. To record takes constant time.

    **Thread safety.** Distinct objects: safe. Shared objects: unsafe.
*/
class duration_histogram
{
public:
    /** @brief Counts a span.
        @param span The span; a negative one counts as zero.
    */
    void record(std::chrono::nanoseconds span) noexcept
    {
        const auto ns = static_cast<std::uint64_t>((std::max)(span.count(), std::int64_t{0}));
        ++parts_[part_of(ns)];
        ++count_;
        sum_ += ns;
        max_ = (std::max)(max_, ns);
    }

    /** @brief Returns how many spans were counted.
        @return The number of calls of `record`.
    */
    [[nodiscard]] std::uint64_t count() const noexcept { return count_; }

    /** @brief Returns the sum of all spans.
        @return Exactly that, modulo 2^64 ns.
    */
    [[nodiscard]] std::chrono::nanoseconds sum() const noexcept { return to_span(sum_); }

    /** @brief Returns the longest span.
        @return Exactly that, or zero if there was none.
    */
    [[nodiscard]] std::chrono::nanoseconds longest() const noexcept { return to_span(max_); }

    /** @brief Returns a span that is not exceeded by a share of all.
        @param share From 0 to 1: 0.5 for the median, 0.99 for the 99th percentile; anything else
        counts as the nearer of the two.
        @return The upper end of the part that holds it, at most `longest()`; zero if nothing was counted.
    */
    [[nodiscard]] std::chrono::nanoseconds percentile(double share) const noexcept
    {
        const double sane = share > 0.0 ? (std::min)(share, 1.0) : 0.0; // also for a NaN
        const double wanted = std::ceil(sane * static_cast<double>(count_));
        const auto rank = (std::max)(static_cast<std::uint64_t>(wanted), std::uint64_t{1});
        std::uint64_t seen = 0;
        for (std::size_t part = 0; part != parts_.size(); ++part) {
            seen += parts_[part];
            if (seen >= rank)
                return to_span((std::min)(end_of(part) - 1, max_));
        }
        return to_span(max_);
    }

    /** @brief Returns how many spans were at most as long as a given one.
        @param span The span.
        @return The number, where all of a part counts if its upper end does.
    */
    [[nodiscard]] std::uint64_t count_up_to(std::chrono::nanoseconds span) const noexcept
    {
        if (span.count() < 0)
            return 0;
        const auto ns = static_cast<std::uint64_t>(span.count());
        std::uint64_t seen = 0;
        for (std::size_t part = 0; part != parts_.size(); ++part) {
            if (parts_[part] != 0 && (std::min)(end_of(part) - 1, max_) <= ns)
                seen += parts_[part];
        }
        return seen;
    }

private:
    static constexpr unsigned bits = 3; // of a length that count, below the highest one
    static constexpr std::size_t per_power = std::size_t{1} << bits;

    // Lengths below 8 have a part each. Above, a part is named by the highest bit and the three
    // below it.
    static std::size_t part_of(std::uint64_t ns) noexcept
    {
        if (ns < per_power)
            return static_cast<std::size_t>(ns);
        const unsigned power = static_cast<unsigned>(std::bit_width(ns)) - 1 - bits;
        return (power + 1) * per_power + static_cast<std::size_t>((ns >> power) & (per_power - 1));
    }

    static std::uint64_t end_of(std::size_t part) noexcept
    {
        if (part < per_power)
            return part + 1;
        const std::size_t power = part / per_power - 1;
        return (per_power + part % per_power + 1) << power;
    }

    static std::chrono::nanoseconds to_span(std::uint64_t ns) noexcept
    {
        return std::chrono::nanoseconds(static_cast<std::int64_t>(ns));
    }

    // A count of nanoseconds has 63 bits.
    std::array<std::uint64_t, (63 - bits + 1) * per_power> parts_{};
    std::uint64_t count_ = 0;
    std::uint64_t sum_ = 0;
    std::uint64_t max_ = 0;
};

/** @brief What a job wheel has done, at one moment.

    A run is scheduled when a timer is added, and again each time that a repeating timer waits for its
    next run; it ends in exactly one of the ways below. At any moment

    `scheduled == pending + queued + running + completed + failed + threw + timed_out + cancelled +
    dropped + skipped + withdrawn`
*/
struct wheel_stats
{
    /// Timers that were accepted.
    std::uint64_t added = 0;

    /// Timers that were removed while a run of theirs was waiting or queued, or would have come.
    std::uint64_t removed = 0;

    /// Runs that were scheduled.
    std::uint64_t scheduled = 0;

    /// Runs that wait in the wheel: for their time, or for room in the queue.
    std::uint64_t pending = 0;

    /// Runs that were handed to the workers and have not begun.
    std::uint64_t queued = 0;

    /// Runs that have begun and not ended.
    std::uint64_t running = 0;

    /// Runs that have begun, whatever became of them.
    std::uint64_t executed = 0;

    /// Runs that ended with success.
    std::uint64_t completed = 0;

    /// Runs that ended with an error, or had no job.
    std::uint64_t failed = 0;

    /// Runs that ended with an exception.
    std::uint64_t threw = 0;

    /// Runs that took longer than allowed.
    std::uint64_t timed_out = 0;

    /// Runs that did not begin since the wheel stopped, or ended with an error after being told to.
    std::uint64_t cancelled = 0;

    /// Runs that found no room in the queue.
    std::uint64_t dropped = 0;

    /// Runs that would have overlapped with the previous one.
    std::uint64_t skipped = 0;

    /// Runs that a removal took away before they began.
    std::uint64_t withdrawn = 0;

    /// How late runs began.
    duration_histogram lateness;
};

}

#endif
