// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#ifndef TIMEWHEEL_DETAIL_ACCESS_HPP
#define TIMEWHEEL_DETAIL_ACCESS_HPP

#include <utility>

namespace timewheel::detail {

// The one friend of the public classes.
struct access
{
    template <class Service>
    static auto& driver(Service& service) noexcept
    {
        return service.driver_;
    }

    template <class Timer, class Handler>
    static void start_wait(Timer& timer, Handler&& handler)
    {
        timer.start_wait(std::forward<Handler>(handler));
    }

    template <class KeyedJob>
    static const auto& job(const KeyedJob& keyed_job) noexcept
    {
        return keyed_job.job_;
    }

    template <class Clock, class Observer>
    static auto add_observer(Observer& observer) -> decltype(Clock::add_observer(observer))
    {
        Clock::add_observer(observer);
    }

    template <class Clock, class Observer>
    static auto remove_observer(Observer& observer) noexcept
        -> decltype(Clock::remove_observer(observer))
    {
        Clock::remove_observer(observer);
    }

    template <class Clock>
    static auto wait_until(typename Clock::time_point when) -> decltype(Clock::wait_until(when))
    {
        Clock::wait_until(when);
    }
};

}

#endif
