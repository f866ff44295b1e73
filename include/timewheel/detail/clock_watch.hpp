// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#ifndef TIMEWHEEL_DETAIL_CLOCK_WATCH_HPP
#define TIMEWHEEL_DETAIL_CLOCK_WATCH_HPP

#include <timewheel/detail/operation.hpp>
#include <timewheel/detail/wheel_driver.hpp>

#include <atomic>
#include <functional>
#include <memory>
#include <utility>

namespace timewheel::detail {

// Calls a function whenever the driver finds that its clock was set back, in the driver's context, and
// another one when that is shut down.
template <class Clock, class WaitTraits>
class clock_watch : private operation
{
public:
    using driver_type = wheel_driver<Clock, WaitTraits>;

    explicit clock_watch(driver_type& driver) noexcept : operation(&finish), driver_(driver)
    {
        outcome = state::cancelled; // until it is started
    }

    clock_watch(const clock_watch&) = delete;
    clock_watch& operator=(const clock_watch&) = delete;

    // `owner` is what this belongs to: it is kept until the watch has ended.
    void start(
        std::shared_ptr<void> owner,
        std::function<void()> set_back,
        std::function<void()> shut_down
    )
    {
        is_stopped_.store(false);
        owner_ = std::move(owner);
        set_back_ = std::move(set_back);
        shut_down_ = std::move(shut_down);
        driver_.watch_clock(*this);
    }

    // The functions are not called any more, unless they are being called.
    void stop() noexcept
    {
        if (!is_stopped_.exchange(true))
            end();
    }

private:
    void end() noexcept
    {
        if (driver_.unwatch_clock(*this))
            const auto last = std::move(owner_);
    }

    static void finish(operation* op, bool call)
    {
        auto& watch = *static_cast<clock_watch*>(op);
        if (call && !watch.is_stopped_.load()) {
            const auto owner = watch.owner_; // it may be stopped from now on
            watch.driver_.watch_clock(watch);
            if (watch.is_stopped_.load())
                return watch.end(); // stop() came too early
            watch.set_back_();
        } else {
            const auto last = std::move(watch.owner_);
            if (!watch.is_stopped_.exchange(true)) // the driver may be gone from now on
                watch.shut_down_();
        }
    }

    driver_type& driver_;
    std::shared_ptr<void> owner_;
    std::function<void()> set_back_;
    std::function<void()> shut_down_;
    std::atomic<bool> is_stopped_{true};
};

}

#endif
