// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#ifndef TIMEWHEEL_DETAIL_SLEEP_OPERATION_HPP
#define TIMEWHEEL_DETAIL_SLEEP_OPERATION_HPP

#include <timewheel/config.hpp>
#include <timewheel/detail/executor_of.hpp>
#include <timewheel/detail/tick_math.hpp>
#include <timewheel/detail/timer_node.hpp>
#include <timewheel/detail/wait_operation.hpp>
#include <timewheel/wheel_service.hpp>

#include <boost/asio/associated_executor.hpp>
#include <boost/asio/execution/executor.hpp>
#include <boost/asio/execution_context.hpp>
#include <boost/asio/is_executor.hpp>
#include <boost/asio/system_executor.hpp>
#include <boost/asio/wait_traits.hpp>

#include <chrono>
#include <concepts>
#include <type_traits>
#include <utility>

namespace timewheel::detail {

template <class T>
concept execution_context_type = std::convertible_to<T&, asio::execution_context&>;

// What a function takes that may be given an executor or a context.
template <class T>
concept execution_target = execution_context_type<std::remove_reference_t<T>> ||
                           asio::execution::is_executor<std::remove_cvref_t<T>>::value ||
                           asio::is_executor<std::remove_cvref_t<T>>::value;

// The work of an operation that is the only wait of a timer of its own.
template <class Work>
struct sleep_work : Work
{
    template <class... Arguments>
    explicit sleep_work(Arguments&&... arguments) : Work(std::forward<Arguments>(arguments)...)
    {}

    // When the work moves on, the timer is over.
    sleep_work(sleep_work&& other) : Work(std::move(static_cast<Work&>(other))) {}

    timer_node timer;
};

template <class Clock>
tick_type deadline_tick(const tick_math<Clock>& math, typename Clock::duration from_now)
{
    const auto now = Clock::now();
    return from_now <= Clock::duration::zero() ? math.floor(now)
                                               : math.ceil(saturated_add<Clock>(now, from_now));
}

template <class Clock>
tick_type deadline_tick(const tick_math<Clock>& math, typename Clock::time_point deadline)
{
    return math.ceil(deadline);
}

template <class Driver, class Operation>
void start_sleep_operation(Driver& driver, Operation& op, tick_type tick)
{
    try {
        op.connect([&driver](Operation& sleep) { driver.end(sleep.work().timer, sleep); });
    } catch (...) {
        op.destroy();
        throw;
    }
    driver.start(op.work().timer, op, tick);
}

template <class Clock, class Executor, class Handler, class Deadline>
void start_sleep(const Executor& executor, Handler handler, const Deadline& deadline)
{
    auto& driver = use_driver<Clock, asio::wait_traits<Clock>>(executor);
    const tick_type tick = deadline_tick(driver.math(), deadline);
    bool runs_in_turns = driver.runs_on(executor);
    if constexpr (has_own_executor<Handler>)
        runs_in_turns =
            runs_in_turns && driver.runs_on(asio::get_associated_executor(handler, executor));
    if (runs_in_turns) {
        using operation_type = wait_operation<Handler, sleep_work<turn_work>>;
        start_sleep_operation(driver, operation_type::create(handler), tick);
    } else {
        using work_type = sleep_work<executor_work<Handler, Executor>>;
        using operation_type = wait_operation<Handler, work_type>;
        start_sleep_operation(driver, operation_type::create(handler, handler, executor), tick);
    }
}

// The initiation of a sleep; it tells adapters the executor that the operation runs on.
template <class Clock, class Executor>
class initiate_sleep
{
public:
    using executor_type = Executor;

    explicit initiate_sleep(const Executor& executor) : executor_(executor) {}

    const executor_type& get_executor() const noexcept { return executor_; }

    template <class Handler, class Deadline>
    void operator()(Handler&& handler, const Deadline& deadline) const
    {
        start_sleep<Clock, Executor, std::decay_t<Handler>>(
            executor_, std::forward<Handler>(handler), deadline
        );
    }

private:
    Executor executor_;
};

// The initiation of a sleep on the executor of whoever sleeps.
template <class Clock>
struct initiate_sleep_here
{
    template <class Handler, class Deadline>
    void operator()(Handler&& handler, const Deadline& deadline) const
    {
        // Named, because what a handler without an executor gets depends on the version of Asio.
        const auto executor = asio::get_associated_executor(handler, asio::system_executor());
        start_sleep<Clock, std::decay_t<decltype(executor)>, std::decay_t<Handler>>(
            executor, std::forward<Handler>(handler), deadline
        );
    }
};

// Of a time point in another unit, the first one of the clock that is not earlier.
template <class Clock, class Duration>
typename Clock::time_point to_clock(const std::chrono::time_point<Clock, Duration>& when)
{
    if constexpr (std::convertible_to<Duration, typename Clock::duration>)
        return when;
    else
        return std::chrono::ceil<typename Clock::duration>(when);
}

}

#endif
