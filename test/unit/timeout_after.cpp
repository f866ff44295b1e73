// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#include <timewheel/cancel_after.hpp>

#include <test_common/checked_token.hpp>
#include <test_common/controlled_operation.hpp>
#include <test_common/io_fixture.hpp>
#include <test_common/run.hpp>
#include <test_common/virtual_time.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/system_error.hpp>
#include <boost/test/unit_test.hpp>

#include <chrono>
#include <exception>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>

namespace timewheel::test {

BOOST_FIXTURE_TEST_SUITE(timeout_after, io_fixture)

using asio::bind_cancellation_slot;
using asio::cancellation_type;

namespace {

const error_code aborted = asio::error::operation_aborted;
const error_code timed_out = error::timed_out;

/// What an exception says, or success.
error_code code_of(const std::exception_ptr& exception)
{
    if (!exception)
        return {};
    try {
        std::rethrow_exception(exception);
    } catch (const boost::system::system_error& e) {
        return e.code();
    } catch (...) {
        return asio::error::fault;
    }
}

template <class Timer>
asio::awaitable<int> sleep_and_return(std::chrono::milliseconds time, int value)
{
    Timer timer(co_await asio::this_coro::executor, time);
    co_await timer.async_wait(asio::use_awaitable);
    co_return value;
}

}

BOOST_AUTO_TEST_CASE(the_code_compares_equal_to_portable_ones)
{
    struct tag;
    using clock = manual_clock<tag>;
    virtual_timer<tag> timer(ctx, 1h);
    error_code result;
    timer.async_wait(timewheel::timeout_after<clock>(1ms, [&](error_code ec) { result = ec; }));
    clock::advance(1ms);
    poll_until_quiet(ctx);
    BOOST_TEST((result == error::timed_out));
    BOOST_TEST((result == std::errc::timed_out));
    BOOST_TEST((result == boost::system::errc::timed_out));
    BOOST_TEST((result != asio::error::operation_aborted));
}

BOOST_AUTO_TEST_CASE(a_cancellation_by_the_parent_is_no_timeout)
{
    struct tag;
    using clock = manual_clock<tag>;
    virtual_timer<tag> timer(ctx, 2h);
    asio::cancellation_signal parent;
    outcome fate;
    timer.async_wait(timewheel::timeout_after<clock>(
        1h, bind_cancellation_slot(parent.slot(), is_aborted().into(fate))
    ));
    parent.emit(cancellation_type::terminal);
    // The deadline comes before the handler has been called, but after the operation was cancelled.
    poll_until_quiet(ctx);
    clock::advance(1h);
    poll_until_quiet(ctx);
    BOOST_TEST(fate.done());
}

BOOST_AUTO_TEST_CASE(a_cancellation_of_the_object_is_no_timeout)
{
    struct tag;
    using clock = manual_clock<tag>;
    virtual_timer<tag> timer(ctx, 2h);
    outcome fate;
    timer.async_wait(timewheel::timeout_after<clock>(1h, is_aborted().into(fate)));
    timer.cancel();
    poll_until_quiet(ctx);
    BOOST_TEST(fate.done());
}

BOOST_AUTO_TEST_CASE(other_errors_pass_before_the_deadline)
{
    struct tag;
    using clock = manual_clock<tag>;
    const error_code eof = asio::error::eof;
    controlled_operation operation(ctx.get_executor());
    operation.async_run(timewheel::timeout_after<clock>(1h, ends_with(eof)));
    operation.complete(eof);
    poll_until_quiet(ctx);
}

// An operation that takes care of something before it ends reports what it likes after the signal.
BOOST_AUTO_TEST_CASE(any_error_after_the_signal_is_a_timeout)
{
    struct tag;
    using clock = manual_clock<tag>;
    for (const error_code ec : {aborted, error_code(asio::error::eof)}) {
        ctx.restart();
        controlled_operation operation(ctx.get_executor());
        outcome fate;
        operation.async_run(timewheel::timeout_after<clock>(1ms, ends_with(timed_out).into(fate)));
        clock::advance(1ms);
        poll_until_quiet(ctx);
        BOOST_TEST(operation.signals.size() == 1u);
        BOOST_TEST(!fate.done());
        clock::advance(1s);
        operation.complete(ec);
        poll_until_quiet(ctx);
        BOOST_TEST(fate.done());
    }
}

BOOST_AUTO_TEST_CASE(success_after_the_signal_stays_success)
{
    struct tag;
    using clock = manual_clock<tag>;
    controlled_operation operation(ctx.get_executor());
    outcome fate;
    operation.async_run(timewheel::timeout_after<clock>(1ms, succeeds().into(fate)));
    clock::advance(1ms);
    poll_until_quiet(ctx);
    BOOST_TEST(operation.signals.size() == 1u);
    operation.complete();
    poll_until_quiet(ctx);
    BOOST_TEST(fate.done());
}

// The operation was told of the deadline first, so that is what has ended it.
BOOST_AUTO_TEST_CASE(the_parent_cancels_after_the_deadline)
{
    struct tag;
    using clock = manual_clock<tag>;
    controlled_operation operation(ctx.get_executor());
    asio::cancellation_signal parent;
    outcome fate;
    operation.async_run(timewheel::timeout_after<clock>(
        1ms, bind_cancellation_slot(parent.slot(), ends_with(timed_out).into(fate))
    ));
    clock::advance(1ms);
    poll_until_quiet(ctx);
    parent.emit(cancellation_type::terminal);
    operation.complete(aborted);
    poll_until_quiet(ctx);
    BOOST_TEST(fate.done());
}

// The deadline is not the reason for an end that came before it, however late it is reported.
BOOST_AUTO_TEST_CASE(the_deadline_comes_while_a_failure_is_queued)
{
    struct tag;
    using clock = manual_clock<tag>;
    controlled_operation operation(ctx.get_executor());
    const error_code eof = asio::error::eof;
    outcome fate;
    operation.async_run(timewheel::timeout_after<clock>(1ms, ends_with(eof).into(fate)));
    operation.complete(eof);
    clock::advance(1ms);
    poll_until_quiet(ctx);
    BOOST_TEST(fate.done());
    BOOST_TEST(operation.signals.empty());
}

BOOST_AUTO_TEST_CASE(nested_with_cancel_after)
{
    struct tag;
    using clock = manual_clock<tag>;
    using timewheel::cancel_after;
    using timewheel::timeout_after;
    const auto run = [&](auto token) {
        ctx.restart();
        virtual_timer<tag> timer(ctx, 1h);
        timer.async_wait(std::move(token));
        clock::advance(2ms);
        poll_until_quiet(ctx);
    };
    // The adapter whose deadline comes first says how it ends.
    run(cancel_after<clock>(1ms, timeout_after<clock>(2s, is_aborted())));
    run(cancel_after<clock>(2s, timeout_after<clock>(1ms, ends_with(timed_out))));
    run(timeout_after<clock>(1ms, cancel_after<clock>(2s, ends_with(timed_out))));
    run(timeout_after<clock>(2s, cancel_after<clock>(1ms, is_aborted())));
    run(timeout_after<clock>(2s, timeout_after<clock>(1ms, ends_with(timed_out))));
    run(timeout_after<clock>(1ms, timeout_after<clock>(2s, ends_with(timed_out))));
    BOOST_TEST(!clock::advance_to_next());
}

BOOST_AUTO_TEST_CASE(an_exception_instead_of_an_error_code)
{
    struct tag;
    using clock = manual_clock<tag>;
    using timer = virtual_timer<tag>;
    error_code result;
    int value = 0;
    const auto remember = [&](std::exception_ptr e, int v) {
        result = code_of(e);
        value = v;
    };

    asio::co_spawn(
        ctx, sleep_and_return<timer>(1h, 1), timewheel::timeout_after<clock>(1ms, remember)
    );
    poll_until_quiet(ctx);
    clock::advance(1ms);
    poll_until_quiet(ctx);
    BOOST_TEST(result == timed_out);

    ctx.restart();
    asio::co_spawn(
        ctx, sleep_and_return<timer>(1ms, 2), timewheel::timeout_after<clock>(1h, remember)
    );
    poll_until_quiet(ctx);
    clock::advance(1ms);
    poll_until_quiet(ctx);
    BOOST_TEST(!result);
    BOOST_TEST(value == 2);

    ctx.restart();
    asio::co_spawn(
        ctx, sleep_and_return<timer>(1h, 3), timewheel::cancel_after<clock>(1ms, remember)
    );
    poll_until_quiet(ctx);
    clock::advance(1ms);
    poll_until_quiet(ctx);
    BOOST_TEST(result == aborted);

    ctx.restart();
    asio::cancellation_signal parent;
    asio::co_spawn(
        ctx,
        sleep_and_return<timer>(1h, 4),
        timewheel::timeout_after<clock>(1h, bind_cancellation_slot(parent.slot(), remember))
    );
    poll_until_quiet(ctx);
    parent.emit(cancellation_type::terminal);
    poll_until_quiet(ctx);
    BOOST_TEST(result == aborted);
    BOOST_TEST(!clock::advance_to_next());
}

BOOST_AUTO_TEST_CASE(a_coroutine_that_fails_by_itself)
{
    struct tag;
    using clock = manual_clock<tag>;
    std::string what;
    asio::co_spawn(
        ctx,
        []() -> asio::awaitable<void> {
            throw std::logic_error("its own");
            co_return;
        },
        timewheel::timeout_after<clock>(
            1ms,
            [&](std::exception_ptr e) {
                try {
                    std::rethrow_exception(e);
                } catch (const std::logic_error& error) {
                    what = error.what();
                }
            }
        )
    );
    poll_until_quiet(ctx);
    BOOST_TEST(what == "its own");
}

// Where there is no place for the news, the operation just ends as it does.
BOOST_AUTO_TEST_CASE(operations_without_an_error_code)
{
    struct tag;
    using clock = manual_clock<tag>;
    int calls = 0;
    asio::post(ctx, timewheel::timeout_after<clock>(1ms, [&] { ++calls; }));
    asio::post(timewheel::timeout_after<clock>(ctx, 1ms, asio::bind_executor(ctx, [&] { ++calls; }))
    );

    // A value that comes first, a code that does not.
    controlled_operation operation(ctx.get_executor());
    auto token = timewheel::timeout_after<clock>(ctx, 1ms, [&](int value, error_code ec) {
        BOOST_TEST(value == 7);
        BOOST_TEST(ec == aborted);
        ++calls;
    });
    asio::async_initiate<decltype(token), void(int, error_code)>(
        [&](auto handler) {
            const auto slot = asio::get_associated_cancellation_slot(handler);
            operation.async_run(asio::bind_cancellation_slot(
                slot,
                asio::bind_executor(
                    ctx, [h = std::move(handler)](error_code ec) mutable { std::move(h)(7, ec); }
                )
            ));
        },
        token
    );
    operation.obey_signals();
    poll_until_quiet(ctx);
    BOOST_TEST(calls == 2);
    clock::advance(1ms);
    poll_until_quiet(ctx);
    BOOST_TEST(calls == 3);
}

BOOST_AUTO_TEST_CASE(values_beside_the_error_code)
{
    struct tag;
    using clock = manual_clock<tag>;
    for (const bool in_time : {true, false}) {
        ctx.restart();
        std::string text;
        error_code result;
        virtual_timer<tag> timer(ctx, 1h);
        auto token =
            timewheel::timeout_after<clock>(ctx, 1ms, [&](error_code ec, std::string value) {
                result = ec;
                text = std::move(value);
            });
        asio::async_initiate<decltype(token), void(error_code, std::string)>(
            [&](auto handler) {
                const auto slot = asio::get_associated_cancellation_slot(handler);
                timer.async_wait(bind_cancellation_slot(
                    slot,
                    [h = std::move(handler)](error_code ec) mutable {
                        std::move(h)(ec, std::string("some value"));
                    }
                ));
            },
            token
        );
        if (in_time)
            timer.cancel();
        else
            clock::advance(1ms);
        poll_until_quiet(ctx);
        BOOST_TEST(result == (in_time ? aborted : timed_out));
        BOOST_TEST(text == "some value");
    }
}

BOOST_AUTO_TEST_SUITE_END()

}
