// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#ifndef TIMEWHEEL_DETAIL_TICK_GRID_HPP
#define TIMEWHEEL_DETAIL_TICK_GRID_HPP

#include <timewheel/detail/tick_math.hpp>
#include <timewheel/repeat.hpp>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstdint>

namespace timewheel::detail {

// How many whole periods lie between two times, `from` being the earlier one, and where they end.
// Integers are exact over the whole range of the clock, since differences are taken modulo 2^64.
template <class Clock>
struct period_math
{
    using duration = typename Clock::duration;
    using time_point = typename Clock::time_point;
    using rep = typename duration::rep;

    static std::uint64_t count(time_point from, time_point to, duration period) noexcept
    {
        if (to < from)
            return 0;
        if constexpr (std::floating_point<rep>) {
            constexpr rep limit = static_cast<rep>(std::uint64_t{1} << 63);
            const rep n = std::floor((to - from) / period);
            if (!(n < limit))
                return std::uint64_t{1} << 63;
            // The quotient is rounded: what end() computes decides.
            const auto k = static_cast<std::uint64_t>(n);
            if (k > 0 && end(from, k, period) > to)
                return k - 1;
            return end(from, k + 1, period) <= to ? k + 1 : k;
        } else {
            return (bits(to) - bits(from)) / static_cast<std::uint64_t>(period.count());
        }
    }

    // At most the end of time, if one period less is not beyond it.
    static time_point end(time_point from, std::uint64_t n, duration period) noexcept
    {
        if constexpr (std::floating_point<rep>) {
            return saturated_add<Clock>(from, duration(static_cast<rep>(n) * period.count()));
        } else {
            const auto size = static_cast<std::uint64_t>(period.count());
            const duration last(static_cast<rep>(bits(from) + (n - 1) * size));
            return saturated_add<Clock>(time_point(last), period);
        }
    }

private:
    static std::uint64_t bits(time_point t) noexcept
    {
        return static_cast<std::uint64_t>(t.time_since_epoch().count());
    }
};

/*  Which ticks of a repeating timer are due and which have been delivered, without a clock.

    Ticks have positions, which only grow. Position `base_` is a tick in the past, or the start;
    position `base_ + n` is due at `origin_ + n * period_`. To change the period or the origin is to
    make the latest tick the base. With a fixed delay there is one tick after the base at a time.
*/
template <class Clock>
class tick_grid
{
public:
    using duration = typename Clock::duration;
    using time_point = typename Clock::time_point;
    using info_type = basic_tick_info<Clock>;

    struct target
    {
        std::uint64_t position;
        time_point due;
    };

    tick_grid(time_point start, duration period, repeat_mode mode) noexcept
        : origin_(start)
        , base_due_(start)
        , period_(period)
        , mode_(mode)
    {}

    // The tick that a wait is for: one that has passed and was not delivered, else the next one. A
    // fixed delay begins with the first wait for it.
    target next(time_point now, bool is_first) noexcept
    {
        const std::uint64_t latest = this->latest(now);
        if (mode_ != repeat_mode::fixed_delay) {
            aimed_at_ = latest > delivered_ ? latest : delivered_ + 1;
        } else {
            if (is_first || delivered_ > base_)
                rebase((std::max)(latest, delivered_), now);
            aimed_at_ = base_ + 1;
        }
        return {aimed_at_, due(aimed_at_)};
    }

    // What to tell a wait for `position` that is over: the latest tick, which is a new one if nobody
    // was told of it yet.
    info_type deliver(std::uint64_t position, time_point now) noexcept
    {
        // The clock may have been set back since the tick became due.
        const std::uint64_t tick = (std::max)(latest(now), position);
        if (tick > delivered_)
            take(tick);
        info_type info = last_;
        info.lateness = lateness_of<Clock>(info.scheduled_for, now);
        return info;
    }

    // A first period of the new length begins now; what is due and was not delivered stays so.
    // Returns when the tick that pending waits wait for is due.
    time_point change_period(duration period, time_point now) noexcept
    {
        const std::uint64_t latest = this->latest(now);
        const bool is_due = latest >= aimed_at_;
        rebase((std::max)(latest, delivered_), now);
        period_ = period;
        return is_due ? now : due(base_ + 1);
    }

    // A new grid, with ticks numbered from 1. Who is still to be told of the old one is told of its
    // latest tick.
    void restart(time_point start, time_point now) noexcept
    {
        const std::uint64_t latest = this->latest(now);
        if (latest > delivered_)
            take(latest);
        // Nobody's position is one of the new grid's.
        delivered_ = (std::max)(delivered_, aimed_at_);
        rebase(delivered_, start);
        sequence_ = 0;
    }

private:
    using math = period_math<Clock>;

    // The latest position that has come, at least the base.
    std::uint64_t latest(time_point now) const noexcept
    {
        const std::uint64_t n = math::count(origin_, now, period_);
        return base_ + (mode_ == repeat_mode::fixed_delay ? (std::min)(n, std::uint64_t{1}) : n);
    }

    time_point due(std::uint64_t position) const noexcept
    {
        return position <= base_ ? base_due_ : math::end(origin_, position - base_, period_);
    }

    void rebase(std::uint64_t position, time_point origin) noexcept
    {
        base_due_ = due(position);
        base_ = position;
        origin_ = origin;
    }

    void take(std::uint64_t position) noexcept
    {
        // A fixed delay begins when somebody waits, so nothing passes before.
        const bool on_grid = mode_ != repeat_mode::fixed_delay;
        last_.scheduled_for = due(position);
        last_.missed = on_grid ? position - delivered_ - 1 : 0;
        last_.sequence = sequence_ += last_.missed + 1;
        delivered_ = position;
    }

    time_point origin_;
    time_point base_due_;
    duration period_;
    std::uint64_t base_ = 0;
    std::uint64_t aimed_at_ = 0;
    std::uint64_t delivered_ = 0;
    std::uint64_t sequence_ = 0; // of the delivered one
    info_type last_;
    repeat_mode mode_;
};

}

#endif
