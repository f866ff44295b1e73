// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#ifndef TIMEWHEEL_TEST_COMMON_COUNTING_ALLOCATOR_HPP
#define TIMEWHEEL_TEST_COMMON_COUNTING_ALLOCATOR_HPP

/** @file
    An allocator to associate with a handler, that keeps an account of what an operation takes and
    gives back, and can refuse to serve one of the requests.
*/

#include <timewheel/config.hpp>

#include <atomic>
#include <cstddef>
#include <memory>
#include <new>

namespace timewheel::test {

/// The account that all copies of an allocator share. It must outlive them.
struct allocation_account
{
    /// Blocks and bytes handed out and not returned yet.
    std::atomic<std::ptrdiff_t> blocks{0};
    std::atomic<std::ptrdiff_t> bytes{0};

    /// Requests ever made.
    std::atomic<std::size_t> requests{0};

    /// The request to refuse with `std::bad_alloc`, counted from one; zero refuses none.
    std::size_t refuse{0};

    [[nodiscard]] bool settled() const noexcept { return blocks == 0 && bytes == 0; }
};

/// Serves from the heap and writes down every request in its account.
template <class T = void>
class counting_allocator
{
public:
    using value_type = T;

    explicit counting_allocator(allocation_account& account) noexcept : account_{&account} {}

    template <class U>
    counting_allocator(const counting_allocator<U>& other) noexcept : account_{other.account_}
    {}

    [[nodiscard]] T* allocate(std::size_t n)
    {
        if (++account_->requests == account_->refuse)
            throw std::bad_alloc{};
        T* const p = std::allocator<T>{}.allocate(n);
        ++account_->blocks;
        account_->bytes += static_cast<std::ptrdiff_t>(n * sizeof(T));
        return p;
    }

    void deallocate(T* p, std::size_t n) noexcept
    {
        --account_->blocks;
        account_->bytes -= static_cast<std::ptrdiff_t>(n * sizeof(T));
        std::allocator<T>{}.deallocate(p, n);
    }

    template <class U>
    friend bool operator==(const counting_allocator& a, const counting_allocator<U>& b) noexcept
    {
        return a.same_account(b);
    }

private:
    template <class>
    friend class counting_allocator;

    template <class U>
    [[nodiscard]] bool same_account(const counting_allocator<U>& other) const noexcept
    {
        return account_ == other.account_;
    }

    allocation_account* account_;
};

}

#endif
