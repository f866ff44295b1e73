// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#ifndef TIMEWHEEL_DETAIL_BLOCK_CACHE_HPP
#define TIMEWHEEL_DETAIL_BLOCK_CACHE_HPP

#include <timewheel/config.hpp>

#include <array>
#include <cstddef>
#include <memory>
#include <new>

#ifdef TIMEWHEEL_ADDRESS_SANITIZER
#include <sanitizer/asan_interface.h>
#endif

namespace timewheel::detail {

/*  Blocks of memory that each thread keeps for its next allocations: as many as become free at a time
    when a burst of operations completes, the last one first, since it is in the processor's cache.
    Asio's own cache keeps two blocks or so, and what is taken from it is missing for its next
    operation.
*/
class block_cache
{
public:
    // Blocks are a pointer less than whole cache lines, because most allocators add one.
    static constexpr std::size_t line = 64;
    static constexpr std::size_t overhead = sizeof(void*);
    static constexpr std::size_t classes = 32;
    static constexpr std::size_t max_block =
        classes * line - overhead; // what is larger is not kept

    // How many blocks of a size each thread keeps.
    static constexpr std::size_t capacity(std::size_t size) noexcept
    {
        return max_kept / (class_of(size) + 1);
    }

    static void* allocate(std::size_t size)
    {
        const std::size_t which = class_of(size);
        if (which < classes) {
            stack& kept = stacks[which];
            if (block* const top = kept.top) {
                unpoison(top, size_of(which));
                kept.top = top->below;
                --kept.size;
                return top;
            }
        }
        return ::operator new(size_of(which));
    }

    static void deallocate(void* memory, std::size_t size) noexcept
    {
        const std::size_t which = class_of(size);
        if (which >= classes || (stacks[which].size + 1) * (which + 1) > max_kept || is_closed)
            return ::operator delete(memory);
        static thread_local const closer at_end_of_thread;
        stack& kept = stacks[which];
        kept.top = ::new (memory) block{kept.top};
        ++kept.size;
        poison(memory, size_of(which));
    }

private:
    struct block
    {
        block* below;
    };

    struct stack
    {
        block* top;
        std::size_t size;
    };

    // What is destroyed even later than the thread's variables must not find it filled again.
    struct closer
    {
        ~closer()
        {
            is_closed = true;
            for (std::size_t which = 0; which != classes; ++which) {
                while (block* const top = stacks[which].top) {
                    unpoison(top, size_of(which));
                    stacks[which].top = top->below;
                    ::operator delete(top);
                }
                stacks[which].size = 0;
            }
        }
    };

    static constexpr std::size_t max_kept = 256; // lines for each class

    static constexpr std::size_t class_of(std::size_t size) noexcept
    {
        return (size + overhead - 1) / line;
    }

    static constexpr std::size_t size_of(std::size_t which) noexcept
    {
        return (which + 1) * line - overhead;
    }

    static void poison([[maybe_unused]] void* memory, [[maybe_unused]] std::size_t size) noexcept
    {
#ifdef TIMEWHEEL_ADDRESS_SANITIZER
        ASAN_POISON_MEMORY_REGION(memory, size);
#endif
    }

    static void unpoison([[maybe_unused]] void* memory, [[maybe_unused]] std::size_t size) noexcept
    {
#ifdef TIMEWHEEL_ADDRESS_SANITIZER
        ASAN_UNPOISON_MEMORY_REGION(memory, size);
#endif
    }

    static inline constinit thread_local std::array<stack, classes> stacks{};
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
