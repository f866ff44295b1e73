// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#ifndef TIMEWHEEL_DETAIL_TICK_SOURCE_HPP
#define TIMEWHEEL_DETAIL_TICK_SOURCE_HPP

#include <timewheel/config.hpp>
#include <timewheel/detail/driven_clock.hpp>
#include <timewheel/detail/runner_set.hpp>
#include <timewheel/detail/slot_memory.hpp>
#include <timewheel/detail/tick_math.hpp>
#include <timewheel/detail/tracked_executor.hpp>

#include <boost/asio/basic_waitable_timer.hpp>
#include <boost/asio/post.hpp>

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <type_traits>
#include <typeinfo>

namespace timewheel::detail {

// Wait traits for a clock that may be set: lets Asio look at it once a second, so that a step forward
// is noticed, and without the alarm being set anew, so that this goes on after a step back.
template <class Clock, class WaitTraits>
struct restless_traits
{
    using duration = typename Clock::duration;
    using time_point = typename Clock::time_point;

    static duration to_wait_duration(const duration& left)
    {
        return at_most_a_second(WaitTraits::to_wait_duration(left));
    }

    static duration to_wait_duration(const time_point& deadline)
    {
        return at_most_a_second(WaitTraits::to_wait_duration(deadline));
    }

private:
    static duration at_most_a_second(duration time)
    {
        const duration second = tick_math<Clock>(std::chrono::seconds(1)).tick();
        return time < second ? time : second;
    }
};

template <class Clock, class WaitTraits>
using alarm_traits = std::conditional_t<
    Clock::is_steady || driven_clock<Clock>,
    WaitTraits,
    restless_traits<Clock, WaitTraits>>;

// What a tick source calls, from handlers of the context.
class tick_sink
{
public:
    virtual void on_turn(runner& which) = 0;
    virtual void on_alarm(unsigned alarm, std::uint64_t version) = 0;

protected:
    ~tick_sink() = default;
};

/*  What a driver needs of the context: turns, and an alarm. It hides the type of the executor.

    Each runner is queued at most once. The alarm may be set anew while the handler of the time before
    is still queued; alarm handlers are numbered 0 and 1, each of which is under way at most once.
*/
template <class Clock>
class tick_source
{
public:
    virtual ~tick_source() = default;

    virtual void post_turn(runner& which) = 0;

    // Sets or clears the alarm. Calls must not overlap.
    virtual void
    set_alarm(typename Clock::time_point when, unsigned alarm, std::uint64_t version) = 0;
    virtual void clear_alarm() = 0;

    // Whether the context has work, even if nothing is queued and no alarm is set yet. Calls must
    // not overlap.
    virtual void start_work() = 0;
    virtual void finish_work() = 0;

    // Whether the turns run on exactly this executor.
    virtual bool runs_on(const std::type_info& type, const void* executor) const noexcept = 0;

    // Lets go of the context. The memory of handlers that are still queued there stays.
    virtual void shutdown() noexcept = 0;
};

template <class Clock, class WaitTraits, class Executor>
class executor_tick_source final : public tick_source<Clock>
{
public:
    executor_tick_source(const Executor& executor, tick_sink& sink)
        : sink_(sink)
        , executor_(executor)
        , timer_(std::in_place, executor)
    {}

    void post_turn(runner& which) override { asio::post(executor_, turn_handler{&sink_, &which}); }

    void set_alarm(typename Clock::time_point when, unsigned alarm, std::uint64_t version) override
    {
        timer_->expires_at(when);
        timer_->async_wait(alarm_handler{this, alarm, version});
    }

    void clear_alarm() override { timer_->cancel(); }

    void start_work() override { work_.emplace(executor_); }
    void finish_work() override { work_.reset(); }

    bool runs_on(const std::type_info& type, const void* executor) const noexcept override
    {
        return type == typeid(Executor) && *static_cast<const Executor*>(executor) == executor_;
    }

    void shutdown() noexcept override
    {
        timer_.reset();
        work_.reset();
    }

private:
    using alarm_memory = slot_memory<256>;

    struct turn_handler
    {
        tick_sink* sink;
        runner* which;

        using allocator_type = slot_allocator<void, decltype(runner::memory)>;
        allocator_type get_allocator() const noexcept { return allocator_type(which->memory); }

        void operator()() const { sink->on_turn(*which); }
    };

    struct alarm_handler
    {
        executor_tick_source* source;
        unsigned alarm;
        std::uint64_t version;

        using allocator_type = slot_allocator<void, alarm_memory>;
        allocator_type get_allocator() const noexcept
        {
            return allocator_type(source->alarm_memory_[alarm]);
        }

        void operator()(const error_code&) const { source->sink_.on_alarm(alarm, version); }
    };

    tick_sink& sink_;
    Executor executor_;
    std::optional<asio::basic_waitable_timer<Clock, WaitTraits, Executor>> timer_;
    std::optional<tracked_executor<Executor>> work_;
    std::array<alarm_memory, 2> alarm_memory_;
};

}

#endif
