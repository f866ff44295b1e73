// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#ifndef TIMEWHEEL_AFTER_HPP
#define TIMEWHEEL_AFTER_HPP

#include <timewheel/config.hpp>
#include <timewheel/detail/delayed_function.hpp>
#include <timewheel/detail/executor_adapter.hpp>
#include <timewheel/detail/executor_of.hpp>
#include <timewheel/detail/tick_math.hpp>

#include <boost/asio/wait_traits.hpp>

#include <chrono>

namespace timewheel {

/** @brief An executor that executes nothing before a time; made by @ref after.

    A function that is submitted earlier waits on the timing wheel of the executor's context, at most
    one tick longer than until that time, and is then given to the executor; one that is submitted
    later goes there at once. So a coroutine that is spawned on it starts late, and is not delayed
    any more afterwards.

    Everything else is as with the executor itself: its context and its other properties, which
    `require`, `prefer` and `query` forward, and its equality, together with that of the times. The
    executor has outstanding work from the submission of a function to its execution. Functions that
    are still waiting when the context is destroyed are destroyed unexecuted. `blocking.always` can't
    be required, since a function has not been executed when `execute` returns.

    @tparam Executor The executor that executes.
    @tparam Clock The clock of the time.
    @tparam WaitTraits The wait traits for the clock.
*/
template <
    class Executor,
    class Clock = std::chrono::steady_clock,
    class WaitTraits = asio::wait_traits<Clock>>
using delayed_executor =
    detail::executor_adapter<Executor, detail::delay_policy<Clock, WaitTraits>>;

/** @brief Makes an executor that executes nothing before a time.

    @snippet after.cpp after_time

    @tparam WaitTraits The wait traits for the clock; by default Asio's.
    @param executor An executor or execution context.
    @param time The earliest time of an execution.
    @return The executor.
*/
template <
    class WaitTraits = void,
    detail::executor_or_context Executor,
    class Clock,
    class Duration>
[[nodiscard]] auto after(Executor&& executor, const std::chrono::time_point<Clock, Duration>& time)
{
    using wait_traits = detail::wait_traits_or<WaitTraits, Clock>;
    const auto inner = detail::executor_of(executor);
    return delayed_executor<std::remove_const_t<decltype(inner)>, Clock, wait_traits>(
        inner, {inner, detail::saturated_ceil(time)}
    );
}

/** @brief Makes an executor that executes nothing before some time has passed.

    The time counts from this call, not from the submission of a function.

    @snippet after.cpp after

    @tparam Clock The clock of the time.
    @tparam WaitTraits The wait traits for the clock.
    @param executor An executor or execution context.
    @param time The time from now to the earliest execution.
    @return The executor.
*/
template <
    class Clock = std::chrono::steady_clock,
    class WaitTraits = asio::wait_traits<Clock>,
    detail::executor_or_context Executor,
    class Rep,
    class Period>
[[nodiscard]] auto after(Executor&& executor, const std::chrono::duration<Rep, Period>& time)
{
    const auto delay = detail::saturated_ceil<typename Clock::duration>(time);
    return after<WaitTraits>(executor, detail::saturated_add<Clock>(Clock::now(), delay));
}

}

#endif
