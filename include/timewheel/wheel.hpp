// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#ifndef TIMEWHEEL_WHEEL_HPP
#define TIMEWHEEL_WHEEL_HPP

#include <timewheel/config.hpp>
#include <timewheel/default_completion_token.hpp>
#include <timewheel/detail/executor_of.hpp>
#include <timewheel/detail/or_throw.hpp>
#include <timewheel/detail/typed_job_timer.hpp>
#include <timewheel/error.hpp>
#include <timewheel/job.hpp>
#include <timewheel/repeat.hpp>
#include <timewheel/stats.hpp>
#include <timewheel/wheel_options.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/wait_traits.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

namespace timewheel {

/** @brief Runs jobs on a worker pool, once or repeatedly, at their time.

    @snippet wheel.cpp wheel

    **Semantics.** Timers wait in the timing wheel of the first executor's context, which they share
    with every other timer of this library. When one is due, its job is posted to the second executor,
    the workers'; these may be the same. To add or to remove a timer takes constant time. A job never
    begins before its time, and is handed over at most one tick later, plus the time that the context
    needs; then it waits for a worker. Times are rounded up to the wheel's own tick: a coarse one lets
    jobs come due together.

    **Jobs.** What can be called with no argument, with the timer's data as `T&`, with a
    `basic_job_context<Clock>&`, or with both in the order context, data. The result is `void`, an
    `error_code`, or an `asio::awaitable` of one of these: then the job runs until the coroutine ends,
    on a strand of the workers' executor. The data lives in the timer, so that jobs that overlap share
    it. What a job throws is reported to the observer and `on_error`, or by `async_run_after`; without
    any of them it leaves the worker's `run()`, as from any of Asio's handlers, and the wheel goes on.
    What a job throws after it was told to stop is how it stops: the event has it, and nothing else.

    **Repeating jobs.** `fixed_rate` and `skip_if_running` stay on the grid `first + n * period`: with the
    former, runs may overlap. `fixed_delay` waits for the end of a run first. A wheel that is behind by
    more than a period goes on at the next point of the grid in the future, and says how many it
    missed: there is never a burst. Jobs see the time they were due, their lateness and a sequence
    number.

    **States.** A wheel is new, running after `start()`, and closed after `stop()`, for good. `add` and
    `remove` need a running one. To stop ends all timers and tells the running jobs, which goes for
    their coroutines as well.

    **Removal.** When `remove` has returned, no run begins that has not begun, not even one that the
    workers have in their queue. A job that runs goes on, unless @ref cancel_running is passed.

    **Executors and memory.** A timer is one block of memory with its data and job in it. Handlers of the
    asynchronous functions run on their associated executor, by default the wheel's first, never inside
    the function that starts the operation or makes it complete. The first executor has outstanding work
    while a timer waits or a run is queued or running: `run()` of its context returns when all is done.

    **Lifetime.** The destructor stops the wheel, but does not wait, and the observer is not told of what
    that cancels; asynchronous functions end with `operation_aborted`. Jobs that run go on to their end.
    When the context of its first executor is destroyed, a wheel is closed, operations are destroyed with
    the context, and running jobs are told to stop; asynchronous functions must not be called any more.
    The workers' context may be destroyed before or after it, if nothing comes due between, and unless
    the workers are a strand; jobs in its queue are then dropped and counted as cancelled.

    **Thread safety.** All members but moves and the destructor may be called from any thread at any time,
    from jobs and observers as well. Nothing blocks but `close()` and `wait()`.

    **Default completion token.** `deferred`, unless the executor has one.

    @tparam T The data of the timers; `void` for none.
    @tparam Clock A clock as Asio's waitable timers take it; @ref manual_clock is one for tests.
    @tparam WaitTraits The wait traits for the clock.
    @tparam Executor The type of the first executor.
*/
template <
    class T = void,
    class Clock = std::chrono::steady_clock,
    class WaitTraits = asio::wait_traits<Clock>,
    class Executor = asio::any_io_executor>
class basic_wheel
{
    static_assert(
        std::is_void_v<T> || std::is_object_v<T>,
        "timewheel: the data of a wheel is an object or void; for a reference, take "
        "std::reference_wrapper"
    );

public:
    /// The type of the executor.
    using executor_type = Executor;

