// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#include <timewheel/detail/intrusive_list.hpp>

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <array>
#include <cstddef>
#include <type_traits>
#include <vector>

namespace {

namespace detail = timewheel::detail;

struct element : detail::list_link
{
    int id = 0;
};

// Five elements, named by their index, none of them linked.
struct fixture
{
    fixture()
    {
        for (int i = 0; i != 5; ++i)
            all[static_cast<std::size_t>(i)].id = i;
    }

    void fill(detail::list_anchor& list, std::vector<std::size_t> ids)
    {
        for (std::size_t id : ids)
            list.push_back(all[id]);
    }

    static std::vector<int> ids(const detail::list_anchor& list)
    {
        std::vector<int> ids;
        for (const detail::list_link* link = list.front(); link != &list; link = link->next())
            ids.push_back(static_cast<const element*>(link)->id);
        return ids;
    }

    std::array<element, 5> all;
};

using id_list = std::vector<int>;

static_assert(!std::is_copy_constructible_v<detail::list_link>);
static_assert(!std::is_copy_assignable_v<detail::list_link>);
static_assert(!std::is_move_constructible_v<detail::list_anchor>);
static_assert(sizeof(detail::list_link) == 2 * sizeof(void*));
static_assert(sizeof(detail::list_anchor) == sizeof(detail::list_link));

BOOST_FIXTURE_TEST_SUITE(intrusive_list, fixture)

BOOST_AUTO_TEST_CASE(new_list_is_empty)
{
    detail::list_anchor list;
    BOOST_TEST(list.empty());
    BOOST_TEST(list.front() == &list);
    BOOST_TEST(!all[0].is_linked());
}

BOOST_AUTO_TEST_CASE(push_back_keeps_order)
{
    detail::list_anchor list;
    fill(list, {2, 0, 1});
    BOOST_TEST(!list.empty());
    BOOST_TEST(all[0].is_linked());
    BOOST_TEST(list.front() == &all[2]);
    BOOST_TEST(ids(list) == (id_list{2, 0, 1}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(take_only_takes_the_only_one)
{
    detail::list_anchor list;
    BOOST_TEST(list.take_only() == nullptr);
    fill(list, {0, 1});
    BOOST_TEST(list.take_only() == nullptr);
    BOOST_TEST(ids(list) == (id_list{0, 1}), boost::test_tools::per_element());
    all[0].unlink();
    BOOST_TEST(list.take_only() == &all[1]);
    BOOST_TEST(list.empty());
    all[1].forget_list();
    BOOST_TEST(!all[1].is_linked());
    fill(list, {1});
    BOOST_TEST(ids(list) == (id_list{1}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(pop_front_takes_the_oldest)
{
    detail::list_anchor list;
    fill(list, {2, 0});
    BOOST_TEST(&list.pop_front() == &all[2]);
    BOOST_TEST(!all[2].is_linked());
    BOOST_TEST(all[2].next() == nullptr);
    BOOST_TEST(&list.pop_front() == &all[0]);
    BOOST_TEST(list.empty());
    fill(list, {2}); // and once more
    BOOST_TEST(ids(list) == id_list{2}, boost::test_tools::per_element());
}

BOOST_DATA_TEST_CASE(unlink_head_middle_and_tail, boost::unit_test::data::make({0, 1, 2}), which)
{
    detail::list_anchor list;
    fill(list, {0, 1, 2});
    id_list rest{0, 1, 2};
    rest.erase(rest.begin() + which);
    BOOST_TEST(all[static_cast<std::size_t>(which)].unlink() == nullptr);
    BOOST_TEST(!all[static_cast<std::size_t>(which)].is_linked());
    BOOST_TEST(ids(list) == rest, boost::test_tools::per_element());
    fill(list, {3});
    rest.push_back(3);
    BOOST_TEST(ids(list) == rest, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(unlink_of_the_only_element_tells_the_anchor)
{
    detail::list_anchor first;
    detail::list_anchor second;
    fill(first, {0, 1});
    fill(second, {2});
    BOOST_TEST(all[2].unlink() == &second);
    BOOST_TEST(all[0].unlink() == nullptr);
    BOOST_TEST(all[1].unlink() == &first);
    BOOST_TEST(first.empty());
    BOOST_TEST(second.empty());
}

BOOST_AUTO_TEST_CASE(unlink_after_splice_tells_the_new_anchor)
{
    detail::list_anchor first;
    detail::list_anchor second;
    fill(second, {2});
    first.splice_back(second);
    BOOST_TEST(all[2].unlink() == &first);
}

BOOST_DATA_TEST_CASE(take_place_of_any_element, boost::unit_test::data::make({0, 1, 2}), which)
{
    detail::list_anchor list;
    fill(list, {0, 1, 2});
    id_list expected{0, 1, 2};
    expected[static_cast<std::size_t>(which)] = 3;
    all[3].take_place_of(all[static_cast<std::size_t>(which)]);
    BOOST_TEST(!all[static_cast<std::size_t>(which)].is_linked());
    BOOST_TEST(all[3].is_linked());
    BOOST_TEST(ids(list) == expected, boost::test_tools::per_element());
    fill(list, {4});
    expected.push_back(4);
    BOOST_TEST(ids(list) == expected, boost::test_tools::per_element());
    while (!list.empty())
        list.pop_front();
    BOOST_TEST(!all[3].is_linked());
}

BOOST_AUTO_TEST_CASE(take_place_of_the_only_element)
{
    detail::list_anchor list;
    fill(list, {0});
    all[1].take_place_of(all[0]);
    BOOST_TEST(ids(list) == id_list{1}, boost::test_tools::per_element());
    BOOST_TEST(all[1].unlink() == &list);
    BOOST_TEST(list.empty());
}

BOOST_AUTO_TEST_CASE(splice_back_appends_in_order)
{
    detail::list_anchor first;
    detail::list_anchor second;
    fill(first, {0, 1});
    fill(second, {2, 3});
    first.splice_back(second);
    BOOST_TEST(ids(first) == (id_list{0, 1, 2, 3}), boost::test_tools::per_element());
    BOOST_TEST(second.empty());
    fill(second, {4}); // usable still, and apart
    BOOST_TEST(ids(first) == (id_list{0, 1, 2, 3}), boost::test_tools::per_element());
    BOOST_TEST(ids(second) == id_list{4}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(splice_back_of_empty_lists)
{
    detail::list_anchor first;
    detail::list_anchor second;
    first.splice_back(second);
    BOOST_TEST(first.empty());
    BOOST_TEST(second.empty());
    fill(first, {0});
    first.splice_back(second);
    BOOST_TEST(ids(first) == id_list{0}, boost::test_tools::per_element());
    second.splice_back(first);
    BOOST_TEST(first.empty());
    BOOST_TEST(ids(second) == id_list{0}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()

}
