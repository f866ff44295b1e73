// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#ifndef TIMEWHEEL_DETAIL_RUNNER_SET_HPP
#define TIMEWHEEL_DETAIL_RUNNER_SET_HPP

#include <timewheel/detail/slot_memory.hpp>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

namespace timewheel::detail {

// What a queued turn of a driver is kept in.
struct runner
{
    runner* next = nullptr;
    slot_memory<96> memory;
};

/*  A driver's runners: those that are idle, and how many are queued. The one that became idle last is
    the first to be taken, so that few are in use, and in the cache, as long as few are needed.
*/
class runner_set
{
public:
    // How many turns are queued at most, and so how many of a driver's completions run between two
    // looks of the context at its other work. Too few, and a context that is busy with other work
    // would not keep up with what becomes due.
    static constexpr std::size_t most = 4096;

    // How many runners to add: as many as there are, so that their number follows a growing need.
    std::size_t growth() const noexcept { return (std::max)(std::size_t{64}, size_); }

    runner_set() { chunks_.reserve(8); } // as often as the number doubles up to the most

    void add(std::unique_ptr<runner[]> runners, std::size_t n)
    {
        chunks_.push_back(std::move(runners));
        for (std::size_t i = 0; i != n; ++i)
            push(chunks_.back()[i]);
        size_ += n;
    }

    void release(runner& idle) noexcept
    {
        push(idle);
        --queued_;
    }

    // Takes as many idle runners as are missing to have one queued for each of `turns`.
    runner* claim(std::size_t turns) noexcept
    {
        runner* claimed = nullptr;
        for (; queued_ < turns && idle_; ++queued_) {
            runner* const taken = std::exchange(idle_, idle_->next);
            taken->next = std::exchange(claimed, taken);
        }
        return claimed;
    }

    // Whether runners are missing to have one queued for each of `turns`, and may be added.
    bool is_short(std::size_t turns) const noexcept { return queued_ < turns && size_ < most; }

private:
    void push(runner& idle) noexcept { idle.next = std::exchange(idle_, &idle); }

    runner* idle_ = nullptr;
    std::size_t queued_ = 0;
    std::size_t size_ = 0;
    std::vector<std::unique_ptr<runner[]>> chunks_;
};

}

#endif
