// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#include <timewheel/detail/operation.hpp>

#include <boost/test/unit_test.hpp>

#include <array>
#include <cstddef>

namespace timewheel::test {

namespace {

using state = detail::operation::state;

class idle_operation : public detail::operation
{
public:
    idle_operation() : operation([](detail::operation*, bool) {}) {}
};

struct fixture
{
    std::array<idle_operation, 50> all;
    detail::operation_queue queue;
};

}

BOOST_FIXTURE_TEST_SUITE(operation, fixture)

BOOST_AUTO_TEST_CASE(new_queue_is_empty)
{
    BOOST_TEST(queue.empty());
    BOOST_TEST(queue.size() == 0u);
    BOOST_TEST(queue.try_pop() == nullptr);
    queue.settle();
    BOOST_TEST(queue.try_pop() == nullptr);
}

// However many there are, and however many are put in between.
BOOST_AUTO_TEST_CASE(first_in_first_out)
{
    for (std::size_t ahead = 1; ahead != all.size(); ++ahead) {
        for (std::size_t i = 0; i != all.size() + ahead; ++i) {
            if (i < all.size()) {
                all[i].outcome = state::waiting;
                queue.push(all[i], i % 2 == 0 ? state::expired : state::cancelled);
            }
            if (i < ahead)
                continue;
            detail::operation* const popped = queue.try_pop();
            BOOST_TEST(popped == &all[i - ahead]);
            BOOST_TEST(!popped->is_linked());
            const bool is_even = (i - ahead) % 2 == 0;
            BOOST_TEST((popped->outcome == (is_even ? state::expired : state::cancelled)));
        }
        BOOST_TEST(queue.empty());
    }
}

BOOST_AUTO_TEST_CASE(settle_writes_every_outcome)
{
    for (std::size_t i = 0; i != all.size(); ++i) {
        queue.push(all[i], state::cancelled);
        if (i % 7 == 0)
            queue.settle();
    }
    queue.settle();
    BOOST_TEST(queue.size() == all.size());
    for (auto& op : all)
        BOOST_TEST((op.outcome == state::cancelled));
    for (auto& op : all)
        BOOST_TEST(queue.try_pop() == &op);
    BOOST_TEST(queue.try_pop() == nullptr);
}

// From a list that an operation was the only one of, it is taken without being told.
BOOST_AUTO_TEST_CASE(links_that_are_left_do_not_matter)
{
    detail::list_anchor list;
    for (int i = 0; i != 20; ++i) {
        list.push_back(all[0]);
        BOOST_TEST(list.take_only() == &all[0]);
        queue.push(all[0], state::cancelled);
        if (i % 3 == 0)
            queue.settle();
        BOOST_TEST(queue.try_pop() == &all[0]);
    }
}

BOOST_AUTO_TEST_SUITE_END()

}
