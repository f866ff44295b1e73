// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#ifndef TIMEWHEEL_JOB_HPP
#define TIMEWHEEL_JOB_HPP

#include <timewheel/config.hpp>
#include <timewheel/detail/access.hpp>

#include <boost/asio/cancellation_signal.hpp>

#include <chrono>
#include <cstdint>
#include <exception>
#include <stop_token>
#include <string_view>
#include <type_traits>
#include <utility>

namespace timewheel {

/// Names a timer of a job wheel. Never used again in the same process, by no other wheel either.
enum class timer_id : std::uint64_t
{
    /// No timer; what a function returns that failed.
    none = 0
};

/** @brief A timer that waits in a wheel.
    @tparam Clock The wheel's clock.
*/
template <class Clock>
struct basic_timer_info
{
    /// Its id.
    timer_id id = timer_id::none;

    /// When its job is due.
    typename Clock::time_point next{};

    /** @brief Compares everything.
        @return Whether all members are equal.
    */
    friend bool operator==(const basic_timer_info&, const basic_timer_info&) = default;
};

/// A timer that waits in a wheel on the steady clock.
using timer_info = basic_timer_info<std::chrono::steady_clock>;

/// What a removal has found.
enum class remove_result : std::uint8_t
{
    /// The timer was waiting or queued; its job will not begin any more.
    removed,

    /// Its job has begun and goes on; it will not begin again.
    running,

    /// There is no such timer: it is done, was removed before, or never existed.
    unknown
};

/// How a run of a job ended, or why there was none.
enum class job_outcome : std::uint8_t
{
    /// The job returned, without an error.
    completed,

    /// The job returned an error, or there was no job.
    failed,

    /// The job threw.
    threw,

    /// The run took longer than the wheel's `run_timeout`, however it ended.
    timed_out,

    /// The wheel was stopped before the run began, or the run ended with an error or an exception
    /// after it was asked to stop.
    cancelled,

    /// There was no room in the queue of the workers, so the job did not run.
    dropped,

    /// The previous run went on, so the job did not run.
    skipped
};

/** @brief Names an outcome.
    @param outcome The outcome.
    @return Its enumerator's name, such as "timed_out".
*/
[[nodiscard]] constexpr std::string_view to_string(job_outcome outcome) noexcept
{
    switch (outcome) {
    case job_outcome::completed: return "completed";
    case job_outcome::failed: return "failed";
    case job_outcome::threw: return "threw";
    case job_outcome::timed_out: return "timed_out";
    case job_outcome::cancelled: return "cancelled";
    case job_outcome::dropped: return "dropped";
    case job_outcome::skipped: return "skipped";
    }
    return "unknown";
}

/// What to do with a job that is due while the queue of the workers is full.
enum class backpressure : std::uint8_t
{
    /// It waits until there is room, in order, without anybody blocking: nothing is lost.
    block,

    /// It is dropped, which is counted and told; a repeating timer goes on.
    drop,

    /// It runs in the wheel's own context, which holds up the wheel's other work there.
    run_inline
};

/// Asks a removal to tell the running job to stop as well.
struct cancel_running_t
{
    /// Has to be asked for by name: `cancel_running`.
    explicit cancel_running_t() = default;
};

/// Passed to `remove` to tell a running job to stop.
inline constexpr cancel_running_t cancel_running{};

/** @brief What is known of one run of a job, but for its data.
    @tparam Clock The wheel's clock.
*/
template <class Clock>
struct basic_job_record
{
    /// The timer.
    timer_id id = timer_id::none;

    /// The number of the run, from 1; skipped, dropped and missed ones count.
    std::uint64_t sequence = 1;

    /// How many runs of a repeating timer passed unseen before this one, after a stall.
    std::uint64_t missed = 0;

    /// When the job was due.
    typename Clock::time_point scheduled_for{};

    /// When it began; equal to `finished_at` if it did not.
    typename Clock::time_point started_at{};

    /// When it ended, or when it was decided that it would not begin.
    typename Clock::time_point finished_at{};

    /// How long after `scheduled_for` it began, or was decided not to; never negative.
    typename Clock::duration lateness{};

    /// How long it ran; never negative.
    typename Clock::duration duration{};

    /// How the run ended.
    job_outcome outcome = job_outcome::completed;

