// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#ifndef TIMEWHEEL_IMPL_JOB_CORE_TURNS_HPP
#define TIMEWHEEL_IMPL_JOB_CORE_TURNS_HPP

#include <timewheel/detail/job_core.hpp>

#include <exception>
#include <memory>
#include <optional>
#include <stop_token>
#include <utility>

// What the driver, the workers and the jobs themselves call.

namespace timewheel::detail {

// The turn of a timer that is due, in the context of the driver.
template <class Clock, class WaitTraits>
void job_core<Clock, WaitTraits>::on_due(timer_type& timer)
{
    moment now(timer.schedule.repeats());
    const auto alive = this->shared_from_this(); // the wheel may be destroyed by another thread
    run_type* begun = nullptr;
    std::optional<record_type> unbegun;
    aftermath after(*this);
    std::optional<telling> told;
    lock_type lock(mutex_);
    timer.where = place::none;
    if (timer.is_over) {
        // Removed or stopped on its way.
    } else if (!timer.has_job()) {
        unbegun = give_up(timer, now.get(), job_outcome::failed, error::no_job);
        timer.is_over = true;
    } else if (timer.schedule.skips_overlap() && !timer.runs.empty()) {
        unbegun = give_up(timer, now.get(), job_outcome::skipped, {});
        schedule_next(timer, now);
    } else if (has_room() && waiting_.empty()) {
        hand_over(timer, now, after);
    } else if (settings_.policy == backpressure::block) {
        timer.where = place::queue;
        waiting_.push_back(static_cast<operation&>(timer));
        hand_over_waiting(now, after); // there is room if the workers have lost what was queued
    } else if (settings_.policy == backpressure::drop) {
        unbegun = give_up(timer, now.get(), job_outcome::dropped, error::queue_full);
        schedule_next(timer, now);
    } else {
        begun = make_run(timer, now);
        if (begun) {
            begun->is_inline = true;
            begin_run(*begun, now.get());
        }
    }
    if (unbegun && tells(timer))
        told.emplace(*this, timer);
    else if (!begun)
        bury_if_dead(timer, after);
    lock.unlock();
    after.perform();
    if (told)
        told->tell(*unbegun);
    else if (begun)
        start_job_of(timer, run_ticket<Clock>(alive, *begun));
}

// The context is shut down, so nobody is told.
template <class Clock, class WaitTraits>
void job_core<Clock, WaitTraits>::on_destroyed(timer_type& timer) noexcept
{
    aftermath after(*this);
    const lock_type lock(mutex_);
    timer.where = place::none;
    if (!std::exchange(timer.is_over, true)) {
        --stats_.pending;
        ++stats_.cancelled;
    }
    // If there are runs, on_shutdown() drops the handlers.
    timer.is_told = timer.is_told || timer.is_dead();
    bury_if_dead(timer, after);
}

template <class Clock, class WaitTraits>
void job_core<Clock, WaitTraits>::on_timeout(run_type& run, bool called)
{
    stop_signal signal;
    aftermath after(*this);
    lock_type lock(mutex_);
    run.has_timeout = false;
    if (std::exchange(run.timeout_pins_timer, false)) {
        unpin(*run.timer, after);
    } else if (called && run.stop == stop_reason::none) {
        run.stop = stop_reason::timed_out;
        signal = run.signal;
    }
    release(run);
    const auto alive = this->shared_from_this();
    lock.unlock();
    after.perform();
    emit(signal);
}

template <class Clock, class WaitTraits>
std::stop_token job_core<Clock, WaitTraits>::stop_token(run_type& run)
{
    lock_type lock(mutex_);
    if (!run.signal.source.stop_possible()) {
        lock.unlock();
        std::stop_source source; // allocates
        lock.lock();
        run.signal.source = source;
        const bool is_late = run.stop != stop_reason::none;
        lock.unlock();
        if (is_late)
            source.request_stop();
        return source.get_token();
    }
    return run.signal.source.get_token();
}

// The turn of a slot, on the workers.
template <class Clock, class WaitTraits>
void job_core<Clock, WaitTraits>::on_slot()
{
    aftermath after(*this);
    lock_type lock(mutex_);
    --slots_;
    if (queue_.empty())
        return;
    // Read while locked: by an older time, a run handed over since then would begin early.
    moment now(true);
    auto& run = static_cast<run_type&>(static_cast<queue_link&>(*queue_.front()));
    timer_type& timer = *run.timer;
    take_from_queue(run);
    begin_run(run, now.get());
    hand_over_waiting(now, after);
    run_ticket<Clock> ticket(this->shared_from_this(), run);
    lock.unlock();
    after.perform();
    start_job_of(timer, std::move(ticket));
}

// The workers' context was destroyed, or is out of memory: of what is queued, the last run is
// cancelled, and nobody is told. What waits for room goes on waiting.
template <class Clock, class WaitTraits>
void job_core<Clock, WaitTraits>::on_slot_destroyed() noexcept
{
    aftermath after(*this);
    lock_type lock(mutex_);
    --slots_;
    while (stats_.queued > slots_) {
        auto& run = static_cast<run_type&>(static_cast<queue_link&>(*queue_.back()));
        timer_type& timer = *run.timer;
        withdraw(run, after);
        ++stats_.cancelled;
        if (timer.where == place::none && timer.schedule.has_fixed_delay())
            timer.is_over = true;
        timer.is_removed = timer.is_removed || timer.is_over;
        bury_if_dead(timer, after);
    }
    lock.unlock();
    after.perform();
}

template <class Clock, class WaitTraits>
void job_core<Clock, WaitTraits>::end(run_type& run, error_code ec, std::exception_ptr exception)
{
    const bool is_timed = needs_end(*run.timer);
    moment now(is_timed);
    aftermath after(*this);
    std::optional<telling> told;
    lock_type lock(mutex_);
    timer_type& timer = *run.timer;
    set_ended(run, is_timed ? now.get() : run.record.started_at, ec, exception);
    count(run.record.outcome);
    --stats_.running;
    --timer.running;
    leave(timer, run);
    if (!timer.is_over && timer.schedule.has_fixed_delay())
        schedule_next(timer, now);
    hand_over_waiting(now, after);
    // What a job throws when it was told to stop is how it stops.
    const bool leaves = run.record.outcome == job_outcome::threw && !catches(timer);
    record_type record;
    if (tells(timer)) {
        record = std::move(run.record);
        told.emplace(*this, timer);
    }
    release(run);
    leave_flight(after);
    bury_if_dead(timer, after);
    lock.unlock();
    after.perform();
    if (told)
        told->tell(record);
    if (leaves)
        std::rethrow_exception(exception);
}

// The context of the coroutine was destroyed: the run ends without anybody being told.
template <class Clock, class WaitTraits>
void job_core<Clock, WaitTraits>::on_destroyed(run_type& run) noexcept
{
    aftermath after(*this);
    lock_type lock(mutex_);
    timer_type& timer = *run.timer;
    --stats_.running;
    --timer.running;
    run.phase = run_state::ended;
    ++stats_.cancelled;
    leave(timer, run);
    if (timer.where == place::none && timer.schedule.has_fixed_delay())
        timer.is_over = true;
    timer.is_removed = timer.is_removed || timer.is_over;
    moment now;
    hand_over_waiting(now, after);
    release(run);
    leave_flight(after);
    bury_if_dead(timer, after);
    lock.unlock();
    after.perform();
}

template <class Clock, class WaitTraits>
asio::any_io_executor job_core<Clock, WaitTraits>::executor_of(const run_type& run) const noexcept
{
    const lock_type lock(mutex_);
    return run.is_inline && !is_detached_ ? io_executor_ : workers_;
}

template <class Clock, class WaitTraits>
void job_core<Clock, WaitTraits>::set_coroutine(
    run_type& run,
    std::shared_ptr<coroutine_control> coroutine
)
{
    stop_signal late;
    {
        const lock_type lock(mutex_);
        if (run.phase != run_state::running)
            return;
        run.signal.coroutine = std::move(coroutine);
        if (run.stop != stop_reason::none)
            late.coroutine = run.signal.coroutine;
    }
    late.emit();
}

template <class Clock, class WaitTraits>
void job_core<Clock, WaitTraits>::pin(run_type& run, bool on) noexcept
{
    const lock_type lock(mutex_);
    if (on)
        ++run.references;
    else
        release(run);
}

}

#endif
