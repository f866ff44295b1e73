// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

// Operations with a deadline that are started where only one thing runs at a time.

#include <timewheel/detail/timed_operation.hpp>

#include <timewheel/cancel_after.hpp>

#include <test_common/allocation_counter.hpp>
#include <test_common/checked_token.hpp>
#include <test_common/controlled_operation.hpp>
#include <test_common/io_fixture.hpp>
#include <test_common/run.hpp>
#include <test_common/virtual_time.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/append.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/test/unit_test.hpp>
#include <boost/version.hpp>

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <stdexcept>
#include <type_traits>
#include <utility>

namespace timewheel::test {

BOOST_FIXTURE_TEST_SUITE(serial_operation, io_fixture)

using asio::bind_cancellation_slot;
using asio::bind_executor;
using asio::cancellation_type;
using timewheel::cancel_after;
using timewheel::timeout_after;

namespace {

const error_code aborted = asio::error::operation_aborted;
const error_code timed_out = error::timed_out;
using io_executor = asio::io_context::executor_type;

/// An operation that says whether its handler is to be executed with the handler's own executor.
template <class Executor>
struct probe
{
    using executor_type = Executor;
    executor_type get_executor() const noexcept { return executor; }

    template <class Handler>
    void operator()(Handler handler) const
    {
        const auto with = asio::get_associated_executor(handler, executor);
        *is_plain = std::is_same_v<decltype(with), const Executor>;
        asio::post(executor, asio::append(std::move(handler), error_code()));
    }

    Executor executor;
    bool* is_plain;
};

/// Whether an operation on `io` that is started here has no gate around its handlers.
template <class Executor>
bool is_serial(const Executor& io)
{
    bool is_plain = false;
    auto token = cancel_after(1h, asio::detached);
    asio::async_initiate<decltype(token), void(error_code)>(probe<Executor>{io, &is_plain}, token);
    return is_plain;
}

/// The same, started on an executor of `ctx`.
template <class Executor, class Where>
bool is_serial(const Executor& io, const Where& where, asio::io_context& ctx)
{
    bool is_plain = false;
    asio::post(where, [&] { is_plain = is_serial(io); });
    ctx.restart();
    poll_until_quiet(ctx);
    return is_plain;
}

/// What starts operations in a strand.
struct strand_fixture : io_fixture
{
    asio::strand<io_executor> strand = asio::make_strand(ctx);
    controlled_operation operation{strand};

