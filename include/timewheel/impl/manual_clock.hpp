// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#ifndef TIMEWHEEL_IMPL_MANUAL_CLOCK_HPP
#define TIMEWHEEL_IMPL_MANUAL_CLOCK_HPP

#include <timewheel/detail/tick_math.hpp>
#include <timewheel/manual_clock.hpp>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

namespace timewheel {

// `moving` is locked while the clock is moved and its observers are told, so that none of them goes
// meanwhile; `reading` only to change the time, so that observers and handlers can read it.
template <class Tag>
class manual_clock<Tag>::state
{
public:
    time_point now() const noexcept
    {
        return time_point(duration(now_.load(std::memory_order_acquire)));
    }

    // Moves the clock to what `target(now)` returns, if that is a time.
    template <class Target>
    bool move(Target target)
    {
        const std::lock_guard moving(moving_);
        const std::optional<time_point> to = target(now());
        if (!to)
            return false;
        {
            const std::lock_guard reading(reading_);
            now_.store(to->time_since_epoch().count(), std::memory_order_release);
        }
        moved_.notify_all();
        for (observer* const each : observers_)
            each->on_clock_moved();
        return true;
    }

    // The earliest of the observers' deadlines. Only while the clock is being moved.
    std::optional<time_point> next_deadline() const
    {
        std::optional<time_point> earliest;
        for (observer* const each : observers_) {
            const std::optional<time_point> next = each->next_deadline();
            if (next && (!earliest || *next < *earliest))
                earliest = next;
        }
        return earliest;
    }

    void add(observer& who)
    {
        const std::lock_guard moving(moving_);
        observers_.push_back(&who);
    }

    void remove(observer& who) noexcept
    {
        const std::lock_guard moving(moving_);
        std::erase(observers_, &who);
    }

    void wait_until(time_point when)
    {
        std::unique_lock reading(reading_);
        moved_.wait(reading, [&] { return now() >= when; });
    }

private:
    std::mutex moving_;
    std::vector<observer*> observers_;
    std::mutex reading_;
    std::condition_variable moved_;
    std::atomic<rep> now_{0};
};

// Never destroyed: services of static contexts let go of their clock late.
template <class Tag>
auto manual_clock<Tag>::shared() noexcept -> state&
{
    static state& the_state = *new state;
    return the_state;
}

template <class Tag>
auto manual_clock<Tag>::now() noexcept -> time_point
{
    return shared().now();
}

template <class Tag>
void manual_clock<Tag>::advance(duration by)
{
    if (by < duration::zero())
        throw std::invalid_argument(
            "timewheel: manual_clock::advance by " + std::to_string(by.count()) +
            " ns, but it must not be negative; use set() to go back"
        );
    shared().move([&](time_point now) -> std::optional<time_point> {
        return detail::saturated_add<manual_clock>(now, by);
    });
}

template <class Tag>
void manual_clock<Tag>::advance_to(time_point to)
{
    shared().move([&](time_point now) -> std::optional<time_point> {
        if (to < now)
            throw std::invalid_argument(
                "timewheel: manual_clock::advance_to " +
                std::to_string(to.time_since_epoch().count()) +
                " ns, but it must not be before now(), " +
                std::to_string(now.time_since_epoch().count()) + " ns; use set() to go back"
            );
        return to;
    });
}

template <class Tag>
bool manual_clock<Tag>::advance_to_next()
{
    return shared().move([&](time_point now) -> std::optional<time_point> {
        const std::optional<time_point> next = shared().next_deadline();
        if (!next)
            return std::nullopt;
        return (std::max)(*next, now);
    });
}

template <class Tag>
void manual_clock<Tag>::set(time_point to)
{
    shared().move([&](time_point) -> std::optional<time_point> { return to; });
}

template <class Tag>
void manual_clock<Tag>::add_observer(observer& who)
{
    shared().add(who);
}

template <class Tag>
void manual_clock<Tag>::remove_observer(observer& who) noexcept
{
    shared().remove(who);
}

template <class Tag>
void manual_clock<Tag>::wait_until(time_point when)
{
    shared().wait_until(when);
}

}

#endif
