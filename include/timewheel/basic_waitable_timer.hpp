// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#ifndef TIMEWHEEL_BASIC_WAITABLE_TIMER_HPP
#define TIMEWHEEL_BASIC_WAITABLE_TIMER_HPP

#include <timewheel/config.hpp>
#include <timewheel/default_completion_token.hpp>
#include <timewheel/detail/initiate_wait.hpp>
#include <timewheel/detail/timer_node.hpp>
#include <timewheel/detail/wheel_object.hpp>
#include <timewheel/wheel_service.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/execution_context.hpp>
#include <boost/asio/wait_traits.hpp>

#include <concepts>
#include <cstddef>
#include <utility>

namespace timewheel {

/** @brief A timer to wait for, on the timing wheel of its execution context.

    Takes the place of `boost::asio::basic_waitable_timer`: the same members with the same meaning,
    on the @ref basic_wheel_service of the executor's context instead of a heap.

    @snippet basic_waitable_timer.cpp wait

    **Semantics.** A timer has an expiry and any number of waits for it. Setting an expiry cancels
    the waits. To start, cancel or re-arm takes constant time however many timers there are, and a
    timer that is re-armed again and again for a later time costs little more than storing the
    expiry. A wait never completes before the expiry, and at most one tick of the service later,
    plus the time that the executor needs. Waits of different timers complete in the order that
    @ref basic_wheel_service describes, waits of one timer in the order of their start. The expiry
    `time_point::max()` never comes; sums that exceed the clock's range end there.

    **Executors and memory.** A handler runs on its associated executor, by default the timer's, as if
    by `dispatch`, never inside the function that starts the wait. The handler's executor has
    outstanding work until then, the timer's until the handler is handed to that one. Memory comes
    from the handler's associated allocator and is returned before the handler runs. The timer's
    executor must be one to which functions can be posted: `blocking.never` can be required of it.

    **Changing an active wait.** `cancel()`, `cancel_one()`, `expires_at()` and `expires_after()` return
    how many waits they cancel. Once a wait has become due it can't be cancelled any more, and its
    handler is called with success even if it has not run yet.

    **Lifetime.** The destructor cancels; handlers run later, without the timer. A timer must not
    outlive its execution context, whose destruction destroys the handlers of pending waits
    uncalled.

    **Thread safety.** Distinct objects: safe. Shared objects: unsafe. A cancellation signal counts as
    a use of the shared handler, not of the timer.

    **Default completion token.** `deferred`, unless the executor has one.

    @tparam Clock A clock as Asio's waitable timers take it; @ref manual_clock is one for tests.
    @tparam WaitTraits The wait traits for the clock.
    @tparam Executor The executor type of the timer.
*/
template <
    class Clock,
    class WaitTraits = asio::wait_traits<Clock>,
    class Executor = asio::any_io_executor>
class basic_waitable_timer
{
public:
    /// The type of the executor.
    using executor_type = Executor;

    /// The same timer on another executor.
    template <class OtherExecutor>
    struct rebind_executor
    {
        /// The timer type for that executor.
        using other = basic_waitable_timer<Clock, WaitTraits, OtherExecutor>;
    };

    /// The clock.
    using clock_type = Clock;

    /// The clock's duration.
    using duration = typename Clock::duration;

    /// The clock's time point.
    using time_point = typename Clock::time_point;

    /// The wait traits.
    using traits_type = WaitTraits;

    /** @brief Makes a timer whose expiry is the clock's epoch.
        @param executor The timer's executor.
    */
    explicit basic_waitable_timer(const executor_type& executor) : object_(executor) {}

    /** @brief Makes a timer whose expiry is the clock's epoch.
        @param context The context whose executor the timer gets.
    */
    template <class ExecutionContext>
        requires std::convertible_to<ExecutionContext&, asio::execution_context&>
    explicit basic_waitable_timer(ExecutionContext& context)
        : basic_waitable_timer(executor_type(context.get_executor()))
    {}

    /** @brief Makes a timer with an expiry.
        @param executor The timer's executor.
        @param expiry The expiry.
    */
    basic_waitable_timer(const executor_type& executor, const time_point& expiry)
        : basic_waitable_timer(executor)
    {
        expiry_ = expiry;
    }

    /** @brief Makes a timer with an expiry.
        @param context The context whose executor the timer gets.
        @param expiry The expiry.
    */
    template <class ExecutionContext>
        requires std::convertible_to<ExecutionContext&, asio::execution_context&>
    explicit basic_waitable_timer(ExecutionContext& context, const time_point& expiry)
        : basic_waitable_timer(executor_type(context.get_executor()), expiry)
    {}

    /** @brief Makes a timer that expires some time from now.
        @param executor The timer's executor.
        @param from_now The time from now to the expiry.
    */
    basic_waitable_timer(const executor_type& executor, const duration& from_now)
        : basic_waitable_timer(executor)
    {
        set_expiry(Clock::now(), from_now);
    }