    template <class Function>
    void in_strand(Function function)
    {
        ctx.restart();
        asio::post(strand, std::move(function));
        poll_until_quiet(ctx);
    }
};

}

BOOST_AUTO_TEST_CASE(where_there_is_a_gate)
{
    const auto strand = asio::make_strand(ctx);
    const asio::any_io_executor erased = strand;
    const auto strand_of_erased = asio::make_strand(asio::any_io_executor(ctx.get_executor()));
    const asio::any_io_executor twice_erased = strand_of_erased;

    BOOST_TEST(is_serial(strand, strand, ctx));
    BOOST_TEST(is_serial(erased, strand, ctx));
    BOOST_TEST(is_serial(strand_of_erased, strand_of_erased, ctx));
    BOOST_TEST(is_serial(twice_erased, twice_erased, ctx));

    // Started elsewhere.
    const auto other = asio::make_strand(ctx);
    BOOST_TEST(!is_serial(strand));
    BOOST_TEST(!is_serial(erased));
    BOOST_TEST(!is_serial(strand, ctx.get_executor(), ctx));
    BOOST_TEST(!is_serial(strand, other, ctx));
    BOOST_TEST(!is_serial(erased, other, ctx));

    // On what any number of threads may run.
    const asio::any_io_executor erased_io = ctx.get_executor();
    BOOST_TEST(!is_serial(ctx.get_executor(), strand, ctx));
    BOOST_TEST(!is_serial(ctx.get_executor(), ctx.get_executor(), ctx));
    BOOST_TEST(!is_serial(erased_io, ctx.get_executor(), ctx));

    asio::thread_pool pool(1);
    bool is_plain = true;
    asio::post(pool, [&] { is_plain = is_serial(pool.get_executor()); });
    pool.join();
    BOOST_TEST(!is_plain); // which attach() may have joined
}

#if BOOST_VERSION >= 108800
BOOST_AUTO_TEST_CASE(a_context_that_one_thread_runs)
{
    asio::io_context single(1);
    const auto io = single.get_executor();
    const asio::any_io_executor erased = io;
    BOOST_TEST(is_serial(io, io, single));
    BOOST_TEST(is_serial(erased, io, single));
    BOOST_TEST(!is_serial(io));
    BOOST_TEST(!is_serial(erased));
    // A handler that is executed by somebody else is not on that thread.
    BOOST_TEST(!is_serial(io, ctx.get_executor(), ctx));
    const auto strand = asio::make_strand(single);
    BOOST_TEST(is_serial(strand, strand, single));

    asio::io_context two(2);
    BOOST_TEST(!is_serial(two.get_executor(), two.get_executor(), two));
}
#endif

// Its thread may be inside the strand while the context of the wheel goes away.
BOOST_AUTO_TEST_CASE(the_wheel_of_another_context)
{
    struct tag;
    using clock = manual_clock<tag>;
    asio::io_context wheel;
    const auto strand = asio::make_strand(ctx);
    bool is_plain = true;
    asio::post(strand, [&] {
        auto token = cancel_after<clock>(wheel, 1h, asio::detached);
        asio::async_initiate<decltype(token), void(error_code)>(
            probe<asio::strand<io_executor>>{strand, &is_plain}, token
        );
    });
    poll_until_quiet(ctx);
    BOOST_TEST(!is_plain);
}

BOOST_FIXTURE_TEST_CASE(the_operation_ends_first, strand_fixture)
{
    struct tag;
    using clock = manual_clock<tag>;
    outcome fate;
    in_strand([&] { operation.async_run(cancel_after<clock>(10ms, succeeds().into(fate))); });
    clock::advance(9ms);
    operation.complete();
    poll_until_quiet(ctx);
    BOOST_TEST(fate.done());
    BOOST_TEST(operation.signals.empty());
    BOOST_TEST(!clock::advance_to_next());
    BOOST_TEST(ctx.stopped());
}

BOOST_FIXTURE_TEST_CASE(the_deadline_comes_first, strand_fixture)
{
    struct tag;
    using clock = manual_clock<tag>;
    bool was_in_strand = false;
    operation.on_signal = [&](cancellation_type) {
        was_in_strand = strand.running_in_this_thread();
        operation.complete(aborted);
    };
    outcome fate;
    in_strand([&] {
        operation.async_run(timeout_after<clock>(10ms, ends_with(timed_out).into(fate)));
    });
    clock::advance(9ms);
    poll_until_quiet(ctx);
    BOOST_TEST(!fate.done());
    clock::advance(1ms);
    poll_until_quiet(ctx);
    BOOST_TEST(fate.done());
    BOOST_TEST(was_in_strand);
    BOOST_TEST(operation.signals.size() == 1u);

    // At once, but not before the operation has been started.
    outcome second;
    in_strand([&] {
        operation.async_run(timeout_after<clock>(0ms, ends_with(timed_out).into(second)));
        BOOST_TEST(operation.signals.size() == 1u);
    });
    poll_until_quiet(ctx);
    BOOST_TEST(second.done());
    BOOST_TEST(operation.signals.size() == 2u);
}

// The handler is called, and the operation gone, while the signal is still being emitted.
BOOST_FIXTURE_TEST_CASE(completion_within_the_signal, strand_fixture)
{
    struct tag;
    using clock = manual_clock<tag>;
    for (const bool drop : {false, true}) {
        operation.on_signal = [&, drop](cancellation_type) {
            if (drop)
                operation.drop();
            else
                operation.complete_here(aborted);
        };
        outcome fate;
        in_strand([&] {
            if (drop)
                operation.async_run(
                    cancel_after<clock>(1ms, cancel_after<clock>(1ms, is_dropped().into(fate)))
                );
            else
                operation.async_run(timeout_after<clock>(
                    1ms, timeout_after<clock>(1h, ends_with(timed_out).into(fate))
                ));
        });
        clock::advance(1ms);
        poll_until_quiet(ctx);
        BOOST_TEST(fate.done() != drop);
        BOOST_TEST(fate.dropped == (drop ? 1 : 0));
        BOOST_TEST(!clock::advance_to_next());
    }
}

// The completion is queued when the deadline comes, and the other way around.
BOOST_FIXTURE_TEST_CASE(both_at_once, strand_fixture)
{
    struct tag;
    using clock = manual_clock<tag>;
    for (const bool deadline_first : {false, true}) {
        operation.signals.clear();
        outcome fate;
        in_strand([&] {
            operation.async_run(
                cancel_after<clock>(1ms, cancel_after<clock>(1ms, succeeds().into(fate)))
            );
        });
        if (deadline_first)
            clock::advance(1ms);
        operation.complete();
        if (!deadline_first)
            clock::advance(1ms);
        poll_until_quiet(ctx);
        BOOST_TEST(fate.done());
        if (!deadline_first)
            BOOST_TEST(operation.signals.empty());
    }
}

BOOST_FIXTURE_TEST_CASE(signals_of_a_parent, strand_fixture)
{
    struct tag;
    using clock = manual_clock<tag>;
    asio::cancellation_signal parent;
    outcome fate;
    operation.on_signal = [&](cancellation_type type) {
        if (type == cancellation_type::total)
            parent.emit(cancellation_type::partial); // follows this one
        else
            operation.complete_here(aborted);
    };
    in_strand([&] {
        operation.async_run(
            timeout_after<clock>(1h, bind_cancellation_slot(parent.slot(), is_aborted().into(fate)))
        );
        parent.emit(cancellation_type::none);
        parent.emit(cancellation_type::total);
        BOOST_TEST(operation.signals.size() == 2u);
    });
    BOOST_TEST(fate.done());
    BOOST_REQUIRE(operation.signals.size() == 2u);
    BOOST_TEST((operation.signals[1] == cancellation_type::partial));
    BOOST_TEST(!clock::advance_to_next());
    in_strand([&] { parent.emit(cancellation_type::terminal); });
    BOOST_TEST(operation.signals.size() == 2u);
}

BOOST_FIXTURE_TEST_CASE(a_coroutine, strand_fixture)
{
    struct tag;
    using clock = manual_clock<tag>;
    virtual_timer<tag> timer(strand, 1h);
    int timeouts = 0;
    const auto body = [&]() -> asio::awaitable<void> {
        for (int i = 0; i != 3; ++i) {
            try {
                co_await timer.async_wait(timeout_after<clock>(1ms, asio::use_awaitable));
            } catch (const boost::system::system_error& e) {
                timeouts += e.code() == timed_out;
            }
        }
    };
    asio::co_spawn(strand, body, asio::detached);
    for (int i = 0; i != 3; ++i) {
        poll_until_quiet(ctx);
        clock::advance(1ms);
    }
    poll_until_quiet(ctx);
    BOOST_TEST(timeouts == 3);
}

BOOST_FIXTURE_TEST_CASE(an_initiation_that_throws_or_completes, strand_fixture)
{
    struct tag;
    using clock = manual_clock<tag>;
    outcome dropped;
    bool called = false;
    in_strand([&] {
        auto token = cancel_after<clock>(strand, 1ms, is_dropped().into(dropped));
        BOOST_CHECK_THROW(
            (asio::async_initiate<decltype(token), void(error_code)>(
                [](auto) { throw std::runtime_error("no"); }, token
            )),
            std::runtime_error
        );
        // Against the rules of Asio, and no harm.
        auto at_once = cancel_after<clock>(strand, 1ms, bind_executor(strand, [&](error_code) {
                                               called = true;
                                           }));
        asio::async_initiate<decltype(at_once), void(error_code)>(
            [](auto handler) {
                auto slot = asio::get_associated_cancellation_slot(handler);
                slot.assign([](cancellation_type) {});
                std::move(handler)(error_code());
                slot.assign([](cancellation_type) {});
            },
            at_once
        );
    });
    BOOST_TEST(dropped.dropped == 1);
    BOOST_TEST(called);
    BOOST_TEST(!clock::advance_to_next());
}

BOOST_AUTO_TEST_CASE(a_context_that_goes_away)
{
    struct tag;
    using clock = manual_clock<tag>;
    outcome fate;
    for (const int turns : {0, 1, 2}) {
        asio::io_context context;
        const auto strand = asio::make_strand(context);
        asio::post(strand, [&] {
            for (int i = 0; i != 3; ++i) {
                auto timer = std::make_shared<virtual_timer<tag>>(strand, 1h);
                auto& waiting = *timer;
                waiting.async_wait(cancel_after<clock>(
                    1ms, cancel_after<clock>(2ms, is_dropped().into(fate).then([timer] {}))
                ));
            }
        });
        poll_until_quiet(context);
        clock::advance(1ms);
        for (int i = 0; i != turns; ++i)
            context.poll_one();
    }
    BOOST_TEST(fate.dropped == 9);
}

BOOST_FIXTURE_TEST_CASE(no_allocations, strand_fixture)
{
    if (!counts_allocations())
        return;
    struct tag;
    using clock = manual_clock<tag>;
    virtual_timer<tag> timer(strand, 1h);
    const allocation_counter counter;
    std::size_t after_warm_up = 0;
    int left = 1000;
    struct step
    {
        void operator()(error_code) const { (*again)(); }
        std::function<void()>* again;
    };
    std::function<void()> again = [&] {
        if (left == 900)
            after_warm_up = counter.count();
        if (left-- == 0)
            return;
        timer.async_wait(timeout_after<clock>(1ms, step{&again}));
        if (left % 2 == 0)
            timer.cancel();
        else
            clock::advance(1ms);
    };
    in_strand([&] { again(); });
    BOOST_TEST(left == -1);
    BOOST_TEST(counter.count() == after_warm_up);
}

BOOST_AUTO_TEST_SUITE_END()

}
