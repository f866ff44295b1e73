// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

// When a node comes: at every boundary, after stalls and jumps in both directions. The names like
// XA3 are those of faults that other timers had.

#include <timewheel/detail/hierarchical_wheel.hpp>

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <test_common/wheel_fixture.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <type_traits>
#include <vector>

namespace {

using namespace timewheel::test;
namespace data = boost::unit_test::data;

using id_list = std::vector<int>;

constexpr tick_type never = wheel_type::never;

static_assert(sizeof(timewheel::detail::wheel_node) <= 64);
static_assert(!std::is_polymorphic_v<timewheel::detail::wheel_node>);

const auto all_levels = data::xrange(wheel_levels);

// The ticks at, just before and just after boundaries of a level, that are later than `now`.
std::vector<tick_type> deadlines_around(tick_type now, unsigned level)
{
    const tick_type unit = unit_of(level);
    std::vector<tick_type> deadlines;
    for (const tick_type slots : {1u, 2u, 128u, 255u, 256u, 257u}) {
        const tick_type index = now / unit + slots;
        if (index > never / unit)
            continue;
        const tick_type boundary = index * unit;
        for (const tick_type deadline : {boundary - 1, boundary, boundary + 1}) {
            if (now < deadline && deadline != never)
                deadlines.push_back(deadline);
        }
    }
    return deadlines;
}

BOOST_AUTO_TEST_SUITE(hierarchical_wheel)

BOOST_AUTO_TEST_CASE(new_wheel_is_empty)
{
    for (const tick_type now : interesting_ticks) {
        wheel_fixture f(now);
        BOOST_TEST(f->now() == now);
        BOOST_TEST(f->empty());
        BOOST_TEST(f->next_wakeup() == never);
        BOOST_TEST(f->next_due() == never);
        BOOST_TEST(f->refiled() == 0u);
        BOOST_TEST(f.expire(now));
        BOOST_TEST(f->now() == now);
        BOOST_TEST(f.expire(never - 1));
        BOOST_TEST(f->now() == never - 1);
    }
}

// XA3 (+256 from 0), XA8, XA9 and XA13 (the first delay of an idle wheel), at each boundary.
BOOST_DATA_TEST_CASE(fires_at_its_tick, data::make(interesting_ticks) * all_levels, now, level)
{
    for (const tick_type deadline : deadlines_around(now, level)) {
        BOOST_TEST_CONTEXT("deadline " << deadline)
        {
            wheel_fixture f(now);
            f.insert(deadline);
            BOOST_TEST(!f->empty());
            BOOST_TEST(f->next_wakeup() == deadline);
            BOOST_TEST(f->next_due() == deadline);

            BOOST_TEST(f.expire(deadline - 1));
            BOOST_TEST(f->now() == deadline - 1);
            BOOST_TEST(f.log().empty());
            BOOST_TEST(f->next_wakeup() == deadline);
            BOOST_TEST(f->next_due() == deadline);

            BOOST_TEST(f.expire(deadline));
            BOOST_TEST(f->now() == deadline);
            BOOST_TEST(f.log().size() == 1u);
            BOOST_TEST(f->empty());
            BOOST_TEST(f->next_wakeup() == never);
            BOOST_TEST(f->next_due() == never);
        }
    }
}

// XA12: also when the wheel looks only long after the tick.
BOOST_DATA_TEST_CASE(fires_after_a_stall, data::make(interesting_ticks) * all_levels, now, level)
{
    for (const tick_type deadline : deadlines_around(now, level)) {
        for (const tick_type stall : {tick_type{1}, tick_type{255}, tick_type{256}, unit_of(5)}) {
            if (deadline >= never - 1 - stall)
                continue;
            wheel_fixture f(now);
            f.insert(deadline);
            BOOST_TEST(f.expire(deadline + stall));
            BOOST_TEST(f.log().size() == 1u);
            BOOST_TEST(f->now() == deadline + stall);
        }
    }
}

// A driver that sleeps until next_wakeup() is woken once for each node, at its tick.
BOOST_DATA_TEST_CASE(wakes_up_only_when_due, data::make(interesting_ticks), now)
{
    wheel_fixture f(now);
    std::vector<tick_type> deadlines;
    for (unsigned level = 0; level != wheel_levels; ++level) {
        for (const tick_type deadline : deadlines_around(now, level))
            deadlines.push_back(deadline);
    }
    std::sort(deadlines.begin(), deadlines.end());
    deadlines.erase(std::unique(deadlines.begin(), deadlines.end()), deadlines.end());
    for (auto deadline = deadlines.rbegin(); deadline != deadlines.rend(); ++deadline)
        f.insert(*deadline);
    for (const tick_type deadline : deadlines) {
        BOOST_REQUIRE(f->next_wakeup() == deadline);
        BOOST_REQUIRE(f->next_due() == deadline);
        BOOST_REQUIRE(f.expire(deadline));
        BOOST_REQUIRE(f.log().size() == 1u);
    }
    BOOST_TEST(f->empty());
}

// The deadline is approached over each boundary on the way, and nothing is early on any of them.
BOOST_DATA_TEST_CASE(fires_when_approached_in_steps, data::make(interesting_ticks), now)
{
    for (const tick_type deadline : interesting_ticks) {
        if (deadline <= now)
            continue;
        wheel_fixture f(now);
        f.insert(deadline);
        for (unsigned level = wheel_levels; level-- != 0;) {
            const tick_type boundary = deadline / unit_of(level) * unit_of(level);
            for (const tick_type step : {boundary - 1, boundary}) {
                if (step < f->now() || step >= deadline)
                    continue;
                BOOST_TEST(f.expire(step));
                BOOST_TEST(f.log().empty());
                BOOST_TEST(f->next_wakeup() == deadline);
            }
        }
        BOOST_TEST(f.expire(deadline));
        BOOST_TEST(f.log().size() == 1u);
    }
}

// XA1: a tick passes unseen, then a node almost a rotation later is filed.
BOOST_DATA_TEST_CASE(late_batch_takes_nothing_early, data::make(interesting_ticks), now)
{
    if (now > never - 1000)
        return;
    wheel_fixture f(now);
    f.insert(now + 1);
    f.insert(now + 2 + 255); // by a clock that is at now + 2 already
    BOOST_TEST(f.expire(now + 2));
    BOOST_TEST(f.log() == id_list{0}, boost::test_tools::per_element());
    BOOST_TEST(f.expire(now + 256));
    BOOST_TEST(f.log().empty());
    BOOST_TEST(f.expire(now + 257));
    BOOST_TEST(f.log() == id_list{1}, boost::test_tools::per_element());
}

// XA2: a deadline that a callback computes from the real time stands, wherever the wheel is.
BOOST_DATA_TEST_CASE(callback_measures_from_its_own_now, data::make({1u, 50u, 300u, 70000u}), work)
{
    wheel_fixture f;
    f.insert(10);
    f.on_due = [&](test_node& node) {
        if (f->now() == 10)
            f->insert(node, 10 + work + 5);
    };
    BOOST_TEST(f.expire(10));
    BOOST_TEST(f.expire(10 + work + 4));
    BOOST_TEST(f.log() == id_list{0}, boost::test_tools::per_element());
    BOOST_TEST(f.expire(10 + work + 5));
    BOOST_TEST(f.log() == id_list{0}, boost::test_tools::per_element());
}

// XA4: a deadline far in the past is due at once, and disturbs nothing.
BOOST_DATA_TEST_CASE(past_deadline_is_due_at_once, data::make(interesting_ticks), now)
{
    for (const tick_type past : interesting_ticks) {
        if (past > now || now > never - 300)
            continue;
        wheel_fixture f(now);
        f.insert(now + 1);
        f.insert(past);
        f.insert(now + 256);
        BOOST_TEST(f->next_wakeup() == now);
        BOOST_TEST(f->next_due() == past);
        BOOST_TEST(f.expire(now));
        BOOST_TEST(f.log() == id_list{1}, boost::test_tools::per_element());
        BOOST_TEST(f->next_wakeup() == now + 1);
        BOOST_TEST(f.expire(now + 255));
        BOOST_TEST(f.log() == id_list{0}, boost::test_tools::per_element());
        BOOST_TEST(f.expire(now + 256));
        BOOST_TEST(f.log() == id_list{2}, boost::test_tools::per_element());
    }
}

// XA6: no delay is beyond the wheel, wherever it is when the delay begins.
BOOST_DATA_TEST_CASE(longest_delay_is_kept, data::make(interesting_ticks), now)
{
    if (now == never - 1)
        return;
    wheel_fixture f(now);
    f.insert(never - 1);
    for (unsigned level = 0; level != wheel_levels; ++level) {
        const tick_type step = now > never - 1 - unit_of(level) ? now : now + unit_of(level) - 1;
        if (step < f->now() || step >= never - 1)
            continue;
        BOOST_TEST(f.expire(step));
        BOOST_TEST(f.log().empty());
    }
    BOOST_TEST(f.expire(never - 2 < f->now() ? f->now() : never - 2));
    BOOST_TEST(f.log().empty());
    BOOST_TEST(f.expire(never - 1));
    BOOST_TEST(f.log().size() == 1u);
}

// XA7: filing what has expired moves nothing back.
BOOST_AUTO_TEST_CASE(expired_node_does_not_move_the_wheel_back)
{
    wheel_fixture f(0x10203);
    f.insert(0x10000);
    f.insert(0x10205);
    f.insert(5);
    BOOST_TEST(f->now() == 0x10203u);
    BOOST_TEST(f.expire(0x10203));
    BOOST_TEST(f.log() == (id_list{0, 2}), boost::test_tools::per_element());
    BOOST_TEST(f->now() == 0x10203u);
    BOOST_TEST(f->next_wakeup() == 0x10205u);
    BOOST_TEST(f.expire(0x10204));
    BOOST_TEST(f.log().empty());
    BOOST_TEST(f.expire(0x10205));
    BOOST_TEST(f.log() == id_list{1}, boost::test_tools::per_element());
}

// XA9, XA11: no period suits the slots badly.
BOOST_DATA_TEST_CASE(
    every_period_is_kept,
    data::make({1u, 2u, 7u, 60u, 255u, 256u, 257u, 512u, 600u, 65535u, 65536u, 65537u, 1000003u}) *
        data::make({tick_type{0}, tick_type{200}, (tick_type{1} << 32) - 1000}),
    period,
    now
)
{
    wheel_fixture f(now);
    f.insert(now + period);
    std::vector<tick_type> fired;
    f.on_due = [&](test_node& node) {
        fired.push_back(f->now());
        f->insert(node, node.tick + period);
    };
    for (tick_type occurrence = 1; occurrence <= 600; ++occurrence) {
        BOOST_REQUIRE(f.expire(now + occurrence * period - 1));
        BOOST_REQUIRE(fired.size() == occurrence - 1);
        BOOST_REQUIRE(f.expire(now + occurrence * period));
        BOOST_REQUIRE(fired.size() == occurrence);
        BOOST_REQUIRE(fired.back() == now + occurrence * period);
    }
}

BOOST_DATA_TEST_CASE(never_is_filed_but_not_due, data::make(interesting_ticks), now)
{
    wheel_fixture f(now);
    test_node& node = f.insert(never);
    BOOST_TEST(!f->empty());
    BOOST_TEST(f->next_wakeup() == never);
    BOOST_TEST(f->next_due() == never);
    f.expire_all(never - 1, 1, 20); // through all levels
    BOOST_TEST(f.log().empty());
    BOOST_TEST(node.is_linked());
    BOOST_TEST(f->next_wakeup() == never);

    // What waits for ever can still be moved to a time.
    f->reschedule(node, never - 1);
    BOOST_TEST(f->next_wakeup() == never - 1);
    BOOST_TEST(f.expire(never - 1));
    BOOST_TEST(f.log().size() == 1u);
}

BOOST_AUTO_TEST_CASE(moved_to_never_is_not_handed_out)
{
    wheel_fixture f;
    test_node& node = f.insert(300);
    f.insert(301);
    f->reschedule(node, never);
    BOOST_TEST(f->next_due() == 301u);
    BOOST_TEST(f.expire(1000));
    BOOST_TEST(f.log() == id_list{1}, boost::test_tools::per_element());
    BOOST_TEST(node.is_linked());
    BOOST_TEST(f->next_wakeup() == never);
    f->remove(node);
    BOOST_TEST(f->empty());
}

BOOST_DATA_TEST_CASE(moved_later_fires_then, data::make(interesting_ticks) * all_levels, now, level)
{
    for (const tick_type first : deadlines_around(now, level)) {
        for (const tick_type more : {tick_type{1}, tick_type{255}, unit_of(level), unit_of(5)}) {
            if (first >= never - 1 - more)
                continue;
            const tick_type second = first + more;
            wheel_fixture f(now);
            test_node& node = f.insert(first);
            f->reschedule(node, second);
            BOOST_TEST(f->next_due() == second);
            BOOST_TEST(f->next_wakeup() <= second);
            BOOST_TEST(f.expire(second - 1));
            BOOST_TEST(f.log().empty());
            BOOST_TEST(f.expire(second));
            BOOST_TEST(f.log().size() == 1u);
            BOOST_TEST(f->refiled() <= 1u);
        }
    }
}

// However often it is moved before its old tick comes, that is one refiling.
BOOST_AUTO_TEST_CASE(moved_later_many_times_is_refiled_once)
{
    wheel_fixture f;
    test_node& node = f.insert(100);
    for (tick_type tick = 101; tick != 2000; ++tick)
        f->reschedule(node, tick);
    BOOST_TEST(f->refiled() == 0u);
    BOOST_TEST(f.expire(100));
    BOOST_TEST(f->refiled() == 1u);
    BOOST_TEST(f.expire(1998));
    BOOST_TEST(f.log().empty());
    BOOST_TEST(f.expire(1999));
    BOOST_TEST(f.log().size() == 1u);
    BOOST_TEST(f->refiled() == 1u);
}

BOOST_DATA_TEST_CASE(
    moved_earlier_fires_then,
    data::make(interesting_ticks) * all_levels,
    now,
    level
)
{
    const auto deadlines = deadlines_around(now, level);
    for (const tick_type first : deadlines) {
        for (const tick_type second : deadlines) {
            if (second >= first)
                continue;
            wheel_fixture f(now);
            test_node& node = f.insert(first);
            f->reschedule(node, second);
            BOOST_TEST(f->next_wakeup() == second);
            BOOST_TEST(f->next_due() == second);
            BOOST_TEST(f.expire(second - 1));
            BOOST_TEST(f.log().empty());
            BOOST_TEST(f.expire(first)); // exactly once
            BOOST_TEST(f.log().size() == 1u);
            BOOST_TEST(f->empty());
        }
    }
}

BOOST_DATA_TEST_CASE(moved_to_the_past_is_due_at_once, data::make({0u, 99u, 100u}), tick)
{
    wheel_fixture f(100);
    test_node& node = f.insert(100000);
    f->reschedule(node, tick);
    BOOST_TEST(f->next_wakeup() == 100u);
    BOOST_TEST(f.expire(100));
    BOOST_TEST(f.log().size() == 1u);
    BOOST_TEST(f->empty());
}

BOOST_AUTO_TEST_CASE(moved_later_then_earlier_and_back)
{
    wheel_fixture f;
    test_node& node = f.insert(1000);
    f->reschedule(node, 70000); // stays in its slot
    f->reschedule(node, 1000);  // moves: the new tick is earlier than 70000
    f->reschedule(node, 3000);
    BOOST_TEST(f->next_due() == 3000u);
    f->reschedule(node, 2000);
    BOOST_TEST(f->next_due() == 2000u);
    BOOST_TEST(f.expire(1999));
    BOOST_TEST(f.log().empty());
    BOOST_TEST(f.expire(100000));
    BOOST_TEST(f.log().size() == 1u);
    BOOST_TEST(f->empty());
}

BOOST_DATA_TEST_CASE(removed_does_not_fire, data::make(interesting_ticks) * all_levels, now, level)
{
    for (const tick_type deadline : deadlines_around(now, level)) {
        wheel_fixture f(now);
        test_node& node = f.insert(deadline);
        test_node& other = f.insert(deadline);
        f->remove(node);
        BOOST_TEST(!node.is_linked());
        BOOST_TEST(f->next_due() == deadline);
        f->remove(other);
        BOOST_TEST(f->empty());
        BOOST_TEST(f->next_wakeup() == never);
        BOOST_TEST(f.expire(deadline));
        BOOST_TEST(f.log().empty());
        BOOST_TEST(f->now() == deadline);
    }
}

// A stale wake-up is too early at most, and after it the truth is known.
BOOST_AUTO_TEST_CASE(next_wakeup_after_removal_is_early_at_most)
{
    wheel_fixture f;
    test_node& early = f.insert(1000);
    f.insert(1020); // of the same slot
    f->remove(early);
    BOOST_TEST(f->next_due() == 1020u);
    BOOST_TEST(f->next_wakeup() == 1000u);
    BOOST_TEST(f.expire(1000));
    BOOST_TEST(f->next_wakeup() == 1020u);
    BOOST_TEST(f.expire(1020));
    BOOST_TEST(f.log() == id_list{1}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(next_wakeup_forgets_the_former_content_of_a_slot)
{
    wheel_fixture f;
    f->remove(f.insert(1000));
    f.insert(1020);
    BOOST_TEST(f->next_wakeup() == 1020u);
}

BOOST_DATA_TEST_CASE(next_wakeup_is_the_earliest_of_a_slot, all_levels, level)
{
    // In this order and in the other one: the first and the last filed are not special.
    for (const bool ascending : {false, true}) {
        wheel_fixture f;
        std::array<tick_type, 3> ticks{0, unit_of(level) / 2, unit_of(level) - 1};
        for (tick_type& tick : ticks)
            tick += 3 * unit_of(level);
        if (!ascending)
            std::reverse(ticks.begin(), ticks.end());
        for (const tick_type tick : ticks)
            f.insert(tick);
        BOOST_TEST(f->next_wakeup() == 3 * unit_of(level));
        BOOST_TEST(f->next_due() == 3 * unit_of(level));
    }
}

BOOST_AUTO_TEST_CASE(next_due_of_some)
{
    wheel_fixture f;
    for (const tick_type tick : {7u, 300u, 290u, 70000u, 70000u, 66000u})
        f.insert(tick);
    const auto due = [&](auto counts) {
        return f->next_due([&](const timewheel::detail::wheel_node& node) {
            return counts(static_cast<const test_node&>(node).id);
        });
    };
    BOOST_TEST(due([](int) { return true; }) == 7u);
    BOOST_TEST(due([](int) { return false; }) == never);
    BOOST_TEST(due([](int id) { return id != 0; }) == 290u);
    BOOST_TEST(due([](int id) { return id == 1; }) == 300u);
    BOOST_TEST(due([](int id) { return id >= 3; }) == 66000u);
    BOOST_TEST(due([](int id) { return id == 4; }) == 70000u);
}

// The earliest may still be in a slot that is being refiled, others of it no longer.
BOOST_AUTO_TEST_CASE(next_due_looks_into_the_open_slot)
{
    wheel_fixture f;
    f.insert(256 + 5);
    f.insert(256 + 9);
    f.insert(256 + 3);
    for (int calls = 0; calls != 4; ++calls) {
        BOOST_TEST(f->next_due() == 259u);
        f.expire(256, 1);
    }
    BOOST_TEST(f->next_due() == 259u);
}

BOOST_AUTO_TEST_CASE(next_due_and_wakeup_with_what_is_moved_later)
{
    wheel_fixture f;
    test_node& moved = f.insert(5);
    f.insert(300);
    f->reschedule(moved, 280);
    BOOST_TEST(f->next_due() == 280u);
    BOOST_TEST(f->next_wakeup() <= 280u);
    f->reschedule(moved, 400);
    BOOST_TEST(f->next_due() == 300u);
    BOOST_TEST(f.expire(5));
    BOOST_TEST(f->next_wakeup() == 300u);
}

// XE2, XA6: the whole range costs a few steps for each node and nothing for the time.
BOOST_DATA_TEST_CASE(jump_over_the_whole_range_takes_few_steps, all_levels, level)
{
    wheel_fixture f;
    BOOST_TEST(f.expire_all(never - 1, 1) == 1u); // nothing filed
    f = wheel_fixture{};
    for (unsigned lower = 0; lower <= level; ++lower)
        f.insert(unit_of(lower) + (unit_of(lower) - 1)); // the last tick of a slot
    const std::size_t nodes = level + 1;
    BOOST_TEST(f.expire_all(never - 1, 1) <= nodes * (2 * level + 2));
    BOOST_TEST(f.log().size() == nodes);
    BOOST_TEST(f->empty());
}

// XE2: a jump of a day, and a schedule that goes on from the real time.
BOOST_AUTO_TEST_CASE(jump_of_a_day_is_one_occurrence)
{
    constexpr tick_type day = 24 * 60 * 60 * 100;
    wheel_fixture f(12345);
    f.insert(12346);
    tick_type real = 12346;
    f.on_due = [&](test_node& node) { f->insert(node, real + 1); };
    BOOST_TEST(f.expire(real));
    real += day;
    BOOST_TEST(f.expire_all(real, 1) <= 10u);
    BOOST_TEST(f.log().size() == 2u);
    BOOST_TEST(f->next_wakeup() == real + 1);
}

BOOST_AUTO_TEST_CASE(take_all_hands_out_every_node_once)
{
    wheel_fixture f(1000);
    id_list expected;
    for (const tick_type tick : interesting_ticks)
        expected.push_back(f.insert(tick).id);
    expected.push_back(f.insert(never).id);
    id_list taken;
    f->take_all([&](timewheel::detail::wheel_node& node) {
        BOOST_TEST(!node.is_linked());
        taken.push_back(static_cast<test_node&>(node).id);
    });
    std::sort(taken.begin(), taken.end());
    BOOST_TEST(taken == expected, boost::test_tools::per_element());
    BOOST_TEST(f->empty());
    BOOST_TEST(f->next_wakeup() == never);
    f.insert(2000); // and the wheel goes on
    BOOST_TEST(f->next_wakeup() == 2000u);
    BOOST_TEST(f.expire(2000));
    BOOST_TEST(f.log().size() == 1u);
}

// Moving a node in memory: in a slot of each level, and where it waits for its turn.
BOOST_DATA_TEST_CASE(replace_in_each_slot, data::make(interesting_ticks) * all_levels, now, level)
{
    for (const tick_type deadline : deadlines_around(now, level)) {
        wheel_fixture f(now);
        f.insert(deadline);
        test_node& from = f.insert(deadline);
        f.insert(deadline);
        test_node& to = f.make();
        f->replace(from, to);
        BOOST_TEST(!from.is_linked());
        BOOST_TEST(to.is_linked());
        BOOST_TEST(to.tick == deadline);
        BOOST_TEST(f->next_due() == deadline);
        BOOST_TEST(f.expire(deadline));
        BOOST_TEST(f.log() == (id_list{0, 3, 2}), boost::test_tools::per_element());
    }
}

BOOST_AUTO_TEST_CASE(replace_of_the_only_node_and_of_one_moved_later)
{
    wheel_fixture f;
    test_node& from = f.insert(300);
    test_node& to = f.make();
    f->reschedule(from, 400);
    f->replace(from, to);
    BOOST_TEST(f->next_due() == 400u);
    BOOST_TEST(f.expire(399));
    BOOST_TEST(f.log().empty());
    BOOST_TEST(f.expire(400));
    BOOST_TEST(f.log() == id_list{1}, boost::test_tools::per_element());
    BOOST_TEST(f->empty());
}

BOOST_AUTO_TEST_SUITE_END()

}
