// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#ifndef TIMEWHEEL_IMPL_WHEEL_DRIVER_TURNS_HPP
#define TIMEWHEEL_IMPL_WHEEL_DRIVER_TURNS_HPP

#include <timewheel/detail/wheel_driver.hpp>

#include <memory>
#include <new>
#include <utility>

namespace timewheel::detail {

template <class Clock, class WaitTraits>
void wheel_driver<Clock, WaitTraits>::ready_clock_watches()
{
    while (!clock_watches_.empty()) {
        auto& watch = static_cast<operation&>(clock_watches_.pop_front());
        watch.outcome = operation::state::expired;
        ready_.push(watch, watch.outcome);
    }
}

template <class Clock, class WaitTraits>
void wheel_driver<Clock, WaitTraits>::on_turn(runner& which)
{
    if (operation* const op = which.take().told()) {
        op->complete();
        return;
    }
    lock_type lock(mutex_);
    if (shut_down_)
        return;
    runners_.release(which);
    hand_out(lock);
    take_turn(lock);
}

template <class Clock, class WaitTraits>
void wheel_driver<Clock, WaitTraits>::on_clock_moved() noexcept
{
    const time_point time = Clock::now();
    const tick_type now = math_.floor(time);
    lock_type lock(mutex_);
    // Who watches the clock is told even if the wheel has not turned by the time that it was.
    const bool is_back = time < std::exchange(last_move_, time);
    if (is_back)
        ready_clock_watches();
    const bool is_due = pending_ != 0 && (now < wheel_.now() || now >= wheel_.next_wakeup());
    if (is_due)
        overdue_.store(true, std::memory_order_relaxed);
    if (is_due || is_back)
        finish(lock);
}

// Hands out what is due, until there is enough for all turns that can be queued; however much has been
// cancelled, since that may never end.
template <class Clock, class WaitTraits>
void wheel_driver<Clock, WaitTraits>::hand_out(lock_type& lock)
{
    for (std::size_t n = batches_per_turn;
         n != 0 && overdue_.load(std::memory_order_relaxed) && ready_.expired() < runner_set::most;
         --n) {
        expire();
        // The alarm is to be set for what is left before anybody sets it for what comes later.
        if (!overdue_.load(std::memory_order_relaxed))
            break;
        lock.unlock(); // somebody else's turn
        lock.lock();
    }
}

// Hands out what is due, at most batch_size of it. The clock is read while the mutex is locked: by an
// older time, what another thread has filed as due, or has moved the clock for, would not be due,
// and nobody would look again.
template <class Clock, class WaitTraits>
void wheel_driver<Clock, WaitTraits>::expire()
{
    const tick_type tick = math_.floor(Clock::now());
    if (tick < wheel_.now()) { // the clock was set back
        wheel_.rewind(tick);
        ready_clock_watches();
        // By the new time the alarm may be far away, and what is filed now comes before it.
        if (alarm_.is_set())
            alarm_.clear();
    }
    const std::size_t ready_before = ready_.size();
    const bool all = wheel_.expire(tick, batch_size, [this](wheel_node& node) {
        const clock_due_moment<Clock> due{{wheel_.now(), ready_}, math_};
        const tick_type again = static_cast<driver_node&>(node).on_due(due);
        if (again > due.now)
            wheel_.insert(node, again);
    });
    const std::size_t n = ready_.size() - ready_before;
    pending_ -= n;
    counters_.fired += n;
    overdue_.store(!all, std::memory_order_relaxed);
}

template <class Clock, class WaitTraits>
std::size_t wheel_driver<Clock, WaitTraits>::turns_wanted() const
{
    const bool look = check_is_due_ || overdue_.load(std::memory_order_relaxed);
    return ready_.size() + (look ? 1 : 0);
}

// Ends a critical section: does outside of it what has become necessary in it.
template <class Clock, class WaitTraits>
void wheel_driver<Clock, WaitTraits>::finish(lock_type& lock)
{
    if (shut_down_) {
        lock.unlock();
        return;
    }
    const auto [assigned, n] = assign();
    runner* claimed = nullptr;
    bool is_short = false;
    if (const std::size_t turns = turns_wanted(); turns > runners_.queued()) {
        claimed = runners_.claim(turns);
        is_short = runners_.is_short(turns);
    }
    const bool tell = alarm_.take_untold();
    track_work();
    lock.unlock();
    post(assigned, n);
    post(claimed);
    if (tell)
        sync_alarm();
    if (is_short)
        add_runners();
}

// The same if one operation has become ready in it. If something else still waits, alarm and work stay
// as they are, and if no turn is queued to look what there is to do, this is all.
template <class Clock, class WaitTraits>
void wheel_driver<Clock, WaitTraits>::finish_with(lock_type& lock, const ended_operation& ended)
{
    const bool is_all = pending_ != 0 && runners_.queued() == 0 && ready_.empty() && !shut_down_;
    if (runner* const which = is_all ? runners_.idle_runner() : nullptr) {
        prefetch_line(ended.op);
        runners_.assign(*which, ended);
        lock.unlock();
        source_->post_turn(*which);
    } else {
        ready_.push(*ended.op, ended.outcome);
        finish(lock);
    }
}

// The same if nothing has become ready in it. Mostly there is nothing to do then.
template <class Clock, class WaitTraits>
void wheel_driver<Clock, WaitTraits>::finish_start(lock_type& lock)
{
    if (has_work_ && !alarm_.is_untold() && !overdue_.load(std::memory_order_relaxed))
        lock.unlock();
    else
        finish(lock);
}

// Another thread may not have come to post a turn or to set the alarm for what it has been told of
// already, so these don't keep the context from running out of work before they are there.
template <class Clock, class WaitTraits>
void wheel_driver<Clock, WaitTraits>::track_work()
{
    const bool has_work = pending_ != 0 || !ready_.empty() || check_is_due_;
    if (has_work == has_work_)
        return;
    has_work_ = has_work;
    if (has_work)
        source_->start_work();
    else
        source_->finish_work();
}

// A turn: queues the next ones, so that a handler may take its time, then completes one operation.
// They are posted, not deferred: what a thread defers, no other sees before the handler is over.
template <class Clock, class WaitTraits>
void wheel_driver<Clock, WaitTraits>::take_turn(lock_type& lock)
{
    operation* const op = ready_.try_pop().told();
    settle();
    finish(lock);
    if (op)
        op->complete();
}

// Gives each operation that is ready a runner of its own, so that its turn need not lock the mutex.
// Returns the first of these runners, and how many there are. If there are not enough, the others
// and what comes after them are left for turns that look what there is to do; so is the last
// operation if nothing waits any more, since the turn after which that is so has to settle.
template <class Clock, class WaitTraits>
inline std::pair<runner*, std::size_t> wheel_driver<Clock, WaitTraits>::assign()
{
    runner* first = nullptr;
    std::size_t n = 0;
    const std::size_t left = pending_ == 0 ? 1 : 0;
    if (ready_.size() <= left || runners_.queued() != 0)
        return {first, n};
    while (runner* const which = runners_.idle_runner()) {
        runners_.assign(*which, ready_.try_pop());
        if (n++ == 0)
            first = which;
        if (ready_.size() == left)
            break;
    }
    return {first, n};
}

template <class Clock, class WaitTraits>
void wheel_driver<Clock, WaitTraits>::post(runner* first, std::size_t n)
{
    for (; n != 0; --n) {
        runner& which = *first;
        if (n != 1)
            first = which.next;
        source_->post_turn(which);
    }
}

template <class Clock, class WaitTraits>
void wheel_driver<Clock, WaitTraits>::post(runner* claimed)
{
    while (claimed) {
        runner& which = *std::exchange(claimed, claimed->next); // the next turn may come at once
        source_->post_turn(which);
    }
}

// If there is no memory for more runners, those that there are have to do.
template <class Clock, class WaitTraits>
void wheel_driver<Clock, WaitTraits>::add_runners()
{
    lock_type lock(mutex_);
    const std::size_t n = runners_.growth();
    lock.unlock();
    std::unique_ptr<runner[]> added(new (std::nothrow) runner[n]);
    if (!added)
        return;
    lock.lock();
    runners_.add(std::move(added), n);
    finish(lock);
}

}

#endif