    /** @brief Makes a timer that expires some time from now.
        @param context The context whose executor the timer gets.
        @param from_now The time from now to the expiry.
    */
    template <class ExecutionContext>
        requires std::convertible_to<ExecutionContext&, asio::execution_context&>
    explicit basic_waitable_timer(ExecutionContext& context, const duration& from_now)
        : basic_waitable_timer(executor_type(context.get_executor()), from_now)
    {}

    /** @brief Moves a timer with its expiry and its waits.

        `other` stays usable: it has no waits, the clock's epoch as its expiry and the same executor.

        @param other The timer to move.
    */
    basic_waitable_timer(basic_waitable_timer&& other)
        : object_(std::move(other.object_))
        , expiry_(std::exchange(other.expiry_, time_point()))
    {}

    /** @brief Moves a timer with its expiry and its waits to another executor type.
        @param other The timer to move; it stays usable.
    */
    template <class OtherExecutor>
        requires std::convertible_to<OtherExecutor, Executor>
    basic_waitable_timer(basic_waitable_timer<Clock, WaitTraits, OtherExecutor>&& other)
        : object_(std::move(other.object_))
        , expiry_(std::exchange(other.expiry_, time_point()))
    {}

    /** @brief Cancels the waits and takes over expiry, waits, executor and context of a timer.

        To move a timer to itself changes nothing.

        @param other The timer to move; it stays usable.
        @return `*this`
    */
    basic_waitable_timer& operator=(basic_waitable_timer&& other);

    /** @brief Cancels the waits and takes over expiry, waits, executor and context of a timer.
        @param other The timer to move; it stays usable.
        @return `*this`
    */
    template <class OtherExecutor>
        requires std::convertible_to<OtherExecutor, Executor>
    basic_waitable_timer& operator=(basic_waitable_timer<Clock, WaitTraits, OtherExecutor>&& other)
    {
        return *this = basic_waitable_timer(std::move(other));
    }

    /// Cancels the waits.
    ~basic_waitable_timer() = default;

    /** @brief Returns the executor.
        @return The executor that handlers without one of their own run on.
    */
    const executor_type& get_executor() noexcept { return object_.get_executor(); }

    /** @brief Cancels all waits, which complete with `asio::error::operation_aborted`.

        The expiry stays as it is.

        @return How many waits were cancelled: those that had not become due.
    */
    std::size_t cancel() { return object_.driver().cancel(object_.node()); }

    /** @brief Cancels the oldest wait, which completes with `asio::error::operation_aborted`.

        The expiry stays as it is.

        @return How many waits were cancelled, 0 or 1.
    */
    std::size_t cancel_one() { return object_.driver().cancel_one(object_.node()); }

    /** @brief Returns the expiry, whether it has passed or not.
        @return The expiry.
    */
    time_point expiry() const { return expiry_; }

    /** @brief Sets the expiry and cancels all waits.
        @param expiry The new expiry.
        @return How many waits were cancelled.
    */
    std::size_t expires_at(const time_point& expiry);

    /** @brief Sets the expiry to some time from now and cancels all waits.
        @param from_now The time from now to the expiry. A wait for one that is not positive is due
        at once.
        @return How many waits were cancelled.
    */
    std::size_t expires_after(const duration& from_now);

    /** @brief Blocks the calling thread until the expiry.

        Neither needs a running context nor takes part in one.

        @throws boost::system::system_error The wait failed.
    */
    void wait();

    /** @brief Blocks the calling thread until the expiry.
        @param ec Set to the error, or cleared.
    */
    void wait(error_code& ec);

    /** @brief Waits for the expiry asynchronously.

        Completes when the expiry has come or the wait was cancelled, once for each call, however
        many waits are outstanding.

        @par Completion signature
        `void(error_code)`

        @par Per-operation cancellation
        `terminal`, `partial` and `total` end this wait and no other; the expiry stays. A signal
        after the wait has become due has no effect.

        @par Errors
        `asio::error::operation_aborted`: cancelled, by `cancel()`, `cancel_one()`, a new expiry, the
        timer's destruction, or a cancellation signal.

        @snippet basic_waitable_timer.cpp async_wait

        @param token The completion token.
        @return What the token makes of the signature.
    */
    template <
        asio::completion_token_for<void(error_code)> WaitToken =
            default_completion_token_t<Executor>>
    auto async_wait(WaitToken&& token = default_completion_token_t<Executor>())
        -> decltype(asio::async_initiate<WaitToken, void(error_code)>(
            std::declval<detail::initiate_wait<basic_waitable_timer>>(),
            token
        ))
    {
        return asio::async_initiate<WaitToken, void(error_code)>(
            detail::initiate_wait<basic_waitable_timer>(*this), token
        );
    }

private:
    template <class, class, class>
    friend class basic_waitable_timer;
    friend struct detail::access;

    void set_expiry(const time_point& now, const duration& from_now);
    detail::tick_type expiry_tick() const;

    template <class Handler>
    void start_wait(Handler handler)
    {
        object_.start_wait(handler, expiry_tick());
    }

    detail::wheel_object<Clock, WaitTraits, Executor, detail::timer_node> object_;
    time_point expiry_{};
};

}

#include <timewheel/impl/basic_waitable_timer.hpp>

#endif
