// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#ifndef TIMEWHEEL_DETAIL_RUNNER_SET_HPP
#define TIMEWHEEL_DETAIL_RUNNER_SET_HPP

#include <timewheel/detail/operation.hpp>
#include <timewheel/detail/slot_memory.hpp>

#include <atomic>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

namespace timewheel::detail {

// What a queued turn of a driver is kept in, with the operation that it is for if it was given one.
class runner
{
public:
    // With the driver's mutex locked, as has_operation().
    void give(const ended_operation& ended) noexcept
    {
        outcome_ = ended.outcome;
        op_.store(ended.op, std::memory_order_relaxed);
    }

    bool has_operation() const noexcept { return op_.load(std::memory_order_acquire) != nullptr; }

    // At the beginning of the turn. If there is an operation, the runner may be used again at once.
    ended_operation take() noexcept
    {
        const ended_operation ended{op_.load(std::memory_order_relaxed), outcome_};
        if (ended.op)
            op_.store(nullptr, std::memory_order_release);
        return ended;
    }

    runner* next = nullptr;
    slot_memory<96> memory;

private:
    operation::state outcome_ = operation::state::waiting;
    std::atomic<operation*> op_{nullptr};
};

// Runners in the order in which they are queued.
class runner_queue
{
public:
    void push(runner& last) noexcept
    {
        last.next = nullptr;
        (last_ ? last_->next : first_) = &last;
        last_ = &last;
    }

    bool empty() const noexcept { return first_ == nullptr; }
    runner* front() const noexcept { return first_; }

    runner& pop() noexcept
    {
        runner& first = *first_;
        first_ = first.next;
        if (!first_)
            last_ = nullptr;
        return first;
    }

private:
    runner* first_ = nullptr;
    runner* last_ = nullptr;
};

/*  A driver's runners: those that are idle, and how many are queued. The one that became idle last is
    the first to be taken, so that few are in use, and in the cache, as long as few are needed.

    A runner that was given an operation needs no mutex in its turn. It is found to be idle when
    others are wanted: by then it has no operation any more, and it comes first in `assigned_`. One
    that was given none is released in its turn, with the mutex locked.
*/
class runner_set
{
public:
    // How many turns are queued at most, and so how many of a driver's completions run between two
    // looks of the context at its other work. Too few, and a context that is busy with other work
    // would not keep up with what becomes due.
    static constexpr std::size_t most = 4096;

    // How many runners to add: as many as there are, so that their number follows a growing need.
    std::size_t growth() const noexcept { return size_ == 0 ? 64 : size_; }

    runner_set() { chunks_.reserve(8); } // as often as the number doubles up to the most

    void add(std::unique_ptr<runner[]> runners, std::size_t n)
    {
        chunks_.push_back(std::move(runners));
        for (std::size_t i = 0; i != n; ++i)
            push(chunks_.back()[i]);
        size_ += n;
    }

    // A claimed runner, at the beginning of its turn.
    void release(runner& idle) noexcept
    {
        push(idle);
        --queued_;
    }

    // How many are queued without an operation: claimed and not released.
    std::size_t queued() const noexcept { return queued_; }

    // A runner that may be assigned an operation, if there is one. One is always left to be claimed.
    runner* idle_runner() noexcept
    {
        reclaim(2);
        return idle_ && idle_->next ? idle_ : nullptr;
    }

    void assign(runner& idle, const ended_operation& ended) noexcept
    {
        idle_ = idle.next;
        idle.give(ended);
        assigned_.push(idle);
    }

    // Takes as many idle runners as are missing to have one queued for each of `turns`, beside those
    // with an operation.
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

    // Whether all that were given an operation have begun their turn.
    bool all_begun() noexcept
    {
        reclaim(size_);
        return assigned_.empty();
    }

    // Takes back the operations of runners whose turn will not come.
    void take_back(operation_queue& ready) noexcept
    {
        while (!assigned_.empty()) {
            runner& each = assigned_.pop();
            const ended_operation ended = each.take();
            if (ended.op)
                ready.push(*ended.op, ended.outcome);
            push(each);
        }
    }

private:
    void push(runner& idle) noexcept { idle.next = std::exchange(idle_, &idle); }

    // Finds up to n runners that have begun the turn that they were given an operation for.
    void reclaim(std::size_t n) noexcept
    {
        for (; n != 0 && !assigned_.empty() && !assigned_.front()->has_operation(); --n)
            push(assigned_.pop());
    }

    runner* idle_ = nullptr;
    runner_queue assigned_;
    std::size_t queued_ = 0;
    std::size_t size_ = 0;
    std::vector<std::unique_ptr<runner[]>> chunks_;
};

}

#endif
