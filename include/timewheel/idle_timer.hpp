// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#ifndef TIMEWHEEL_IDLE_TIMER_HPP
#define TIMEWHEEL_IDLE_TIMER_HPP

#include <timewheel/config.hpp>
#include <timewheel/default_completion_token.hpp>
#include <timewheel/detail/idle_node.hpp>
#include <timewheel/detail/initiate_wait.hpp>
#include <timewheel/detail/wheel_object.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/execution_context.hpp>
#include <boost/asio/wait_traits.hpp>

#include <chrono>
#include <concepts>
#include <cstddef>
#include <utility>

namespace timewheel {

/** @brief A timer that expires when nobody has touched it for some time.

    For connections, sessions, leases and cache entries: whoever sees activity calls `touch()`, which
    costs little more than to read the clock, and one wait completes when the activity ends.

    @snippet idle_timer.cpp idle_timer

    **Semantics.** The expiry is the last touch plus the timeout; construction counts as a touch. A
    touch stores its time and nothing else: it does not cancel the wait, allocate, lock or call the
    operating system. The wait stays in the wheel where it is, and goes back if it turns out there
    that it is not over yet. It never completes before the expiry, and at most one tick of the service
    later, plus the time that the executor needs. A timeout of `duration::max()` never ends.

    **Touch or expiry.** What counts is the moment when the wheel finds the wait due: a touch that
    it sees then wins, and the wait goes on; every later one loses, and the wait completes with
    success even if its handler has not run yet. Either way the wait is not lost. A touch counts for
    sure if it happens before that moment: in the same thread, or ordered by a lock or a post.

    **Touches back in time.** The touch that is stored last is the last one, whatever time it names, so
    that a clock that is set back does no harm. To move a pending wait to an earlier time takes a
    lock. `touch()` does that only if the clock can be set (`Clock::is_steady` is false); with a
    steady clock, a thread held up between reading and storing the time sets the last touch back by
    as long as it was held up.

    **Executors and memory.** A handler runs on its associated executor, by default the timer's, as if
    by `dispatch`, never inside the function that starts the wait. Both executors have outstanding
    work until then. Memory comes from the handler's associated allocator and is returned before
    the handler runs.

    **Lifetime.** The destructor cancels; handlers run later, without the timer. A timer must not
    outlive its execution context, whose destruction destroys the handlers of pending waits
    uncalled.

    **Thread safety.** Distinct objects: safe. Shared objects: `touch()` from any thread, at the same
    time as any other member except a move or the destructor. Otherwise unsafe. A cancellation signal
    counts as a use of the shared handler, not of the timer.

    **Default completion token.** `deferred`, unless the executor has one.

    @tparam Clock A clock as Asio's waitable timers take it, whose count an atomic object can hold
    without a lock; @ref manual_clock is one for tests.
    @tparam WaitTraits The wait traits for the clock.
    @tparam Executor The executor type of the timer.
*/
template <
    class Clock,
    class WaitTraits = asio::wait_traits<Clock>,
    class Executor = asio::any_io_executor>
class basic_idle_timer
{
public:
    /// The type of the executor.
    using executor_type = Executor;

    /// The same timer on another executor.
    template <class OtherExecutor>
    struct rebind_executor
    {
        /// The timer type for that executor.
        using other = basic_idle_timer<Clock, WaitTraits, OtherExecutor>;
    };

    /// The clock.
    using clock_type = Clock;

    /// The clock's duration.
    using duration = typename Clock::duration;

    /// The clock's time point.
    using time_point = typename Clock::time_point;

    /// The wait traits.
    using traits_type = WaitTraits;

    /** @brief Makes a timer, touched now.
        @param executor The timer's executor.
        @param timeout How long nobody must touch the timer until it expires.
        @throws std::invalid_argument `timeout` is not positive.
    */
    basic_idle_timer(const executor_type& executor, const duration& timeout);

    /** @brief Makes a timer, touched now.
        @param context The context whose executor the timer gets.
        @param timeout How long nobody must touch the timer until it expires.
        @throws std::invalid_argument `timeout` is not positive.
    */
    template <class ExecutionContext>
        requires std::convertible_to<ExecutionContext&, asio::execution_context&>
    explicit basic_idle_timer(ExecutionContext& context, const duration& timeout)
        : basic_idle_timer(executor_type(context.get_executor()), timeout)
    {}

    /** @brief Moves a timer with its waits.

        `other` stays usable: it has no waits, and the same executor, timeout and last touch.

        @param other The timer to move; nobody must touch it meanwhile.
    */
    basic_idle_timer(basic_idle_timer&& other) : object_(std::move(other.object_)) {}

