// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#ifndef TIMEWHEEL_DETAIL_OPERATION_HPP
#define TIMEWHEEL_DETAIL_OPERATION_HPP

#include <timewheel/detail/intrusive_list.hpp>
#include <timewheel/detail/prefetch.hpp>

#include <array>
#include <cstddef>
#include <cstdint>

namespace timewheel::detail {

// Something that ends in one handler call. Whoever has unlinked it calls complete() or destroy(),
// once; both free it.
class operation : public list_link
{
public:
    // Runs the handler, or submits it to its executor.
    void complete() { finish_(this, true); }

    // Frees everything and does not run the handler.
    void destroy() { finish_(this, false); }

    enum class state : std::uint8_t
    {
        waiting,
        expired,
        cancelled
    };

    state outcome = state::waiting; // guarded by the driver's mutex while waiting
    bool has_signal = false;        // whether a cancellation signal may end it

protected:
    using finish_function = void (*)(operation*, bool run);

    explicit operation(finish_function finish) noexcept : finish_(finish) {}
    ~operation() = default;

private:
    finish_function finish_;
};

/*  An operation that is over, but may not know it yet: with a million timers its memory is in no
    cache, and is written to when it has been fetched. Only what a cancellation signal may look at
    knows from the beginning.
*/
struct ended_operation
{
    operation* op = nullptr;
    operation::state outcome = operation::state::waiting;

    // Tells the operation how it ended.
    operation* told() const noexcept
    {
        if (op && op->outcome == operation::state::waiting)
            op->outcome = outcome;
        return op;
    }
};

// Operations that are ready to complete, first in, first out. The last few are kept as they come.
class operation_queue
{
public:
    bool empty() const noexcept { return size_ == 0; }
    std::size_t size() const noexcept { return size_; }

    // How many of them have expired, rather than been cancelled.
    std::size_t expired() const noexcept { return expired_; }

    void push(operation& op, operation::state outcome) noexcept
    {
        prefetch_line(&op);
        if (fresh_size_ == fresh_.size())
            link(take_fresh());
        fresh_[(first_fresh_ + fresh_size_) % fresh_.size()] = {&op, outcome};
        ++fresh_size_;
        ++size_;
        expired_ += outcome == operation::state::expired ? 1 : 0;
    }

    ended_operation try_pop() noexcept
    {
        if (size_ == 0)
            return {};
        --size_;
        const ended_operation oldest = take_oldest();
        expired_ -= oldest.outcome == operation::state::expired ? 1 : 0;
        return oldest;
    }

private:
    ended_operation take_oldest() noexcept
    {
        if (list_.empty())
            return take_fresh();
        auto& op = static_cast<operation&>(list_.pop_front());
        return {&op, op.outcome};
    }

    const ended_operation& take_fresh() noexcept
    {
        const ended_operation& oldest = fresh_[first_fresh_];
        first_fresh_ = (first_fresh_ + 1) % fresh_.size();
        --fresh_size_;
        return oldest;
    }

    // Only writes, so as not to wait for the memory if it still isn't there.
    void link(const ended_operation& ended) noexcept
    {
        ended.op->outcome = ended.outcome;
        ended.op->forget_list();
        list_.push_back(*ended.op);
    }

    list_anchor list_;
    std::size_t size_ = 0;
    std::size_t expired_ = 0;
    std::size_t first_fresh_ = 0;
    std::size_t fresh_size_ = 0;
    std::array<ended_operation, 8> fresh_; // pushed after those in the list
};

}

#endif
