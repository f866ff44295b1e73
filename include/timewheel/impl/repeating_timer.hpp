// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#ifndef TIMEWHEEL_IMPL_REPEATING_TIMER_HPP
#define TIMEWHEEL_IMPL_REPEATING_TIMER_HPP

#include <timewheel/detail/duration_text.hpp>
#include <timewheel/repeating_timer.hpp>

#include <stdexcept>
#include <utility>

namespace timewheel {

namespace detail {

template <class Duration>
const Duration& checked_period(const Duration& period)
{
    if (!(period > Duration::zero())) // also for a NaN
        throw std::invalid_argument(
            "timewheel: the period of a repeating timer is " + duration_text(period) +
            ", but must be positive"
        );
    return period;
}

}

template <class Clock, class WaitTraits, class Executor>
basic_repeating_timer<Clock, WaitTraits, Executor>::basic_repeating_timer(
    const executor_type& executor,
    const duration& period,
    repeat_mode mode
)
    : period_(detail::checked_period(period))
    , mode_(mode)
    , object_(executor)
    , grid_(std::make_shared<grid_type>(Clock::now(), period_, mode_))
{}

template <class Clock, class WaitTraits, class Executor>
auto basic_repeating_timer<Clock, WaitTraits, Executor>::operator=(basic_repeating_timer&& other)
    -> basic_repeating_timer&
{
    if (this == &other)
        return *this;
    object_ = std::move(other.object_);
    grid_ = std::move(other.grid_);
    period_ = other.period_;
    mode_ = other.mode_;
    return *this;
}

template <class Clock, class WaitTraits, class Executor>
void basic_repeating_timer<Clock, WaitTraits, Executor>::period(const duration& period)
{
    detail::checked_period(period);
    const time_point now = Clock::now();
    const time_point due =
        grid().locked([&](auto& ticks) { return ticks.change_period(period, now); });
    period_ = period;
    auto& driver = object_.driver();
    if (object_.node().is_armed())
        driver.rearm(
            object_.node(), due <= now ? driver.math().floor(due) : driver.math().ceil(due)
        );
}

template <class Clock, class WaitTraits, class Executor>
std::size_t basic_repeating_timer<Clock, WaitTraits, Executor>::restart(const time_point& start)
{
    grid_type& grid = this->grid();
    const std::size_t cancelled = cancel();
    const time_point now = Clock::now();
    grid.locked([&](auto& ticks) { ticks.restart(start, now); });
    return cancelled;
}

template <class Clock, class WaitTraits, class Executor>
auto basic_repeating_timer<Clock, WaitTraits, Executor>::grid() -> grid_type&
{
    if (!grid_)
        grid_ = std::make_shared<grid_type>(Clock::now(), period_, mode_);
    return *grid_;
}

template <class Clock, class WaitTraits, class Executor>
template <class Handler>
void basic_repeating_timer<Clock, WaitTraits, Executor>::start_wait(Handler handler)
{
    grid_type& grid = this->grid();
    const bool is_first = !object_.node().is_armed();
    const time_point now = Clock::now();
    const auto next = grid.locked([&](auto& ticks) { return ticks.next(now, is_first); });
    const auto& math = object_.driver().math();
    detail::tick_handler<Clock, Handler> completion(std::move(handler), grid_, next.position);
    object_.start_wait(completion, next.due <= now ? math.floor(next.due) : math.ceil(next.due));
}

}

#endif
