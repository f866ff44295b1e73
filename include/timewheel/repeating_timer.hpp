// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#ifndef TIMEWHEEL_REPEATING_TIMER_HPP
#define TIMEWHEEL_REPEATING_TIMER_HPP

#include <timewheel/config.hpp>
#include <timewheel/default_completion_token.hpp>
#include <timewheel/detail/initiate_wait.hpp>
#include <timewheel/detail/tick_handler.hpp>
#include <timewheel/detail/timer_node.hpp>
#include <timewheel/detail/wheel_object.hpp>
#include <timewheel/repeat.hpp>
#include <timewheel/wheel_service.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/execution_context.hpp>
#include <boost/asio/wait_traits.hpp>

#include <chrono>
#include <concepts>
#include <cstddef>
#include <memory>
#include <utility>

namespace timewheel {

/** @brief A timer that ticks again and again: each wait is for the next tick.

    Replaces the loop around a one-shot timer that drifts a little with every round, or fires a
    burst when it has fallen behind.

    @snippet repeating_timer.cpp loop

    **Semantics.** With `repeat_mode::fixed_rate`, the n-th tick is due at `start + n * period`, where
    the timer is made at `start`; neither lateness nor the number of ticks moves it. A handler is
    told of the latest tick that has passed when it is called. Ticks before that one of which no
    handler was told are skipped and counted in `missed`: after a stall or a step of the clock there
    is one tick, and the next one is on the grid again. A wait that is started when a tick has passed
    unseen completes at once, though never inside `async_wait`. `repeat_mode::skip_if_running` is the
    same, because a loop that waits does not overlap itself. With `repeat_mode::fixed_delay` the
    period begins when the wait is started, and nothing is missed.

    A tick never comes before it is due, and at most one tick of the @ref basic_wheel_service later,
    plus the time that the executor needs. A period shorter than that tick is possible; what it has
    too many is missed. If the clock is set back, the next tick waits until it has got there again.

    **Several waits.** Waits that are pending together are for the same tick, and are all told of it,
    in the order of their start. So is a wait that is started when another one's tick is due, but not
    delivered yet; with a fixed delay that one begins the next delay.

    **Executors and memory.** As for @ref basic_waitable_timer. A wait allocates its operation and
    nothing else; a timer allocates its grid when it is made.

    **Lifetime.** The destructor cancels. Handlers run later, without the timer, and are told the
    right tick also when it has been moved or is gone. A timer must not outlive its execution
    context.

    **Thread safety.** Distinct objects: safe. Shared objects: unsafe; handlers may run on other
    threads meanwhile.

    **Default completion token.** `deferred`, unless the executor has one.

    @tparam Clock A clock as Asio's waitable timers take it; @ref manual_clock is one for tests.
    @tparam WaitTraits The wait traits for the clock.
    @tparam Executor The executor type of the timer.
*/
template <
    class Clock,
    class WaitTraits = asio::wait_traits<Clock>,
    class Executor = asio::any_io_executor>
class basic_repeating_timer
{
public:
    /// The type of the executor.
    using executor_type = Executor;

    /// The same timer on another executor.
    template <class OtherExecutor>
    struct rebind_executor
    {
        /// The timer type for that executor.
        using other = basic_repeating_timer<Clock, WaitTraits, OtherExecutor>;
    };

    /// The clock.
    using clock_type = Clock;

    /// The clock's duration.
    using duration = typename Clock::duration;

    /// The clock's time point.
    using time_point = typename Clock::time_point;

    /// The wait traits.
    using traits_type = WaitTraits;

    /// What a handler is told.
    using tick_info_type = basic_tick_info<Clock>;

    /** @brief Makes a timer whose first period begins now.
        @param executor The timer's executor.
        @param period The time from tick to tick.
        @param mode When the next tick is due.
        @throws std::invalid_argument `period` is not positive.
    */
    basic_repeating_timer(
        const executor_type& executor,
        const duration& period,
        repeat_mode mode = repeat_mode::fixed_rate
    );

    /** @brief Makes a timer whose first period begins now.
        @param context The context whose executor the timer gets.
        @param period The time from tick to tick.
        @param mode When the next tick is due.
        @throws std::invalid_argument `period` is not positive.
    */
    template <class ExecutionContext>
        requires std::convertible_to<ExecutionContext&, asio::execution_context&>
    basic_repeating_timer(
        ExecutionContext& context,
        const duration& period,
        repeat_mode mode = repeat_mode::fixed_rate
    )
        : basic_repeating_timer(executor_type(context.get_executor()), period, mode)
    {}

    /** @brief Moves a timer with its ticks and its waits.

        `other` stays usable: it has no waits, the same executor, period and mode, and begins anew
        when it is used.

        @param other The timer to move.
    */
    basic_repeating_timer(basic_repeating_timer&& other) = default;

