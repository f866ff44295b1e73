// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#ifndef TIMEWHEEL_IMPL_WHEEL_DRIVER_HPP
#define TIMEWHEEL_IMPL_WHEEL_DRIVER_HPP

#include <timewheel/detail/wheel_driver.hpp>

#include <algorithm>
#include <memory>
#include <new>
#include <typeinfo>
#include <utility>

namespace timewheel::detail {

template <class Clock, class WaitTraits>
template <class Executor>
void wheel_driver<Clock, WaitTraits>::attach(const Executor& executor)
{
    std::call_once(attached_, [&] {
        visit_base_executor(executor, [this](const auto& base) {
            using base_type = std::remove_cvref_t<decltype(base)>;
            using traits_type = alarm_traits<Clock, WaitTraits>;
            using source_type = executor_tick_source<Clock, traits_type, base_type>;
            source_ = std::make_unique<source_type>(base, sink());
        });
        const std::size_t n = runners_.growth();
        runners_.add(std::make_unique<runner[]>(n), n);
        if constexpr (driven_clock<Clock>)
            access::add_observer<Clock>(observer());
    });
}

template <class Clock, class WaitTraits>
void wheel_driver<Clock, WaitTraits>::start(timer_node& timer, operation& wait, tick_type tick)
{
    const bool is_due = is_due_before_alarm(tick);
    lock_type lock(mutex_);
    const bool was_armed = timer.is_armed();
    timer.add(wait);
    ++pending_;
    if (!was_armed)
        file(timer, tick, is_due);
    finish_start(lock);
}

template <class Clock, class WaitTraits>
std::size_t wheel_driver<Clock, WaitTraits>::cancel(timer_node& timer)
{
    if (!timer.is_armed())
        return 0;
    lock_type lock(mutex_);
    const std::size_t n = timer.end_all(operation::state::cancelled, ready_);
    count_cancelled(n);
    finish(lock);
    return n;
}

template <class Clock, class WaitTraits>
std::size_t wheel_driver<Clock, WaitTraits>::cancel_one(timer_node& timer)
{
    if (!timer.is_armed())
        return 0;
    lock_type lock(mutex_);
    const std::size_t n = timer.end_one(operation::state::cancelled, ready_) ? 1 : 0;
    count_cancelled(n);
    finish(lock);
    return n;
}

template <class Clock, class WaitTraits>
void wheel_driver<Clock, WaitTraits>::cancel(operation& wait)
{
    lock_type lock(mutex_);
    if (wait.outcome != operation::state::waiting)
        return;
    timer_node::end(wait, operation::state::cancelled, ready_);
    count_cancelled(1);
    finish(lock);
}

template <class Clock, class WaitTraits>
void wheel_driver<Clock, WaitTraits>::end(timer_node& timer, operation& wait)
{
    lock_type lock(mutex_);
    if (wait.outcome != operation::state::waiting)
        return;
    timer_node::end(wait, operation::state::cancelled, ready_);
    wheel_.remove(timer);
    count_cancelled(1);
    finish(lock);
}

template <class Clock, class WaitTraits>
void wheel_driver<Clock, WaitTraits>::arm(driver_node& node, tick_type tick)
{
    const bool is_due = is_due_before_alarm(tick);
    lock_type lock(mutex_);
    node.set_armed(true);
    ++pending_;
    file(node, tick, is_due);
    finish_start(lock);
}

template <class Clock, class WaitTraits>
bool wheel_driver<Clock, WaitTraits>::disarm(driver_node& node)
{
    lock_type lock(mutex_);
    if (!node.is_armed())
        return false;
    node.set_armed(false);
    wheel_.remove(node);
    count_cancelled(1);
    // No operation has become ready, whose turn would clear the alarm.
    check_is_due_ = check_is_due_ || (pending_ == 0 && alarm_is_set_);
    if (pending_ == 0)
        finish(lock);
    else
        finish_start(lock);
    return true;
}

template <class Clock, class WaitTraits>
void wheel_driver<Clock, WaitTraits>::rearm(driver_node& node, tick_type tick)
{
    const bool is_due = is_due_before_alarm(tick);
    lock_type lock(mutex_);
    if (!node.is_armed())
        return;
    file(node, tick, is_due);
    finish_start(lock);
}

template <class Clock, class WaitTraits>
void wheel_driver<Clock, WaitTraits>::watch_clock(operation& watch)
{
    lock_type lock(mutex_);
    watch.outcome = operation::state::waiting;
    if (!shut_down_) {
        clock_watches_.push_back(watch);
        return;
    }
    lock.unlock();
    watch.destroy();
}

template <class Clock, class WaitTraits>
bool wheel_driver<Clock, WaitTraits>::unwatch_clock(operation& watch)
{
    const lock_type lock(mutex_);
    if (watch.outcome != operation::state::waiting)
        return false;
    watch.unlink();
    watch.outcome = operation::state::cancelled;
    return true;
}

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
void wheel_driver<Clock, WaitTraits>::release(timer_node& timer)
{
    lock_type lock(mutex_);
    count_cancelled(timer.end_all(operation::state::cancelled, ready_));
    if (timer.is_linked())
        wheel_.remove(timer);
    finish(lock);
}

template <class Clock, class WaitTraits>
void wheel_driver<Clock, WaitTraits>::move(timer_node& from, timer_node& to)
{
    lock_type lock(mutex_);
    if (from.is_linked())
        wheel_.replace(from, to);
    to.take_waits(from);
}

template <class Clock, class WaitTraits>
void wheel_driver<Clock, WaitTraits>::shutdown() noexcept
{
    lock_type lock(mutex_);
    if (!std::exchange(shut_down_, true) && source_) {
        lock.unlock();
        if constexpr (driven_clock<Clock>)
            access::remove_observer<Clock>(observer());
        source_->shutdown();
        lock.lock();
    }
    // A destructor may start another wait or destroy other timers, so the lock is not held.
    ready_clock_watches();
    runners_.take_back(ready_);
    while (!wheel_.empty() || !ready_.empty()) {
        wheel_.take_all([this](wheel_node& node) {
            static_cast<driver_node&>(node).on_due(hierarchical_wheel::never, ready_);
        });
        pending_ = 0;
        while (operation* const op = ready_.try_pop().told()) {
            lock.unlock();
            op->destroy();
            lock.lock();
        }
    }
}

template <class Clock, class WaitTraits>
driver_counters wheel_driver<Clock, WaitTraits>::counters() const
{
    const lock_type lock(mutex_);
    driver_counters counters = counters_;
    counters.pending = pending_;
    counters.refiled = wheel_.refiled();
    return counters;
}

template <class Clock, class WaitTraits>
auto wheel_driver<Clock, WaitTraits>::next_deadline() -> std::optional<time_point>
{
    const lock_type lock(mutex_);
    const tick_type tick = wheel_.next_due([](const wheel_node& node) {
        return static_cast<const driver_node&>(node).is_armed();
    });
    const time_point when = math_.begin(tick);
    if (when == (time_point::max)()) // also if a tick can't be rounded up to in this clock
        return std::nullopt;
    return when;
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
void wheel_driver<Clock, WaitTraits>::on_alarm(unsigned alarm, std::uint64_t version)
{
    {
        const lock_type alarm_lock(alarm_mutex_);
        alarm_queued_[alarm] = false;
    }
    lock_type lock(mutex_);
    if (!alarm_is_set_ || version != alarm_version_) {
        lock.unlock();
        sync_alarm();
        return;
    }
    forget_alarm();
    ++counters_.alarms_rung;
    overdue_.store(true, std::memory_order_relaxed);
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

// Only a node that would move the alarm is worth a look at the clock: it may be due already.
template <class Clock, class WaitTraits>
bool wheel_driver<Clock, WaitTraits>::is_due_before_alarm(tick_type tick) const
{
    return tick < alarm_tick() && tick <= math_.floor(Clock::now());
}

template <class Clock, class WaitTraits>
void wheel_driver<Clock, WaitTraits>::file(driver_node& node, tick_type tick, bool is_due)
{
    if (node.is_linked())
        wheel_.reschedule(node, tick);
    else
        wheel_.insert(node, tick);
    // An alarm does not ring when a program drives the clock past it: who looks while the mutex is
    // locked either sees a move, or is seen by the call of on_clock_moved() that follows it.
    if constexpr (driven_clock<Clock>)
        is_due = tick <= math_.floor(Clock::now());
    if (is_due || tick <= wheel_.now())
        overdue_.store(true, std::memory_order_relaxed);
    else if (alarm_is_set_ ? tick < alarm_tick() : !overdue_.load(std::memory_order_relaxed))
        set_alarm(tick);
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
        if (alarm_is_set_)
            clear_alarm();
    }
    const std::size_t ready_before = ready_.size();
    const bool all = wheel_.expire(tick, batch_size, [this](wheel_node& node) {
        const tick_type again = static_cast<driver_node&>(node).on_due(wheel_.now(), ready_);
        if (again > wheel_.now())
            wheel_.insert(node, again);
    });
    const std::size_t n = ready_.size() - ready_before;
    pending_ -= n;
    counters_.fired += n;
    overdue_.store(!all, std::memory_order_relaxed);
}

template <class Clock, class WaitTraits>
void wheel_driver<Clock, WaitTraits>::count_cancelled(std::size_t n)
{
    pending_ -= n;
    counters_.cancelled += n;
}

// Sees to it that the alarm is set while something waits and nothing is queued that will look.
template <class Clock, class WaitTraits>
void wheel_driver<Clock, WaitTraits>::settle()
{
    check_is_due_ = false;
    if (pending_ == 0) {
        if (alarm_is_set_)
            clear_alarm();
        // Another thread may have been too slow to post what it has assigned: look again.
        check_is_due_ = ready_.empty() && !runners_.all_begun();
    } else if (overdue_.load(std::memory_order_relaxed)) {
        return;
    } else if (!alarm_is_set_) {
        set_alarm(wheel_.next_wakeup());
    } else if constexpr (!Clock::is_steady) {
        // What was due when it was filed is not any more if the clock has been set back since.
        if (wheel_.next_wakeup() < alarm_tick())
            set_alarm(wheel_.next_wakeup());
    }
}

template <class Clock, class WaitTraits>
void wheel_driver<Clock, WaitTraits>::set_alarm(tick_type tick)
{
    alarm_is_set_ = true;
    alarm_tick_.store(tick, std::memory_order_relaxed);
    ++alarm_version_;
    alarm_is_stale_ = true;
}

template <class Clock, class WaitTraits>
void wheel_driver<Clock, WaitTraits>::clear_alarm()
{
    forget_alarm();
    alarm_is_stale_ = true;
}

template <class Clock, class WaitTraits>
void wheel_driver<Clock, WaitTraits>::forget_alarm()
{
    alarm_is_set_ = false;
    alarm_tick_.store(hierarchical_wheel::never, std::memory_order_relaxed);
    ++alarm_version_;
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
    const bool sync = std::exchange(alarm_is_stale_, false);
    track_work();
    lock.unlock();
    post(assigned, n);
    post(claimed);
    if (sync)
        sync_alarm();
    if (is_short)
        add_runners();
}

// The same if nothing has become ready in it. Mostly there is nothing to do then.
template <class Clock, class WaitTraits>
void wheel_driver<Clock, WaitTraits>::finish_start(lock_type& lock)
{
    if (has_work_ && !alarm_is_stale_ && !overdue_.load(std::memory_order_relaxed))
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

// Tells the tick source the latest setting of the alarm.
template <class Clock, class WaitTraits>
void wheel_driver<Clock, WaitTraits>::sync_alarm()
{
    const lock_type alarm_lock(alarm_mutex_);
    if (alarm_queued_[0] && alarm_queued_[1])
        return; // one of them is out of date, will run at once, and comes here again

    lock_type lock(mutex_);
    if (alarm_version_ == alarm_in_force_ || shut_down_)
        return;
    alarm_in_force_ = alarm_version_;
    const bool is_set = alarm_is_set_;
    const tick_type tick = alarm_tick();
    if (is_set)
        ++counters_.alarms_set;
    lock.unlock();

    if (is_set) {
        const unsigned alarm = alarm_queued_[0] ? 1 : 0;
        alarm_queued_[alarm] = true;
        source_->set_alarm(math_.begin(tick), alarm, alarm_in_force_);
    } else {
        source_->clear_alarm();
    }
}

}

#endif
