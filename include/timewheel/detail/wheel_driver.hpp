// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#ifndef TIMEWHEEL_DETAIL_WHEEL_DRIVER_HPP
#define TIMEWHEEL_DETAIL_WHEEL_DRIVER_HPP

#include <timewheel/detail/alarm_setting.hpp>
#include <timewheel/detail/base_executor.hpp>
#include <timewheel/detail/driven_clock.hpp>
#include <timewheel/detail/hierarchical_wheel.hpp>
#include <timewheel/detail/operation.hpp>
#include <timewheel/detail/runner_set.hpp>
#include <timewheel/detail/tick_math.hpp>
#include <timewheel/detail/tick_source.hpp>
#include <timewheel/detail/timer_node.hpp>

#include <boost/config.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

namespace timewheel::detail {

// What a driver has done since it was made; see wheel_service_stats.
struct driver_counters
{
    std::uint64_t pending = 0;
    std::uint64_t fired = 0;
    std::uint64_t cancelled = 0;
    std::uint64_t alarms_set = 0;
    std::uint64_t alarms_rung = 0;
    std::uint64_t refiled = 0;
};

// How many drivers have been destroyed, after each of which an address may be another context's. One
// for all libraries of a program, as Asio's services are.
BOOST_SYMBOL_VISIBLE inline constinit std::atomic<std::uint64_t> drivers_gone{0};

/*  Drives a wheel by a clock on an execution context: one for each context, Clock and WaitTraits.

    Two things run on the context. The alarm is a timer of Asio's that is set when something is filed
    that is due before it, and cleared when nothing waits any more; it is what keeps the context from
    running out of work. Turns complete the operations that are ready, each turn one, so that a
    handler that blocks or throws takes nobody else's turn. While n operations are ready,
    min(n, runner_set::most) turns are queued: neither does a turn find nothing to do, nor does mass
    expiry keep the context from its other work. Most turns are given their operation when they are
    queued, and need not lock the mutex. The others look what there is to do, and take what comes
    first: such a turn is queued when something may be due, when nothing waits any more, and when
    there are not enough turns for all that is ready.

    Everything is guarded by `mutex_`, which is never held across a handler, an allocation, a post or
    a system call, but for the one that may end run() when the last wait is gone. `alarm_mutex_` makes
    calls of the alarm one at a time, and is locked before it.
*/
template <class Clock, class WaitTraits>
class wheel_driver final : private tick_sink, private clock_observer<typename Clock::time_point>
{
public:
    using time_point = typename Clock::time_point;

    explicit wheel_driver(std::chrono::nanoseconds tick)
        : math_(tick)
        , wheel_(math_.floor(Clock::now()))
    {}

    wheel_driver(const wheel_driver&) = delete;
    wheel_driver& operator=(const wheel_driver&) = delete;

    ~wheel_driver()
    {
        shutdown();
        drivers_gone.fetch_add(1, std::memory_order_relaxed);
    }

    // Names an executor of the context, before anything else. Only the first call counts.
    template <class Executor>
    void attach(const Executor& executor);

    // Whether the turns run on exactly this executor, so that a handler for it may run in one.
    template <class Executor>
    bool runs_on(const Executor& executor) const
    {
        return visit_plain_executor(executor, [this](const auto& plain) {
            return source_->runs_on(typeid(plain), &plain);
        });
    }

    const tick_math<Clock>& math() const noexcept { return math_; }

    // Adds a wait; the timer is due at `tick` if this is its only one.
    void start(timer_node& timer, operation& wait, tick_type tick);

    // Ends waits as cancelled and returns how many. The timer stays filed for its next wait.
    std::size_t cancel(timer_node& timer);
    std::size_t cancel_one(timer_node& timer);
    void cancel(operation& wait);

    // Ends the only wait of a timer as cancelled and takes the timer off the wheel.
    void end(timer_node& timer, operation& wait);

    // Files a node for which nothing else waits; when due, it readies one operation.
    void arm(driver_node& node, tick_type tick);

    // Takes an armed node off the wheel and readies nothing. Returns false if it is too late.
    bool disarm(driver_node& node);

    // Moves an armed node.
    void rearm(driver_node& node, tick_type tick);

    // Readies an operation when the clock is found to have been set back; keeps nothing running.
    void watch_clock(operation& watch);

    // Returns false if it is too late.
    bool unwatch_clock(operation& watch);

    // Ends the waits and takes the timer off the wheel.
    void release(timer_node& timer);

    // Moves waits and place in the wheel to a timer that has neither.
    void move(timer_node& from, timer_node& to);

    // Destroys all operations, whatever their handlers do meanwhile, and lets go of the context.
    void shutdown() noexcept;

    driver_counters counters() const;

    // The beginning of the earliest tick for which something waits.
    std::optional<time_point> next_deadline() override;

private:
    using lock_type = std::unique_lock<std::mutex>;

    tick_sink& sink() noexcept { return *this; }
    clock_observer<time_point>& observer() noexcept { return *this; }

    // How many nodes are visited while the mutex is locked, and in a turn.
    static constexpr std::size_t batch_size = 64;
    static constexpr std::size_t batches_per_turn = runner_set::most / batch_size;

    void on_turn(runner& which) override;
    void on_alarm(unsigned alarm, std::uint64_t version) override;
    void on_clock_moved() noexcept override;

    bool is_due_before_alarm(tick_type tick) const;
    void file(driver_node& node, tick_type tick, bool is_due);
    void hand_out(lock_type& lock);
    void expire();
    void ready_clock_watches();
    void destroy_clock_watches() noexcept;
    void count_cancelled(std::size_t n);
    void settle();
    void finish(lock_type& lock);
    void finish_start(lock_type& lock);
    void finish_with(lock_type& lock, const ended_operation& ended);
    void track_work();
    void take_turn(lock_type& lock);
    std::size_t turns_wanted() const;
    void sync_alarm();
    std::pair<runner*, std::size_t> assign();
    void post(runner* first, std::size_t n);
    void post(runner* claimed);
    void add_runners();

    // Looked at without the mutex, or seldom changed.
    const tick_math<Clock> math_;
    std::once_flag attached_;
    std::unique_ptr<tick_source<Clock>> source_;
    alarm_setting alarm_;
    driver_counters counters_; // but for those that every wait changes

    // What every wait changes, close together: one thread has to get it from another one.
    alignas(64) mutable std::mutex mutex_;
    std::size_t pending_ = 0;
    std::uint64_t cancelled_ = 0;
    std::atomic<bool> overdue_{false}; // whether the wheel may have something to hand out now
    bool check_is_due_ = false; // whether a turn is wanted to see that nothing waits any more
    bool shut_down_ = false;
    bool has_work_ = false; // whether the context has been told so
    operation_queue ready_;
    runner_set runners_;
    hierarchical_wheel wheel_;

    list_anchor clock_watches_;
    time_point last_move_ = Clock::now(); // of a clock that the program drives

    alignas(64) std::mutex alarm_mutex_;
    std::uint64_t alarm_in_force_ = 0;   // the version that the tick source has been told
    std::array<bool, 2> alarm_queued_{}; // which alarm handlers are under way
};

}

#include <timewheel/impl/wheel_driver.hpp>
#include <timewheel/impl/wheel_driver_alarm.hpp>
#include <timewheel/impl/wheel_driver_turns.hpp>

#endif
