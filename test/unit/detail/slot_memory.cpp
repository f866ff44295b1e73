// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#include <timewheel/detail/slot_memory.hpp>

#include <boost/test/unit_test.hpp>

#include <cstdint>
#include <memory>
#include <vector>

namespace timewheel::test {

BOOST_AUTO_TEST_SUITE(slot_memory)

BOOST_AUTO_TEST_CASE(serves_one_block_from_itself)
{
    detail::slot_memory<64> memory;
    const auto is_inside = [&](const void* p) {
        const auto at = reinterpret_cast<std::uintptr_t>(p);
        const auto begin = reinterpret_cast<std::uintptr_t>(&memory);
        return at >= begin && at < begin + sizeof memory;
    };
    void* const first = memory.allocate(64);
    BOOST_TEST(is_inside(first));
    BOOST_TEST(reinterpret_cast<std::uintptr_t>(first) % alignof(std::max_align_t) == 0u);
    void* const second = memory.allocate(8); // taken: from the heap
    BOOST_TEST(!is_inside(second));
    memory.deallocate(first);
    BOOST_TEST(memory.allocate(1) == first);
    memory.deallocate(second);
    memory.deallocate(first);
    void* const large = memory.allocate(65);
    BOOST_TEST(!is_inside(large));
    memory.deallocate(large);
}

BOOST_AUTO_TEST_CASE(allocator_is_one)
{
    detail::slot_memory<64> memory;
    detail::slot_memory<64> other;
    using allocator = detail::slot_allocator<int, detail::slot_memory<64>>;
    const allocator a(memory);
    std::allocator_traits<allocator>::rebind_alloc<char> b(a);
    BOOST_TEST((b == a));
    BOOST_TEST(!(a == allocator(other)));
    std::vector<int, allocator> numbers(a);
    for (int i = 0; i != 1000; ++i)
        numbers.push_back(i);
    BOOST_TEST(numbers.back() == 999);
}

BOOST_AUTO_TEST_SUITE_END()

}
