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

protected:
    using finish_function = void (*)(operation*, bool run);

    explicit operation(finish_function finish) noexcept : finish_(finish) {}
    ~operation() = default;

private:
    finish_function finish_;
};

/*  Operations that are ready to complete, first in, first out.

    With a million timers, the memory of an operation that ends is in no cache. The last few are kept
    as pointers only, and are written to when it has been fetched.
*/
class operation_queue
{
public:
    bool empty() const noexcept { return size_ == 0; }
    std::size_t size() const noexcept { return size_; }

    // Takes an operation that is in no list any more, but may not have noticed.
    void push(operation& op, operation::state outcome) noexcept
    {
        prefetch_line(&op);
        if (fresh_size_ == fresh_.size())
            list_.push_back(take_fresh());
        fresh_[(first_fresh_ + fresh_size_) % fresh_.size()] = {&op, outcome};
        ++fresh_size_;
        ++size_;
    }

    operation* try_pop() noexcept
    {
        if (size_ == 0)
            return nullptr;
        --size_;
        return list_.empty() ? &take_fresh() : &static_cast<operation&>(list_.pop_front());
    }

    // Has every operation that has been pushed know its outcome.
    void settle() noexcept
    {
        while (fresh_size_ != 0)
            list_.push_back(take_fresh());
    }

private:
    struct entry
    {
        operation* op;
        operation::state outcome;
    };

    operation& take_fresh() noexcept
    {
        const entry& oldest = fresh_[first_fresh_];
        first_fresh_ = (first_fresh_ + 1) % fresh_.size();
        --fresh_size_;
        oldest.op->forget_list();
        oldest.op->outcome = oldest.outcome;
        return *oldest.op;
    }

    list_anchor list_;
    std::size_t size_ = 0;
    std::size_t first_fresh_ = 0;
    std::size_t fresh_size_ = 0;
    std::array<entry, 8> fresh_; // pushed after those in the list
};

}

#endif
