// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#ifndef TIMEWHEEL_IMPL_WHEEL_DRIVER_HPP
#define TIMEWHEEL_IMPL_WHEEL_DRIVER_HPP

#include <timewheel/detail/wheel_driver.hpp>

#include <memory>
#include <type_traits>
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
    if (operation* const only = timer.take_only()) {
        count_cancelled(1);
        finish_with(lock, {only, operation::state::cancelled});
        return 1;
    }
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
    check_is_due_ = check_is_due_ || (pending_ == 0 && alarm_.is_set());
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
void wheel_driver<Clock, WaitTraits>::destroy_clock_watches() noexcept
{
    lock_type lock(mutex_);
    while (!clock_watches_.empty()) {
        auto& watch = static_cast<operation&>(clock_watches_.pop_front());
        watch.outcome = operation::state::cancelled;
        lock.unlock();
        watch.destroy();
        lock.lock();
    }
}

template <class Clock, class WaitTraits>
void wheel_driver<Clock, WaitTraits>::shutdown() noexcept
{
    lock_type lock(mutex_);
    const bool is_first = !std::exchange(shut_down_, true) && source_;
    lock.unlock();
    if constexpr (driven_clock<Clock>) {
        if (is_first)
            access::remove_observer<Clock>(observer());
    }
    // First those who watch the clock are told, who may have threads of their own: none of these is in
    // a call of the source any more when they have been.
    destroy_clock_watches();
    if (is_first)
        source_->shutdown();

    // A destructor may start another wait or destroy other timers, so the lock is not held.
    lock.lock();
    runners_.take_back(ready_);
    while (!wheel_.empty() || !ready_.empty()) {
        const clock_due_moment<Clock> the_end{{hierarchical_wheel::never, ready_}, math_};
        wheel_.take_all([&](wheel_node& node) { static_cast<driver_node&>(node).on_due(the_end); });
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
    counters.cancelled = cancelled_;
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

// Only a node that would move the alarm is worth a look at the clock: it may be due already.
template <class Clock, class WaitTraits>
bool wheel_driver<Clock, WaitTraits>::is_due_before_alarm(tick_type tick) const
{
    return tick < alarm_.tick() && tick <= math_.floor(Clock::now());
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
    else if (alarm_.is_set() ? tick < alarm_.tick() : !overdue_.load(std::memory_order_relaxed))
        alarm_.set(tick);
}

template <class Clock, class WaitTraits>
void wheel_driver<Clock, WaitTraits>::count_cancelled(std::size_t n)
{
    pending_ -= n;
    cancelled_ += n;
}

}

#endif
