// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#include <timewheel/detail/timed_operation.hpp>

#include <timewheel/cancel_after.hpp>

#include <test_common/allocation_counter.hpp>
#include <test_common/checked_token.hpp>
#include <test_common/controlled_operation.hpp>
#include <test_common/counting_allocator.hpp>
#include <test_common/io_fixture.hpp>
#include <test_common/run.hpp>
#include <test_common/tracker_executor.hpp>
#include <test_common/virtual_time.hpp>

#include <boost/asio/any_completion_handler.hpp>
#include <boost/asio/bind_allocator.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/connect_pipe.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/readable_pipe.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/writable_pipe.hpp>
#include <boost/asio/write.hpp>
#include <boost/test/unit_test.hpp>

#include <chrono>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

namespace timewheel::test {

BOOST_FIXTURE_TEST_SUITE(timed_operation, io_fixture)

using asio::bind_allocator;
using asio::bind_cancellation_slot;
using asio::bind_executor;
using asio::cancellation_type;
using timewheel::cancel_after;

namespace {

const error_code aborted = asio::error::operation_aborted;
using io_executor = asio::io_context::executor_type;

}

BOOST_AUTO_TEST_CASE(handler_and_signal_are_on_the_executor_of_the_handler)
{
    struct tag;
    using clock = manual_clock<tag>;
    const tracker_executor<io_executor> executor(ctx.get_executor());
    controlled_operation operation(ctx.get_executor());
    bool signal_was_on_executor = false;
    operation.on_signal = [&](cancellation_type) {
        signal_was_on_executor = executor.running_here();
        operation.complete(aborted);
    };
    for (int nested = 0; nested != 2; ++nested) {
        ctx.restart();
        outcome fate;
        auto token = bind_executor(executor, is_aborted().into(fate).on(executor));
        signal_was_on_executor = false;
        if (nested != 0)
            operation.async_run(cancel_after<clock>(1ms, cancel_after<clock>(1h, token)));
        else
            operation.async_run(cancel_after<clock>(1ms, token));
        clock::advance(1ms);
        poll_until_quiet(ctx);
        BOOST_TEST(fate.done());
        BOOST_TEST(signal_was_on_executor);
    }
}

BOOST_AUTO_TEST_CASE(handler_and_signal_are_on_the_executor_of_the_operation)
{
    struct tag;
    using clock = manual_clock<tag>;
    const tracker_executor<io_executor> executor(ctx.get_executor());
    controlled_operation operation(executor);
    bool signal_was_on_executor = false;
    operation.on_signal = [&](cancellation_type) {
        signal_was_on_executor = executor.running_here();
        operation.complete(aborted);
    };
    // With and without an explicit executor, whose wheel is all that is wanted of it.
    for (int named = 0; named != 2; ++named) {
        ctx.restart();
        outcome fate;
        signal_was_on_executor = false;
        if (named != 0)
            operation.async_run(cancel_after<clock>(ctx, 1ms, is_aborted().into(fate).on(executor))
            );
        else
            operation.async_run(cancel_after<clock>(1ms, is_aborted().into(fate).on(executor)));
        clock::advance(1ms);
        poll_until_quiet(ctx);
        BOOST_TEST(fate.done());
        BOOST_TEST(signal_was_on_executor);
    }
}

// Only the wheel is another context's: what the operation does stays where it is.
BOOST_AUTO_TEST_CASE(the_wheel_of_another_context)
{
    struct tag;
    using clock = manual_clock<tag>;
    asio::io_context wheel;
    const tracker_executor<io_executor> executor(ctx.get_executor());
    controlled_operation operation(executor);
    operation.on_signal = [&](cancellation_type) {
        BOOST_TEST(executor.running_here());
        operation.complete(aborted);
    };

    outcome fate;
    operation.async_run(cancel_after<clock>(wheel, 1ms, succeeds().into(fate).on(executor)));
    operation.complete();
    poll_until_quiet(ctx);
    BOOST_TEST(fate.done());
    poll_until_quiet(wheel);
    BOOST_TEST(wheel.stopped());

    wheel.restart();
    ctx.restart();
    outcome second;
    operation.async_run(cancel_after<clock>(wheel, 1ms, is_aborted().into(second).on(executor)));
    clock::advance(1ms);
    poll_until_quiet(ctx);
    BOOST_TEST(operation.signals.empty());
    poll_until_quiet(wheel);
    BOOST_TEST(operation.signals.empty());
    poll_until_quiet(ctx);
    BOOST_TEST(second.done());
}

BOOST_AUTO_TEST_CASE(the_context_of_the_wheel_goes_first)
{
    struct tag;
    using clock = manual_clock<tag>;
    controlled_operation first(ctx.get_executor());
    controlled_operation second(ctx.get_executor());
    outcome fate;
    {
        asio::io_context wheel;
        first.async_run(cancel_after<clock>(wheel, 1ms, succeeds().into(fate)));
        second.async_run(cancel_after<clock>(wheel, 1ms, is_dropped()));
    }
    clock::advance(1ms);
    first.complete();
    second.drop();
    poll_until_quiet(ctx);
    BOOST_TEST(fate.done());
    BOOST_TEST(first.signals.empty());
}

BOOST_AUTO_TEST_CASE(an_initiation_without_an_executor)
{
    struct tag;
    using clock = manual_clock<tag>;
    const tracker_executor<io_executor> executor(ctx.get_executor());
    virtual_timer<tag> timer(ctx, 1h);
    const auto start = [&](auto token) {
        asio::async_initiate<decltype(token), void(error_code)>(
            [&](auto handler) { timer.async_wait(std::move(handler)); }, token
        );
    };
    outcome by_handler;
    outcome by_name;
    start(cancel_after<clock>(
        1ms, bind_executor(executor, is_aborted().into(by_handler).on(executor))
    ));
    start(cancel_after<clock>(ctx, 1ms, is_aborted().into(by_name)));
    clock::advance(1ms);
    poll_until_quiet(ctx);
    BOOST_TEST(by_handler.done());
    BOOST_TEST(by_name.done());
}

BOOST_AUTO_TEST_CASE(strands)
{
    struct tag;
    using clock = manual_clock<tag>;
    const auto strand = asio::make_strand(ctx);
    virtual_timer<tag, asio::strand<io_executor>> timer(strand, 1h);
    int on_strand = 0;
    const auto count = [&](error_code) { on_strand += strand.running_in_this_thread(); };
    timer.async_wait(cancel_after<clock>(1ms, count));
    timer.async_wait(cancel_after<clock>(1ms, bind_executor(strand, count)));
    timer.async_wait(cancel_after<clock>(1ms, cancel_after<clock>(1ms, count)));
    clock::advance(1ms);
    poll_until_quiet(ctx);
    BOOST_TEST(on_strand == 3);
}

// Both executors have work until the handler is called.
BOOST_AUTO_TEST_CASE(the_executor_of_the_handler_has_work)
{
    struct tag;
    using clock = manual_clock<tag>;
    const tracker_executor<io_executor> executor(ctx.get_executor());
    virtual_timer<tag> timer(ctx, 1h);
    timer.async_wait(cancel_after<clock>(1ms, bind_executor(executor, is_aborted().then([&] {
                                             BOOST_TEST(executor.running_here());
                                         }))));
    BOOST_TEST(executor.diary().outstanding > 0);
    clock::advance(1ms);
    poll_until_quiet(ctx);
    BOOST_TEST(executor.diary().outstanding == 0);
}

BOOST_AUTO_TEST_CASE(memory_is_returned_before_the_handler_is_called)
{
    struct tag;
    using clock = manual_clock<tag>;
    allocation_account account;
    virtual_timer<tag> timer(ctx, 1h);
    int settled = 0;
    const auto handler = [&] {
        return bind_allocator(counting_allocator<>(account), [&](error_code) {
            settled += account.settled();
        });
    };
    timer.async_wait(cancel_after<clock>(1ms, handler()));
    BOOST_TEST(!account.settled());
    clock::advance(1ms);
    poll_until_quiet(ctx);
    BOOST_TEST(settled == 1);

    ctx.restart();
    timer.async_wait(cancel_after<clock>(1ms, handler()));
    timer.cancel();
    poll_until_quiet(ctx);
    BOOST_TEST(settled == 2);

    ctx.restart();
    timer.async_wait(cancel_after<clock>(1ms, cancel_after<clock>(2ms, handler())));
    timer.cancel();
    poll_until_quiet(ctx);
    BOOST_TEST(settled == 3);
}

// The deadline is on its way to the executor when the operation completes. What it has to look at
// there must not be in memory that the handler may have made away with.
BOOST_AUTO_TEST_CASE(memory_is_returned_although_the_deadline_is_on_its_way)
{
    struct tag;
    using clock = manual_clock<tag>;
    asio::io_context elsewhere;
    for (const bool in_queue_of_wheel : {false, true}) {
        allocation_account account;
        bool settled = false;
        auto& context = in_queue_of_wheel ? ctx : elsewhere;
        ctx.restart();
        elsewhere.restart();
        controlled_operation operation(context.get_executor());
        operation.async_run(cancel_after<clock>(
            ctx,
            1ms,
            bind_allocator(
                counting_allocator<>(account),
                bind_executor(context, [&](error_code) { settled = account.settled(); })
            )
        ));
        operation.complete();
        clock::advance(1ms);
        if (!in_queue_of_wheel)
            poll_until_quiet(ctx); // the deadline is behind the completion
        poll_until_quiet(context);
        BOOST_TEST(settled);
        poll_until_quiet(ctx);
        BOOST_TEST(operation.signals.empty());
    }
}

// The deadlines are due and queued when the operation completes, the inner one on an executor that
// belongs to the outer one.
BOOST_AUTO_TEST_CASE(nested_deadlines_that_are_on_their_way)
{
    struct tag;
    using clock = manual_clock<tag>;
    controlled_operation operation(ctx.get_executor());
    outcome fate;
    operation.async_run(cancel_after<clock>(
        1ms, cancel_after<clock>(1ms, cancel_after<clock>(1ms, succeeds().into(fate)))
    ));
    operation.complete();
    clock::advance(1ms);
    poll_until_quiet(ctx);
    BOOST_TEST(fate.done());
    BOOST_TEST(operation.signals.empty());
}

// An executor is a value: whoever has got one may use it later on.
BOOST_AUTO_TEST_CASE(an_executor_that_outlives_the_operation)
{
    struct tag;
    using clock = manual_clock<tag>;
    outcome fate;
    bool executed = false;
    auto token = cancel_after<clock>(ctx, 1h, cancel_after<clock>(ctx, 2h, succeeds().into(fate)));
    asio::async_initiate<decltype(token), void(error_code)>(
        [&](auto handler) {
            const auto executor = asio::get_associated_executor(handler, ctx.get_executor());
            asio::post(ctx, [&, executor, h = std::move(handler)]() mutable {
                std::move(h)(error_code());
                asio::post(executor, [&] { executed = true; });
            });
        },
        token
    );
    poll_until_quiet(ctx);
    BOOST_TEST(fate.done());
    BOOST_TEST(executed);
}

BOOST_AUTO_TEST_CASE(no_memory)
{
    struct tag;
    using clock = manual_clock<tag>;
    virtual_timer<tag> timer(ctx, 1h);
    std::size_t requests = 0;
    for (std::size_t refuse = 1; refuse == 1 || refuse <= requests; ++refuse) {
        allocation_account account;
        account.refuse = refuse;
        BOOST_CHECK_THROW(
            timer.async_wait(cancel_after<clock>(
                1h,
                bind_allocator(
                    counting_allocator<>(account), [](error_code) { BOOST_ERROR("called"); }
                )
            )),
            std::bad_alloc
        );
        requests = account.requests - 1;
        BOOST_TEST(account.settled());
    }
    poll_until_quiet(ctx);
    BOOST_TEST(!clock::advance_to_next());
}

BOOST_AUTO_TEST_CASE(an_initiation_that_throws)
{
    struct tag;
    using clock = manual_clock<tag>;
    asio::cancellation_signal parent;
    int signals = 0;
    const auto start = [&](auto initiation) {
        outcome fate;
        auto token = cancel_after<clock>(
            ctx, 1h, bind_cancellation_slot(parent.slot(), is_dropped().into(fate))
        );
        BOOST_CHECK_THROW(
            (asio::async_initiate<decltype(token), void(error_code)>(initiation, token)),
            std::runtime_error
        );
        BOOST_TEST(fate.dropped == 1);
        // Nobody is left to be told.
        parent.emit(cancellation_type::terminal);
        BOOST_TEST(signals == 0);
    };
    start([](auto&&) { throw std::runtime_error("at once"); });
    start([](auto handler) {
        const auto taken = std::move(handler);
        throw std::runtime_error("with the handler");
    });
    start([&](auto&& handler) {
        asio::get_associated_cancellation_slot(handler).assign([&](cancellation_type) { ++signals; }
        );
        parent.emit(cancellation_type::terminal);
        throw std::runtime_error("with a signal under way");
    });
    poll_until_quiet(ctx);
    BOOST_TEST(!clock::advance_to_next());
}

BOOST_AUTO_TEST_CASE(an_operation_that_drops_its_handler)
{
    struct tag;
    using clock = manual_clock<tag>;
    controlled_operation operation(ctx.get_executor());
    asio::cancellation_signal parent;
    outcome fate;
    operation.async_run(cancel_after<clock>(
        1h, cancel_after<clock>(2h, bind_cancellation_slot(parent.slot(), is_dropped().into(fate)))
    ));
    operation.drop();
    BOOST_TEST(fate.dropped == 1);
    poll_until_quiet(ctx);
    BOOST_TEST(!clock::advance_to_next());
    parent.emit(cancellation_type::terminal);
    BOOST_TEST(operation.signals.empty());

    // Within the signal.
    ctx.restart();
    operation.on_signal = [&](cancellation_type) { operation.drop(); };
    operation.async_run(cancel_after<clock>(1ms, cancel_after<clock>(1h, is_dropped().into(fate))));
    clock::advance(1ms);
    poll_until_quiet(ctx);
    BOOST_TEST(fate.dropped == 2);
    BOOST_TEST(!clock::advance_to_next());
}

BOOST_AUTO_TEST_CASE(a_context_that_goes_away)
{
    struct tag;
    using clock = manual_clock<tag>;
    outcome fate;
    asio::cancellation_signal parent;
    for (const bool is_due : {false, true}) {
        asio::io_context context;
        // The handler owns the timer, which must not outlive the context.
        const auto start = [&](auto adapt) {
            auto timer = std::make_shared<virtual_timer<tag>>(context, 1h);
            auto& waiting = *timer;
            waiting.async_wait(adapt(is_dropped().into(fate).then([t = std::move(timer)] {
                t->cancel();
            })));
        };
        for (int i = 0; i != 3; ++i)
            start([](auto token) { return cancel_after<clock>(1ms, std::move(token)); });
        start([&](auto token) {
            return cancel_after<clock>(
                1ms,
                cancel_after<clock>(2h, bind_cancellation_slot(parent.slot(), std::move(token)))
            );
        });
        asio::post(context, cancel_after<clock>(1ms, bind_executor(context, [] {})));
        if (is_due) {
            clock::advance(1ms);
            context.poll_one();
        }
    }
    BOOST_TEST(fate.dropped == 8);
    parent.emit(cancellation_type::terminal);
}

// The handler outlives the context: nothing of the context may be needed for its end.
BOOST_AUTO_TEST_CASE(a_handler_that_outlives_the_context)
{
    struct tag;
    using clock = manual_clock<tag>;
    std::optional<asio::any_completion_handler<void(error_code)>> kept;
    outcome fate;
    {
        asio::io_context context;
        auto token = cancel_after<clock>(context, 1h, is_dropped().into(fate));
        asio::async_initiate<decltype(token), void(error_code)>(
            [&](auto handler) { kept.emplace(std::move(handler)); }, token
        );
    }
    BOOST_TEST(fate.dropped == 0);
    kept.reset();
    BOOST_TEST(fate.dropped == 1);
}

BOOST_AUTO_TEST_CASE(an_erased_handler)
{
    struct tag;
    using clock = manual_clock<tag>;
    virtual_timer<tag> timer(ctx, 1h);
    outcome inner;

    // As the user's.
    error_code result;
    timer.async_wait(cancel_after<clock>(
        1ms, asio::any_completion_handler<void(error_code)>([&](error_code ec) { result = ec; })
    ));

    // As the operation's.
    auto token = cancel_after<clock>(ctx, 1ms, is_aborted().into(inner));
    asio::async_initiate<decltype(token), void(error_code)>(
        [&](asio::any_completion_handler<void(error_code)> handler) {
            timer.async_wait(std::move(handler));
        },
        token
    );
    clock::advance(1ms);
    poll_until_quiet(ctx);
    BOOST_TEST(result == aborted);
    BOOST_TEST(inner.done());
}

// The slot of one operation serves for what it does one after the other, and at a time.
BOOST_AUTO_TEST_CASE(an_operation_that_uses_its_slot_twice)
{
    struct tag;
    using clock = manual_clock<tag>;
    virtual_timer<tag> first(ctx, 1h);
    virtual_timer<tag> second(ctx, 1h);
    outcome fate;
    error_code of_first;
    auto token = cancel_after<clock>(ctx, 1ms, is_aborted().into(fate));
    asio::async_initiate<decltype(token), void(error_code)>(
        [&](auto handler) {
            // A slot has room for one: the later one is told, here as without a deadline.
            const auto slot = asio::get_associated_cancellation_slot(handler);
            first.async_wait(bind_cancellation_slot(slot, [&](error_code ec) { of_first = ec; }));
            second.async_wait(std::move(handler));
        },
        token
    );
    clock::advance(1ms);
    poll_until_quiet(ctx);
    BOOST_TEST(fate.done());
    BOOST_TEST(!of_first);
    first.cancel();
    poll_until_quiet(ctx);
    BOOST_TEST(of_first == aborted);
}

BOOST_AUTO_TEST_CASE(no_allocations_around_a_timer)
{
    if (!counts_allocations())
        return;
    struct tag;
    using clock = manual_clock<tag>;
    virtual_timer<tag, io_executor> timer(ctx, 1h);
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
        // One after the other ends, is cancelled, times out.
        if (left % 3 == 0)
            timer.async_wait(cancel_after<clock>(1h, step{&again}));
        else
            timer.async_wait(timewheel::timeout_after<clock>(1ms, step{&again}));
        if (left % 3 != 2)
            timer.cancel();
        else
            clock::advance(1ms);
    };
    asio::post(ctx, [&] { again(); });
    ctx.poll();
    BOOST_TEST(left == -1);
    BOOST_TEST(counter.count() == after_warm_up);
}

BOOST_AUTO_TEST_CASE(no_allocations_around_a_read)
{
    if (!counts_allocations())
        return;
    struct step
    {
        void operator()(error_code ec, std::size_t n) const
        {
            if (!ec && n == 1)
                (*again)();
        }
        std::function<void()>* again;
    };
    asio::basic_readable_pipe<io_executor> reader(ctx.get_executor());
    asio::basic_writable_pipe<io_executor> writer(ctx.get_executor());
    asio::connect_pipe(reader, writer);
    const allocation_counter counter;
    std::size_t after_warm_up = 0;
    int left = 300;
    char data = 0;
    std::function<void()> again = [&] {
        if (left == 200)
            after_warm_up = counter.count();
        if (left-- == 0)
            return;
        asio::async_read(reader, asio::buffer(&data, 1), cancel_after(1h, step{&again}));
        asio::write(writer, asio::buffer("x", 1));
    };
    asio::post(ctx, [&] { again(); });
    BOOST_TEST(run_to_end(ctx));
    BOOST_TEST(left == -1);
    BOOST_TEST(counter.count() == after_warm_up);
}

BOOST_AUTO_TEST_SUITE_END()

}
