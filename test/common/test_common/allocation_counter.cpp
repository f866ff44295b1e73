// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#include <test_common/allocation_counter.hpp>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <new>

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define TIMEWHEEL_TEST_SANITIZED
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define TIMEWHEEL_TEST_SANITIZED
#endif

namespace {

constinit std::atomic<std::size_t> allocations{0};
constinit std::atomic<std::size_t> frees{0};

void count_one() noexcept
{
    allocations.fetch_add(1, std::memory_order_relaxed);
}

void count_free(const volatile void* p) noexcept
{
    if (p)
        frees.fetch_add(1, std::memory_order_relaxed);
}

}

namespace timewheel::test {

std::size_t allocations_so_far() noexcept
{
    return allocations.load(std::memory_order_relaxed);
}

std::size_t live_allocations() noexcept
{
    return allocations.load(std::memory_order_relaxed) - frees.load(std::memory_order_relaxed);
}

}

#if defined(TIMEWHEEL_TEST_SANITIZED)

// A sanitizer owns malloc, and offers to tell.
extern "C" int __sanitizer_install_malloc_and_free_hooks(
    void (*malloc_hook)(const volatile void*, std::size_t),
    void (*free_hook)(const volatile void*)
);

bool timewheel::test::counts_allocations() noexcept
{
    static const bool installed =
        __sanitizer_install_malloc_and_free_hooks(
            [](const volatile void*, std::size_t) { count_one(); }, &count_free
        ) != 0;
    return installed;
}

#elif defined(__GLIBC__)

// glibc lets a program replace the family of malloc as a whole; the originals stay reachable.
extern "C" {

void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);
void __libc_free(void*);

void* malloc(std::size_t size)
{
    count_one();
    return __libc_malloc(size);
}

void* calloc(std::size_t n, std::size_t size)
{
    count_one();
    return __libc_calloc(n, size);
}

void* realloc(void* p, std::size_t size)
{
    count_one();
    count_free(p);
    return __libc_realloc(p, size);
}

void* memalign(std::size_t alignment, std::size_t size)
{
    count_one();
    return __libc_memalign(alignment, size);
}

void* aligned_alloc(std::size_t alignment, std::size_t size)
{
    count_one();
    return __libc_memalign(alignment, size);
}

int posix_memalign(void** out, std::size_t alignment, std::size_t size)
{
    count_one();
    void* const p = __libc_memalign(alignment, size);
    if (!p)
        return ENOMEM;
    *out = p;
    return 0;
}

void free(void* p)
{
    count_free(p);
    __libc_free(p);
}
}

bool timewheel::test::counts_allocations() noexcept
{
    return true;
}

#else

bool timewheel::test::counts_allocations() noexcept
{
    return false;
}

#endif
