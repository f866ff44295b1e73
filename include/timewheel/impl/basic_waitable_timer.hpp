// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#ifndef TIMEWHEEL_IMPL_BASIC_WAITABLE_TIMER_HPP
#define TIMEWHEEL_IMPL_BASIC_WAITABLE_TIMER_HPP

#include <timewheel/basic_waitable_timer.hpp>

#include <boost/asio/basic_waitable_timer.hpp>
#include <boost/system/system_error.hpp>

#include <utility>

namespace timewheel {

template <class Clock, class WaitTraits, class Executor>
auto basic_waitable_timer<Clock, WaitTraits, Executor>::operator=(basic_waitable_timer&& other)
    -> basic_waitable_timer&
{
    if (this == &other)
        return *this;
    object_ = std::move(other.object_);
    expiry_ = std::exchange(other.expiry_, time_point());
    return *this;
}

template <class Clock, class WaitTraits, class Executor>
std::size_t basic_waitable_timer<Clock, WaitTraits, Executor>::expires_at(const time_point& expiry)
{
    const std::size_t cancelled = cancel();
    expiry_ = expiry;
    object_.node().is_due = false;
    return cancelled;
}

template <class Clock, class WaitTraits, class Executor>
std::size_t basic_waitable_timer<Clock, WaitTraits, Executor>::expires_after(
    const duration& from_now
)
{
    // To read the clock takes some of the time in which the timer comes into the cache.
    object_.prefetch();
    detail::prefetch_line(&expiry_);
    const time_point now = Clock::now();
    const std::size_t cancelled = cancel();
    set_expiry(now, from_now);
    return cancelled;
}

template <class Clock, class WaitTraits, class Executor>
void basic_waitable_timer<Clock, WaitTraits, Executor>::set_expiry(
    const time_point& now,
    const duration& from_now
)
{
    expiry_ = detail::saturated_add<Clock>(now, from_now);
    object_.node().is_due = from_now <= duration::zero();
}

template <class Clock, class WaitTraits, class Executor>
detail::tick_type basic_waitable_timer<Clock, WaitTraits, Executor>::expiry_tick() const
{
    const auto& math = object_.driver().math();
    return object_.node().is_due ? math.floor(expiry_) : math.ceil(expiry_);
}

template <class Clock, class WaitTraits, class Executor>
void basic_waitable_timer<Clock, WaitTraits, Executor>::wait()
{
    error_code ec;
    wait(ec);
    if (ec)
        throw boost::system::system_error(ec, "wait");
}

template <class Clock, class WaitTraits, class Executor>
void basic_waitable_timer<Clock, WaitTraits, Executor>::wait(error_code& ec)
{
    if constexpr (detail::driven_clock<Clock>) {
        detail::access::wait_until<Clock>(expiry_);
        ec.clear();
    } else {
        asio::basic_waitable_timer<Clock, WaitTraits, Executor> timer(
            object_.get_executor(), expiry_
        );
        timer.wait(ec);
    }
}

}

#endif
