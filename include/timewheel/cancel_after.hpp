// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#ifndef TIMEWHEEL_CANCEL_AFTER_HPP
#define TIMEWHEEL_CANCEL_AFTER_HPP

#include <timewheel/config.hpp>
#include <timewheel/detail/bound_deadline.hpp>
#include <timewheel/detail/deadline_token.hpp>

#include <boost/asio/cancellation_type.hpp>
#include <boost/asio/wait_traits.hpp>

#include <chrono>

namespace timewheel {

/** @defgroup deadlines Deadlines of operations

    @brief Completion token adapters that give any asynchronous operation a deadline.

    @snippet cancel_after.cpp timeout_after

    At the deadline, a cancellation signal is emitted to the operation: `cancel_after` and
    `cancel_at` leave its result as it is, `timeout_after` and `timeout_at` report
    `error::timed_out` instead of the error of an operation that fails after the signal, which tells
    a timeout from a cancellation. An operation that succeeds all the same reports success.

    **Forms.** Each adapter takes, in this order: optionally an executor or execution context, whose
    wheel is used; the deadline; optionally the type of the signal; and the completion token. Without
    an executor, the wheel is that of the operation's own, or of the handler's if the operation does
    not tell it. Without a token, the result is a token that stands for the operation's default one,
    so that `co_await` takes it, which `|` applies to a deferred operation, and which makes an adapted
    token of the one that it is called with. A token that is kept may be used again.

    **Semantics.** The deadline counts from the start of the operation. It is a node in the wheel,
    taken off again when the operation completes first; the result arrives in the operation's own
    completion, on its own executor, not a turn later. The signal is never emitted before the
    deadline, and at most one tick later plus the time that the executor needs. Signals from the
    handler's own slot pass through. An operation that ignores the type of the signal runs on; the
    default, `terminal`, is understood by all operations of Asio.

    **Thread safety.** No strand is needed for the deadline's sake: the signal and what the operation
    does itself keep out of each other's way, whatever thread they are on. The signal is emitted on
    the handler's executor; one that comes while the operation is being started, or is in an
    intermediate handler, follows right after that, on the same thread. To the I/O object, it is a
    use like any other: what else uses it at the same time, such as a call of `close()`, belongs on
    the same strand.

    **Binders.** What `bind_executor` and `bind_cancellation_slot` bind around an adapter is the
    handler's, as if it were bound within. With an adapter of another kind in between, it has to be
    bound within.

    **Memory.** One block, from a cache of the thread. The handler's allocator is left to the operation
    itself, because the deadline may be on its way when the handler is called.
    @{
*/

/** @brief Cancels an operation some time after its start.

    @tparam Clock The clock of the deadline.
    @tparam WaitTraits The wait traits for the clock.
    @param time The time from the start to the deadline. If it is not positive, the signal follows
    the start at once.
    @param rest Optionally the type of the signal, then optionally the completion token.
    @return A completion token.
*/
template <
    class Clock = std::chrono::steady_clock,
    class WaitTraits = asio::wait_traits<Clock>,
    class Rep,
    class Period,
    class... Rest>
auto cancel_after(const std::chrono::duration<Rep, Period>& time, Rest&&... rest)
{
    return detail::with_deadline<Clock, WaitTraits>(
        detail::saturated_ceil<typename Clock::duration>(time),
        detail::operation_executor(),
        false,
        std::forward<Rest>(rest)...
    );
}

/** @brief Cancels an operation some time after its start, on the wheel of an executor.

    @tparam Clock The clock of the deadline.
    @tparam WaitTraits The wait traits for the clock.
    @param executor An executor or execution context.
    @param time The time from the start to the deadline. If it is not positive, the signal follows
    the start at once.
    @param rest Optionally the type of the signal, then optionally the completion token.
    @return A completion token.
*/
template <
    class Clock = std::chrono::steady_clock,
    class WaitTraits = asio::wait_traits<Clock>,
    detail::executor_or_context Executor,
    class Rep,
    class Period,
    class... Rest>
auto cancel_after(
    Executor&& executor,
    const std::chrono::duration<Rep, Period>& time,
    Rest&&... rest
)
{
    return detail::with_deadline<Clock, WaitTraits>(
        detail::saturated_ceil<typename Clock::duration>(time),
        detail::executor_of(executor),
        false,
        std::forward<Rest>(rest)...
    );
}

/** @brief Cancels an operation at a time.

    @tparam WaitTraits The wait traits for the clock; by default Asio's.
    @param time The deadline. If it has passed, the signal follows the start at once.
    @param rest Optionally the type of the signal, then optionally the completion token.
    @return A completion token.
*/
template <class WaitTraits = void, class Clock, class Duration, class... Rest>
auto cancel_at(const std::chrono::time_point<Clock, Duration>& time, Rest&&... rest)
{
    return detail::with_deadline<Clock, detail::wait_traits_or<WaitTraits, Clock>>(
        detail::saturated_ceil(time),
        detail::operation_executor(),
        false,
        std::forward<Rest>(rest)...
    );
}

/** @brief Cancels an operation at a time, on the wheel of an executor.

    @tparam WaitTraits The wait traits for the clock; by default Asio's.
    @param executor An executor or execution context.
    @param time The deadline. If it has passed, the signal follows the start at once.
    @param rest Optionally the type of the signal, then optionally the completion token.
    @return A completion token.
*/
template <
    class WaitTraits = void,
    detail::executor_or_context Executor,
    class Clock,
    class Duration,
    class... Rest>
auto cancel_at(
    Executor&& executor,
    const std::chrono::time_point<Clock, Duration>& time,
    Rest&&... rest
)
{
    return detail::with_deadline<Clock, detail::wait_traits_or<WaitTraits, Clock>>(
        detail::saturated_ceil(time),
        detail::executor_of(executor),
        false,
        std::forward<Rest>(rest)...
    );
}

/** @brief Ends an operation with `error::timed_out` some time after its start.

    @tparam Clock The clock of the deadline.
    @tparam WaitTraits The wait traits for the clock.
    @param time The time from the start to the deadline. If it is not positive, the signal follows
    the start at once.
    @param rest Optionally the type of the signal, then optionally the completion token.
    @return A completion token.
*/
template <
    class Clock = std::chrono::steady_clock,
    class WaitTraits = asio::wait_traits<Clock>,
    class Rep,
    class Period,
    class... Rest>
auto timeout_after(const std::chrono::duration<Rep, Period>& time, Rest&&... rest)
{
    return detail::with_deadline<Clock, WaitTraits>(
        detail::saturated_ceil<typename Clock::duration>(time),
        detail::operation_executor(),
        true,
        std::forward<Rest>(rest)...
    );
}

/** @brief Ends an operation with `error::timed_out` some time after its start, on the wheel of an executor.

    @tparam Clock The clock of the deadline.
    @tparam WaitTraits The wait traits for the clock.
    @param executor An executor or execution context.
    @param time The time from the start to the deadline. If it is not positive, the signal follows
    the start at once.
    @param rest Optionally the type of the signal, then optionally the completion token.
    @return A completion token.
*/
template <
    class Clock = std::chrono::steady_clock,
    class WaitTraits = asio::wait_traits<Clock>,
    detail::executor_or_context Executor,
    class Rep,
    class Period,
    class... Rest>
auto timeout_after(
    Executor&& executor,
    const std::chrono::duration<Rep, Period>& time,
    Rest&&... rest
)
{
    return detail::with_deadline<Clock, WaitTraits>(
        detail::saturated_ceil<typename Clock::duration>(time),
        detail::executor_of(executor),
        true,
        std::forward<Rest>(rest)...
    );
}

/** @brief Ends an operation with `error::timed_out` at a time.

    @tparam WaitTraits The wait traits for the clock; by default Asio's.
    @param time The deadline. If it has passed, the signal follows the start at once.
    @param rest Optionally the type of the signal, then optionally the completion token.
    @return A completion token.
*/
template <class WaitTraits = void, class Clock, class Duration, class... Rest>
auto timeout_at(const std::chrono::time_point<Clock, Duration>& time, Rest&&... rest)
{
    return detail::with_deadline<Clock, detail::wait_traits_or<WaitTraits, Clock>>(
        detail::saturated_ceil(time),
        detail::operation_executor(),
        true,
        std::forward<Rest>(rest)...
    );
}

/** @brief Ends an operation with `error::timed_out` at a time, on the wheel of an executor.

    @tparam WaitTraits The wait traits for the clock; by default Asio's.
    @param executor An executor or execution context.
    @param time The deadline. If it has passed, the signal follows the start at once.
    @param rest Optionally the type of the signal, then optionally the completion token.
    @return A completion token.
*/
template <
    class WaitTraits = void,
    detail::executor_or_context Executor,
    class Clock,
    class Duration,
    class... Rest>
auto timeout_at(
    Executor&& executor,
    const std::chrono::time_point<Clock, Duration>& time,
    Rest&&... rest
)
{
    return detail::with_deadline<Clock, detail::wait_traits_or<WaitTraits, Clock>>(
        detail::saturated_ceil(time),
        detail::executor_of(executor),
        true,
        std::forward<Rest>(rest)...
    );
}

/// @}

}

#endif
