// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#ifndef TIMEWHEEL_DETAIL_IDLE_NODE_HPP
#define TIMEWHEEL_DETAIL_IDLE_NODE_HPP

#include <timewheel/detail/tick_math.hpp>
#include <timewheel/detail/timer_node.hpp>

#include <atomic>

namespace timewheel::detail {

/*  A timer whose deadline is the last touch plus a span. A touch only stores its time; when the node
    comes up in the wheel, it looks at the last touch and goes back if that was not long enough ago.

    Every access to the two atomics is relaxed. They publish nothing but themselves, and need not be
    seen together: each is looked at once more, under the driver's mutex, by come_up(). What a touch
    needs is that it counts if it happened before the node comes up - in the same thread, or ordered by
    any lock or post in between - and for that the coherence of a single atomic object is enough. A
    touch without such an order is a race that may go either way.

    Small on purpose: with a million timers, what a touch costs is to get at the memory.
*/
template <class Clock>
class idle_node : public timer_node
{
public:
    using duration = typename Clock::duration;
    using time_point = typename Clock::time_point;
    using count = std::atomic<typename duration::rep>;
    static_assert(
        count::is_always_lock_free,
        "timewheel: the count of an idle timer's clock must be lock-free as an atomic"
    );

    idle_node() noexcept : timer_node(&come_up) {}

    // Before anything else.
    void init(duration span, time_point now) noexcept
    {
        set_span(span);
        set_last_touch(now);
    }

    duration span() const noexcept { return duration(span_.load(std::memory_order_relaxed)); }

    void set_span(duration span) noexcept { span_.store(span.count(), std::memory_order_relaxed); }

    time_point last_touch() const noexcept
    {
        return time_point(duration(last_touch_.load(std::memory_order_relaxed)));
    }

    void set_last_touch(time_point when) noexcept
    {
        last_touch_.store(when.time_since_epoch().count(), std::memory_order_relaxed);
    }

    time_point expiry() const noexcept { return expiry_after(last_touch()); }

    // The tick to file the node at, by the math of its driver.
    tick_type filing_tick(const tick_math<Clock>& math) const noexcept
    {
        return math.ceil(expiry());
    }

    void take_state(idle_node& other) noexcept
    {
        timer_node::take_state(other);
        init(other.span(), other.last_touch());
    }

private:
    time_point expiry_after(time_point touch) const noexcept
    {
        const duration span = this->span();
        return span == (duration::max)() ? (time_point::max)() : saturated_add<Clock>(touch, span);
    }

    static tick_type come_up(driver_node& base, const due_moment& due)
    {
        auto& node = static_cast<idle_node&>(base);
        if (!node.is_armed())
            return due.now;
        const auto& math = static_cast<const clock_due_moment<Clock>&>(due).math;
        const tick_type tick = node.filing_tick(math);
        if (tick > due.now)
            return tick;
        node.end_all(operation::state::expired, due.ready);
        return due.now;
    }

    count last_touch_{};
    count span_{};
};

}

#endif
