// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#ifndef TIMEWHEEL_TEST_COMMON_WHEEL_FIXTURE_HPP
#define TIMEWHEEL_TEST_COMMON_WHEEL_FIXTURE_HPP

#include <timewheel/detail/hierarchical_wheel.hpp>

#include <boost/test/unit_test.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

namespace timewheel::test {

using detail::tick_type;
using wheel_type = detail::hierarchical_wheel;

constexpr unsigned wheel_levels = 8;
constexpr std::size_t no_limit = std::size_t{1} << 20;

// What a slot of a level spans.
constexpr tick_type unit_of(unsigned level) noexcept
{
    return tick_type{1} << (8 * level);
}

// Where arithmetic on 64-bit ticks, on their bytes or on a level is likely to go wrong.
constexpr std::array<tick_type, 30> interesting_ticks{
    0,
    1,
    2,
    200,
    254,
    255,
    256,
    257,
    511,
    65535,
    65536,
    65537,
    (tick_type{1} << 24) - 1,
    tick_type{1} << 24,
    (tick_type{1} << 32) - 2,
    (tick_type{1} << 32) - 1,
    tick_type{1} << 32,
    (tick_type{1} << 32) + 1,
    (tick_type{1} << 56) - 1,
    tick_type{1} << 56,
    (tick_type{1} << 63) - 65537,
    (tick_type{1} << 63) - 256,
    (tick_type{1} << 63) - 1,
    tick_type{1} << 63,
    (tick_type{1} << 63) + 1,
    (tick_type{1} << 63) + 255,
    wheel_type::never - 65537,
    wheel_type::never - 257,
    wheel_type::never - 3,
    wheel_type::never - 1,
};

struct test_node : detail::wheel_node
{
    explicit test_node(int number) noexcept : id(number) {}

    int id;
};

// A wheel and its nodes; what is handed out is logged by the id, and checked not to be early.
class wheel_fixture
{
public:
    explicit wheel_fixture(tick_type now = 0) : wheel_(std::make_unique<wheel_type>(now)) {}

    wheel_type& wheel() { return *wheel_; }
    wheel_type* operator->() { return wheel_.get(); }

    // A node that is not filed. Ids count from 0.
    test_node& make()
    {
        nodes_.push_back(std::make_unique<test_node>(static_cast<int>(nodes_.size())));
        return *nodes_.back();
    }

    test_node& insert(tick_type tick)
    {
        test_node& node = make();
        wheel_->insert(node, tick);
        return node;
    }

    test_node& node(int id) { return *nodes_.at(static_cast<std::size_t>(id)); }
    void destroy(int id) { nodes_.at(static_cast<std::size_t>(id)).reset(); }

    // Called with each node after it has been logged.
    std::function<void(test_node&)> on_due;

    bool expire(tick_type now, std::size_t max = no_limit)
    {
        std::size_t handed_out = 0;
        const bool all = wheel_->expire(now, max, [&](detail::wheel_node& due) {
            auto& node = static_cast<test_node&>(due);
            BOOST_REQUIRE(++handed_out <= max);
            BOOST_REQUIRE(!node.is_linked());
            BOOST_REQUIRE_LE(node.tick, wheel_->now());
            BOOST_REQUIRE_LE(wheel_->now(), now);
            log_.push_back(node.id);
            if (on_due)
                on_due(node);
        });
        BOOST_REQUIRE(all == (wheel_->next_wakeup() > now));
        return all;
    }

    // As many calls as it takes; returns how many.
    std::size_t expire_all(tick_type now, std::size_t max, std::size_t most_calls = 100'000)
    {
        std::size_t calls = 1;
        while (!expire(now, max))
            BOOST_REQUIRE_LE(++calls, most_calls);
        return calls;
    }

    // What was handed out since the last time.
    std::vector<int> log()
    {
        std::vector<int> log;
        log.swap(log_);
        return log;
    }

private:
    std::unique_ptr<wheel_type> wheel_;
    std::vector<std::unique_ptr<test_node>> nodes_;
    std::vector<int> log_;
};

}

#endif
