// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#ifndef TIMEWHEEL_IMPL_JOB_CORE_ENDS_HPP
#define TIMEWHEEL_IMPL_JOB_CORE_ENDS_HPP

#include <timewheel/detail/job_core.hpp>

#include <boost/asio/error.hpp>

#include <cstdint>
#include <exception>
#include <string>

// Who is told of runs; how timers are removed and stopped.

namespace timewheel::detail {

template <class Clock, class WaitTraits>
bool job_core<Clock, WaitTraits>::tells(const timer_type& timer) const noexcept
{
    return !is_detached_ && !timer.is_told &&
           (settings_.is_observed || settings_.on_error || settings_.logger ||
            timer.reports_to_user());
}

// Whether an exception of the job is somebody's who is told of it.
template <class Clock, class WaitTraits>
bool job_core<Clock, WaitTraits>::catches(const timer_type& timer) const noexcept
{
    return settings_.is_observed || settings_.on_error || timer.reports_to_user();
}

// Whether anybody wants to know when a run of the timer ends.
template <class Clock, class WaitTraits>
bool job_core<Clock, WaitTraits>::needs_end(const timer_type& timer) const noexcept
{
    return settings_.logger || catches(timer) || timer.schedule.has_fixed_delay() ||
           settings_.run_timeout != (duration::max)();
}

template <class Clock, class WaitTraits>
template <class Predicate>
auto job_core<Clock, WaitTraits>::find_run(const timer_type& timer, Predicate wanted) -> run_type*
{
    for (list_link* each = timer.runs.front(); each != &timer.runs; each = each->next()) {
        auto& run = static_cast<run_type&>(static_cast<run_link&>(*each));
        if (wanted(run))
            return &run;
    }
    return nullptr;
}

template <class Clock, class WaitTraits>
auto job_core<Clock, WaitTraits>::find_queued(const timer_type& timer) -> run_type*
{
    return find_run(timer, [](run_type& run) { return run.phase == run_state::queued; });
}

// A running job that has not been told to stop yet.
template <class Clock, class WaitTraits>
auto job_core<Clock, WaitTraits>::find_untold(const timer_type& timer) -> run_type*
{
    return find_run(timer, [](run_type& run) {
        return run.phase == run_state::running && run.stop == stop_reason::none;
    });
}

template <class Clock, class WaitTraits>
void job_core<Clock, WaitTraits>::tell(timer_type& timer, const record_type& record)
{
    const inside_mark inside(*this);
    timer.keep(record);
    if (record.error == error::no_job && settings_.logger)
        settings_.logger(
            "timewheel: timer " + std::to_string(static_cast<std::uint64_t>(record.id)) +
            " came due without a job, and the wheel has no default job; it is removed"
        );
    if (record.outcome == job_outcome::threw && settings_.on_error)
        settings_.on_error(record.id, record.exception);
    timer.report(record);
}

// If the wheel was destroyed meanwhile and another run goes on, who waits for that is told now.
template <class Clock, class WaitTraits>
void job_core<Clock, WaitTraits>::end_telling(timer_type& timer, lock_type& lock)
{
    if (--timer.telling != 0 || !is_detached_ || timer.runs.empty() ||
        std::exchange(timer.is_told, true))
        return;
    posters::poster posting(posters_);
    posting.enter();
    auto waiters = std::move(timer.waiters);
    lock.unlock();
    const error_code aborted = asio::error::operation_aborted;
    aftermath::finish(timer, std::move(waiters), aborted, aborted);
    posting.leave();
    lock.lock();
}

// Stop callbacks are a user's, too.
template <class Clock, class WaitTraits>
void job_core<Clock, WaitTraits>::emit(stop_signal& signal) const
{
    const inside_mark inside(*this);
    signal.emit();
}

template <class Clock, class WaitTraits>
void job_core<Clock, WaitTraits>::start_job_of(timer_type& timer, run_ticket<Clock> ticket)
{
    const inside_mark inside(*this);
    timer.start(std::move(ticket));
}

// Returns with the timer pinned.
template <class Clock, class WaitTraits>
remove_result job_core<Clock, WaitTraits>::remove(
    timer_type& timer,
    bool cancel_running,
    lock_type& lock,
    aftermath& after
)
{
    ++timer.pins;
    bool found = !timer.is_over;
    if (take_out(timer))
        ++stats_.withdrawn;
    timer.is_over = true;
    while (run_type* const run = find_queued(timer)) {
        withdraw(*run, after);
        ++stats_.withdrawn;
        found = true;
    }
    if (found) {
        timer.is_removed = true;
        ++stats_.removed;
    }
    moment now;
    hand_over_waiting(now, after);
    const remove_result result = timer.running != 0 ? remove_result::running
                                 : found            ? remove_result::removed
                                                    : remove_result::unknown;
    if (cancel_running)
        tell_to_stop(timer, lock);
    return result;
}

template <class Clock, class WaitTraits>
void job_core<Clock, WaitTraits>::tell_to_stop(timer_type& timer, lock_type& lock)
{
    while (run_type* const run = find_untold(timer)) {
        run->stop = stop_reason::told;
        stop_signal signal = run->signal;
        lock.unlock();
        emit(signal);
        lock.lock();
    }
}

// Returns the first exception of an observer.
template <class Clock, class WaitTraits>
std::exception_ptr
job_core<Clock, WaitTraits>::stop_all(lock_type& lock, bool is_told, aftermath& after)
{
    std::exception_ptr first;
    while (!live_.empty()) {
        auto& timer = static_cast<timer_type&>(static_cast<live_link&>(live_.pop_front()));
        stopped_.push_back(static_cast<live_link&>(timer));
        ++timer.pins;
        const auto told = [&](const record_type& record) {
            if (!is_told || !tells(timer))
                return;
            ++timer.telling;
            lock.unlock();
            try {
                tell(timer, record);
            } catch (...) {
                if (!first)
                    first = std::current_exception();
            }
            lock.lock();
            end_telling(timer, lock);
        };
        stop_timer(timer, after, told);
        tell_to_stop(timer, lock);
        unpin(timer, after);
    }
    return first;
}

template <class Clock, class WaitTraits>
template <class Told>
void job_core<Clock, WaitTraits>::stop_timer(timer_type& timer, aftermath& after, const Told& told)
{
    const time_point now = Clock::now();
    timer.is_removed = timer.is_removed || !timer.is_over;
    const bool was_waiting = take_out(timer);
    timer.is_over = true;
    if (was_waiting) {
        ++stats_.cancelled;
        record_type record = timer.record();
        set_unbegun(record, now, job_outcome::cancelled, asio::error::operation_aborted);
        told(record);
    }
    while (run_type* const run = find_queued(timer)) {
        record_type record = run->record;
        withdraw(*run, after);
        timer.is_removed = true;
        ++stats_.cancelled;
        set_unbegun(record, now, job_outcome::cancelled, asio::error::operation_aborted);
        told(record);
    }
}

// For a coroutine, this thread is inside if it runs the coroutine's strand.
template <class Clock, class WaitTraits>
bool job_core<Clock, WaitTraits>::is_called_from_job() const
{
    if (inside_mark::is_on_stack(*this))
        return true;
    const lock_type lock(mutex_);
    for (const list_anchor* timers : {&live_, &stopped_}) {
        for (const list_link* each = timers->front(); each != timers; each = each->next()) {
            const auto& timer =
                static_cast<const timer_type&>(static_cast<const live_link&>(*each));
            const auto runs_here = [](const run_type& run) {
                const auto& coroutine = run.signal.coroutine;
                return coroutine && coroutine->strand.running_in_this_thread();
            };
            if (find_run(timer, runs_here))
                return true;
        }
    }
    return false;
}

}

#endif