    /** @brief Moves a timer with its waits to another executor type.
        @param other The timer to move; it stays usable, and nobody must touch it meanwhile.
    */
    template <class OtherExecutor>
        requires std::convertible_to<OtherExecutor, Executor>
    basic_idle_timer(basic_idle_timer<Clock, WaitTraits, OtherExecutor>&& other)
        : object_(std::move(other.object_))
    {}

    /** @brief Cancels the waits and takes over timeout, last touch, waits, executor and context.

        To move a timer to itself changes nothing.

        @param other The timer to move; it stays usable, and nobody must touch either meanwhile.
        @return `*this`
    */
    basic_idle_timer& operator=(basic_idle_timer&& other);

    /** @brief Cancels the waits and takes over timeout, last touch, waits, executor and context.
        @param other The timer to move; it stays usable, and nobody must touch either meanwhile.
        @return `*this`
    */
    template <class OtherExecutor>
        requires std::convertible_to<OtherExecutor, Executor>
    basic_idle_timer& operator=(basic_idle_timer<Clock, WaitTraits, OtherExecutor>&& other)
    {
        return *this = basic_idle_timer(std::move(other));
    }

    /// Cancels the waits.
    ~basic_idle_timer() = default;

    /** @brief Returns the executor.
        @return The executor that handlers without one of their own run on.
    */
    const executor_type& get_executor() noexcept { return object_.get_executor(); }

    /** @brief Notes activity now, which moves the expiry. From any thread.

        Reads the clock and stores the time. Pending waits go on.
    */
    void touch();

    /** @brief Notes activity at a time that the caller knows already. From any thread.

        Stores the time. Pending waits go on; if the time is before an earlier touch's, they are moved
        in the wheel, under its lock, so that they end at the expiry here as well.

        @param when The time of the activity.
    */
    void touch(const time_point& when);

    /** @brief Returns when the timer expires if it is not touched again.
        @return The last touch plus the timeout, at most the end of time; in the past if it is idle.
    */
    time_point expiry() const { return object_.node().expiry(); }

    /** @brief Returns how long nobody must touch the timer until it expires.
        @return The timeout.
    */
    duration timeout() const { return object_.node().span(); }

    /** @brief Sets the timeout, also for the pending waits, which go on.

        It counts from the last touch: with a shorter one the timer may be idle at once.

        @param timeout How long nobody must touch the timer until it expires.
        @throws std::invalid_argument `timeout` is not positive. Nothing has changed.
    */
    void timeout(const duration& timeout);

    /** @brief Cancels all waits, which complete with `asio::error::operation_aborted`.

        Timeout and last touch stay as they are.

        @return How many waits were cancelled: those that had not become due.
    */
    std::size_t cancel() { return object_.driver().cancel(object_.node()); }

    /** @brief Cancels the oldest wait, which completes with `asio::error::operation_aborted`.

        Timeout and last touch stay as they are.

        @return How many waits were cancelled, 0 or 1.
    */
    std::size_t cancel_one() { return object_.driver().cancel_one(object_.node()); }

    /** @brief Waits asynchronously until nobody has touched the timer for the timeout.

        Completes when the expiry has come, at once if it has come before, or when the wait was
        cancelled. Any number of waits may be outstanding; they end together.

        @par Completion signature
        `void(error_code)`

        @par Per-operation cancellation
        `terminal`, `partial` and `total` end this wait and no other; timeout and last touch stay. A
        signal after the wait has become due has no effect.

        @par Errors
        `asio::error::operation_aborted`: cancelled, by `cancel()`, `cancel_one()`, the timer's
        destruction, or a cancellation signal.

        @snippet idle_timer.cpp async_wait

        @param token The completion token.
        @return What the token makes of the signature.
    */
    template <
        asio::completion_token_for<void(error_code)> WaitToken =
            default_completion_token_t<Executor>>
    auto async_wait(WaitToken&& token = default_completion_token_t<Executor>())
        -> decltype(asio::async_initiate<WaitToken, void(error_code)>(
            std::declval<detail::initiate_wait<basic_idle_timer>>(),
            token
        ))
    {
        return asio::async_initiate<WaitToken, void(error_code)>(
            detail::initiate_wait<basic_idle_timer>(*this), token
        );
    }

private:
    template <class, class, class>
    friend class basic_idle_timer;
    friend struct detail::access;

    // Nothing of *this is used once the wait is filed: its handler may be running, and destroy it.
    template <class Handler>
    void start_wait(Handler handler)
    {
        object_.start_wait(handler, filing_tick());
    }

    // Where the timer is to be in the wheel.
    detail::tick_type filing_tick() const
    {
        return object_.node().filing_tick(object_.driver().math());
    }

    detail::wheel_object<Clock, WaitTraits, Executor, detail::idle_node<Clock>> object_;
};

/// An idle timer by the steady clock.
using idle_timer = basic_idle_timer<std::chrono::steady_clock>;

}

#include <timewheel/impl/idle_timer.hpp>

#endif
