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
    BOOST_TEST(queue.try_pop().op == nullptr);
    BOOST_TEST(queue.try_pop().told() == nullptr);
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
            detail::operation* const popped = queue.try_pop().told();
            BOOST_TEST(popped == &all[i - ahead]);
            const bool is_even = (i - ahead) % 2 == 0;
            BOOST_TEST((popped->outcome == (is_even ? state::expired : state::cancelled)));
        }
        BOOST_TEST(queue.empty());
    }
}

// A signal may look at the outcome while another thread takes the operation out of the queue.
BOOST_AUTO_TEST_CASE(an_outcome_that_is_known_is_not_written)
{
    all[0].outcome = state::expired;
    queue.push(all[0], state::expired);
    const detail::ended_operation ended{&all[0], state::cancelled};
    BOOST_TEST(ended.told() == &all[0]);
    BOOST_TEST((all[0].outcome == state::expired));
    BOOST_TEST(queue.try_pop().op == &all[0]);
}

// From a list that an operation was the only one of, it is taken without being told.
BOOST_AUTO_TEST_CASE(links_that_are_left_do_not_matter)
{
    detail::list_anchor list;
    for (std::size_t i = 0; i != all.size(); ++i) {
        list.push_back(all[i]);
        BOOST_TEST(list.take_only() == &all[i]);
        queue.push(all[i], state::cancelled);
    }
    for (auto& op : all) {
        BOOST_TEST(queue.try_pop().told() == &op);
        BOOST_TEST((op.outcome == state::cancelled));
    }
}

BOOST_AUTO_TEST_SUITE_END()

}
