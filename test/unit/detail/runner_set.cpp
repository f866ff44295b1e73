// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#include <timewheel/detail/runner_set.hpp>

#include <boost/test/unit_test.hpp>

#include <memory>
#include <set>

namespace timewheel::test {

namespace {

void grow(detail::runner_set& set)
{
    const std::size_t n = set.growth();
    set.add(std::make_unique<detail::runner[]>(n), n);
}

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

BOOST_AUTO_TEST_SUITE_END()

}
