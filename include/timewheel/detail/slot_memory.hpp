// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#ifndef TIMEWHEEL_DETAIL_SLOT_MEMORY_HPP
#define TIMEWHEEL_DETAIL_SLOT_MEMORY_HPP

#include <cstddef>
#include <new>

namespace timewheel::detail {

// Memory for the one handler of a kind that is queued at a time, so that posting it can't fail.
template <std::size_t Size>
class slot_memory
{
public:
    void* allocate(std::size_t size)
    {
        if (in_use_ || size > Size)
            return ::operator new(size);
        in_use_ = true;
        return storage_;
    }

    void deallocate(void* memory) noexcept
    {
        if (memory == storage_)
            in_use_ = false;
        else
            ::operator delete(memory);
    }

private:
    alignas(std::max_align_t) std::byte storage_[Size];
    bool in_use_ = false;
};

// The allocator of a handler that is kept in a slot_memory.
template <class T, class Memory>
class slot_allocator
{
public:
    using value_type = T;

    template <class U>
    struct rebind
    {
        using other = slot_allocator<U, Memory>;
    };

    explicit slot_allocator(Memory& memory) noexcept : memory_(&memory) {}

    template <class U>
    slot_allocator(const slot_allocator<U, Memory>& other) noexcept : memory_(other.memory_)
    {}

    T* allocate(std::size_t n) { return static_cast<T*>(memory_->allocate(n * sizeof(T))); }
    void deallocate(T* memory, std::size_t) noexcept { memory_->deallocate(memory); }

    template <class U>
    bool operator==(const slot_allocator<U, Memory>& other) const noexcept
    {
        return memory_ == other.memory_;
    }

private:
    template <class, class>
    friend class slot_allocator;

    Memory* memory_;
};

}

#endif