    /// The same wheel on another executor.
    template <class OtherExecutor>
    struct rebind_executor
    {
        /// The wheel type for that executor.
        using other = basic_wheel<T, Clock, WaitTraits, OtherExecutor>;
    };

    /// The clock.
    using clock_type = Clock;

    /// The clock's duration.
    using duration = typename Clock::duration;

    /// The clock's time point.
    using time_point = typename Clock::time_point;

    /// The wait traits.
    using traits_type = WaitTraits;

    /// The options.
    using options_type = basic_wheel_options<T, Clock>;

    /// What `async_run_after` completes with.
    using event_type = basic_job_event<T, Clock>;

    /// How a job repeats.
    using repeat_options_type = basic_repeat_options<Clock>;

    /// The data of a timer as it is passed; an empty type if there is none.
    using data_type = detail::data_of<T>;

    /// A timer that waits.
    using timer_info_type = basic_timer_info<Clock>;

    /** @brief When a job is due: at a time point, or after a duration from now.

        What has passed, or is negative, is due at once. A sum that the clock can't hold is the last
        time that it can, which never comes.
    */
    class when
    {
    public:
        /** @brief A time from now.
            @param delay The time to wait, rounded up to the clock's units.
        */
        template <class Rep, class Period>
        when(const std::chrono::duration<Rep, Period>& delay)
            : time_(detail::saturated_add<Clock>(
                  Clock::now(),
                  detail::saturated_ceil<typename Clock::duration>(delay)
              ))
        {}

        /** @brief A point in time.
            @param time The time, rounded up to the clock's units.
        */
        template <class Duration>
        when(const std::chrono::time_point<Clock, Duration>& time)
            : time_(detail::saturated_ceil(time))
        {}

        /** @brief Returns the time.
            @return The time at which the job is due.
        */
        [[nodiscard]] time_point time() const noexcept { return time_; }

    private:
        time_point time_;
    };

    /** @brief Makes a wheel; it is new until it is started.

        @param io An executor or a context: where the timers wait.
        @param workers An executor or a context: where the jobs run.
        @param options The options.
        @throws std::invalid_argument An option is out of range.
    */
    template <detail::executor_or_context Io, detail::executor_or_context Workers>
    basic_wheel(Io&& io, Workers&& workers, options_type options = {});

    /** @brief Makes a wheel with a job for the timers that have none of their own.

        @param io An executor or a context: where the timers wait.
        @param workers An executor or a context: where the jobs run.
        @param options The options.
        @param default_job The job.
        @throws std::invalid_argument An option is out of range, or the job is empty.
    */
    template <
        detail::executor_or_context Io,
        detail::executor_or_context Workers,
        detail::job_for<T, Clock> Job>
    basic_wheel(Io&& io, Workers&& workers, options_type options, Job default_job);

    /** @brief Moves a wheel; `other` can only be destroyed or assigned to.
        @param other The wheel to move.
    */
    basic_wheel(basic_wheel&& other) = default;

    /** @brief Destroys this wheel and takes over another one.
        @param other The wheel to move; it can only be destroyed or assigned to.
        @return `*this`
    */
    basic_wheel& operator=(basic_wheel&& other) noexcept
    {
        if (this != &other) {
            detach();
            core_ = std::move(other.core_);
        }
        return *this;
    }

    /// Stops the wheel without waiting; see the class.
    ~basic_wheel() { detach(); }

    /** @brief Returns the first executor.
        @return The executor of the context in which the timers wait.
    */
    [[nodiscard]] executor_type get_executor() const noexcept { return executor_; }

    /** @brief Starts the wheel.
        @throws boost::system::system_error As the other form reports.
    */
    void start()
    {
        detail::or_throw("wheel::start", [&](error_code& ec) { start(ec); });
    }

    /** @brief Starts the wheel.
        @param ec Set to `error::already_running` or `error::closed`, or to no error.
    */
    void start(error_code& ec) { core_->start(ec); }

    /** @brief Starts the wheel, to be stopped by a signal.
        @param slot A slot: whatever is emitted on it stops the wheel, as `stop()` does, on the thread
        that emits.
        @throws boost::system::system_error As the other form reports.
    */
    void start(asio::cancellation_slot slot)
    {
        detail::or_throw("wheel::start", [&](error_code& ec) { start(slot, ec); });
    }

