// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#include <timewheel/detail/block_cache.hpp>

#include <test_common/allocation_counter.hpp>

#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <thread>
#include <vector>

namespace timewheel::test {

BOOST_AUTO_TEST_SUITE(block_cache)

using cache = detail::block_cache;

namespace {

// Each case has a cache of its own, that of its thread.
template <class Function>
void in_new_thread(Function function)
{
    std::thread(function).join();
}

}

BOOST_AUTO_TEST_CASE(a_block_is_used_again)
{
    in_new_thread([] {
        void* const first = cache::allocate(100);
        cache::deallocate(first, 100);
        void* const again = cache::allocate(120);
        BOOST_TEST(again == first);
        void* const other = cache::allocate(100);
        BOOST_TEST(other != first);
        cache::deallocate(again, 120);
        void* const larger = cache::allocate(121);
        BOOST_TEST(larger != again);
        cache::deallocate(larger, 121);
        cache::deallocate(other, 100);
    });
}

BOOST_AUTO_TEST_CASE(the_latest_comes_first)
{
    in_new_thread([] {
        std::vector<void*> blocks;
        for (std::size_t i = 0; i != cache::capacity(48); ++i)
            blocks.push_back(cache::allocate(48));
        for (void* const block : blocks)
            cache::deallocate(block, 48);
        const allocation_counter counter;
        for (std::size_t i = blocks.size(); i-- != 0;)
            BOOST_TEST(cache::allocate(48) == blocks[i]);
        BOOST_TEST(counter.count() == 0u);
        for (void* const block : blocks)
            cache::deallocate(block, 48);
    });
}

BOOST_AUTO_TEST_CASE(more_than_the_capacity_is_not_kept)
{
    if (!counts_allocations())
        return;
    for (const std::size_t size : {std::size_t{1}, std::size_t{300}, cache::max_block}) {
        in_new_thread([size] {
            const std::size_t capacity = cache::capacity(size);
            BOOST_TEST(capacity >= 7u);
            std::vector<void*> blocks(2 * capacity);
            for (void*& block : blocks)
                block = cache::allocate(size);
            for (void* const block : blocks)
                cache::deallocate(block, size);
            const allocation_counter counter;
            for (void*& block : blocks)
                block = cache::allocate(size);
            BOOST_TEST(counter.count() == capacity);
            for (void* const block : blocks)
                cache::deallocate(block, size);
        });
    }
}

BOOST_AUTO_TEST_CASE(blocks_of_any_size_are_whole_and_aligned)
{
    in_new_thread([] {
        for (std::size_t round = 0; round != 2; ++round) {
            for (std::size_t size = 0; size != cache::max_block + 100; ++size) {
                void* const memory = cache::allocate(size);
                BOOST_TEST(
                    reinterpret_cast<std::uintptr_t>(memory) % alignof(std::max_align_t) == 0u
                );
                std::memset(memory, 1, size);
                cache::deallocate(memory, size);
            }
        }
    });
}

BOOST_AUTO_TEST_CASE(large_blocks_are_not_kept)
{
    in_new_thread([] {
        constexpr std::size_t size = cache::max_block + 1;
        cache::deallocate(cache::allocate(size), size);
        if (!counts_allocations())
            return;
        const allocation_counter counter;
        void* const memory = cache::allocate(size);
        BOOST_TEST(counter.count() == 1u);
        cache::deallocate(memory, size);
    });
}

#ifdef TIMEWHEEL_ADDRESS_SANITIZER

BOOST_AUTO_TEST_CASE(the_sanitizer_knows_what_is_not_in_use)
{
    in_new_thread([] {
        auto* const memory = static_cast<char*>(cache::allocate(100));
        BOOST_TEST(!__asan_region_is_poisoned(memory, 100));
        cache::deallocate(memory, 100);
        for (std::size_t i = 0; i != 100; ++i)
            BOOST_TEST(__asan_address_is_poisoned(memory + i));
        BOOST_TEST(cache::allocate(100) == memory);
        BOOST_TEST(!__asan_region_is_poisoned(memory, 100));
        cache::deallocate(memory, 100);
    });
}

#endif

BOOST_AUTO_TEST_CASE(blocks_move_between_threads)
{
    for (int i = 0; i != 100; ++i) {
        void* memory = nullptr;
        in_new_thread([&] {
            memory = cache::allocate(200);
            std::memset(memory, 1, 200);
        });
        in_new_thread([&] { cache::deallocate(memory, 200); });
    }
}

// A variable of the thread that was there before the cache is destroyed after it.
BOOST_AUTO_TEST_CASE(after_the_end_of_the_cache)
{
    struct late
    {
        ~late()
        {
            if (!memory)
                return;
            cache::deallocate(memory, 64);
            cache::deallocate(cache::allocate(64), 64);
        }
        void* memory = nullptr;
    };
    in_new_thread([] {
        static thread_local late variable;
        variable.memory = cache::allocate(64);
        cache::deallocate(cache::allocate(64), 64);
    });
}

BOOST_AUTO_TEST_CASE(allocators)
{
    struct alignas(128) over_aligned
    {
        char data[128];
    };
    detail::cached_allocator<int> of_int;
    detail::cached_allocator<over_aligned> of_over_aligned(of_int);
    BOOST_TEST((of_int == of_over_aligned));
    int* const ints = of_int.allocate(3);
    BOOST_TEST(reinterpret_cast<std::uintptr_t>(ints) % alignof(int) == 0u);
    of_int.deallocate(ints, 3);
    over_aligned* const aligned = of_over_aligned.allocate(2);
    BOOST_TEST(reinterpret_cast<std::uintptr_t>(aligned) % 128 == 0u);
    of_over_aligned.deallocate(aligned, 2);
}

BOOST_AUTO_TEST_SUITE_END()

}
