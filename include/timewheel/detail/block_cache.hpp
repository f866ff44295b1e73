// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#ifndef TIMEWHEEL_DETAIL_BLOCK_CACHE_HPP
#define TIMEWHEEL_DETAIL_BLOCK_CACHE_HPP

#include <array>
#include <cstddef>
#include <memory>
#include <new>

namespace timewheel::detail {

/*  Blocks of memory that each thread keeps for its next allocations: for states that may have to be
    kept for longer than a handler's allocator is valid, and that must not drive what Asio itself
    needs for its next operation out of Asio's cache, which is small.
*/
class block_cache
{
public:
    static constexpr std::size_t capacity = 8;     // blocks of each thread
    static constexpr std::size_t granularity = 64; // of their sizes
    static constexpr std::size_t max_block = 2048; // what is larger is not kept

    static void* allocate(std::size_t size)
    {
        const std::size_t rounded = round_up(size);
        for (block& each : blocks) {
            if (each.size == rounded) {
                each.size = 0;
                return each.memory;
            }
        }
        return ::operator new(rounded);
    }

    static void deallocate(void* memory, std::size_t size) noexcept
    {
        const std::size_t rounded = round_up(size);
        if (is_closed || rounded > max_block)
            return ::operator delete(memory);
        static thread_local const closer at_end_of_thread;
        block& oldest = blocks[next];
        next = (next + 1) % capacity;
        if (oldest.size != 0)
            ::operator delete(oldest.memory);
        oldest = {memory, rounded};
    }

private:
    struct block
    {
        void* memory;
        std::size_t size; // zero for none
    };

    // What is destroyed even later than the thread's variables must not find it filled again.
    struct closer
    {
        ~closer()
        {
            is_closed = true;
            for (block& each : blocks) {
                if (each.size != 0)
                    ::operator delete(each.memory);
                each.size = 0;
            }
        }
    };

    static constexpr std::size_t round_up(std::size_t size) noexcept
    {
        return (size + granularity - 1) / granularity * granularity;
    }

    static inline constinit thread_local std::array<block, capacity> blocks{};
    static inline constinit thread_local std::size_t next = 0;
    static inline constinit thread_local bool is_closed = false;
};

// Allocates from the cache of the thread; any thread may give it back.
template <class T>
class cached_allocator
{
public:
    using value_type = T;

    cached_allocator() = default;

    template <class U>
    cached_allocator(const cached_allocator<U>&) noexcept
    {}

    T* allocate(std::size_t n)
    {
        if constexpr (is_over_aligned)
            return std::allocator<T>().allocate(n);
        else
            return static_cast<T*>(block_cache::allocate(n * sizeof(T)));
    }

    void deallocate(T* memory, std::size_t n) noexcept
    {
        if constexpr (is_over_aligned)
            std::allocator<T>().deallocate(memory, n);
        else
            block_cache::deallocate(memory, n * sizeof(T));
    }

    template <class U>
    bool operator==(const cached_allocator<U>&) const noexcept
    {
        return true;
    }

private:
    static constexpr bool is_over_aligned = alignof(T) > __STDCPP_DEFAULT_NEW_ALIGNMENT__;
};

}

#endif