    /** @brief Starts the wheel, to be stopped by a signal.
        @param slot A slot: whatever is emitted on it stops the wheel, as `stop()` does, on the thread
        that emits. It is not used if there is an error.
        @param ec Set to `error::already_running` or `error::closed`, or to no error.
    */
    void start(asio::cancellation_slot slot, error_code& ec);

    /** @brief Stops the wheel for good: see the class.

        Does nothing if it is stopped already.

        @throws boost::system::system_error As the other form reports.
        @throws ... What an observer throws, when all is done.
    */
    void stop()
    {
        detail::or_throw("wheel::stop", [&](error_code& ec) { stop(ec); });
    }

    /** @brief Stops the wheel for good: see the class.
        @param ec Set to `error::not_started`, or to no error.
    */
    void stop(error_code& ec) { core_->stop(ec); }

    /** @brief Stops the wheel and blocks until no job, observer or handler of errors is running.
        @throws boost::system::system_error As the other form reports.
    */
    void close()
    {
        detail::or_throw("wheel::close", [&](error_code& ec) { close(ec); });
    }

    /** @brief Stops the wheel and blocks until no job, observer or handler of errors is running.

        The workers have to go on meanwhile.

        @param ec Set to `error::would_deadlock` when called by a job or an observer of this wheel,
        which changes nothing; to `error::not_started`; or to no error.
    */
    void close(error_code& ec) { core_->stop_and_wait(ec); }

    /** @brief Blocks until somebody has stopped the wheel and no job is running.
        @throws boost::system::system_error As the other form reports.
    */
    void wait()
    {
        detail::or_throw("wheel::wait", [&](error_code& ec) { wait(ec); });
    }

    /** @brief Blocks until somebody has stopped the wheel and no job is running.
        @param ec Set to `error::would_deadlock`, `error::not_started`, or to no error.
    */
    void wait(error_code& ec) { core_->wait(ec); }

    /** @brief Stops the wheel and waits asynchronously until no job or observer is running.

        @par Completion signature
        `void(error_code)`

        @par Per-operation cancellation
        `terminal`, `partial` and `total` end the operation; the wheel is stopped all the same.

        @par Errors
        `error::not_started`: the wheel was not started. `operation_aborted`: cancelled, or the wheel
        was destroyed.

        @param token The completion token.
        @return As the token determines.
    */
    template <
        asio::completion_token_for<void(error_code)> CompletionToken =
            default_completion_token_t<Executor>>
    auto async_close(CompletionToken&& token = default_completion_token_t<Executor>());

    /** @brief Adds a timer for the default job; if there is none, it ends with `error::no_job`.
        @param due When the job is due.
        @param data The data of the timer.
        @return Its id.
        @throws boost::system::system_error As the form with an error code reports.
    */
    timer_id add(const when& due, data_type data)
        requires(!std::is_void_v<T>)
    {
        return detail::or_throw("wheel::add", [&](error_code& ec) {
            return add(due, std::move(data), ec);
        });
    }

    /** @brief Adds a timer for the default job; if there is none, it ends with `error::no_job`.
        @param due When the job is due.
        @param data The data of the timer.
        @param ec Set to `error::not_started`, `error::closed`, `error::too_many_timers`, or to
        no error.
        @return Its id, or `timer_id::none` if there is an error.
    */
    timer_id add(const when& due, data_type data, error_code& ec)
        requires(!std::is_void_v<T>)
    {
        return insert(schedule(due, ec), std::move(data), ec);
    }

    /** @brief Adds a timer with a job of its own.
        @param due When the job is due.
        @param data The data of the timer.
        @param job The job.
        @return Its id.
        @throws boost::system::system_error As the form with an error code reports.
    */
    template <detail::data_job_for<T, Clock> Job>
    timer_id add(const when& due, data_type data, Job job)
    {
        return detail::or_throw("wheel::add", [&](error_code& ec) {
            return add(due, std::move(data), std::move(job), ec);
        });
    }

    /** @brief Adds a timer with a job of its own.
        @param due When the job is due.
        @param data The data of the timer.
        @param job The job.
        @param ec Set to `error::not_started`, `error::closed`, `error::too_many_timers`,
        `error::empty_job`, or to no error.
        @return Its id, or `timer_id::none` if there is an error.
    */
    template <detail::data_job_for<T, Clock> Job>
    timer_id add(const when& due, data_type data, Job job, error_code& ec)
    {
        return insert(schedule(due, ec), std::move(data), ec, std::move(job));
    }