    /** @brief Moves a timer with its ticks and its waits to another executor type.
        @param other The timer to move; it stays usable.
    */
    template <class OtherExecutor>
        requires std::convertible_to<OtherExecutor, Executor>
    basic_repeating_timer(basic_repeating_timer<Clock, WaitTraits, OtherExecutor>&& other)
        : period_(other.period_)
        , mode_(other.mode_)
        , object_(std::move(other.object_))
        , grid_(std::move(other.grid_))
    {}

    /** @brief Cancels the waits and takes over ticks, waits, executor and context of a timer.

        To move a timer to itself changes nothing.

        @param other The timer to move; it stays usable.
        @return `*this`
    */
    basic_repeating_timer& operator=(basic_repeating_timer&& other);

    /** @brief Cancels the waits and takes over ticks, waits, executor and context of a timer.
        @param other The timer to move; it stays usable.
        @return `*this`
    */
    template <class OtherExecutor>
        requires std::convertible_to<OtherExecutor, Executor>
    basic_repeating_timer& operator=(basic_repeating_timer<Clock, WaitTraits, OtherExecutor>&& other
    )
    {
        return *this = basic_repeating_timer(std::move(other));
    }

    /// Cancels the waits.
    ~basic_repeating_timer() = default;

    /** @brief Returns the executor.
        @return The executor that handlers without one of their own run on.
    */
    const executor_type& get_executor() noexcept { return object_.get_executor(); }

    /** @brief Returns when the timer ticks.
        @return What the timer was made with.
    */
    repeat_mode mode() const noexcept { return mode_; }

    /** @brief Returns the time from tick to tick.
        @return What was set last.
    */
    duration period() const noexcept { return period_; }

    /** @brief Changes the period, from now on.

        The next tick is due in `period` from now, and the later ones at multiples of that; with a
        fixed delay, only the delay that is running begins again. Pending waits stay and wait for the
        new time. What was due already stays due, and the numbers of the ticks go on.

        @param period The time from tick to tick.
        @throws std::invalid_argument `period` is not positive; nothing has changed.
    */
    void period(const duration& period);

    /** @brief Cancels all waits, which complete with `asio::error::operation_aborted`.

        The grid stays as it is, so the next wait may be told of ticks that were missed.

        @return How many waits were cancelled: those that had not become due.
    */
    std::size_t cancel() { return object_.driver().cancel(object_.node()); }

    /** @brief Cancels all waits and begins anew: the first period begins now.

        Forgets what was missed, and numbers the ticks from 1.

        @return How many waits were cancelled. Those that had become due are told of the latest tick
        before.
    */
    std::size_t restart() { return restart(Clock::now()); }

    /** @brief Cancels all waits and begins anew with a grid that starts at a given time.

        With the last full minute as the start and a period of a minute, the timer ticks at full
        minutes. What has passed since the start is missed. A fixed delay begins with its wait all
        the same.

        @param start The time from which the ticks are counted.
        @return How many waits were cancelled.
    */
    std::size_t restart(const time_point& start);

    /** @brief Waits for the next tick asynchronously.

        Completes at the next tick, at once if one has passed unseen, or when the wait was cancelled.
        Any number of waits may be outstanding.

        @par Completion signature
        `void(error_code, basic_tick_info<Clock>)`: when the tick was due, how late the handler is, how
        many ticks were missed, and its number. All zero on error.

        @par Per-operation cancellation
        `terminal`, `partial` and `total` end this wait and no other; the grid stays. A signal after
        the tick has become due has no effect.

        @par Errors
        `asio::error::operation_aborted`: cancelled, by `cancel()`, `restart()`, the timer's
        destruction, or a cancellation signal.

        @snippet repeating_timer.cpp async_wait

        @param token The completion token.
        @return What the token makes of the signature.
    */
    template <
        asio::completion_token_for<void(error_code, tick_info_type)> TickToken =
            default_completion_token_t<Executor>>
    auto async_wait(TickToken&& token = default_completion_token_t<Executor>())
        -> decltype(asio::async_initiate<TickToken, void(error_code, tick_info_type)>(
            std::declval<detail::initiate_wait<basic_repeating_timer>>(),
            token
        ))
    {
        return asio::async_initiate<TickToken, void(error_code, tick_info_type)>(
            detail::initiate_wait<basic_repeating_timer>(*this), token
        );
    }

private:
    template <class, class, class>
    friend class basic_repeating_timer;
    friend struct detail::access;

    using grid_type = detail::shared_grid<Clock>;

    grid_type& grid();

    template <class Handler>
    void start_wait(Handler handler);

    duration period_;
    repeat_mode mode_;
    detail::wheel_object<Clock, WaitTraits, Executor, detail::timer_node> object_;
    std::shared_ptr<grid_type> grid_; // null after a move
};

/// The repeating timer of the steady clock.
using repeating_timer = basic_repeating_timer<std::chrono::steady_clock>;

}

#include <timewheel/impl/repeating_timer.hpp>

#endif
