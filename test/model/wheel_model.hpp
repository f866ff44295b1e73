// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#ifndef TIMEWHEEL_TEST_MODEL_WHEEL_MODEL_HPP
#define TIMEWHEEL_TEST_MODEL_WHEEL_MODEL_HPP

#include <timewheel/detail/hierarchical_wheel.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace timewheel::test {

using detail::tick_type;

struct model_failure : std::logic_error
{
    using std::logic_error::logic_error;
};

inline void require(bool holds, const char* what)
{
    if (!holds)
        throw model_failure(what);
}

/*  What the wheel promises, on sorted containers, with no slots or levels.

    Nodes come in the order of their ticks, and in the order of filing within a tick. What is filed
    when its tick has been reached already counts as filed at the beginning of the next call, at the
    tick that the wheel has reached by then.

    A node moved later has no exact place: it comes, in no particular order, somewhere from where it
    was until its new tick; once the wheel has done all that is due where it was, it is filed at the
    new tick, behind what was filed there before itself and before what is filed there from then on.
*/
class wheel_model
{
public:
    struct record
    {
        bool filed = false;
        bool exact = true;          // not moved later
        bool reached = false;       // waits for the next call
        tick_type tick = 0;         // when it is due
        tick_type place = 0;        // the tick where it comes, at the earliest if it is not exact
        tick_type left = 0;         // the last tick it was moved away from
        std::uint64_t first = 0;    // its number in the order of filing, between `first`
        std::uint64_t last = 0;     // and `last`
        std::uint64_t due_call = 0; // the call in which a callback filed it when it was due
    };

    explicit wheel_model(std::size_t nodes) : records_(nodes) {}

    const record& operator[](std::size_t id) const { return records_[id]; }
    bool empty() const { return by_tick_.empty(); }
    bool only_filed() const { return only_filed_; }
    std::uint64_t moves_later() const { return moves_later_; }

    tick_type earliest() const
    {
        return by_tick_.empty() ? detail::hierarchical_wheel::never : by_tick_.begin()->first;
    }

    void insert(std::size_t id, tick_type tick, tick_type now, bool in_call)
    {
        record& r = records_[id];
        r = record{};
        r.filed = true;
        r.tick = tick;
        r.due_call = in_call && tick <= now ? call_ : 0;
        by_tick_.emplace(tick, id);
        file(id, now);
    }

    void remove(std::size_t id)
    {
        forget(id);
        only_filed_ = empty();
    }

    void reschedule(std::size_t id, tick_type tick, tick_type now, bool in_call)
    {
        record& r = records_[id];
        if (tick <= r.tick || r.tick <= now) { // due: not in a slot any more
            remove(id);
            insert(id, tick, now, in_call);
            only_filed_ = false;
            return;
        }
        only_filed_ = false;
        ++moves_later_;
        by_tick_.erase({r.tick, id});
        by_tick_.emplace(tick, id);
        const tick_type before = std::exchange(r.tick, tick);
        if (tick <= r.place)
            return; // it was late, and still is
        if (r.exact) {
            leave_order(id);
            r.exact = false;
            moved_.insert(id);
        }
        r.left = (std::max)({r.left, r.place, before});
        r.last = unknown;
    }

    void replace(std::size_t from, std::size_t to)
    {
        record& r = records_[from];
        by_tick_.erase({r.tick, from});
        by_tick_.emplace(r.tick, to);
        if (!r.exact) {
            moved_.erase(from);
            moved_.insert(to);
        } else if (r.reached) {
            reached_[r.first] = to;
        } else {
            order_[{r.place, r.first}] = to;
        }
        records_[to] = std::exchange(r, record{});
    }

    void begin_call(tick_type now)
    {
        ++call_;
        for (const auto& [filed, id] : std::exchange(reached_, {})) {
            record& r = records_[id];
            r.reached = false;
            r.place = now;
            r.first = r.last = ++filings_;
            order_.emplace(std::pair(r.place, r.first), id);
        }
        for (const std::size_t id : moved_) {
            record& r = records_[id];
            if (!std::exchange(r.reached, false))
                continue;
            r.place = now;
            r.left = (std::max)(r.left, now);
        }
    }

