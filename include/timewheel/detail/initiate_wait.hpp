// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#ifndef TIMEWHEEL_DETAIL_INITIATE_WAIT_HPP
#define TIMEWHEEL_DETAIL_INITIATE_WAIT_HPP

#include <timewheel/detail/access.hpp>

#include <type_traits>
#include <utility>

namespace timewheel::detail {

// The initiation of a timer's wait; it tells adapters the executor that the operation runs on.
template <class Timer>
class initiate_wait
{
public:
    using executor_type = typename Timer::executor_type;

    explicit initiate_wait(Timer& timer) noexcept : timer_(&timer) {}

    const executor_type& get_executor() const noexcept { return timer_->get_executor(); }

    template <class Handler>
    void operator()(Handler&& handler) const
    {
        access::start_wait(*timer_, std::forward<Handler>(handler));
    }

private:
    Timer* timer_;
};

}

#endif