    /** What went wrong: the error that the job returned, `error::timed_out`, `error::no_job`,
        `error::queue_full`, `error::job_threw`, or `operation_aborted` if it was cancelled.
    */
    error_code error;

    /// What the job threw.
    std::exception_ptr exception;
};

/** @brief What is known of one run of a job.

    An observer is told of each run by a `basic_job_event<const T&, Clock>`, which refers to the
    timer's own data while the observer runs; it converts to a `basic_job_event<T, Clock>`, which
    has a copy.

    @tparam T The data of the wheel's timers; `void` for none.
    @tparam Clock The wheel's clock.
*/
template <class T, class Clock = std::chrono::steady_clock>
struct basic_job_event : basic_job_record<Clock>
{
    /// The timer's data.
    T data;

    /** @brief Makes an event of a record and its data.
        @param record What is known of the run.
        @param from The data.
    */
    template <class Data>
        requires std::is_constructible_v<T, Data&&>
    basic_job_event(basic_job_record<Clock> record, Data&& from)
        : basic_job_record<Clock>(std::move(record))
        , data(std::forward<Data>(from))
    {}

    /** @brief Copies an event that refers to its data.
        @param other The event.
    */
    template <class Other>
        requires(std::is_reference_v<Other> && std::is_constructible_v<T, Other>)
    basic_job_event(const basic_job_event<Other, Clock>& other)
        : basic_job_record<Clock>(other)
        , data(other.data)
    {}
};

/** @brief What is known of one run of a job without data.
    @tparam Clock The wheel's clock.
*/
template <class Clock>
struct basic_job_event<void, Clock> : basic_job_record<Clock>
{};

/// An event of a wheel on the steady clock.
template <class T = void>
using job_event = basic_job_event<T>;

namespace detail {

template <class Clock>
class job_run;

}

/** @brief What a running job can learn and do; lives as long as the run.

    **Thread safety.** For the job and whatever it is composed of; no two members at the same time.

    @tparam Clock The wheel's clock.
*/
template <class Clock>
class basic_job_context
{
public:
    /// The clock's time point.
    using time_point = typename Clock::time_point;

    basic_job_context(const basic_job_context&) = delete;
    basic_job_context& operator=(const basic_job_context&) = delete;

    /** @brief Returns the timer.
        @return Its id.
    */
    [[nodiscard]] timer_id id() const noexcept;

    /** @brief Returns when the job was due.
        @return The time by the wheel's clock.
    */
    [[nodiscard]] time_point scheduled_for() const noexcept;

    /** @brief Returns the number of the run.
        @return From 1; skipped, dropped and missed runs count.
    */
    [[nodiscard]] std::uint64_t sequence() const noexcept;

    /** @brief Returns how many runs passed unseen before this one, after a stall.
        @return The number of grid points between the previous run and this one.
    */
    [[nodiscard]] std::uint64_t missed() const noexcept;

    /** @brief Returns how late the job began.
        @return The time from `scheduled_for()` to its begin; never negative.
    */
    [[nodiscard]] typename Clock::duration lateness() const noexcept;

    /** @brief Returns what tells the job to stop.

        Stop is requested when the wheel stops, when the timer is removed with @ref cancel_running,
        and when the run takes longer than `run_timeout`. To use it costs one allocation a run.

        @return A token; a stop may have been requested already.
    */
    [[nodiscard]] std::stop_token stop_token();

    /** @brief Returns whether the job is to stop, without an allocation.
        @return Whether `stop_token().stop_requested()` holds.
    */
    [[nodiscard]] bool stop_requested() const noexcept;

    /** @brief Returns the slot that a coroutine job is cancelled through.

        What the coroutine awaits is connected to it anyway. A `terminal` signal is emitted on the
        coroutine's strand whenever a stop is requested.

        @return The coroutine's slot; one that is not connected for a plain function, which cannot
        install a handler while another thread emits: it has `stop_token()`.
    */
    [[nodiscard]] asio::cancellation_slot cancellation_slot() const noexcept;

private:
    friend class detail::job_run<Clock>;

    basic_job_context() = default;
    ~basic_job_context() = default;

    detail::job_run<Clock>& run() noexcept;
    const detail::job_run<Clock>& run() const noexcept;
};

/// What a job of a wheel on the steady clock can learn and do.
using job_context = basic_job_context<std::chrono::steady_clock>;

}

#include <timewheel/impl/job.hpp>

#endif
