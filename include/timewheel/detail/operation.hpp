// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#ifndef TIMEWHEEL_DETAIL_OPERATION_HPP
#define TIMEWHEEL_DETAIL_OPERATION_HPP

#include <timewheel/detail/intrusive_list.hpp>

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

// Operations that are ready to complete, first in, first out.
class operation_queue
{
public:
    bool empty() const noexcept { return size_ == 0; }
    std::size_t size() const noexcept { return size_; }

    void push(operation& op) noexcept
    {
        list_.push_back(op);
        ++size_;
    }

    operation* try_pop() noexcept
    {
        if (size_ == 0)
            return nullptr;
        --size_;
        return &static_cast<operation&>(list_.pop_front());
    }

private:
    list_anchor list_;
    std::size_t size_ = 0;
};

}

#endif
