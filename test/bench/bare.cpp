// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

// The wheel alone, without clock, lock and handlers, beside other structures of the same nodes, and
// beside the least that any of them can do: unlink a node and append it to another list.

#include "population.hpp"

#include <timewheel/detail/hierarchical_wheel.hpp>

#include <deque>
#include <map>

namespace timewheel::bench {

namespace {

using detail::tick_type;

constexpr tick_type one_hour = 3'600'000;

// What all nodes have beside their links, as a timer has: what to call when it is due.
struct payload
{
    void (*on_due)() = nullptr;
};

class wheel_of_nodes
{
public:
    struct node_type : detail::wheel_node
    {
        payload rest;
    };

    void insert(node_type& node, tick_type tick) { wheel_.insert(node, tick); }

    void refile(node_type& node, tick_type tick)
    {
        wheel_.remove(node);
        wheel_.insert(node, tick);
    }

    template <class Expired>
    void expire_all(Expired expired)
    {
        const auto on_due = [&](detail::wheel_node& due) { expired(static_cast<node_type&>(due)); };
        while (!wheel_.expire(one_hour, 64, on_due))
            continue;
    }

private:
    detail::hierarchical_wheel wheel_;
};

// Each node knows its place, so that it can be taken out: what Asio does.
class binary_heap
{
public:
    struct node_type
    {
        std::size_t place = 0;
        payload rest;
    };

    void insert(node_type& node, tick_type tick)
    {
        heap_.push_back({tick, &node});
        up(heap_.size() - 1);
    }

    void refile(node_type& node, tick_type tick)
    {
        const std::size_t place = node.place;
        heap_[place].tick = tick;
        up(place);
        down(node.place);
    }

    template <class Expired>
    void expire_all(Expired expired)
    {
        while (!heap_.empty()) {
            node_type& first = *heap_.front().of;
            heap_.front() = heap_.back();
            heap_.pop_back();
            if (!heap_.empty())
                down(0);
            expired(first);
        }
    }

private:
    struct entry_type
    {
        tick_type tick;
        node_type* of;
    };

    void put(std::size_t place, const entry_type& entry)
    {
        heap_[place] = entry;
        entry.of->place = place;
    }

    void up(std::size_t place)
    {
        const entry_type moved = heap_[place];
        for (; place != 0 && moved.tick < heap_[(place - 1) / 2].tick; place = (place - 1) / 2)
            put(place, heap_[(place - 1) / 2]);
        put(place, moved);
    }

    void down(std::size_t place)
    {
        const entry_type moved = heap_[place];
        for (std::size_t child = 2 * place + 1; child < heap_.size(); child = 2 * place + 1) {
            if (child + 1 != heap_.size() && heap_[child + 1].tick < heap_[child].tick)
                ++child;
            if (moved.tick <= heap_[child].tick)
                break;
            put(place, heap_[child]);
            place = child;
        }
        put(place, moved);
    }

    std::vector<entry_type> heap_;
};

class multimap
{
public:
    struct node_type;
    using map = std::multimap<tick_type, node_type*>;

    struct node_type
    {
        map::iterator place;
        payload rest;
    };

    void insert(node_type& node, tick_type tick) { node.place = map_.emplace(tick, &node); }

    // Without allocation: the tree's own node is kept.
    void refile(node_type& node, tick_type tick)
    {
        auto handle = map_.extract(node.place);
        handle.key() = tick;
        node.place = map_.insert(std::move(handle));
    }

    template <class Expired>
    void expire_all(Expired expired)
    {
        while (!map_.empty()) {
            node_type& first = *map_.begin()->second;
            map_.erase(map_.begin());
            expired(first);
        }
    }

private:
    map map_;
};

class two_lists
{
public:
    struct node_type : detail::list_link
    {
        payload rest;
        bool second = false;
    };

    void insert(node_type& node, tick_type) { lists_[0].push_back(node); }

    void refile(node_type& node, tick_type)
    {
        node.unlink();
        node.second = !node.second;
        lists_[node.second].push_back(node);
    }

    template <class Expired>
    void expire_all(Expired expired)
    {
        for (auto& list : lists_)
            while (!list.empty())
                expired(static_cast<node_type&>(list.pop_front()));
    }

private:
    detail::list_anchor lists_[2];
};

struct times
{
    std::vector<double> insert, refile, expire;
};

template <class Structure>
void sample(std::size_t n, times& result)
{
    std::deque<typename Structure::node_type> nodes(n);
    Structure structure;
    random_numbers random(42);
    const auto some_tick = [&] { return 1 + random.below(one_hour - 1); };
    auto last = thread_cpu_time();
    const auto per_node = [&] {
        const auto since = std::exchange(last, thread_cpu_time());
        return static_cast<double>((last - since).count()) / static_cast<double>(n);
    };
    for (auto& node : nodes)
        structure.insert(node, some_tick());
    result.insert.push_back(per_node());
    for (std::size_t i = 0; i != n; ++i)
        structure.refile(nodes[random.below(n)], some_tick());
    result.refile.push_back(per_node());
    std::size_t expired = 0;
    structure.expire_all([&](auto& node) { expired += node.rest.on_due == nullptr; });
    result.expire.push_back(per_node());
    require(expired == n, "a node was lost or came twice");
}

void bare(session& session)
{
    for (const std::size_t n : session.sizes({10'000, 100'000, 1'000'000})) {
        if (session.quick && n != 1'000'000)
            continue;
        times wheel, heap, map, list;
        for (std::size_t round = 0; round != session.rounds; ++round) {
            sample<wheel_of_nodes>(n, wheel);
            sample<two_lists>(n, list);
            if (session.quick)
                continue;
            sample<binary_heap>(n, heap);
            sample<multimap>(n, map);
        }
        const auto record = [&](const char* subject, const times& of) {
            session.record("bare_insert", n, "ns", subject, of.insert);
            session.record("bare_refile", n, "ns", subject, of.refile);
            session.record("bare_expire", n, "ns", subject, of.expire);
        };
        record("wheel", wheel);
        record("list, no order", list);
        if (session.quick)
            continue;
        record("binary heap", heap);
        record("std::multimap", map);
    }
}

const benchmark known("bare", bare);

}

}
