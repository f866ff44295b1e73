// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#ifndef TIMEWHEEL_DETAIL_TIMER_NODE_HPP
#define TIMEWHEEL_DETAIL_TIMER_NODE_HPP

#include <timewheel/detail/hierarchical_wheel.hpp>
#include <timewheel/detail/operation.hpp>
#include <timewheel/detail/tick_math.hpp>

#include <atomic>
#include <cstddef>
#include <type_traits>
#include <utility>

namespace timewheel::detail {

// What a driver tells the nodes that are due. A driver for Clock tells them a clock_due_moment<Clock>.
struct due_moment
{
    tick_type now; // hierarchical_wheel::never at the very end
    operation_queue& ready;
};

template <class Clock>
struct clock_due_moment : due_moment
{
    const tick_math<Clock>& math;
};

// What a driver files in its wheel, for every kind of timer. All is guarded by the driver's mutex.
class driver_node : public wheel_node
{
public:
    // Called with the driver's mutex locked when the node is due, unlinked; must not call anything of
    // a user's. Moves operations that are over to `ready` and returns `now`, or the later tick at
    // which the node is to be filed again.
    using due_function = tick_type (*)(driver_node& node, const due_moment& due);

    explicit driver_node(due_function due) noexcept : due_(due) {}

    tick_type on_due(const due_moment& due) { return due_(*this, due); }

    // Whether anything waits for the node. It stays filed for a while when nothing does, since that
    // is cheaper than to unlink it. A hint when read without the mutex, by the owner: false is true.
    bool is_armed() const noexcept { return armed_.load(std::memory_order_relaxed); }
    void set_armed(bool armed) noexcept { armed_.store(armed, std::memory_order_relaxed); }

private:
    due_function due_;
    std::atomic<bool> armed_{false};
};

// Kept where the node has room for it. All but the last are only the owner's.
struct timer_flags
{
    bool is_due = false;        // the expiry had come when it was set
    bool runs_in_turns = false; // the timer's executor is the one of the driver's turns
    bool has_signal = false;    // a cancellation signal may end one of the waits
};

// Its anchor is what the last wait of a timer finds as its neighbour.
struct wait_list
{
    list_anchor waits;
};

// A node with the waits for it, in the order of their start.
class timer_node : public driver_node, public timer_flags, private wait_list
{
public:
    explicit timer_node(due_function due = &expire) noexcept : driver_node(due) {}

    void add(operation& wait) noexcept
    {
        waits.push_back(wait);
        has_signal = wait.has_signal || (has_signal && is_armed());
        set_armed(true);
    }

    // Takes the only wait, if there is one, no other, and no signal that may want to know.
    operation* take_only() noexcept
    {
        list_link* const only = has_signal || !is_armed() ? nullptr : waits.take_only();
        if (only)
            set_armed(false);
        return static_cast<operation*>(only);
    }

    // Ends the oldest wait, if there is one.
    bool end_one(operation::state outcome, operation_queue& ready) noexcept
    {
        if (operation* const only = take_only())
            ready.push(*only, outcome);
        else if (is_armed())
            end(static_cast<operation&>(*waits.front()), outcome, ready);
        else
            return false;
        return true;
    }

    std::size_t end_all(operation::state outcome, operation_queue& ready) noexcept
    {
        std::size_t n = 0;
        while (end_one(outcome, ready))
            ++n;
        return n;
    }

    // Ends one wait of whichever timer it belongs to.
    static void end(operation& wait, operation::state outcome, operation_queue& ready) noexcept
    {
        if (list_link* const anchor = wait.unlink())
            of_anchor(*static_cast<list_anchor*>(anchor)).set_armed(false);
        wait.outcome = outcome;
        ready.push(wait, outcome);
    }

    void take_state(timer_node& other) noexcept
    {
        is_due = std::exchange(other.is_due, false);
        runs_in_turns = other.runs_in_turns;
    }

    void take_waits(timer_node& other) noexcept
    {
        waits.splice_back(other.waits);
        has_signal = other.has_signal;
        set_armed(other.is_armed());
        other.set_armed(false);
    }

private:
    static timer_node& of_anchor(list_anchor& anchor) noexcept
    {
        static_assert(std::is_standard_layout_v<wait_list>);
        return static_cast<timer_node&>(reinterpret_cast<wait_list&>(anchor));
    }

    static tick_type expire(driver_node& node, const due_moment& due)
    {
        static_cast<timer_node&>(node).end_all(operation::state::expired, due.ready);
        return due.now;
    }
};

}

#endif
