// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

// Callbacks that change the wheel, nodes that file themselves again, calls that are bounded.

#include <timewheel/detail/hierarchical_wheel.hpp>

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <test_common/wheel_fixture.hpp>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <numeric>
#include <set>
#include <vector>

namespace {

using namespace timewheel::test;
namespace data = boost::unit_test::data;

using id_list = std::vector<int>;

constexpr tick_type never = wheel_type::never;

constexpr int batch = 5; // nodes that come in one call

// A tick of the lowest level, and the first and an inner tick of slots of other levels.
const auto batch_ticks = data::make<tick_type>({9, 256, 300, 65536, 65536 + 256, unit_of(7)});
const auto steps = data::make<std::size_t>({1, 2, 3, 4, 7, 1000});
const auto members = data::xrange(batch);

// A batch of `batch` nodes, with others in the same slot but later, and some far away.
struct batch_fixture : wheel_fixture
{
    explicit batch_fixture(tick_type tick)
    {
        for (int i = 0; i != batch; ++i)
            insert(tick);
        insert(tick + 1);
        insert(tick + 200);
    }
};

std::size_t count(const id_list& log, int id)
{
    return static_cast<std::size_t>(std::count(log.begin(), log.end(), id));
}

BOOST_AUTO_TEST_SUITE(hierarchical_wheel_callbacks)

// XC2, XC4: any node of the batch removes any other one, the next one of the walk included.
BOOST_DATA_TEST_CASE(remove_from_callback, batch_ticks* members* members, tick, who, whom)
{
    for (const std::size_t max : {std::size_t{1}, std::size_t{3}, no_limit}) {
        batch_fixture f(tick);
        f.on_due = [&](test_node& node) {
            if (node.id == who && f.node(whom).is_linked())
                f->remove(f.node(whom));
        };
        f.expire_all(tick, max);
        const auto log = f.log();
        for (int id = 0; id != batch; ++id)
            BOOST_TEST(count(log, id) == (id == whom && whom > who ? 0u : 1u));
        BOOST_TEST(std::is_sorted(log.begin(), log.end()));
        f.expire_all(tick + 200, max);
        BOOST_TEST(f.log() == (id_list{batch, batch + 1}), boost::test_tools::per_element());
        BOOST_TEST(f->empty());
    }
}

// XC8: a node goes out of existence in the very tick it is due.
BOOST_DATA_TEST_CASE(destroy_from_callback, batch_ticks* members* members, tick, who, whom)
{
    batch_fixture f(tick);
    f.on_due = [&](test_node& node) {
        if (node.id != who)
            return;
        if (f.node(whom).is_linked())
            f->remove(f.node(whom));
        f.destroy(whom); // itself too
    };
    f.expire_all(tick, 2);
    BOOST_TEST(count(f.log(), whom) == (whom > who ? 0u : 1u));
    f.expire_all(tick + 200, 2);
    BOOST_TEST(f->empty());
}

// XC3: all that is left is removed; each comes once or not at all.
BOOST_DATA_TEST_CASE(take_all_from_callback, batch_ticks* members* steps, tick, who, max)
{
    batch_fixture f(tick);
    std::set<int> taken;
    f.on_due = [&](test_node& node) {
        if (node.id != who || !taken.empty())
            return;
        f->take_all([&](timewheel::detail::wheel_node& other) {
            BOOST_TEST(taken.insert(static_cast<test_node&>(other).id).second);
        });
        BOOST_TEST(f->empty());
        f->insert(node, tick + 5); // and the wheel can be used again at once
    };
    f.expire_all(tick, max);
    BOOST_TEST(f.log().size() == static_cast<std::size_t>(who) + 1);
    BOOST_TEST(taken.size() == static_cast<std::size_t>(batch + 2 - (who + 1)));
    BOOST_TEST(f->next_wakeup() == tick + 5);
    f.expire_all(tick + 200, max);
    BOOST_TEST(f.log().size() == 1u);
}

BOOST_DATA_TEST_CASE(move_later_from_callback, batch_ticks* members* members, tick, who, whom)
{
    for (const tick_type by : {1u, 255u, 70000u}) {
        batch_fixture f(tick);
        bool moved = false;
        f.on_due = [&](test_node& node) {
            if (node.id == who && !moved && f.node(whom).is_linked()) {
                moved = true;
                f->reschedule(f.node(whom), tick + by);
            }
        };
        f.expire_all(tick, 3);
        BOOST_TEST(moved == (whom > who));
        BOOST_TEST(count(f.log(), whom) == (moved ? 0u : 1u));
        f.expire_all(tick + by, 3);
        BOOST_TEST(count(f.log(), whom) == (moved ? 1u : 0u));
        f.expire_all(tick + 100000, 3);
        BOOST_TEST(f->empty());
    }
}

// To the same tick, or an earlier one: due at once, behind the others, in a later call.
BOOST_DATA_TEST_CASE(move_to_due_from_callback, batch_ticks* members* members, tick, who, whom)
{
    for (const tick_type by : {0u, 1u, 8u}) {
        batch_fixture f(tick);
        bool moved = false;
        f.on_due = [&](test_node& node) {
            if (node.id == who && !moved && f.node(whom).is_linked()) {
                moved = true;
                f->reschedule(f.node(whom), tick - by);
            }
        };
        BOOST_TEST(f.expire(tick) == (whom <= who));
        BOOST_TEST(count(f.log(), whom) == (moved ? 0u : 1u));
        BOOST_TEST(f.expire(tick));
        BOOST_TEST(count(f.log(), whom) == (moved ? 1u : 0u));
    }
}

BOOST_DATA_TEST_CASE(insert_self_from_callback, batch_ticks* members* steps, tick, who, max)
{
    for (const tick_type by : {1u, 2u, 255u, 256u, 70000u}) {
        batch_fixture f(tick);
        bool again = false;
        f.on_due = [&](test_node& node) {
            if (node.id == who && !again) {
                again = true;
                f->insert(node, tick + by);
            }
        };
        f.expire_all(tick, max);
        BOOST_TEST(f.log().size() == static_cast<std::size_t>(batch));
        f.expire_all(tick + by - 1, max);
        BOOST_TEST(count(f.log(), who) == 0u);
        f.expire_all(tick + by, max);
        BOOST_TEST(count(f.log(), who) == 1u);
    }
}

// Each callback changes every node: removes it, or files it elsewhere.
BOOST_DATA_TEST_CASE(change_all_from_every_callback, batch_ticks* steps, tick, max)
{
    batch_fixture f(tick);
    int turn = 0;
    f.on_due = [&](test_node&) {
        if (++turn > 200)
            return;
        for (int id = 0; id != batch + 2; ++id) {
            test_node& other = f.node(id);
            const tick_type later = f->now() + static_cast<tick_type>((id * 37 + turn) % 400);
            if (!other.is_linked())
                f->insert(other, later);
            else if (id != turn % batch && (id + turn) % 3 == 0)
                f->remove(other);
            else
                f->reschedule(other, later);
        }
    };
    for (tick_type now = tick; now != tick + 20000 && !f->empty(); ++now)
        f.expire_all(now, max);
    BOOST_TEST(turn > 200);
    BOOST_TEST(f->empty());
}

BOOST_DATA_TEST_CASE(replace_from_callback, batch_ticks* members* members, tick, who, whom)
{
    batch_fixture f(tick);
    test_node& to = f.make();
    f.on_due = [&](test_node& node) {
        if (node.id == who && f.node(whom).is_linked()) {
            f->replace(f.node(whom), to);
            f.destroy(whom);
        }
    };
    f.expire_all(tick, 2);
    id_list expected{0, 1, 2, 3, 4};
    if (whom > who)
        expected[static_cast<std::size_t>(whom)] = to.id;
    BOOST_TEST(f.log() == expected, boost::test_tools::per_element());
}

// An exception of a callback leaves a wheel that goes on.
BOOST_DATA_TEST_CASE(callback_that_throws, batch_ticks* members, tick, who)
{
    batch_fixture f(tick);
    f.on_due = [&](test_node& node) {
        if (node.id == who)
            throw 42;
    };
    BOOST_CHECK_THROW(f.expire(tick), int);
    BOOST_TEST(f.log().size() == static_cast<std::size_t>(who) + 1);
    BOOST_TEST(!f.node(who).is_linked());
    BOOST_TEST(f.expire(tick));
    BOOST_TEST(f.log().size() == static_cast<std::size_t>(batch - who - 1));
    BOOST_TEST(f.expire(tick + 200));
    BOOST_TEST(f.log().size() == 2u);
    BOOST_TEST(f->empty());
}

// XA10: far behind, a callback that re-arms by the real time is not handed out again on the way.
BOOST_DATA_TEST_CASE(rearmed_while_catching_up_comes_once, steps, max)
{
    for (const tick_type real : {600u, 10000u, 70000u}) {
        wheel_fixture f;
        for (tick_type tick = 1; tick != 11; ++tick)
            f.insert(tick);
        f.on_due = [&](test_node& node) {
            BOOST_TEST(f->now() <= 10u);
            f->insert(node, real + 10);
        };
        f.expire_all(real, max);
        BOOST_TEST(f.log().size() == 10u);
        BOOST_TEST(f->next_wakeup() == real + 10);
    }
}

// XA10, XD1: what is due again at once comes in the next call, once.
BOOST_DATA_TEST_CASE(self_feeding_does_not_loop, batch_ticks* steps, tick, max)
{
    for (const tick_type back : {0u, 1u, 9u}) {
        wheel_fixture f;
        for (int i = 0; i != 3; ++i)
            f.insert(tick);
        f.on_due = [&](test_node& node) { f->insert(node, tick - back); };
        f.expire(tick, max);
        for (int calls = 0; calls != 50; ++calls) {
            const auto log = f.log();
            for (int id = 0; id != 3; ++id)
                BOOST_REQUIRE(count(log, id) <= 1);
            BOOST_REQUIRE(!f.expire(tick + 1000, max));
        }
    }
}

// XD1, XD2: nodes that are due again and again, more of them than a call hands out, hold up no
// slot: neither one that is reached while they do so nor one that is being refiled just then.
BOOST_DATA_TEST_CASE(self_feeding_starves_nobody, batch_ticks* steps, tick, max)
{
    for (const tick_type back : {0u, 1u, 9u}) {
        for (const int feeders : {1, 2, 3, 10}) {
            wheel_fixture f;
            for (int i = 0; i != feeders; ++i)
                f.insert(tick);
            std::vector<tick_type> others;
            for (const tick_type by : {0u, 1u, 2u, 50u, 255u, 256u, 257u, 512u, 66000u, 66001u})
                f.insert(tick + by);
            f.on_due = [&](test_node& node) {
                if (node.id < feeders)
                    f->insert(node, tick - back);
            };
            id_list log;
            std::size_t calls = 0;
            std::size_t left = 10;
            while (left != 0) {
                BOOST_REQUIRE_LE(++calls, 2000u);
                f.expire(tick + 70000, max);
                for (const int id : f.log()) {
                    log.push_back(id);
                    left -= id >= feeders ? 1u : 0u;
                }
            }
            // And the feeders are not starved by that.
            for (int id = 0; id != feeders; ++id)
                BOOST_TEST(count(log, id) >= 1u);
        }
    }
}

// XD2: filed again into the slot that is being refiled, only later: bounded as well.
BOOST_DATA_TEST_CASE(filing_into_the_open_slot_is_bounded, steps, max)
{
    wheel_fixture f;
    for (int i = 0; i != 5; ++i)
        f.insert(65536);
    for (int i = 0; i != 5; ++i)
        f.insert(65536 + 100);
    f.on_due = [&](test_node& node) {
        if (node.id < 5)
            f->insert(node, node.tick + 1);
    };
    f.expire_all(65536 + 100, max, 2000);
    const auto log = f.log();
    for (int id = 0; id != 10; ++id)
        BOOST_TEST(count(log, id) == (id < 5 ? 101u : 1u));
}

BOOST_DATA_TEST_CASE(self_feeding_at_the_top_of_the_range, steps, max)
{
    wheel_fixture f(never - 600);
    f.insert(never - 512);
    f.insert(never - 1);
    f.on_due = [&](test_node& node) {
        if (node.id == 0)
            f->insert(node, node.tick + 1); // never at last
    };
    f.expire_all(never - 1, max);
    BOOST_TEST(f.log().size() == 513u);
    BOOST_TEST(f->next_wakeup() == never);
    BOOST_TEST(!f->empty());
}

// Removing the last node of an open slot does not leave a wheel that wants to be called.
BOOST_AUTO_TEST_CASE(emptied_open_slot_wants_no_wakeup)
{
    wheel_fixture f;
    f.insert(300);
    f.insert(301);
    f.expire(256, 1); // opens the slot and refiles the first
    BOOST_TEST(f->next_wakeup() == 256u);
    f->remove(f.node(0));
    f->remove(f.node(1));
    BOOST_TEST(f->empty());
    BOOST_TEST(f->next_wakeup() == never);
    f.insert(302);
    f.expire_all(301, 1, 10);
    BOOST_TEST(f.log().empty());
    BOOST_TEST(f->next_wakeup() == 302u);
    BOOST_TEST(f.expire(302));
    BOOST_TEST(f.log() == id_list{2}, boost::test_tools::per_element());
}

/*  No call visits more than `max` nodes, though a slot holds very many. A visited node leaves its
    list and so changes its own next(), that of its neighbour in front and that of the last node of
    the list where it goes.
*/
BOOST_DATA_TEST_CASE(
    refiling_is_bounded,
    data::make({1u, 2u, 4u, 7u}) * data::make<std::size_t>({64, 999}),
    level,
    max
)
{
    constexpr std::size_t size = 100'000;
    wheel_fixture f;
    std::vector<const timewheel::detail::list_link*> next(size);
    for (std::size_t i = 0; i != size; ++i)
        f.insert(unit_of(level) + (i % 3 == 0 ? 0 : i * 7 % (unit_of(level) / 256 * 199)));
    const auto changes = [&] {
        std::size_t changed = 0;
        for (std::size_t i = 0; i != size; ++i) {
            const auto* const now = f.node(static_cast<int>(i)).next();
            changed += now != next[i] ? 1u : 0u;
            next[i] = now;
        }
        return changed;
    };
    changes();
    // Looking at all nodes is slow: at some calls only.
    std::size_t calls = 0;
    bool done = false;
    while (!done) {
        const bool look = calls < 10 || calls % 97 == 0;
        if (look)
            changes();
        done = f.expire(unit_of(level), max);
        if (look)
            BOOST_REQUIRE_LE(changes(), 3 * max);
        ++calls;
    }
    const auto log = f.log();
    BOOST_TEST(log.size() >= size / 3);
    BOOST_TEST(std::is_sorted(log.begin(), log.end()));
    // Resumable without waste: each node is visited once for its slot, some once more to come.
    BOOST_TEST(calls >= (size + log.size()) / max);
    BOOST_TEST(calls <= (size + log.size()) / max + 2);

    f.expire_all(2 * unit_of(level), max);
    BOOST_TEST(f.log().size() == size - log.size());
    BOOST_TEST(f->empty());
}

// Nodes moved later are visited too, and count.
BOOST_DATA_TEST_CASE(refiling_of_moved_nodes_is_bounded, steps, max)
{
    wheel_fixture f;
    for (int i = 0; i != 1000; ++i)
        f->reschedule(f.insert(100), 200);
    std::size_t calls = 0;
    for (bool done = false; !done; ++calls) {
        const auto before = f->refiled();
        done = f.expire(100, max);
        BOOST_REQUIRE(f->refiled() - before <= max);
    }
    BOOST_TEST(calls >= 1000 / max);
    BOOST_TEST(f->refiled() == 1000u);
    BOOST_TEST(f.log().empty());
    f.expire_all(200, max);
    BOOST_TEST(f.log().size() == 1000u);
}

BOOST_AUTO_TEST_SUITE_END()

}