    /** @brief Adds a repeating timer for the default job.
        @param period The time between two runs; positive.
        @param data The data of the timer.
        @param options How it repeats.
        @return Its id.
        @throws boost::system::system_error As the form with an error code reports.
    */
    timer_id
    add_repeating(const duration& period, data_type data, const repeat_options_type& options = {})
        requires(!std::is_void_v<T>)
    {
        return detail::or_throw("wheel::add_repeating", [&](error_code& ec) {
            return add_repeating(period, std::move(data), options, ec);
        });
    }

    /** @brief Adds a repeating timer for the default job.
        @param period The time between two runs; positive.
        @param data The data of the timer.
        @param options How it repeats.
        @param ec Set to `error::not_started`, `error::closed`, `error::too_many_timers`,
        `error::invalid_period`, `error::invalid_count`, or to no error.
        @return Its id, or `timer_id::none` if there is an error.
    */
    timer_id add_repeating(
        const duration& period,
        data_type data,
        const repeat_options_type& options,
        error_code& ec
    )
        requires(!std::is_void_v<T>)
    {
        return insert(schedule(period, options, ec), std::move(data), ec);
    }

    /** @brief Adds a repeating timer with a job of its own.
        @param period The time between two runs; positive.
        @param data The data of the timer.
        @param job The job.
        @param options How it repeats.
        @return Its id.
        @throws boost::system::system_error As the form with an error code reports.
    */
    template <detail::data_job_for<T, Clock> Job>
    timer_id add_repeating(
        const duration& period,
        data_type data,
        Job job,
        const repeat_options_type& options = {}
    )
    {
        return detail::or_throw("wheel::add_repeating", [&](error_code& ec) {
            return add_repeating(period, std::move(data), std::move(job), options, ec);
        });
    }

    /** @brief Adds a repeating timer with a job of its own.
        @param period The time between two runs; positive.
        @param data The data of the timer.
        @param job The job.
        @param options How it repeats.
        @param ec Set to `error::not_started`, `error::closed`, `error::too_many_timers`,
        `error::empty_job`, `error::invalid_period`, `error::invalid_count`, or to no error.
        @return Its id, or `timer_id::none` if there is an error.
    */
    template <detail::data_job_for<T, Clock> Job>
    timer_id add_repeating(
        const duration& period,
        data_type data,
        Job job,
        const repeat_options_type& options,
        error_code& ec
    )
    {
        return insert(schedule(period, options, ec), std::move(data), ec, std::move(job));
    }

    /** @brief Adds a timer for the default job; if there is none, it ends with `error::no_job`.
        @param due When the job is due.
        @return Its id.
        @throws boost::system::system_error As the form with an error code reports.
    */
    timer_id add(const when& due)
        requires(std::is_void_v<T>)
    {
        return detail::or_throw("wheel::add", [&](error_code& ec) { return add(due, ec); });
    }

    /** @brief Adds a timer for the default job; if there is none, it ends with `error::no_job`.
        @param due When the job is due.
        @param ec Set to `error::not_started`, `error::closed`, `error::too_many_timers`, or to
        no error.
        @return Its id, or `timer_id::none` if there is an error.
    */
    timer_id add(const when& due, error_code& ec)
        requires(std::is_void_v<T>)
    {
        return insert(schedule(due, ec), {}, ec);
    }

    /** @brief Adds a timer with a job of its own.
        @param due When the job is due.
        @param job The job.
        @return Its id.
        @throws boost::system::system_error As the form with an error code reports.
    */
    template <detail::bare_job_for<T, Clock> Job>
    timer_id add(const when& due, Job job)
    {
        return detail::or_throw("wheel::add", [&](error_code& ec) {
            return add(due, std::move(job), ec);
        });
    }

    /** @brief Adds a timer with a job of its own.
        @param due When the job is due.
        @param job The job.
        @param ec Set to `error::not_started`, `error::closed`, `error::too_many_timers`,
        `error::empty_job`, or to no error.
        @return Its id, or `timer_id::none` if there is an error.
    */
    template <detail::bare_job_for<T, Clock> Job>
    timer_id add(const when& due, Job job, error_code& ec)
    {
        return insert(schedule(due, ec), {}, ec, std::move(job));
    }

