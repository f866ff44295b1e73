// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#ifndef TIMEWHEEL_DETAIL_RUNNER_SET_HPP
#define TIMEWHEEL_DETAIL_RUNNER_SET_HPP

#include <timewheel/detail/tick_source.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>

namespace timewheel::detail {

// Which of a driver's runners are queued.
class runner_set
{
public:
    using mask = std::uint64_t;

    void release(unsigned runner) noexcept { idle_ |= mask{1} << runner; }

    // Takes as many idle runners as are missing to have one for each of `turns`, or all queued.
    mask claim(std::size_t turns) noexcept
    {
        mask claimed = 0;
        for (std::size_t n = queued(); n < turns && idle_ != 0; ++n) {
            const mask lowest = idle_ & (~idle_ + 1);
            idle_ ^= lowest;
            claimed |= lowest;
        }
        return claimed;
    }

    // Takes this idle runner if one is missing.
    bool claim_this(unsigned runner, std::size_t turns) noexcept
    {
        if (queued() >= turns)
            return false;
        idle_ &= ~(mask{1} << runner);
        return true;
    }

private:
    static_assert(max_runners == 64, "one bit each");

    std::size_t queued() const noexcept
    {
        return max_runners - static_cast<std::size_t>(std::popcount(idle_));
    }

    mask idle_ = ~mask{0};
};

}

#endif
