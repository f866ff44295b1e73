// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#include "families.hpp"

#include <test_common/allocation_counter.hpp>
#include <test_common/checked_token.hpp>
#include <test_common/counting_allocator.hpp>
#include <test_common/io_fixture.hpp>
#include <test_common/run.hpp>

#include <boost/asio/associated_allocator.hpp>
#include <boost/asio/bind_allocator.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/strand.hpp>
#include <boost/test/unit_test.hpp>

#include <array>
#include <cstddef>
#include <memory>
#include <new>
#include <utility>

namespace timewheel::test {

BOOST_AUTO_TEST_SUITE(conformance_memory)

// C14: what an operation takes comes from the handler's allocator and is back before the upcall.
BOOST_FIXTURE_TEST_CASE_TEMPLATE(memory_is_back_before_the_upcall, Family, families, io_fixture)
{
    allocation_account account;
    const counting_allocator<> allocator{account};
    typename Family::steady timer{ctx, 1ms};
    timer.async_wait(asio::bind_allocator(allocator, succeeds().then([&] {
        BOOST_TEST(account.settled());
    })));
    BOOST_TEST(account.blocks >= 1);
    BOOST_TEST(run_to_end(ctx));
    BOOST_TEST(account.settled());

    // The same when the wait is cancelled, by each of the ways to do it.
    asio::cancellation_signal signal;
    const auto wait = [&] {
        timer.async_wait(asio::bind_cancellation_slot(
            signal.slot(), asio::bind_allocator(allocator, is_aborted().then([&] {
                BOOST_TEST(account.settled());
            }))
        ));
        BOOST_TEST(account.blocks >= 1);
        ctx.restart();
    };
    timer.expires_after(1h);
    wait();
    timer.cancel();
    BOOST_TEST(run_to_end(ctx));
    wait();
    timer.cancel_one();
    BOOST_TEST(run_to_end(ctx));
    wait();
    signal.emit(asio::cancellation_type::total);
    BOOST_TEST(run_to_end(ctx));
    wait();
    timer.expires_after(2h);
    BOOST_TEST(run_to_end(ctx));
    wait();
    {
        const auto gone = std::move(timer);
    }
    BOOST_TEST(run_to_end(ctx));
    BOOST_TEST(account.settled());
}

// C14: each of several waits gives back its own share, not earlier and not later.
BOOST_FIXTURE_TEST_CASE_TEMPLATE(each_wait_has_memory_of_its_own, Family, families, io_fixture)
{
    std::array<allocation_account, 3> accounts;
    typename Family::steady timer{ctx, 1h};
    for (auto& account : accounts)
        timer.async_wait(asio::bind_allocator(counting_allocator<>{account}, is_aborted()));
    for (std::size_t i = 0; i < accounts.size(); ++i) {
        BOOST_TEST(timer.cancel_one() == 1U);
        poll_until_quiet(ctx);
        for (std::size_t k = 0; k < accounts.size(); ++k)
            BOOST_TEST(accounts[k].settled() == (k <= i));
    }
}

// C14: the allocator serves also when the handler completes on another executor, such as a strand.
BOOST_FIXTURE_TEST_CASE_TEMPLATE(memory_is_back_on_a_strand_too, Family, families, io_fixture)
{
    allocation_account account;
    typename Family::steady timer{ctx, 1ms};
    timer.async_wait(asio::bind_executor(
        asio::make_strand(ctx),
        asio::bind_allocator(counting_allocator<>{account}, succeeds().then([&] {
            BOOST_TEST(account.settled());
        }))
    ));
    BOOST_TEST(run_to_end(ctx));
    BOOST_TEST(account.settled());
}

namespace {

/// Memory for one operation, which dies with the last handler that refers to it.
struct arena
{
    alignas(std::max_align_t) std::array<std::byte, 4096> bytes{};
    std::size_t used = 0;
};

template <class T = void>
struct arena_allocator
{
    using value_type = T;

    explicit arena_allocator(arena& a) noexcept : memory(&a) {}

    template <class U>
    arena_allocator(const arena_allocator<U>& other) noexcept : memory(other.memory)
    {}

    T* allocate(std::size_t n)
    {
        constexpr std::size_t alignment = alignof(std::max_align_t);
        const std::size_t size = (n * sizeof(T) + alignment - 1) / alignment * alignment;
        if (memory->bytes.size() - memory->used < size)
            throw std::bad_alloc{};
        return reinterpret_cast<T*>(
            memory->bytes.data() + std::exchange(memory->used, memory->used + size)
        );
    }

    void deallocate(T*, std::size_t) noexcept
    {
        // A write, so that giving memory back to a dead arena is seen by a sanitizer.
        memory->bytes[0] = std::byte{};
    }

    template <class U>
    friend bool operator==(const arena_allocator& a, const arena_allocator<U>& b) noexcept
    {
        return a.memory == b.memory;
    }

    arena* memory;
};

/// A handler that owns the memory its operation lives in.
struct arena_owner
{
    using allocator_type = arena_allocator<>;

    allocator_type get_allocator() const noexcept { return allocator_type{*memory}; }

    void operator()(error_code)
    {
        ++*ended;
        memory.reset();
    }