    // The wheel hands a node out, when it says that it has reached `now`.
    void hand_out(std::size_t id, tick_type tick, tick_type now)
    {
        const record& r = records_[id];
        require(r.filed, "a node was handed out that is not filed");
        require(tick == r.tick, "a node lost its tick");
        require(r.tick <= now, "a node was handed out early");
        require(r.due_call != call_, "what a callback filed as due came in the same call");
        require(!r.reached, "what was filed as due came in the same call");
        if (r.exact)
            check_order(id);
        else
            check_order_of_moved(r);
        forget(id);
        only_filed_ |= empty();
    }

    // All that is due at `now` has been handed out.
    void end_call(tick_type now)
    {
        require(empty() || earliest() > now, "a node that is due was not handed out");
        for (const std::size_t id : moved_) {
            record& r = records_[id];
            if (r.left <= now && r.last == unknown)
                settle(r);
        }
    }

    // The clock was set back: all are filed again, in their order.
    void rewind(tick_type now)
    {
        const auto order = std::exchange(order_, {});
        const auto reached = std::exchange(reached_, {});
        for (const auto& [key, id] : order)
            file(id, now);
        for (const auto& [filed, id] : reached)
            file(id, now);
        for (const std::size_t id : moved_) {
            record& r = records_[id];
            r.first = 0; // nothing is known of its place
            r.reached = r.tick <= now;
            settle(r);
            if (r.reached) {
                r.last = unknown;
                r.left = r.place = now;
            }
        }
    }

    // take_all() hands a node out: in the order of filing, if not of ticks.
    void take(std::size_t id)
    {
        const record& r = records_[id];
        require(r.filed, "a node was taken that is not filed");
        if (r.exact && r.reached)
            require(reached_.begin()->second == id, "nodes that were due are taken out of order");
        else if (r.exact)
            require(order_.lower_bound({r.place, 0})->second == id, "taken out of order");
        remove(id);
    }

private:
    static constexpr std::uint64_t unknown = (std::numeric_limits<std::uint64_t>::max)();

    void file(std::size_t id, tick_type now)
    {
        record& r = records_[id];
        r.reached = r.tick <= now;
        r.place = (std::max)(r.tick, now);
        r.first = r.last = ++filings_;
        if (r.reached)
            reached_.emplace(r.first, id);
        else
            order_.emplace(std::pair(r.place, r.first), id);
    }

    void settle(record& r)
    {
        r.last = filings_;
        r.place = r.tick;
    }

    void leave_order(std::size_t id)
    {
        const record& r = records_[id];
        if (r.reached)
            reached_.erase(r.first);
        else
            order_.erase({r.place, r.first});
    }

    void forget(std::size_t id)
    {
        record& r = records_[id];
        by_tick_.erase({r.tick, id});
        if (r.exact)
            leave_order(id);
        else
            moved_.erase(id);
        r.filed = false;
    }

    void check_order(std::size_t id) const
    {
        const record& r = records_[id];
        require(order_.begin()->first.first == r.place, "a later tick came first");
        require(order_.begin()->second == id, "nodes of a tick came out of order");
        for (const std::size_t other : moved_) {
            const record& m = records_[other];
            if (m.reached)
                continue;
            require((std::max)(m.tick, m.place) >= r.place, "a later tick overtook a moved node");
            const bool before = m.tick == r.place && m.last < r.first;
            require(!before, "a node overtook a moved one that was filed at its tick before it");
        }
    }

    void check_order_of_moved(const record& r) const
    {
        if (order_.empty())
            return;
        require(order_.begin()->first.first >= r.place, "a moved node overtook an earlier tick");
        const auto same = order_.lower_bound({r.tick, 0});
        const bool overtook = r.place == r.tick && same != order_.end() &&
                              same->first.first == r.tick && same->first.second < r.first;
        require(!overtook, "a moved node overtook one that was filed at its tick before it");
    }

    std::vector<record> records_;
    std::set<std::pair<tick_type, std::size_t>> by_tick_;
    std::map<std::pair<tick_type, std::uint64_t>, std::size_t> order_; // by place and filing
    std::map<std::uint64_t, std::size_t> reached_;                     // by filing
    std::set<std::size_t> moved_;
    std::uint64_t filings_ = 0;
    std::uint64_t moves_later_ = 0;
    std::uint64_t call_ = 0;
    bool only_filed_ = true; // since the wheel was empty: nothing was removed or moved
};

}

#endif
