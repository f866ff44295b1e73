// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#include <timewheel/detail/wait_operation.hpp>

#include <timewheel/basic_waitable_timer.hpp>

#include <test_common/checked_token.hpp>
#include <test_common/counting_allocator.hpp>
#include <test_common/io_fixture.hpp>
#include <test_common/move_only_handler.hpp>
#include <test_common/run.hpp>
#include <test_common/virtual_time.hpp>

#include <boost/asio/bind_allocator.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/system_executor.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/test/unit_test.hpp>

#include <memory>
#include <new>
#include <optional>

namespace timewheel::test {

namespace {

struct plain
{
    void operator()(error_code) const {}
};

template <class Executor>
using bound = asio::executor_binder<plain, Executor>;

static_assert(!detail::has_own_executor<plain>);
static_assert(detail::has_own_executor<bound<asio::io_context::executor_type>>);
static_assert(detail::has_own_executor<bound<asio::system_executor>>);
static_assert(detail::has_own_executor<bound<asio::thread_pool::executor_type>>);
static_assert(detail::has_own_executor<bound<asio::any_io_executor>>);

}

BOOST_FIXTURE_TEST_SUITE(wait_operation, io_fixture)

// Promise 7: freed before the handler runs, on each way to it.
BOOST_AUTO_TEST_CASE(memory_is_freed_before_the_handler_runs)
{
    struct tag;
    using timer = virtual_timer<tag>;
    const auto strand = asio::make_strand(ctx);
    allocation_account account;
    int calls = 0;
    const auto handler = [&] {
        return asio::bind_allocator(counting_allocator<>(account), [&](error_code) {
            BOOST_TEST(account.settled());
            ++calls;
        });
    };
    timer a(ctx, 1s), b(strand, 1s);
    const auto run = [&](auto start) {
        for (const bool cancel : {false, true}) {
            for (timer* const t : {&a, &b}) {
                t->expires_after(1s);
                start(*t);
                BOOST_TEST(account.blocks == 1);
                if (cancel)
                    t->cancel();
                else
                    timewheel::manual_clock<tag>::advance(1s);
                ctx.restart();
                ctx.poll();
            }
        }
    };
    run([&](timer& t) { t.async_wait(handler()); });
    run([&](timer& t) { t.async_wait(asio::bind_executor(strand, handler())); });
    run([&](timer& t) { t.async_wait(asio::bind_executor(ctx, handler())); });
    BOOST_TEST(calls == 12);
    BOOST_TEST(account.settled());
}

BOOST_AUTO_TEST_CASE(memory_goes_back_when_the_context_does)
{
    struct tag;
    allocation_account account;
    {
        asio::io_context gone;
        virtual_timer<tag> t(gone, 1s);
        t.async_wait(asio::bind_allocator(counting_allocator<>(account), plain()));
        BOOST_TEST(account.blocks == 1);
    }
    BOOST_TEST(account.settled());
}

BOOST_AUTO_TEST_CASE(wait_that_gets_no_memory_never_was)
{
    struct tag;
    using timer = virtual_timer<tag>;
    allocation_account account;
    account.refuse = 1;
    timer t(ctx, 1s);
    BOOST_CHECK_THROW(
        t.async_wait(asio::bind_allocator(counting_allocator<>(account), plain())), std::bad_alloc
    );
    BOOST_TEST(t.cancel() == 0u);
    checked_stats<timer>(ctx, 0);
    BOOST_TEST(ctx.poll() == 0u);
}

BOOST_AUTO_TEST_CASE(handler_may_be_movable_only)
{
    struct tag;
    virtual_timer<tag> t(ctx, 1s);
    int calls = 0;
    t.async_wait(move_only_handler([&](error_code ec) { calls += !ec; }));
    virtual_timer<tag> on_strand(asio::make_strand(ctx), 1s);
    on_strand.async_wait(move_only_handler([&](error_code ec) { calls += !ec; }));
    timewheel::manual_clock<tag>::advance(1s);
    ctx.poll();
    BOOST_TEST(calls == 2);
}

// The handler owns what its operation was kept in, and the timer.
BOOST_AUTO_TEST_CASE(handler_may_own_the_memory_of_its_operation)
{
    struct tag;
    using timer = virtual_timer<tag>;
    struct owned
    {
        allocation_account account;
        std::optional<timer> t;
    };
    for (const bool run : {false, true}) {
        asio::io_context context;
        auto all = std::make_shared<owned>();
        const std::weak_ptr<owned> watch = all;
        all->t.emplace(context, 1s);
        timer& t = *all->t;
        allocation_account& account = all->account;
        t.async_wait(asio::bind_allocator(
            counting_allocator<>(account), [all = std::move(all)](error_code) {}
        ));
        if (run) {
            timewheel::manual_clock<tag>::advance(1s);
            context.poll();
            BOOST_TEST(watch.expired());
        }
    }
}

BOOST_AUTO_TEST_CASE(signal_and_wait_may_go_in_any_order)
{
    struct tag;
    using timer = virtual_timer<tag>;
    const auto handler = [](error_code) {};
    // The signal goes first.
    timer t(ctx, 1s);
    {
        asio::cancellation_signal signal;
        t.async_wait(asio::bind_cancellation_slot(signal.slot(), handler));
    }
    timewheel::manual_clock<tag>::advance(1s);
    ctx.poll();
    BOOST_TEST(checked_stats<timer>(ctx, 1).fired == 1u);
    // The wait, the timer, and the context go first.
    asio::cancellation_signal signal;
    {
        asio::io_context gone;
        {
            timer done(gone, 0s);
            done.async_wait(asio::bind_cancellation_slot(signal.slot(), handler));
            gone.poll();
            signal.emit(asio::cancellation_type::all);
        }
        signal.emit(asio::cancellation_type::all);
        timer pending(gone, 1h);
        pending.async_wait(asio::bind_cancellation_slot(signal.slot(), handler));
    }
    signal.emit(asio::cancellation_type::all);
}

BOOST_AUTO_TEST_CASE(signal_of_a_later_wait_leaves_the_earlier_alone)
{
    struct tag;
    using timer = virtual_timer<tag>;
    asio::cancellation_signal signal;
    outcome first;
    int second = 0;
    timer t(ctx, 1s);
    t.async_wait(asio::bind_cancellation_slot(signal.slot(), [&](error_code ec) {
        BOOST_TEST(!ec);
        ++first.invoked;
    }));
    t.async_wait(asio::bind_cancellation_slot(signal.slot(), [&](error_code ec) {
        second += ec == asio::error::operation_aborted;
    }));
    signal.emit(asio::cancellation_type::terminal);
    ctx.poll();
    BOOST_TEST(second == 1);
    signal.emit(asio::cancellation_type::terminal);
    timewheel::manual_clock<tag>::advance(1s);
    ctx.poll();
    BOOST_TEST(first.done());
}

// A signal after the wait is due has no effect, before and after it is handed out.
BOOST_AUTO_TEST_CASE(signal_comes_too_late_for_what_was_handed_out)
{
    struct tag;
    using timer = virtual_timer<tag>;
    asio::cancellation_signal signal;
    outcome result;
    timer t(ctx, 1s), first(ctx, 1s);
    first.async_wait([&](error_code) { signal.emit(asio::cancellation_type::all); });
    t.async_wait(asio::bind_cancellation_slot(signal.slot(), [&](error_code ec) {
        BOOST_TEST(!ec);
        ++result.invoked;
        signal.emit(asio::cancellation_type::all);
    }));
    timewheel::manual_clock<tag>::advance(1s);
    ctx.poll();
    BOOST_TEST(result.done());
}

// The handler waits in another context when that of the timer goes away.
BOOST_AUTO_TEST_CASE(signal_finds_the_driver_gone_before_the_handler_runs)
{
    struct tag;
    asio::cancellation_signal signal;
    int calls = 0;
    {
        asio::io_context gone;
        virtual_timer<tag> t(gone, 0s);
        t.async_wait(asio::bind_cancellation_slot(
            signal.slot(), asio::bind_executor(ctx, [&](error_code ec) { calls += !ec; })
        ));
        gone.poll();
    }
    signal.emit(asio::cancellation_type::all);
    BOOST_TEST(calls == 0);
    ctx.poll();
    BOOST_TEST(calls == 1);
}

// The slot may be gone while the wait is pending, and while its handler is on its way.
BOOST_AUTO_TEST_CASE(slot_goes_first)
{
    struct tag;
    for (const bool is_due : {false, true}) {
        ctx.restart();
        asio::io_context own;
        virtual_timer<tag> t(own, 1s);
        int calls = 0;
        {
            asio::cancellation_signal signal;
            t.async_wait(asio::bind_cancellation_slot(
                signal.slot(), asio::bind_executor(ctx, [&](error_code ec) { calls += !ec; })
            ));
            if (is_due)
                timewheel::manual_clock<tag>::advance(1s);
            own.poll();
        }
        timewheel::manual_clock<tag>::advance(1s);
        own.poll();
        ctx.poll();
        BOOST_TEST(calls == 1);
    }
}

BOOST_AUTO_TEST_SUITE_END()

}
