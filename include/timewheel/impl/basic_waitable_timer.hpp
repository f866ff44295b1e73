// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#ifndef TIMEWHEEL_IMPL_BASIC_WAITABLE_TIMER_HPP
#define TIMEWHEEL_IMPL_BASIC_WAITABLE_TIMER_HPP

#include <timewheel/basic_waitable_timer.hpp>
#include <timewheel/detail/wait_operation.hpp>

#include <boost/asio/basic_waitable_timer.hpp>
#include <boost/system/system_error.hpp>

#include <memory>
#include <type_traits>

namespace timewheel {

template <class Clock, class WaitTraits, class Executor>
basic_waitable_timer<Clock, WaitTraits, Executor>::basic_waitable_timer(
    const executor_type& executor
)
    : driver_(&detail::use_driver<Clock, WaitTraits>(executor))
    , executor_(executor)
{
    node_.runs_in_turns = driver_->runs_on(executor);
}

template <class Clock, class WaitTraits, class Executor>
template <class OtherTimer>
basic_waitable_timer<Clock, WaitTraits, Executor>::basic_waitable_timer(
    convert_t,
    OtherTimer& other
)
    : driver_(other.driver_)
    , executor_(other.executor_)
{
    take_over(other);
}

template <class Clock, class WaitTraits, class Executor>
auto basic_waitable_timer<Clock, WaitTraits, Executor>::operator=(basic_waitable_timer&& other)
    -> basic_waitable_timer&
{
    if (this == &other)
        return *this;
    driver_->release(node_);
    driver_ = other.driver_;
    // An executor need not be assignable.
    std::destroy_at(&executor_);
    std::construct_at(&executor_, other.executor_);
    take_over(other);
    return *this;
}

template <class Clock, class WaitTraits, class Executor>
template <class OtherTimer>
void basic_waitable_timer<Clock, WaitTraits, Executor>::take_over(OtherTimer& other)
{
    driver_->move(other.node_, node_);
    expiry_ = std::exchange(other.expiry_, time_point());
    node_.is_due = std::exchange(other.node_.is_due, false);
    node_.runs_in_turns = other.node_.runs_in_turns;
}

template <class Clock, class WaitTraits, class Executor>
std::size_t basic_waitable_timer<Clock, WaitTraits, Executor>::expires_at(const time_point& expiry)
{
    const std::size_t cancelled = cancel();
    expiry_ = expiry;
    node_.is_due = false;
    return cancelled;
}

template <class Clock, class WaitTraits, class Executor>
std::size_t basic_waitable_timer<Clock, WaitTraits, Executor>::expires_after(
    const duration& from_now
)
{
    const std::size_t cancelled = cancel();
    set_expiry(from_now);
    return cancelled;
}

template <class Clock, class WaitTraits, class Executor>
void basic_waitable_timer<Clock, WaitTraits, Executor>::set_expiry(const duration& from_now)
{
    expiry_ = detail::saturated_add<Clock>(Clock::now(), from_now);
    node_.is_due = from_now <= duration::zero();
}

template <class Clock, class WaitTraits, class Executor>
detail::tick_type basic_waitable_timer<Clock, WaitTraits, Executor>::expiry_tick() const
{
    return node_.is_due ? driver_->math().floor(expiry_) : driver_->math().ceil(expiry_);
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
        asio::basic_waitable_timer<Clock, WaitTraits, Executor> timer(executor_, expiry_);
        timer.wait(ec);
    }
}

template <class Clock, class WaitTraits, class Executor>
template <class Handler>
void basic_waitable_timer<Clock, WaitTraits, Executor>::start_wait(Handler handler)
{
    if constexpr (detail::has_own_executor<Handler>) {
        if (driver_->runs_on(asio::get_associated_executor(handler, executor_)) &&
            node_.runs_in_turns)
            return start_operation<detail::turn_work>(handler);
    } else {
        if (node_.runs_in_turns)
            return start_operation<detail::turn_work>(handler);
    }
    start_operation<detail::executor_work<Handler, Executor>>(handler, handler, executor_);
}

template <class Clock, class WaitTraits, class Executor>
template <class Work, class Handler, class... WorkArguments>
void basic_waitable_timer<Clock, WaitTraits, Executor>::start_operation(
    Handler& handler,
    WorkArguments&&... work
)
{
    using operation_type = detail::wait_operation<Handler, Work>;
    auto& op = operation_type::create(handler, std::forward<WorkArguments>(work)...);
    try {
        op.connect([driver = driver_](operation_type& wait) { driver->cancel(wait); });
    } catch (...) {
        op.destroy();
        throw;
    }
    driver_->start(node_, op, expiry_tick());
}

}

#endif
