// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#ifndef TIMEWHEEL_DETAIL_HIERARCHICAL_WHEEL_HPP
#define TIMEWHEEL_DETAIL_HIERARCHICAL_WHEEL_HPP

#include <timewheel/detail/intrusive_list.hpp>

#include <boost/assert.hpp>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace timewheel::detail {

using tick_type = std::uint64_t;

// What the wheel files: derive from it. `tick` is when the node is due.
struct wheel_node : list_link
{
    tick_type tick = 0;
};

/*  A hierarchical timing wheel on integer ticks: no clock, no lock, no allocation.

    Scheme 7 of G. Varghese and A. Lauck, "Hashed and Hierarchical Timing Wheels" (SOSP 1987), with
    the digits of the tick as the levels: level n has one slot for each value of byte n. A node is
    filed at the highest byte in which its tick differs from `now()`, so all 64 bits are covered,
    nodes of equal ticks are always in the same slot, and any slot of a level is earlier than all
    slots of the levels above. When `now()` enters a slot, its nodes are refiled further down, in
    order; occupancy bits find the next slot without stepping through empty ones.

    A move to a later tick only overwrites `tick`; the node is refiled when its old slot comes up.
    insert, remove and reschedule are O(1); a node is refiled at most seven times.
*/
class hierarchical_wheel
{
public:
    static constexpr tick_type never = ~tick_type{0}; // filed, but never due

    explicit hierarchical_wheel(tick_type now = 0) noexcept : now_(now) {}

    // The tick that has been reached: nodes due later are in slots, others wait to be handed out.
    tick_type now() const noexcept { return now_; }

    // How many nodes were filed a second time because their deadline had been moved later.
    std::uint64_t refiled() const noexcept { return refiled_; }

    bool empty() const noexcept
    {
        return occupied_levels_ == 0 && lists_[due].empty() && lists_[late].empty() &&
               lists_[batch].empty();
    }

    void insert(wheel_node& node, tick_type tick) noexcept
    {
        node.tick = tick;
        file(node);
    }

    void remove(wheel_node& node) noexcept
    {
        if (list_link* const anchor = node.unlink())
            mark_empty(static_cast<std::size_t>(static_cast<list_anchor*>(anchor) - &lists_[0]));
    }

    // Moves a filed node. Among nodes of the same tick it counts as filed when it is moved to the
    // same or an earlier tick; moved later, when its old slot comes up. A node that waits to be handed
    // out has left its slot and is filed at once, or it would come before earlier ones.
    void reschedule(wheel_node& node, tick_type tick) noexcept
    {
        if (tick > node.tick && node.tick > now_) {
            node.tick = tick;
            return;
        }
        if (tick == node.tick && is_last(node))
            return;
        remove(node);
        insert(node, tick);
    }

    void replace(wheel_node& from, wheel_node& to) noexcept
    {
        to.tick = from.tick;
        to.take_place_of(from);
    }

    /*  Moves on to `now` and hands each node that is due, unlinked, to `on_due(node)`: earlier ticks
        first, and in the order of filing within a tick. `on_due` may insert, remove and reschedule
        any node; what it files as due already is handed out by a later call.

        `now` is not before now(). At most `max` nodes are visited (max > 0), so a call is bounded
        whatever has piled up. Returns whether all that is due by `now` has been handed out.
    */
    template <class OnDue>
    bool expire(tick_type now, std::size_t max, OnDue&& on_due)
    {
        BOOST_ASSERT(now_ <= now && now < never && max > 0);
        list_anchor& ready = lists_[batch];
        lists_[open_level_ != 0 ? late : batch].splice_back(lists_[due]);
        open_next_slot(now); // each call gets on, however much is filed as due in between
        for (; max != 0; --max) {
            if (open_level_ != 0 && (ready.empty() || max % 2 == 0))
                refile_from_open_slot();
            else if (!ready.empty())
                hand_out(static_cast<wheel_node&>(ready.pop_front()), on_due);
            else if (!open_next_slot(now))
                break;
        }
        return next_wakeup() > now;
    }

