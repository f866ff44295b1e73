// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#include <timewheel/detail/bound_deadline.hpp>

#include <timewheel/cancel_after.hpp>
#include <timewheel/error.hpp>

#include <test_common/checked_token.hpp>
#include <test_common/controlled_operation.hpp>
#include <test_common/io_fixture.hpp>
#include <test_common/run.hpp>
#include <test_common/tracker_executor.hpp>
#include <test_common/virtual_time.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/test/unit_test.hpp>

#include <memory>
#include <tuple>
#include <utility>
#include <vector>

namespace timewheel::test {

BOOST_FIXTURE_TEST_SUITE(bound_deadline, io_fixture)

using asio::bind_cancellation_slot;
using asio::bind_executor;
using asio::cancellation_type;
using timewheel::timeout_after;

namespace {

const error_code timed_out = error::timed_out;

}

// The handler and the deadline's signal are on the executor that is bound around the adapter.
BOOST_AUTO_TEST_CASE(an_executor_around_an_adapter)
{
    struct tag;
    using clock = manual_clock<tag>;
    const tracker_executor<asio::io_context::executor_type> executor(ctx.get_executor());
    controlled_operation operation(ctx.get_executor());
    int signals_on_executor = 0;
    operation.on_signal = [&](cancellation_type) {
        signals_on_executor += executor.running_here();
        operation.complete(asio::error::operation_aborted);
    };
    const auto check = [&](auto start) {
        ctx.restart();
        signals_on_executor = 0;
        int calls = 0;
        start([&](error_code ec) { calls += executor.running_here() && ec == timed_out; });
        clock::advance(1ms);
        poll_until_quiet(ctx);
        BOOST_TEST(calls == 1);
        BOOST_TEST(signals_on_executor == 1);
    };
    check([&](auto handler) {
        operation.async_run(bind_executor(executor, timeout_after<clock>(1ms, handler)));
    });
    check([&](auto handler) {
        operation.async_run(bind_executor(executor, timeout_after<clock>(ctx, 1ms, handler)));
    });
    check([&](auto handler) {
        operation.async_run(
            bind_executor(executor, timeout_after<clock>(1ms, timeout_after<clock>(1h, handler)))
        );
    });
    check([&](auto handler) {
        operation.async_run(bind_executor(executor, timeout_after<clock>(1ms)))(handler);
    });
}

// The deadline signals to the operation all the same, and so does the slot.
BOOST_AUTO_TEST_CASE(a_slot_around_an_adapter)
{
    struct tag;
    using clock = manual_clock<tag>;
    const auto check = [&](auto start) {
        for (const bool by_parent : {false, true}) {
            ctx.restart();
            controlled_operation operation(ctx.get_executor());
            operation.obey_signals();
            asio::cancellation_signal parent;
            int calls = 0;
            start(operation, parent.slot(), [&](error_code ec) {
                calls += ec == (by_parent ? asio::error::operation_aborted : timed_out);
            });
            if (by_parent)
                parent.emit(cancellation_type::total);
            else
                clock::advance(1ms);
            poll_until_quiet(ctx);
            BOOST_TEST(calls == 1);
            BOOST_CHECK(
                operation.signals ==
                std::vector{by_parent ? cancellation_type::total : cancellation_type::terminal}
            );
        }
    };
    check([&](controlled_operation& operation, auto slot, auto handler) {
        operation.async_run(bind_cancellation_slot(slot, timeout_after<clock>(1ms, handler)));
    });
    check([&](controlled_operation& operation, auto slot, auto handler) {
        operation.async_run(
            bind_executor(ctx, bind_cancellation_slot(slot, timeout_after<clock>(1ms, handler)))
        );
    });
    check([&](controlled_operation& operation, auto slot, auto handler) {
        operation.async_run(
            bind_cancellation_slot(slot, bind_executor(ctx, timeout_after<clock>(1ms, handler)))
        );
    });
}

// Another adapter may be around all.
BOOST_AUTO_TEST_CASE(a_bound_adapter_in_another_one)
{
    struct tag;
    using clock = manual_clock<tag>;
    virtual_timer<tag> timer(ctx, 1h);
    asio::cancellation_signal parent;
    int calls = 0;
    timer.async_wait(asio::as_tuple(bind_cancellation_slot(
        parent.slot(),
        timewheel::cancel_after<clock>(
            ctx,
            1ms,
            [&](std::tuple<error_code> result) {
                calls += std::get<0>(result) == asio::error::operation_aborted;
            }
        )
    )));
    clock::advance(1ms);
    poll_until_quiet(ctx);
    BOOST_TEST(calls == 1);
}

// Tokens are checked with an initiation that tells no executor.
BOOST_AUTO_TEST_CASE(timers_and_plain_functions)
{
    struct tag;
    using clock = manual_clock<tag>;
    virtual_timer<tag> timer(ctx, 1h);
    asio::cancellation_signal parent;
    int calls = 0;
    const auto handler = [&](error_code ec) { calls += ec == timed_out; };
    timer.async_wait(bind_cancellation_slot(parent.slot(), timeout_after<clock>(1ms, handler)));
    timer.async_wait(bind_executor(ctx, timeout_after<clock>(1ms, handler)));
    clock::advance(1ms);
    poll_until_quiet(ctx);
    BOOST_TEST(calls == 2);

    struct no_function
    {};
    using no_token = asio::executor_binder<no_function, asio::io_context::executor_type>;
    using unfit = asio::executor_binder<
        decltype(timeout_after<clock>(1ms, std::declval<no_token>())),
        asio::io_context::executor_type>;
    static_assert(!asio::completion_token_for<unfit, void(error_code)>);
}

// As always in Asio, the outer binder is the one that counts.
BOOST_AUTO_TEST_CASE(binders_around_and_within)
{
    struct tag;
    using clock = manual_clock<tag>;
    const tracker_executor<asio::io_context::executor_type> executor(ctx.get_executor());
    virtual_timer<tag> timer(ctx, 1h);
    asio::cancellation_signal outer, inner;
    int calls = 0;
    timer.async_wait(bind_executor(
        executor,
        timeout_after<clock>(
            1ms,
            bind_executor(
                ctx, [&](error_code ec) { calls += executor.running_here() && ec == timed_out; }
            )
        )
    ));
    timer.async_wait(bind_cancellation_slot(
        outer.slot(),
        timeout_after<clock>(
            1h,
            bind_cancellation_slot(
                inner.slot(), [&](error_code ec) { calls += ec == asio::error::operation_aborted; }
            )
        )
    ));
    inner.emit(cancellation_type::terminal);
    clock::advance(1ms);
    poll_until_quiet(ctx);
    BOOST_TEST(calls == 1);
    outer.emit(cancellation_type::terminal);
    poll_until_quiet(ctx);
    BOOST_TEST(calls == 2);
}

BOOST_AUTO_TEST_CASE(handlers_that_can_only_be_moved)
{
    struct tag;
    using clock = manual_clock<tag>;
    virtual_timer<tag> timer(ctx, 1h);
    int calls = 0;
    auto handler = [&calls, alive = std::make_unique<int>(1)](error_code ec) {
        calls += ec == timed_out ? *alive : 0;
    };
    timer.async_wait(bind_executor(ctx, timeout_after<clock>(1ms, std::move(handler))));
    clock::advance(1ms);
    poll_until_quiet(ctx);
    BOOST_TEST(calls == 1);
}

BOOST_AUTO_TEST_CASE(a_bound_adapter_is_used_twice)
{
    struct tag;
    using clock = manual_clock<tag>;
    virtual_timer<tag> timer(ctx, 1h);
    const auto alive = std::make_shared<int>(0);
    const auto token = bind_executor(ctx, timeout_after<clock>(1ms, [alive](error_code ec) {
                                         *alive += ec == timed_out;
                                     }));
    timer.async_wait(token);
    timer.async_wait(token);
    clock::advance(1ms);
    poll_until_quiet(ctx);
    BOOST_TEST(*alive == 2);
}

BOOST_AUTO_TEST_SUITE_END()

}