    std::unique_ptr<arena> memory;
    int* ended;
};

}

// C14: the handler may be the owner of the memory, so it must be out of it before it is given back.
BOOST_FIXTURE_TEST_CASE_TEMPLATE(a_handler_may_own_its_memory, Family, families, io_fixture)
{
    int ended = 0;
    typename Family::steady timer{ctx, 1ms};
    timer.async_wait(arena_owner{std::make_unique<arena>(), &ended});
    BOOST_TEST(run_to_end(ctx));
    BOOST_TEST(ended == 1);

    ctx.restart();
    timer.expires_after(1h);
    timer.async_wait(arena_owner{std::make_unique<arena>(), &ended});
    timer.cancel();
    BOOST_TEST(run_to_end(ctx));
    BOOST_TEST(ended == 2);
}

// C14, C27: it owns it also when the context goes away first.
BOOST_AUTO_TEST_CASE_TEMPLATE(a_dropped_handler_may_own_its_memory, Family, families)
{
    int ended = 0;
    {
        asio::io_context ctx;
        typename Family::steady timer{ctx, 1h};
        timer.async_wait(arena_owner{std::make_unique<arena>(), &ended});
        timer.expires_at((Family::steady::time_point::min)());
        timer.async_wait(arena_owner{std::make_unique<arena>(), &ended});
        // The timer goes before the context, the handlers with it.
    }
    BOOST_TEST(ended == 0);
}

// C14: when an allocation fails, async_wait throws and it is as if it had not been called.
BOOST_FIXTURE_TEST_CASE_TEMPLATE(a_failed_allocation_leaves_no_trace, Family, families, io_fixture)
{
    typename Family::steady timer{ctx, 1h};
    timer.async_wait(is_aborted());
    poll_until_quiet(ctx);

    std::size_t failures = 0;
    for (std::size_t nth = 1;; ++nth) {
        BOOST_REQUIRE(nth < 20U);
        allocation_account account;
        account.refuse = nth;
        const auto allocator = counting_allocator<>{account};
        outcome result;
        try {
            timer.async_wait(asio::bind_allocator(allocator, is_aborted().or_dropped().into(result))
            );
        } catch (const std::bad_alloc&) {
            ++failures;
            BOOST_TEST(account.settled());
            BOOST_TEST(result.dropped == 1);
            poll_until_quiet(ctx);
            BOOST_TEST(result.invoked == 0);
            continue;
        }
        BOOST_TEST(timer.cancel() == 2U);
        BOOST_TEST(run_to_end(ctx));
        BOOST_TEST(result.invoked == 1);
        BOOST_TEST(account.settled());
        break;
    }
    BOOST_TEST(failures >= 1U);

    // With nothing else pending, a failed wait is no reason for run() to stay.
    ctx.restart();
    allocation_account account;
    account.refuse = 1;
    BOOST_CHECK_THROW(
        timer.async_wait(
            asio::bind_allocator(counting_allocator<>{account}, is_aborted().or_dropped())
        ),
        std::bad_alloc
    );
    const stopwatch watch;
    BOOST_TEST(run_to_end(ctx));
    BOOST_CHECK(watch.elapsed() < 1s);
}

namespace {

/// Waits again and again in its own handler, and counts allocations once it is warm.
template <class Timer>
struct rearming
{
    void start()
    {
        timer.async_wait(step{this});
        if (cancelled)
            timer.cancel();
    }

    struct step
    {
        void operator()(error_code)
        {
            if (self->left == 1000)
                self->counter = allocation_counter{};
            if (--self->left == 0)
                self->allocations = self->counter.count();
            else
                self->start();
        }

        rearming* self;
    };

    Timer& timer;
    bool cancelled;
    int left = 1200;
    allocation_counter counter{};
    std::size_t allocations = 0;
};

}

// C14: a timer that is armed and expires in a loop allocates nothing once the loop is warm.
BOOST_FIXTURE_TEST_CASE_TEMPLATE(rearming_allocates_nothing, Family, families, io_fixture)
{
    if (!counts_allocations()) {
        BOOST_TEST_MESSAGE("this build does not count allocations");
        return;
    }
    typename Family::steady timer{ctx};
    rearming<typename Family::steady> expiring{timer, false};
    expiring.start();
    BOOST_TEST(run_to_end(ctx));
    BOOST_TEST(expiring.left == 0);
    BOOST_TEST(expiring.allocations == 0U);
}

// C14: nor does one that is armed and cancelled.
BOOST_FIXTURE_TEST_CASE_TEMPLATE(cancelling_allocates_nothing, Family, families, io_fixture)
{
    if (!counts_allocations()) {
        BOOST_TEST_MESSAGE("this build does not count allocations");
        return;
    }
    typename Family::steady far{ctx, 1h};
    rearming<typename Family::steady> cancelled{far, true};
    cancelled.start();
    BOOST_TEST(run_to_end(ctx));
    BOOST_TEST(cancelled.left == 0);
    BOOST_TEST(cancelled.allocations == 0U);
}

// The counter sees what the two cases above rely on.
BOOST_AUTO_TEST_CASE(the_allocation_counter_counts)
{
    if (!counts_allocations()) {
        BOOST_TEST_MESSAGE("this build does not count allocations");
        return;
    }
    const allocation_counter counter;
    const auto p = std::make_unique<std::array<char, 3000>>();
    (*p)[0] = 'x';
    asio::io_context ctx;
    asio::post(ctx, [a = std::array<char, 3000>{}] { static_cast<void>(a); });
    BOOST_TEST(counter.count() >= 2U);
}

BOOST_AUTO_TEST_SUITE_END()

}