    // When to call expire() next: never later than the earliest node, and earlier only if nodes were
    // removed or moved later since. `never` if nothing is filed.
    tick_type next_wakeup() const noexcept
    {
        if (empty())
            return never;
        if (open_level_ != 0 || !lists_[due].empty() || !lists_[batch].empty())
            return now_;
        const unsigned level = lowest_level();
        const unsigned digit = first_digit(level);
        return level == 0 ? slot_start(0, digit) : earliest_[slot_index(level, digit)];
    }

    // The earliest tick of all nodes for which `counts(node)`, else `never`. Looks at the nodes of
    // the earliest slots one by one: for inspection.
    template <class Predicate>
    tick_type next_due(Predicate&& counts) const
    {
        tick_type earliest = never;
        const auto look_at = [&](const list_anchor& list) {
            for (const list_link* link = list.front(); link != &list; link = link->next()) {
                const auto& node = static_cast<const wheel_node&>(*link);
                if (node.tick < earliest && counts(node))
                    earliest = node.tick;
            }
        };
        look_at(lists_[batch]);
        look_at(lists_[late]);
        look_at(lists_[due]);
        if (open_level_ != 0) // earlier slots than this are filled from it
            look_at(lists_[open_slot()]);
        for (unsigned level = 0; level != levels; ++level) {
            for (unsigned digit = 0; digit != slots; ++digit) {
                if (!is_occupied(level, digit))
                    continue;
                if (slot_start(level, digit) >= earliest)
                    return earliest;
                look_at(lists_[slot_index(level, digit)]);
            }
        }
        return earliest;
    }

    tick_type next_due() const
    {
        return next_due([](const wheel_node&) { return true; });
    }

    // Moves back to an earlier `now` and refiles every node: the clock was set back.
    void rewind(tick_type now) noexcept
    {
        BOOST_ASSERT(now < now_);
        list_anchor all;
        take_all([&](wheel_node& node) { all.push_back(node); });
        now_ = now;
        while (!all.empty())
            file(static_cast<wheel_node&>(all.pop_front()));
    }

    // Unlinks every node, nodes of equal ticks in their order, and hands it to `taken(node)`.
    template <class Taken>
    void take_all(Taken&& taken)
    {
        const auto take = [&](std::size_t list) {
            while (!lists_[list].empty()) {
                auto& node = static_cast<wheel_node&>(*lists_[list].front());
                remove(node);
                taken(node);
            }
        };
        // An open slot is behind what has been refiled from it, and before what was due since.
        open_level_ = 0;
        take(batch);
        for (std::size_t slot = 0; slot != levels * slots; ++slot)
            take(slot);
        take(late);
        take(due);
    }

private:
    static constexpr unsigned levels = 8;
    static constexpr unsigned slots = 256;
    static constexpr std::size_t due = levels * slots; // filed when their tick had been reached
    static constexpr std::size_t late = due + 1;       // were due; wait for the open slot to close
    static constexpr std::size_t batch = due + 2;      // being handed out

    static constexpr std::size_t slot_index(unsigned level, unsigned digit) noexcept
    {
        return level * slots + digit;
    }

    static constexpr unsigned digit_of(tick_type tick, unsigned level) noexcept
    {
        return static_cast<unsigned>(tick >> (8 * level)) % slots;
    }

    // The first tick of a slot: the digits of now() above the level, then the slot's, then zeros.
    tick_type slot_start(unsigned level, unsigned digit) const noexcept
    {
        const tick_type above = level == levels - 1 ? 0 : now_ >> (8 * (level + 1)) << 8;
        return (above | digit) << (8 * level);
    }

    std::size_t open_slot() const noexcept
    {
        return slot_index(open_level_, digit_of(now_, open_level_));
    }

    // Whether `tick` belongs to the slot whose nodes are being refiled.
    bool in_open_slot(tick_type tick) const noexcept
    {
        return (tick ^ now_) >> (8 * open_level_) == 0;
    }

    void file(wheel_node& node) noexcept
    {
        // A node for the open slot goes through it, behind those of its tick that wait there; but
        // not if it is due already, or nodes that are filed again and again would keep it open.
        if (node.tick <= now_)
            lists_[due].push_back(node);
        else if (open_level_ != 0 && in_open_slot(node.tick))
            append(open_level_, node);
        else
            append(level_of(node.tick), node);
    }

