// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#ifndef TIMEWHEEL_DETAIL_ALARM_SETTING_HPP
#define TIMEWHEEL_DETAIL_ALARM_SETTING_HPP

#include <timewheel/detail/hierarchical_wheel.hpp>

#include <atomic>
#include <cstdint>
#include <utility>

namespace timewheel::detail {

/*  When a driver's alarm is to ring. Guarded by the driver's mutex; but who looks at the tick without
    it gets a hint.

    Each change makes another version. The tick source is told it with the setting, and returns it
    when the alarm rings, so that an alarm which has been set anew meanwhile is recognized.
*/
class alarm_setting
{
public:
    bool is_set() const noexcept { return is_set_; }

    // The tick that it is set to, else never.
    tick_type tick() const noexcept { return tick_.load(std::memory_order_relaxed); }

    std::uint64_t version() const noexcept { return version_; }

    bool is_in_force(std::uint64_t version) const noexcept
    {
        return is_set_ && version == version_;
    }

    void set(tick_type tick) noexcept
    {
        change(true, tick);
        is_untold_ = true;
    }

    void clear() noexcept
    {
        change(false, hierarchical_wheel::never);
        is_untold_ = true;
    }

    // The alarm has rung, so the tick source knows.
    void take_off() noexcept { change(false, hierarchical_wheel::never); }

    // Whether the tick source has to be told.
    bool is_untold() const noexcept { return is_untold_; }

    // The same, for who sees to it. Mostly only reads what other threads read.
    bool take_untold() noexcept { return is_untold_ && std::exchange(is_untold_, false); }

private:
    void change(bool is_set, tick_type tick) noexcept
    {
        is_set_ = is_set;
        tick_.store(tick, std::memory_order_relaxed);
        ++version_;
    }

    bool is_set_ = false;
    bool is_untold_ = false;
    std::atomic<tick_type> tick_{hierarchical_wheel::never};
    std::uint64_t version_ = 0;
};

}

#endif
