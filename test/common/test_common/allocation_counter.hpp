// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#ifndef TIMEWHEEL_TEST_COMMON_ALLOCATION_COUNTER_HPP
#define TIMEWHEEL_TEST_COMMON_ALLOCATION_COUNTER_HPP

/** @file
    Counts every allocation of the process, to show that a loop in its steady state makes none.
    Needs `allocation_counter.cpp` in the executable. The count is taken below `operator new`,
    because Asio's recycling allocator does not go through it.
*/

#include <cstddef>

namespace timewheel::test {

/// Whether this platform and build count at all; if not, every count is zero.
[[nodiscard]] bool counts_allocations() noexcept;

/// Allocations made by all threads since the program started.
[[nodiscard]] std::size_t allocations_so_far() noexcept;

/// Blocks that are allocated at the moment.
[[nodiscard]] std::size_t live_allocations() noexcept;

/// The allocations made since its construction.
class allocation_counter
{
public:
    [[nodiscard]] std::size_t count() const noexcept { return allocations_so_far() - before_; }

private:
    std::size_t before_ = allocations_so_far();
};

}

#endif