    // Whether to file the node again would not move it. No may be wrong.
    bool is_last(const wheel_node& node) const noexcept
    {
        return node.tick > now_ && open_level_ == 0 && lists_[slot_of(node.tick)].back() == &node;
    }

    // Where a later tick belongs.
    std::size_t slot_of(tick_type tick) const noexcept
    {
        const unsigned level = level_of(tick);
        return slot_index(level, digit_of(tick, level));
    }

    // The highest byte in which a later tick differs from now().
    unsigned level_of(tick_type tick) const noexcept
    {
        return (static_cast<unsigned>(std::bit_width(tick ^ now_)) - 1) / 8;
    }

    void append(unsigned level, wheel_node& node) noexcept
    {
        const unsigned digit = digit_of(node.tick, level);
        const std::size_t slot = slot_index(level, digit);
        std::uint64_t& word = occupied_[slot / 64];
        const std::uint64_t bit = std::uint64_t{1} << (slot % 64);
        if (level != 0 && ((word & bit) == 0 || node.tick < earliest_[slot]))
            earliest_[slot] = node.tick;
        word |= bit;
        occupied_levels_ |= 1u << level;
        lists_[slot].push_back(node);
    }

    void mark_empty(std::size_t list) noexcept
    {
        if (list >= due)
            return;
        occupied_[list / 64] &= ~(std::uint64_t{1} << (list % 64));
        const std::size_t level = list / slots;
        const std::uint64_t* const words = &occupied_[level * words_per_level];
        if ((words[0] | words[1] | words[2] | words[3]) == 0)
            occupied_levels_ &= ~(1u << level);
    }

    bool is_occupied(unsigned level, unsigned digit) const noexcept
    {
        const std::size_t slot = slot_index(level, digit);
        return (occupied_[slot / 64] >> (slot % 64) & 1) != 0;
    }

    unsigned lowest_level() const noexcept
    {
        return static_cast<unsigned>(std::countr_zero(occupied_levels_));
    }

    unsigned first_digit(unsigned level) const noexcept
    {
        const std::uint64_t* word = &occupied_[level * words_per_level];
        unsigned digit = 0;
        for (; *word == 0; ++word)
            digit += 64;
        return digit + static_cast<unsigned>(std::countr_zero(*word));
    }

    // Moves on to the earliest occupied slot that begins by `now`: a slot of the lowest level is
    // due as a whole, one of another level is opened. Moves on to `now` if there is none.
    bool open_next_slot(tick_type now) noexcept
    {
        if (open_level_ != 0)
            return true;
        if (occupied_levels_ != 0) {
            const unsigned level = lowest_level();
            const unsigned digit = first_digit(level);
            const tick_type start = slot_start(level, digit);
            if (start <= now) {
                now_ = start;
                if (level == 0) {
                    lists_[batch].splice_back(lists_[digit]);
                    mark_empty(digit);
                } else {
                    open_level_ = level;
                }
                return true;
            }
        }
        if (now > now_)
            now_ = now;
        return false;
    }

    void refile_from_open_slot() noexcept
    {
        const std::size_t slot = open_slot();
        if (!lists_[slot].empty()) {
            auto& node = static_cast<wheel_node&>(*lists_[slot].front());
            remove(node);
            if (node.tick <= now_)
                lists_[batch].push_back(node);
            else
                append(level_of(node.tick), node);
        }
        if (lists_[slot].empty()) {
            open_level_ = 0;
            lists_[batch].splice_back(lists_[late]);
        }
    }

    template <class OnDue>
    void hand_out(wheel_node& node, OnDue& on_due)
    {
        if (node.tick <= now_) {
            on_due(node);
        } else {
            ++refiled_;
            file(node);
        }
    }

    static constexpr std::size_t words_per_level = slots / 64;

    tick_type now_;
    unsigned open_level_ = 0; // the level of the slot at now() that is being refiled, or 0
    unsigned occupied_levels_ = 0;
    std::uint64_t refiled_ = 0;
    std::array<std::uint64_t, levels * words_per_level> occupied_{};
    std::array<list_anchor, levels * slots + 3> lists_;
    std::array<tick_type, levels * slots> earliest_; // of a slot above level 0, while occupied
};

}

#endif
