// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#ifndef TIMEWHEEL_IMPL_IDLE_TIMER_HPP
#define TIMEWHEEL_IMPL_IDLE_TIMER_HPP

#include <timewheel/detail/duration_text.hpp>
#include <timewheel/idle_timer.hpp>

#include <stdexcept>
#include <utility>

namespace timewheel {

namespace detail {

template <class Duration>
const Duration& checked_idle_timeout(const Duration& timeout)
{
    if (!(timeout > Duration::zero()))
        throw std::invalid_argument(
            "timewheel: the timeout of an idle_timer is " + duration_text(timeout) +
            ", but must be positive"
        );
    return timeout;
}

}

template <class Clock, class WaitTraits, class Executor>
basic_idle_timer<Clock, WaitTraits, Executor>::basic_idle_timer(
    const executor_type& executor,
    const duration& timeout
)
    : object_(executor)
{
    object_.node().init(detail::checked_idle_timeout(timeout), Clock::now());
}

template <class Clock, class WaitTraits, class Executor>
auto basic_idle_timer<Clock, WaitTraits, Executor>::operator=(basic_idle_timer&& other)
    -> basic_idle_timer&
{
    object_ = std::move(other.object_);
    return *this;
}

template <class Clock, class WaitTraits, class Executor>
void basic_idle_timer<Clock, WaitTraits, Executor>::touch()
{
    if constexpr (Clock::is_steady)
        object_.node().set_last_touch(Clock::now());
    else
        touch(Clock::now());
}

template <class Clock, class WaitTraits, class Executor>
void basic_idle_timer<Clock, WaitTraits, Executor>::touch(const time_point& when)
{
    auto& node = object_.node();
    // A touch that overlaps with another one or with the start of a wait can miss that it is back in
    // time: then the wait ends when the later touch would have it end.
    const time_point before = node.last_touch();
    node.set_last_touch(when);
    if (when < before && node.is_armed())
        object_.driver().rearm(node, filing_tick());
}

template <class Clock, class WaitTraits, class Executor>
void basic_idle_timer<Clock, WaitTraits, Executor>::timeout(const duration& timeout)
{
    auto& node = object_.node();
    node.set_span(detail::checked_idle_timeout(timeout));
    if (node.is_armed())
        object_.driver().rearm(node, filing_tick());
}

}

#endif
