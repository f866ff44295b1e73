// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#ifndef TIMEWHEEL_DETAIL_RUNNER_SET_HPP
#define TIMEWHEEL_DETAIL_RUNNER_SET_HPP

#include <timewheel/detail/tick_source.hpp>

#include <cstddef>
#include <cstdint>

namespace timewheel::detail {

// Which of a driver's runners are queued.
class runner_set
{
public:
    using mask = std::uint64_t;

    void release(unsigned runner) noexcept
    {
        idle_ |= mask{1} << runner;
        --queued_;
    }

    // Takes as many idle runners as are missing to have one for each of `turns`, or all queued.
    mask claim(std::size_t turns) noexcept
    {
        mask claimed = 0;
        for (; queued_ < turns && idle_ != 0; ++queued_) {
            const mask lowest = idle_ & (~idle_ + 1);
            idle_ ^= lowest;
            claimed |= lowest;
        }
        return claimed;
    }

    // Takes this idle runner if one is missing.
    bool claim_this(unsigned runner, std::size_t turns) noexcept
    {
        if (queued_ >= turns)
            return false;
        idle_ &= ~(mask{1} << runner);
        ++queued_;
        return true;
    }

private:
    static_assert(max_runners == 64, "one bit each");

    mask idle_ = ~mask{0};
    std::size_t queued_ = 0;
};

}

#endif