    /** @brief Adds a repeating timer for the default job.
        @param period The time between two runs; positive.
        @param options How it repeats.
        @return Its id.
        @throws boost::system::system_error As the form with an error code reports.
    */
    timer_id add_repeating(const duration& period, const repeat_options_type& options = {})
        requires(std::is_void_v<T>)
    {
        return detail::or_throw("wheel::add_repeating", [&](error_code& ec) {
            return add_repeating(period, options, ec);
        });
    }

    /** @brief Adds a repeating timer for the default job.
        @param period The time between two runs; positive.
        @param options How it repeats.
        @param ec Set to `error::not_started`, `error::closed`, `error::too_many_timers`,
        `error::invalid_period`, `error::invalid_count`, or to no error.
        @return Its id, or `timer_id::none` if there is an error.
    */
    timer_id
    add_repeating(const duration& period, const repeat_options_type& options, error_code& ec)
        requires(std::is_void_v<T>)
    {
        return insert(schedule(period, options, ec), {}, ec);
    }

    /** @brief Adds a repeating timer with a job of its own.
        @param period The time between two runs; positive.
        @param job The job.
        @param options How it repeats.
        @return Its id.
        @throws boost::system::system_error As the form with an error code reports.
    */
    template <detail::bare_job_for<T, Clock> Job>
    timer_id add_repeating(const duration& period, Job job, const repeat_options_type& options = {})
    {
        return detail::or_throw("wheel::add_repeating", [&](error_code& ec) {
            return add_repeating(period, std::move(job), options, ec);
        });
    }

    /** @brief Adds a repeating timer with a job of its own.
        @param period The time between two runs; positive.
        @param job The job.
        @param options How it repeats.
        @param ec Set to `error::not_started`, `error::closed`, `error::too_many_timers`,
        `error::empty_job`, `error::invalid_period`, `error::invalid_count`, or to no error.
        @return Its id, or `timer_id::none` if there is an error.
    */
    template <detail::bare_job_for<T, Clock> Job>
    timer_id add_repeating(
        const duration& period,
        Job job,
        const repeat_options_type& options,
        error_code& ec
    )
    {
        return insert(schedule(period, options, ec), {}, ec, std::move(job));
    }

    /** @brief Removes a timer: no run begins any more that has not begun.
        @param id The timer.
        @return What was found.
        @throws boost::system::system_error As the form with an error code reports.
    */
    remove_result remove(timer_id id)
    {
        return detail::or_throw("wheel::remove", [&](error_code& ec) { return remove(id, ec); });
    }

    /** @brief Removes a timer: no run begins any more that has not begun.
        @param id The timer.
        @param ec Set to `error::not_started`, `error::closed`, or to no error. An unknown timer is
        none.
        @return What was found.
    */
    remove_result remove(timer_id id, error_code& ec) { return core_->remove(id, false, ec); }

    /** @brief Removes a timer and tells its running jobs to stop.
        @param id The timer.
        @return What was found.
        @throws boost::system::system_error As the form with an error code reports.
    */
    remove_result remove(timer_id id, cancel_running_t)
    {
        return detail::or_throw("wheel::remove", [&](error_code& ec) {
            return remove(id, cancel_running, ec);
        });
    }

    /** @brief Removes a timer and tells its running jobs to stop.
        @param id The timer.
        @param ec Set to `error::not_started`, `error::closed`, or to no error.
        @return What was found.
    */
    remove_result remove(timer_id id, cancel_running_t, error_code& ec)
    {
        return core_->remove(id, true, ec);
    }

    /** @brief Removes a timer and waits asynchronously until none of its jobs is running.

        The timer is removed when the operation starts, as by `remove`. Called by the job itself, it
        completes after that.

        @par Completion signature
        `void(error_code, remove_result)`: what was found at the start; `unknown` on error.

        @par Per-operation cancellation
        `terminal`, `partial` and `total` end the operation; the timer is removed all the same.

        @par Errors
        `error::not_started`, `error::closed`: the state of the wheel. `operation_aborted`: cancelled,
        or the wheel was destroyed; the result is what was found.

        @param id The timer.
        @param token The completion token.
        @return As the token determines.
    */
    template <
        asio::completion_token_for<void(error_code, remove_result)> CompletionToken =
            default_completion_token_t<Executor>>
    auto async_remove(timer_id id, CompletionToken&& token = default_completion_token_t<Executor>())
    {
        return remove_and_wait(id, false, token);
    }

