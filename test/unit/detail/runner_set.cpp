// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#include <timewheel/detail/runner_set.hpp>

#include <boost/test/unit_test.hpp>

#include <array>
#include <cstddef>
#include <memory>
#include <set>
#include <vector>

namespace timewheel::test {

namespace {

void grow(detail::runner_set& set)
{
    const std::size_t n = set.growth();
    set.add(std::make_unique<detail::runner[]>(n), n);
}

using state = detail::operation::state;

class idle_operation : public detail::operation
{
public:
    idle_operation() : operation([](detail::operation*, bool) {}) {}
};

std::set<detail::runner*> all(detail::runner* claimed)
{
    std::set<detail::runner*> runners;
    for (; claimed; claimed = claimed->next)
        BOOST_TEST(runners.insert(claimed).second);
    return runners;
}

}

BOOST_AUTO_TEST_SUITE(runner_set)

BOOST_AUTO_TEST_CASE(claims_what_is_missing)
{
    detail::runner_set set;
    BOOST_TEST(set.claim(1) == nullptr);
    BOOST_TEST(set.is_short(1));
    grow(set);
    BOOST_TEST(set.claim(0) == nullptr);
    const auto three = all(set.claim(3));
    BOOST_TEST(three.size() == 3u);
    BOOST_TEST(set.claim(3) == nullptr);
    const auto two = all(set.claim(5));
    BOOST_TEST(two.size() == 2u);
    for (detail::runner* const each : two)
        BOOST_TEST(!three.contains(each));
    set.release(**three.begin());
    BOOST_TEST(set.claim(4) == nullptr);
    // The one that was used last is the first to be used again.
    BOOST_TEST(set.claim(5) == *three.begin());
}

BOOST_AUTO_TEST_CASE(grows_with_the_need_up_to_the_most)
{
    detail::runner_set set;
    std::size_t claimed = 0;
    int times = 0;
    while (set.is_short(1'000'000)) {
        BOOST_TEST_REQUIRE(++times < 20);
        grow(set);
        claimed += all(set.claim(1'000'000)).size();
    }
    BOOST_TEST(claimed == detail::runner_set::most);
    BOOST_TEST(set.claim(1'000'000) == nullptr);
}

BOOST_AUTO_TEST_CASE(assigned_runners_become_idle_by_their_turn)
{
    std::array<idle_operation, 70> ops;
    detail::runner_set set;
    BOOST_TEST(set.idle_runner() == nullptr);
    grow(set);
    std::vector<detail::runner*> assigned;
    while (detail::runner* const which = set.idle_runner()) {
        set.assign(*which, {&ops[assigned.size()], state::cancelled});
        assigned.push_back(which);
    }
    BOOST_TEST(assigned.size() == 63u);
    BOOST_TEST(set.queued() == 0u);
    BOOST_TEST(all(set.claim(2)).size() == 1u); // the one that is left
    BOOST_TEST(set.is_short(2));

    // The first ones have their turns, and one that is not the first.
    for (const std::size_t i : {0U, 1U, 2U, 5U}) {
        const detail::ended_operation ended = assigned[i]->take();
        BOOST_TEST(ended.op == &ops[i]);
        BOOST_TEST((ended.outcome == state::cancelled));
        BOOST_TEST(assigned[i]->take().op == nullptr);
    }
    BOOST_TEST(!set.all_begun());
    const auto idle = all(set.claim(10));
    BOOST_TEST((idle == std::set{assigned[0], assigned[1], assigned[2]}));
    for (detail::runner* const each : assigned)
        each->take();
    BOOST_TEST(set.all_begun());
    BOOST_TEST(all(set.claim(1000)).size() == 60u);
}

BOOST_AUTO_TEST_CASE(operations_are_taken_back)
{
    std::array<idle_operation, 3> ops;
    detail::runner_set set;
    grow(set);
    std::array<detail::runner*, 3> runners;
    for (std::size_t i = 0; i != 3; ++i) {
        runners[i] = set.idle_runner();
        set.assign(*runners[i], {&ops[i], state::expired});
    }
    BOOST_TEST(runners[1]->take().op == &ops[1]);
    detail::operation_queue ready;
    set.take_back(ready);
    BOOST_TEST(ready.size() == 2u);
    BOOST_TEST(ready.try_pop().told() == &ops[0]);
    BOOST_TEST(ready.try_pop().told() == &ops[2]);
    BOOST_TEST((ops[2].outcome == state::expired));
    BOOST_TEST(!runners[0]->has_operation());
    BOOST_TEST(set.all_begun());
}

BOOST_AUTO_TEST_SUITE_END()

}
