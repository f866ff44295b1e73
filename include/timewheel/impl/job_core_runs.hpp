// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#ifndef TIMEWHEEL_IMPL_JOB_CORE_RUNS_HPP
#define TIMEWHEEL_IMPL_JOB_CORE_RUNS_HPP

#include <timewheel/detail/job_core.hpp>

#include <boost/asio/error.hpp>

#include <chrono>
#include <exception>
#include <new>
#include <utility>

// Where timers wait, and the runs that are made of them. All with the mutex locked.

namespace timewheel::detail {

template <class Clock, class WaitTraits>
void job_core<Clock, WaitTraits>::file_or_end(timer_type& timer)
{
    if (timer.schedule.is_over()) {
        timer.is_over = true;
        return;
    }
    timer.where = place::wheel;
    ++stats_.scheduled;
    ++stats_.pending;
    driver_.arm(timer, tick_of(timer.schedule.next()));
}

template <class Clock, class WaitTraits>
void job_core<Clock, WaitTraits>::schedule_next(timer_type& timer, moment& now)
{
    if (timer.schedule.repeats()) {
        timer.schedule.advance(now.get());
        file_or_end(timer);
    } else {
        timer.is_over = true;
    }
}

// Takes a waiting timer from where it waits. One that is on its way from the driver finds out there.
template <class Clock, class WaitTraits>
bool job_core<Clock, WaitTraits>::take_out(timer_type& timer)
{
    if (!timer.is_waiting())
        return false;
    --stats_.pending;
    if (timer.where == place::queue)
        static_cast<operation&>(timer).unlink();
    else if (!driver_.disarm(timer))
        return true;
    timer.where = place::none;
    return true;
}

// Makes a run of a waiting timer, which the caller queues or begins. Without memory for one, the job
// is dropped and nobody is told.
template <class Clock, class WaitTraits>
auto job_core<Clock, WaitTraits>::make_run(timer_type& timer, moment& now) -> run_type*
{
    run_type* const run = take_run();
    if (!run) {
        give_up(timer, now.get(), job_outcome::dropped, error::queue_full);
        schedule_next(timer, now);
        return nullptr;
    }
    run->reset(timer);
    timer.runs.push_back(static_cast<run_link&>(*run));
    --stats_.pending;
    enter_flight();
    timer.schedule.count_run();
    if (timer.schedule.is_over())
        timer.is_over = true;
    else if (!timer.schedule.has_fixed_delay())
        schedule_next(timer, now);
    return run;
}

// Queues a run of a waiting timer for the workers.
template <class Clock, class WaitTraits>
void job_core<Clock, WaitTraits>::hand_over(timer_type& timer, moment& now, aftermath& after)
{
    run_type* const run = make_run(timer, now);
    if (!run)
        return;
    queue_.push_back(static_cast<queue_link&>(*run));
    if (++stats_.queued > slots_) {
        ++slots_;
        after.post_slot();
    }
}

template <class Clock, class WaitTraits>
void job_core<Clock, WaitTraits>::take_from_queue(run_type& run)
{
    static_cast<queue_link&>(run).unlink();
    --stats_.queued;
}

template <class Clock, class WaitTraits>
void job_core<Clock, WaitTraits>::hand_over_waiting(moment& now, aftermath& after)
{
    while (!waiting_.empty() && has_room()) {
        timer_type& timer = timer_type::of(static_cast<operation&>(waiting_.pop_front()));
        timer.where = place::none;
        hand_over(timer, now, after);
        bury_if_dead(timer, after);
    }
}

template <class Clock, class WaitTraits>
void job_core<Clock, WaitTraits>::begin_run(run_type& run, time_point now)
{
    run.phase = run_state::running;
    run.record.started_at = now;
    run.record.lateness = lateness_of<Clock>(run.record.scheduled_for, now);
    stats_.lateness.record(saturated_ceil<std::chrono::nanoseconds>(run.record.lateness));
    ++stats_.running;
    ++stats_.executed;
    ++run.timer->running;
    ++run.timer->begun;
    if (settings_.run_timeout == (duration::max)())
        return;
    run.has_timeout = true;
    ++run.references;
    driver_.arm(run.timeout, tick_of(saturated_add<Clock>(now, settings_.run_timeout)));
}

// Takes a queued run from its timer; the caller counts it.
template <class Clock, class WaitTraits>
void job_core<Clock, WaitTraits>::withdraw(run_type& run, aftermath& after)
{
    take_from_queue(run);
    static_cast<run_link&>(run).unlink();
    release(run);
    leave_flight(after);
}

// A run leaves its timer. If its timeout is on its way from the driver, the timer stays for that.
template <class Clock, class WaitTraits>
void job_core<Clock, WaitTraits>::leave(timer_type& timer, run_type& run)
{
    static_cast<run_link&>(run).unlink();
    disarm_timeout(run, timer);
}

template <class Clock, class WaitTraits>
void job_core<Clock, WaitTraits>::disarm_timeout(run_type& run, timer_type& timer)
{
    if (!run.has_timeout || run.timeout_pins_timer)
        return;
    if (driver_.disarm(run.timeout)) {
        run.has_timeout = false;
        release(run);
    } else {
        run.timeout_pins_timer = true;
        ++timer.pins;
    }
}

template <class Clock, class WaitTraits>
void job_core<Clock, WaitTraits>::unpin(timer_type& timer, aftermath& after)
{
    --timer.pins;
    bury_if_dead(timer, after);
}

template <class Clock, class WaitTraits>
void job_core<Clock, WaitTraits>::bury_if_dead(timer_type& timer, aftermath& after)
{
    if (!timer.is_dead())
        return;
    index_.erase(static_cast<std::uint64_t>(timer.id));
    static_cast<live_link&>(timer).unlink();
    after.bury(timer);
    if (!index_.empty())
        return;
    if (index_.bucket_count() > large_index)
        index_ = {};
    after.keep(std::move(self_));
}

template <class Clock, class WaitTraits>
void job_core<Clock, WaitTraits>::enter_flight()
{
    if (in_flight_++ == 0 && !is_detached_)
        work_.emplace(io_executor_);
}

template <class Clock, class WaitTraits>
void job_core<Clock, WaitTraits>::leave_flight(aftermath& after)
{
    if (--in_flight_ != 0)
        return;
    work_.reset();
    if (phase_ == lifecycle::closed) {
        after.close(closers_);
        quiet_.notify_all();
    }
}

template <class Clock, class WaitTraits>
auto job_core<Clock, WaitTraits>::take_run() noexcept -> run_type*
{
    if (!free_runs_)
        return new (std::nothrow) run_type(*this);
    --free_run_count_;
    return std::exchange(free_runs_, free_runs_->next_free);
}

template <class Clock, class WaitTraits>
void job_core<Clock, WaitTraits>::release(run_type& run) noexcept
{
    if (--run.references != 0)
        return;
    if (free_run_count_ == most_free_runs) {
        delete &run;
        return;
    }
    run.clear();
    run.next_free = std::exchange(free_runs_, &run);
    ++free_run_count_;
}

template <class Clock, class WaitTraits>
void job_core<Clock, WaitTraits>::count(job_outcome outcome) noexcept
{
    switch (outcome) {
    case job_outcome::completed: ++stats_.completed; break;
    case job_outcome::failed: ++stats_.failed; break;
    case job_outcome::threw: ++stats_.threw; break;
    case job_outcome::timed_out: ++stats_.timed_out; break;
    case job_outcome::cancelled: ++stats_.cancelled; break;
    case job_outcome::dropped: ++stats_.dropped; break;
    case job_outcome::skipped: ++stats_.skipped; break;
    }
}

// Counts the end of a waiting timer's next run, which will not begin.
template <class Clock, class WaitTraits>
auto job_core<Clock, WaitTraits>::give_up(
    const timer_type& timer,
    time_point now,
    job_outcome outcome,
    error_code ec
) -> record_type
{
    --stats_.pending;
    count(outcome);
    record_type record = timer.record();
    set_unbegun(record, now, outcome, ec);
    return record;
}

template <class Clock, class WaitTraits>
void job_core<Clock, WaitTraits>::set_unbegun(
    record_type& record,
    time_point now,
    job_outcome outcome,
    error_code ec
) noexcept
{
    record.started_at = record.finished_at = now;
    record.lateness = lateness_of<Clock>(record.scheduled_for, now);
    record.outcome = outcome;
    record.error = ec;
}

template <class Clock, class WaitTraits>
void job_core<Clock, WaitTraits>::set_ended(
    run_type& run,
    time_point now,
    error_code ec,
    const std::exception_ptr& exception
) const noexcept
{
    run.phase = run_state::ended;
    record_type& record = run.record;
    record.finished_at = now;
    record.duration = lateness_of<Clock>(record.started_at, now);
    record.exception = exception;
    // A run may have been over before anybody could look at its timeout.
    const bool is_late = run.stop == stop_reason::none && record.duration > settings_.run_timeout;
    if (run.stop == stop_reason::timed_out || is_late) {
        record.outcome = job_outcome::timed_out;
        record.error = error::timed_out;
    } else if (!ec && !exception) {
        record.outcome = job_outcome::completed;
    } else if (run.stop == stop_reason::told) {
        record.outcome = job_outcome::cancelled;
        record.error = asio::error::operation_aborted;
    } else if (exception) {
        record.outcome = job_outcome::threw;
        record.error = error::job_threw;
    } else {
        record.outcome = job_outcome::failed;
        record.error = ec;
    }
}

}

#endif