    /** @brief Removes a timer, tells its running jobs to stop, and waits until none is running.

        @par Completion signature
        `void(error_code, remove_result)`: what was found at the start; `unknown` on error.

        @par Per-operation cancellation
        `terminal`, `partial` and `total` end the operation; the timer is removed all the same.

        @par Errors
        `error::not_started`, `error::closed`: the state of the wheel. `operation_aborted`: cancelled,
        or the wheel was destroyed; the result is what was found.

        @param id The timer.
        @param token The completion token.
        @return As the token determines.
    */
    template <
        asio::completion_token_for<void(error_code, remove_result)> CompletionToken =
            default_completion_token_t<Executor>>
    auto async_remove(
        timer_id id,
        cancel_running_t,
        CompletionToken&& token = default_completion_token_t<Executor>()
    )
    {
        return remove_and_wait(id, true, token);
    }

    /** @brief Runs a job after a delay, as an asynchronous operation.

        @par Completion signature
        `void(error_code, event_type)`: the event's error, and the event, with the timer's data.

        @par Per-operation cancellation
        `terminal`, `partial` and `total` remove the timer and tell the job to stop if it is running.
        The operation completes when it has.

        @par Errors
        `error::not_started`, `error::closed`, `error::too_many_timers`, `error::empty_job`: nothing
        was added. `operation_aborted`: cancelled, the wheel was stopped or destroyed, or somebody
        removed the timer. Else what the job returned, `error::timed_out`, `error::job_threw`,
        `error::queue_full`.

        The data must be default-constructible: that is what is passed if the wheel is destroyed while
        the job is using the timer's.

        @param delay The time from the start of the operation.
        @param data The data of the timer.
        @param job The job.
        @param token The completion token.
        @return As the token determines.
    */
    template <
        detail::data_job_for<T, Clock> Job,
        asio::completion_token_for<void(error_code, basic_job_event<T, Clock>)> CompletionToken =
            default_completion_token_t<Executor>>
    auto async_run_after(
        const duration& delay,
        data_type data,
        Job job,
        CompletionToken&& token = default_completion_token_t<Executor>()
    )
    {
        return run_after(delay, std::move(data), std::move(job), token);
    }

    /** @brief Runs a job repeatedly; the whole life of the timer is one asynchronous operation.

        @par Completion signature
        `void(error_code, std::uint64_t)`: how many runs have begun, also on error.

        @par Per-operation cancellation
        `terminal`, `partial` and `total` remove the timer, and tell running jobs to stop. The operation
        completes when they have.

        @par Errors
        None: `count` or `until` was reached. `error::not_started`, `error::closed`,
        `error::too_many_timers`, `error::empty_job`, `error::invalid_period`, `error::invalid_count`:
        nothing was added. `operation_aborted`: cancelled, the wheel was stopped or destroyed, or
        somebody removed the timer.

        @param period The time between two runs; positive.
        @param data The data of the timer.
        @param job The job.
        @param options How it repeats.
        @param token The completion token.
        @return As the token determines.
    */
    template <
        detail::data_job_for<T, Clock> Job,
        asio::completion_token_for<void(error_code, std::uint64_t)> CompletionToken =
            default_completion_token_t<Executor>>
    auto async_repeat(
        const duration& period,
        data_type data,
        Job job,
        const repeat_options_type& options,
        CompletionToken&& token = default_completion_token_t<Executor>()
    )
    {
        return repeat(period, std::move(data), std::move(job), options, token);
    }

