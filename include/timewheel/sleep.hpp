// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#ifndef TIMEWHEEL_SLEEP_HPP
#define TIMEWHEEL_SLEEP_HPP

#include <timewheel/config.hpp>
#include <timewheel/default_completion_token.hpp>
#include <timewheel/detail/sleep_operation.hpp>

#include <boost/asio/async_result.hpp>
#include <boost/asio/deferred.hpp>

#include <chrono>

namespace timewheel {

/** @brief Waits some time asynchronously, without a timer object.

    The timer is part of the operation, which is one allocation with the handler's allocator. It is
    on the wheel of the executor's context, due and ordered like a @ref basic_waitable_timer. Its
    executors, memory, and default completion token are also as described there. May be called from
    any thread.

    @par Completion signature
    `void(error_code)`

    @par Per-operation cancellation
    `terminal`, `partial` and `total` end the wait. A signal after it has become due has no effect.

    @par Errors
    `asio::error::operation_aborted`: cancelled by a signal.

    @snippet sleep.cpp async_sleep_for

    @tparam Clock The clock, with `asio::wait_traits` for it.
    @param target An executor, or a context whose executor is meant.
    @param from_now How long to wait from when the operation is started. If not positive, it is due at
    once.
    @param token The completion token.
    @return What the token makes of the signature.
*/
template <
    class Clock = std::chrono::steady_clock,
    detail::execution_target Target,
    asio::completion_token_for<void(error_code)> SleepToken =
        default_completion_token_t<detail::executor_of_t<Target>>>
auto async_sleep_for(
    Target&& target,
    typename Clock::duration from_now,
    SleepToken&& token = default_completion_token_t<detail::executor_of_t<Target>>()
)
{
    using executor_type = detail::executor_of_t<Target>;
    return asio::async_initiate<SleepToken, void(error_code)>(
        detail::initiate_sleep<Clock, executor_type>(detail::executor_of(target)), token, from_now
    );
}

/** @brief Waits for a time asynchronously, without a timer object.

    Everything is as for @ref async_sleep_for; the clock is that of the time.

    @par Completion signature
    `void(error_code)`

    @par Per-operation cancellation
    `terminal`, `partial` and `total` end the wait. A signal after it has become due has no effect.

    @par Errors
    `asio::error::operation_aborted`: cancelled by a signal.

    @snippet sleep.cpp async_sleep_until

    @param target An executor, or a context whose executor is meant.
    @param when The time to wait for. If it has passed, the operation is due at once; the end of the
    clock's time never comes.
    @param token The completion token.
    @return What the token makes of the signature.
*/
template <
    detail::execution_target Target,
    class Clock,
    class Duration,
    asio::completion_token_for<void(error_code)> SleepToken =
        default_completion_token_t<detail::executor_of_t<Target>>>
auto async_sleep_until(
    Target&& target,
    const std::chrono::time_point<Clock, Duration>& when,
    SleepToken&& token = default_completion_token_t<detail::executor_of_t<Target>>()
)
{
    using executor_type = detail::executor_of_t<Target>;
    return asio::async_initiate<SleepToken, void(error_code)>(
        detail::initiate_sleep<Clock, executor_type>(detail::executor_of(target)),
        token,
        detail::to_clock(when)
    );
}

/** @brief Lets a coroutine sleep: `co_await timewheel::sleep_for(5s)`.

    For an `asio::awaitable` on any executor, which need not be named. The result is a deferred
    operation that runs on the executor of whoever starts it, so it can be given another token as
    well: `sleep_for(5s)(asio::use_awaitable)` makes an `awaitable` for `||` and `&&`. It completes
    with `void(error_code)`, an error being thrown in a coroutine as usual, and is cancelled like
    @ref async_sleep_for.

    @snippet sleep.cpp sleep_for

    @tparam Clock The clock, with `asio::wait_traits` for it.
    @param from_now How long to sleep, from when it is awaited.
    @return The operation.
*/
template <class Clock = std::chrono::steady_clock>
[[nodiscard]] auto sleep_for(typename Clock::duration from_now)
{
    return asio::async_initiate<const asio::deferred_t&, void(error_code)>(
        detail::initiate_sleep_here<Clock>(), asio::deferred, from_now
    );
}

/** @brief Lets a coroutine sleep until a time: `co_await timewheel::sleep_until(noon)`.

    Everything else is as for @ref sleep_for.

    @param when The time to wake up at.
    @return The operation.
*/
template <class Clock, class Duration>
[[nodiscard]] auto sleep_until(const std::chrono::time_point<Clock, Duration>& when)
{
    return asio::async_initiate<const asio::deferred_t&, void(error_code)>(
        detail::initiate_sleep_here<Clock>(), asio::deferred, detail::to_clock(when)
    );
}

}

#endif
