// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#ifndef TIMEWHEEL_DETAIL_ALLOCATED_HPP
#define TIMEWHEEL_DETAIL_ALLOCATED_HPP

#include <timewheel/detail/block_cache.hpp>

#include <memory>
#include <type_traits>

namespace timewheel::detail {

template <class Allocator>
inline constexpr bool is_standard_allocator = false;

template <class T>
inline constexpr bool is_standard_allocator<std::allocator<T>> = true;

// Makes and frees objects of a type in the memory of an allocator for any type. As everywhere in
// Asio, std::allocator stands for none in particular: it is what the handler of a composed operation
// has if its user's has none, and such memory is recycled.
template <class T, class Allocator>
class allocated
{
public:
    using allocator_type = std::conditional_t<
        is_standard_allocator<Allocator>,
        cached_allocator<T>,
        typename std::allocator_traits<Allocator>::template rebind_alloc<T>>;

    // `construct(memory)` constructs the object there and returns a reference to it.
    template <class Construct>
    static T& make(const Allocator& allocator, Construct construct)
    {
        allocator_type rebound = rebind(allocator);
        T* const memory = traits::allocate(rebound, 1);
        try {
            return construct(static_cast<void*>(memory));
        } catch (...) {
            traits::deallocate(rebound, memory, 1);
            throw;
        }
    }

    // `destroy(object)` destroys it. The allocator may be in the object.
    template <class Destroy>
    static void free(const Allocator& allocator, T& object, Destroy destroy) noexcept
    {
        allocator_type rebound = rebind(allocator);
        destroy(object);
        traits::deallocate(rebound, &object, 1);
    }

private:
    using traits = std::allocator_traits<allocator_type>;

    static allocator_type rebind([[maybe_unused]] const Allocator& allocator) noexcept
    {
        if constexpr (is_standard_allocator<Allocator>)
            return {};
        else
            return allocator_type(allocator);
    }
};

}

#endif
