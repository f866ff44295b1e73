// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#ifndef TIMEWHEEL_IMPL_WHEEL_DRIVER_ALARM_HPP
#define TIMEWHEEL_IMPL_WHEEL_DRIVER_ALARM_HPP

#include <timewheel/detail/wheel_driver.hpp>

namespace timewheel::detail {

template <class Clock, class WaitTraits>
void wheel_driver<Clock, WaitTraits>::on_alarm(unsigned alarm, std::uint64_t version)
{
    {
        const lock_type alarm_lock(alarm_mutex_);
        alarm_queued_[alarm] = false;
    }
    lock_type lock(mutex_);
    if (!alarm_.is_in_force(version)) {
        lock.unlock();
        sync_alarm();
        return;
    }
    alarm_.take_off();
    ++counters_.alarms_rung;
    overdue_.store(true, std::memory_order_relaxed);
    hand_out(lock);
    take_turn(lock);
}

// Sees to it that the alarm is set while something waits and nothing is queued that will look.
template <class Clock, class WaitTraits>
void wheel_driver<Clock, WaitTraits>::settle()
{
    check_is_due_ = false;
    if (pending_ == 0) {
        if (alarm_.is_set())
            alarm_.clear();
        // Another thread may have been too slow to post what it has assigned: look again.
        check_is_due_ = ready_.empty() && !runners_.all_begun();
    } else if (overdue_.load(std::memory_order_relaxed)) {
        return;
    } else if (!alarm_.is_set()) {
        alarm_.set(wheel_.next_wakeup());
    } else if constexpr (!Clock::is_steady) {
        // What was due when it was filed is not any more if the clock has been set back since.
        if (wheel_.next_wakeup() < alarm_.tick())
            alarm_.set(wheel_.next_wakeup());
    }
}

// Tells the tick source the latest setting of the alarm.
template <class Clock, class WaitTraits>
void wheel_driver<Clock, WaitTraits>::sync_alarm()
{
    const lock_type alarm_lock(alarm_mutex_);
    if (alarm_queued_[0] && alarm_queued_[1])
        return; // one of them is out of date, will run at once, and comes here again

    lock_type lock(mutex_);
    if (alarm_.version() == alarm_in_force_ || shut_down_)
        return;
    alarm_in_force_ = alarm_.version();
    const bool is_set = alarm_.is_set();
    const tick_type tick = alarm_.tick();
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
