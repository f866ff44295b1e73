// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

// The order of nodes, through every cascade, in calls of any size, with the clock set back.

#include <timewheel/detail/hierarchical_wheel.hpp>

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <test_common/wheel_fixture.hpp>

#include <cstddef>
#include <numeric>
#include <vector>

namespace {

using namespace timewheel::test;
namespace data = boost::unit_test::data;

using id_list = std::vector<int>;

constexpr tick_type never = wheel_type::never;

// As many calls with `max` as it takes for a slot of a dozen nodes.
const auto steps = data::make<std::size_t>({1, 2, 3, 4, 5, 8, 1000});
const auto upper_levels = data::xrange(1u, wheel_levels);

id_list ascending(std::size_t size)
{
    id_list ids(size);
    std::iota(ids.begin(), ids.end(), 0);
    return ids;
}

// In all combinations of where the slot lies and where in it the nodes are due.
std::vector<tick_type> deadlines_in_slot(unsigned level)
{
    std::vector<tick_type> deadlines;
    for (const tick_type slot : {1u, 2u, 255u}) {
        for (const tick_type offset :
             {tick_type{0},
              tick_type{1},
              unit_of(level - 1),
              unit_of(level) / 2 + 3,
              unit_of(level) - 1})
            deadlines.push_back(slot * unit_of(level) + offset);
    }
    return deadlines;
}

BOOST_AUTO_TEST_SUITE(hierarchical_wheel_order)

// Three nodes are filed from afar, and three more from each level on the way.
BOOST_DATA_TEST_CASE(filing_order_survives_every_cascade, upper_levels* steps, level, max)
{
    for (const tick_type deadline : deadlines_in_slot(level)) {
        if (deadline == never)
            continue;
        wheel_fixture f;
        std::size_t filed = 0;
        const auto file_some = [&] {
            for (int i = 0; i != 3; ++i, ++filed)
                f.insert(deadline);
        };
        file_some();
        for (unsigned lower = level + 1; lower-- != 0;) {
            const tick_type boundary = deadline / unit_of(lower) * unit_of(lower);
            for (const tick_type now : {boundary - 1, boundary}) {
                if (now < f->now() || now >= deadline)
                    continue;
                f.expire_all(now, max);
                file_some();
            }
        }
        BOOST_TEST(f.log().empty());
        f.expire_all(deadline, max);
        BOOST_TEST(f.log() == ascending(filed), boost::test_tools::per_element());
    }
}

// While a slot is being refiled, more nodes of the same tick are filed between the calls.
BOOST_DATA_TEST_CASE(filing_into_an_open_slot_keeps_order, upper_levels* steps, level, max)
{
    for (const tick_type deadline : deadlines_in_slot(level)) {
        if (deadline == never)
            continue;
        wheel_fixture f;
        std::size_t filed = 0;
        for (; filed != 12; ++filed)
            f.insert(deadline);
        for (int calls = 0; calls != 30; ++calls) {
            f.expire(deadline - deadline % unit_of(level), max);
            f.insert(deadline);
            ++filed;
        }
        f.expire_all(deadline, max);
        BOOST_TEST(f.log() == ascending(filed), boost::test_tools::per_element());
        BOOST_TEST(f->empty());
    }
}

// The same, with a wheel that is called with a later time from the beginning.
BOOST_DATA_TEST_CASE(filing_while_catching_up_keeps_order, upper_levels* steps, level, max)
{
    const tick_type slot = 3 * unit_of(level);
    wheel_fixture f;
    std::vector<tick_type> ticks;
    const auto insert = [&](tick_type offset) {
        f.insert(slot + offset);
        ticks.push_back(slot + offset);
    };
    for (const tick_type offset : {2u, 0u, 1u, 0u, 2u, 0u, 1u})
        insert(offset);
    for (int calls = 0; calls != 8; ++calls) {
        f.expire(slot, max);
        for (const tick_type offset : {1u, 2u, 1u})
            insert(offset);
    }
    f.expire_all(slot + 10, max);
    const auto log = f.log();
    BOOST_REQUIRE(log.size() == ticks.size());
    for (std::size_t i = 1; i != log.size(); ++i) {
        const tick_type before = ticks[static_cast<std::size_t>(log[i - 1])];
        const tick_type after = ticks[static_cast<std::size_t>(log[i])];
        BOOST_TEST((before < after || (before == after && log[i - 1] < log[i])));
    }
}

BOOST_AUTO_TEST_CASE(earlier_ticks_first_in_one_call)
{
    wheel_fixture f;
    for (const tick_type tick : {70000u, 300u, 5u, 300u, 65536u, 4u, 256u, 5u})
        f.insert(tick);
    BOOST_TEST(f.expire(100000));
    BOOST_TEST(f.log() == (id_list{5, 2, 7, 6, 1, 3, 4, 0}), boost::test_tools::per_element());
}

BOOST_DATA_TEST_CASE(due_at_once_in_order_of_filing, steps, max)
{
    wheel_fixture f(1000);
    for (const tick_type tick : {1000u, 1u, 999u, 1000u, 0u})
        f.insert(tick);
    f.expire_all(5000, max);
    BOOST_TEST(f.log() == ascending(5), boost::test_tools::per_element());
}

// What is filed as due while a slot is open comes behind what the slot has for this tick, and
// before all that is later.
BOOST_DATA_TEST_CASE(due_at_once_while_a_slot_is_open, steps, max)
{
    wheel_fixture f;
    for (const tick_type tick : {257u, 256u, 256u, 257u, 256u})
        f.insert(tick);
    f.expire(256, 1); // opens the slot
    f.insert(256);    // 5
    f.insert(3);      // 6
    f.insert(257);    // 7
    f.expire_all(1000, max);
    BOOST_TEST(f.log() == (id_list{1, 2, 4, 5, 6, 0, 3, 7}), boost::test_tools::per_element());
}

BOOST_DATA_TEST_CASE(moved_to_the_same_tick_counts_as_filed_then, upper_levels, level)
{
    const tick_type deadline = 2 * unit_of(level) + 1;
    wheel_fixture f;
    for (int i = 0; i != 4; ++i)
        f.insert(deadline);
    f->reschedule(f.node(1), deadline);
    BOOST_TEST(f->refiled() == 0u);
    f.expire_all(deadline, 3);
    BOOST_TEST(f.log() == (id_list{0, 2, 3, 1}), boost::test_tools::per_element());
}

// The one that was filed last may stay where it is.
BOOST_DATA_TEST_CASE(the_last_one_moved_to_the_same_tick, upper_levels, level)
{
    const tick_type deadline = 2 * unit_of(level) + 1;
    wheel_fixture f;
    f.insert(deadline);
    f.insert(deadline);
    f->reschedule(f.node(1), deadline);
    f.insert(deadline);
    f->reschedule(f.node(1), deadline);
    f.expire_all(deadline, 3);
    BOOST_TEST(f.log() == (id_list{0, 2, 1}), boost::test_tools::per_element());
}

// Also while others of its tick, filed before, have not left the slot that is being refiled.
BOOST_DATA_TEST_CASE(moved_to_the_same_tick_while_a_slot_is_open, upper_levels, level)
{
    const tick_type slot = 2 * unit_of(level);
    for (int visits = 0; visits != 8; ++visits) {
        BOOST_TEST_CONTEXT(visits << " visits before")
        {
            wheel_fixture f;
            for (int i = 0; i != 4; ++i)
                f.insert(slot + 1);
            for (int n = 0; n != visits; ++n)
                f.expire(slot, 1);
            f->reschedule(f.node(0), slot + 1);
            f.expire_all(slot + 1, 1);
            BOOST_TEST(f.log() == (id_list{1, 2, 3, 0}), boost::test_tools::per_element());
        }
    }
}

// Alone in its old slot, it is not where it belongs.
BOOST_AUTO_TEST_CASE(moved_later_and_then_to_the_same_tick_counts_as_filed_then)
{
    wheel_fixture f;
    test_node& moved = f.insert(10);
    f->reschedule(moved, 20);
    f.insert(20);
    f->reschedule(moved, 20);
    f.insert(20);
    BOOST_TEST(f.expire(20));
    BOOST_TEST(f.log() == (id_list{1, 0, 2}), boost::test_tools::per_element());
    BOOST_TEST(f->refiled() == 0u);
}

BOOST_AUTO_TEST_CASE(moved_earlier_counts_as_filed_then)
{
    wheel_fixture f;
    f.insert(500);
    f.insert(300);
    f->reschedule(f.node(0), 300);
    f.insert(300);
    BOOST_TEST(f.expire(300));
    BOOST_TEST(f.log() == (id_list{1, 0, 2}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(moved_later_counts_as_filed_when_its_old_slot_comes_up)
{
    wheel_fixture f;
    test_node& moved = f.insert(10);
    f->reschedule(moved, 20);
    f.insert(20); // filed before tick 10
    BOOST_TEST(f.expire(10));
    f.insert(20);
    BOOST_TEST(f.expire(20));
    BOOST_TEST(f.log() == (id_list{1, 0, 2}), boost::test_tools::per_element());
}

// A node may be replaced where it waits for its turn: handed out soon, or in an open slot.
BOOST_DATA_TEST_CASE(
    replace_keeps_the_place,
    data::xrange(5) * data::make({9u, 256u, 300u}),
    which,
    tick
)
{
    for (std::size_t calls = 0; calls != 8; ++calls) {
        wheel_fixture f;
        for (int i = 0; i != 5; ++i)
            f.insert(tick);
        for (std::size_t call = 0; call != calls; ++call)
            f.expire(tick, 1);
        auto expected = ascending(5);
        test_node& from = f.node(which);
        if (from.is_linked()) {
            f->replace(from, f.make());
            expected[static_cast<std::size_t>(which)] = 5;
        }
        f.expire_all(tick, 1);
        BOOST_TEST(f.log() == expected, boost::test_tools::per_element());
        BOOST_TEST(f->empty());
    }
}

// XE3: the clock goes back, from any state of the wheel, by any amount.
BOOST_DATA_TEST_CASE(
    rewind_from_any_state,
    data::make({0u, 1u, 2u, 5u, 9u, 17u}) * steps,
    calls,
    max
)
{
    for (const tick_type back : {1u, 10u, 255u, 256u, 300u, 700u, 66000u}) {
        const tick_type start = 70000 / 256 * 256; // of a slot of level 1
        wheel_fixture f(start - 300);
        std::vector<tick_type> ticks;
        const auto insert = [&](tick_type tick) {
            f.insert(tick);
            ticks.push_back(tick);
        };
        for (int twice = 0; twice != 2; ++twice) {
            for (const tick_type tick :
                 {start - 300,
                  start - 299,
                  start,
                  start + 3,
                  start + 1,
                  start,
                  start + 300,
                  tick_type{200000},
                  tick_type{12},
                  never})
                insert(tick);
        }
        for (std::size_t call = 0; call != calls; ++call)
            f.expire(start + 1, max);
        insert(start); // due already, or not
        const auto before = f.log();
        if (f->now() <= back)
            continue;
        const tick_type now = f->now() - back;
        f->rewind(now);
        BOOST_TEST(f->now() == now);

        // Nothing that is not due at the new time comes; the rest comes in its order.
        f.expire_all(now, max);
        auto log = f.log();
        for (const int id : log)
            BOOST_TEST(ticks[static_cast<std::size_t>(id)] <= now);
        f.expire_all(start + 1000, max);
        const auto rest = f.log();
        for (std::size_t i = 1; i < rest.size(); ++i) {
            const tick_type earlier = ticks[static_cast<std::size_t>(rest[i - 1])];
            const tick_type later = ticks[static_cast<std::size_t>(rest[i])];
            BOOST_TEST((earlier < later || (earlier == later && rest[i - 1] < rest[i])));
        }
        f.expire_all(never - 1, max);
        const auto last = f.log();
        // All but the two that are never due.
        BOOST_TEST(before.size() + log.size() + rest.size() + last.size() == ticks.size() - 2);
    }
}

BOOST_DATA_TEST_CASE(rewind_and_forward_again, data::make(interesting_ticks), now)
{
    for (const tick_type target : interesting_ticks) {
        if (target >= now)
            continue;
        wheel_fixture f(now);
        f.insert(never - 1);
        if (target + 1 != never - 1)
            f.insert(target + 1);
        f.insert(target);
        f->rewind(target);
        BOOST_TEST(f->next_wakeup() == target);
        BOOST_TEST(f->next_due() == target);
        BOOST_TEST(f.expire(target));
        BOOST_TEST(f.log().size() == 1u);
        BOOST_TEST(f->next_wakeup() == target + 1);
        BOOST_TEST(f.expire(never - 1));
        BOOST_TEST(f->empty());
    }
}

BOOST_AUTO_TEST_CASE(rewind_keeps_what_was_moved_later)
{
    wheel_fixture f(1000);
    test_node& node = f.insert(1010);
    f->reschedule(node, 2000);
    f->rewind(10);
    BOOST_TEST(f->next_due() == 2000u);
    BOOST_TEST(f->next_wakeup() == 2000u);
    BOOST_TEST(f.expire(1999));
    BOOST_TEST(f.log().empty());
    BOOST_TEST(f.expire(2000));
    BOOST_TEST(f.log().size() == 1u);
}

BOOST_DATA_TEST_CASE(take_all_keeps_the_order_of_a_tick, data::xrange(12u), calls)
{
    wheel_fixture f;
    for (const tick_type tick : {256u, 260u, 256u, 260u, 300u, 256u, 260u, 300u})
        f.insert(tick);
    for (unsigned call = 0; call != calls; ++call)
        f.expire(256, 1);
    f.insert(260);
    f.insert(256);
    const auto fired = f.log();
    id_list of_tick[3]; // 256, 260 and 300
    for (const int id : fired)
        of_tick[0].push_back(id);
    f->take_all([&](timewheel::detail::wheel_node& node) {
        of_tick
            [node.tick == 256   ? 0
             : node.tick == 260 ? 1
                                : 2]
                .push_back(static_cast<test_node&>(node).id);
    });
    BOOST_TEST(of_tick[0] == (id_list{0, 2, 5, 9}), boost::test_tools::per_element());
    BOOST_TEST(of_tick[1] == (id_list{1, 3, 6, 8}), boost::test_tools::per_element());
    BOOST_TEST(of_tick[2] == (id_list{4, 7}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()

}
