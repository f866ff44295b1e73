// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#ifndef TIMEWHEEL_IMPL_WHEEL_SERVICE_HPP
#define TIMEWHEEL_IMPL_WHEEL_SERVICE_HPP

#include <timewheel/wheel_service.hpp>

#include <stdexcept>
#include <string>

namespace timewheel {

namespace detail {

inline std::chrono::nanoseconds checked_tick(std::chrono::nanoseconds tick)
{
    if (tick <= std::chrono::nanoseconds::zero())
        throw std::invalid_argument(
            "timewheel: wheel_service_options::tick is " + std::to_string(tick.count()) +
            " ns, but must be 1 ns or longer"
        );
    return tick;
}

// The driver that serves an executor's context, made when it is asked for the first time. Asio looks a
// service up under a lock and by its name, so each thread remembers the one that it has used last.
template <class Clock, class WaitTraits, class Executor>
wheel_driver<Clock, WaitTraits>& use_driver(const Executor& executor)
{
    using service_type = basic_wheel_service<Clock, WaitTraits>;
    static constinit thread_local struct
    {
        asio::execution_context* context;
        std::uint64_t drivers_gone;
        wheel_driver<Clock, WaitTraits>* driver;
    } last{};
    asio::execution_context& context = context_of(executor);
    const std::uint64_t gone = drivers_gone.load(std::memory_order_relaxed);
    if (last.context != &context || last.drivers_gone != gone) {
        auto& driver = access::driver(asio::use_service<service_type>(context));
        driver.attach(executor);
        last = {&context, gone, &driver};
    }
    return *last.driver;
}

}

template <class Clock, class WaitTraits>
basic_wheel_service<Clock, WaitTraits>::basic_wheel_service(
    asio::execution_context& context,
    wheel_service_options options
)
    : asio::execution_context::service(context)
    , driver_(detail::checked_tick(options.tick))
{}

template <class Clock, class WaitTraits>
template <class Executor>
basic_wheel_service<Clock, WaitTraits>::basic_wheel_service(
    asio::execution_context& context,
    const Executor& executor,
    wheel_service_options options
)
    : basic_wheel_service(context, options)
{
    const asio::execution_context& owner = detail::context_of(executor);
    if (&owner != &context)
        throw std::invalid_argument("timewheel: the executor given to wheel_service belongs to "
                                    "another execution context");
    driver_.attach(executor);
}

template <class Clock, class WaitTraits>
wheel_service_stats basic_wheel_service<Clock, WaitTraits>::stats() const
{
    const auto counters = driver_.counters();
    wheel_service_stats stats;
    stats.pending = counters.pending;
    stats.fired = counters.fired;
    stats.cancelled = counters.cancelled;
    stats.os_arms = counters.alarms_set;
    stats.wakeups = counters.alarms_rung;
    stats.refiled = counters.refiled;
    return stats;
}

}

#endif
