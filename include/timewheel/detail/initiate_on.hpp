// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#ifndef TIMEWHEEL_DETAIL_INITIATE_ON_HPP
#define TIMEWHEEL_DETAIL_INITIATE_ON_HPP

#include <utility>

namespace timewheel::detail {

// An initiation that calls a function, and tells adapters the executor that the operation runs on.
template <class Executor, class Start>
class initiate_on
{
public:
    using executor_type = Executor;

    initiate_on(const Executor& executor, Start start)
        : executor_(executor)
        , start_(std::move(start))
    {}

    const executor_type& get_executor() const noexcept { return executor_; }

    template <class Handler, class... Arguments>
    void operator()(Handler&& handler, Arguments&&... arguments) const
    {
        start_(std::forward<Handler>(handler), std::forward<Arguments>(arguments)...);
    }

private:
    Executor executor_;
    Start start_;
};

}

#endif