    /** @brief Runs a job after a delay, as an asynchronous operation.

        @par Completion signature
        `void(error_code, event_type)`: the event's error, and the event, with the timer's data.

        @par Per-operation cancellation
        `terminal`, `partial` and `total` remove the timer and tell the job to stop if it is running.
        The operation completes when it has.

        @par Errors
        `error::not_started`, `error::closed`, `error::too_many_timers`, `error::empty_job`: nothing
        was added. `operation_aborted`: cancelled, the wheel was stopped or destroyed, or somebody
        removed the timer. Else what the job returned, `error::timed_out`, `error::job_threw`,
        `error::queue_full`.

        The data must be default-constructible: that is what is passed if the wheel is destroyed while
        the job is using the timer's.

        @param delay The time from the start of the operation.
        @param job The job.
        @param token The completion token.
        @return As the token determines.
    */
    template <
        detail::bare_job_for<T, Clock> Job,
        asio::completion_token_for<void(error_code, basic_job_event<T, Clock>)> CompletionToken =
            default_completion_token_t<Executor>>
    auto async_run_after(
        const duration& delay,
        Job job,
        CompletionToken&& token = default_completion_token_t<Executor>()
    )
    {
        return run_after(delay, data_type(), std::move(job), token);
    }

    /** @brief Runs a job repeatedly; the whole life of the timer is one asynchronous operation.

        @par Completion signature
        `void(error_code, std::uint64_t)`: how many runs have begun, also on error.

        @par Per-operation cancellation
        `terminal`, `partial` and `total` remove the timer, and tell running jobs to stop. The operation
        completes when they have.

        @par Errors
        None: `count` or `until` was reached. `error::not_started`, `error::closed`,
        `error::too_many_timers`, `error::empty_job`, `error::invalid_period`, `error::invalid_count`:
        nothing was added. `operation_aborted`: cancelled, the wheel was stopped or destroyed, or
        somebody removed the timer.

        @param period The time between two runs; positive.
        @param job The job.
        @param options How it repeats.
        @param token The completion token.
        @return As the token determines.
    */
    template <
        detail::bare_job_for<T, Clock> Job,
        asio::completion_token_for<void(error_code, std::uint64_t)> CompletionToken =
            default_completion_token_t<Executor>>
    auto async_repeat(
        const duration& period,
        Job job,
        const repeat_options_type& options,
        CompletionToken&& token = default_completion_token_t<Executor>()
    )
    {
        return repeat(period, data_type(), std::move(job), options, token);
    }

    /** @brief Returns when a timer's next run is due.
        @param id The timer.
        @return The time, in the past if the job waits for room; nothing if the timer is unknown or
        does not wait, as one with a fixed delay while its job runs.
    */
    [[nodiscard]] std::optional<time_point> next_fire_time(timer_id id) const
    {
        return core_->next_fire_time(id);
    }

    /** @brief Returns the timers that wait; takes time in proportion to n log n.
        @return The timers, sorted by their next run, and then by the order in which they were added.
    */
    [[nodiscard]] std::vector<timer_info_type> pending_timers() const
    {
        return core_->pending_timers();
    }

    /** @brief Returns what the wheel has done.
        @return Counters that belong to one moment.
    */
    [[nodiscard]] wheel_stats stats() const { return core_->stats(); }

private:
    using core_type = detail::typed_job_core<T, Clock, WaitTraits>;
    using schedule_type = detail::job_schedule<Clock>;

    static schedule_type schedule(const when& due, error_code& ec)
    {
        ec = {};
        return schedule_type(due.time());
    }

    static schedule_type
    schedule(const duration& period, const repeat_options_type& options, error_code& ec);

    template <class... Job>
    timer_id insert(const schedule_type& schedule, data_type data, error_code& ec, Job... job);

    template <class Timer, class Handler, class Job>
    static void run_as_operation(
        const std::shared_ptr<core_type>& core,
        const asio::any_io_executor& io,
        const schedule_type& schedule,
        error_code ec,
        data_type data,
        Job job,
        Handler handler
    );

    template <class CompletionToken>
    auto remove_and_wait(timer_id id, bool cancel_running, CompletionToken& token);

    template <class Job, class CompletionToken>
    auto run_after(const duration& delay, data_type data, Job job, CompletionToken& token);

    template <class Job, class CompletionToken>
    auto repeat(
        const duration& period,
        data_type data,
        Job job,
        const repeat_options_type& options,
        CompletionToken& token
    );

    void detach() noexcept
    {
        if (core_)
            core_->detach();
    }

    std::shared_ptr<core_type> core_;
    executor_type executor_;
};

/// A job wheel on the steady clock.
template <class T = void>
using wheel = basic_wheel<T>;

}

#include <timewheel/impl/wheel.hpp>

#endif
