// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#include "families.hpp"

#include <test_common/checked_token.hpp>
#include <test_common/counting_allocator.hpp>
#include <test_common/io_fixture.hpp>
#include <test_common/move_only_handler.hpp>
#include <test_common/run.hpp>
#include <test_common/tracker_executor.hpp>

#include <boost/asio/any_completion_handler.hpp>
#include <boost/asio/append.hpp>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/bind_allocator.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/compose.hpp>
#include <boost/asio/consign.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/experimental/parallel_group.hpp>
#include <boost/asio/experimental/promise.hpp>
#include <boost/asio/experimental/use_promise.hpp>
#include <boost/asio/prepend.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/system/system_error.hpp>
#include <boost/test/unit_test.hpp>

#if BOOST_ASIO_VERSION >= 103200
#include <boost/asio/cancel_after.hpp>
#endif

#include <array>
#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

namespace timewheel::test {

/// A token of the old form, which makes a handler and has its result ready when the wait starts.
struct eager_result_token
{
    error_code& result;
};

}

namespace boost::asio {

template <>
class async_result<timewheel::test::eager_result_token, void(timewheel::error_code)>
{
public:
    struct completion_handler_type
    {
        completion_handler_type(timewheel::test::eager_result_token token) : result{token.result} {}

        void operator()(timewheel::error_code ec) { result = ec; }

        timewheel::error_code& result;
    };

    using return_type = std::string;

    explicit async_result(completion_handler_type&) {}

    async_result(const async_result&) = delete;
    async_result& operator=(const async_result&) = delete;

    return_type get() { return "started"; }
};

}

namespace timewheel::test {

BOOST_AUTO_TEST_SUITE(conformance_tokens)

using asio::bind_cancellation_slot;
using asio::bind_executor;
using asio::cancellation_type;
using io_executor = asio::io_context::executor_type;

namespace {

int free_function_calls = 0;

void free_function(error_code ec)
{
    free_function_calls += !ec;
}

bool is_cancelled(const boost::system::system_error& e)
{
    return e.code() == asio::error::operation_aborted;
}

/// A composed operation that waits several times.
template <class Timer>
struct countdown
{
    template <class Self>
    void operator()(Self& self, error_code ec = {})
    {
        if (ec || left-- == 0)
            return self.complete(ec);
        timer.expires_after(step);
        timer.async_wait(std::move(self));
    }

    Timer& timer;
    std::chrono::milliseconds step;
    int left;
};

}

// Section 1.6: everything that can be called is a handler.
BOOST_FIXTURE_TEST_CASE_TEMPLATE(callables, Family, families, io_fixture)
{
    typename Family::steady timer{ctx, 1ms};
    int calls = 0;
    const auto count = [&calls](error_code ec) { calls += !ec; };
    struct member
    {
        void done(int weight, error_code ec) { calls += ec ? 0 : weight; }

        int calls = 0;
    } object;

    free_function_calls = 0;
    timer.async_wait(count);
    timer.async_wait(std::function<void(error_code)>{count});
    timer.async_wait(std::bind(&member::done, &object, 7, std::placeholders::_1));
    timer.async_wait(std::bind_front(&member::done, &object, 5));
    timer.async_wait(free_function);
    timer.async_wait(&free_function);
    timer.async_wait([&calls](auto&&...) { ++calls; });
    timer.async_wait(move_only_handler{count});
    BOOST_TEST(run_to_end(ctx));
    BOOST_TEST(calls == 4);
    BOOST_TEST(object.calls == 12);
    BOOST_TEST(free_function_calls == 2);
}

// detached
BOOST_FIXTURE_TEST_CASE_TEMPLATE(detached, Family, families, io_fixture)
{
    typename Family::steady timer{ctx, 3ms};
    const stopwatch watch;
    timer.async_wait(asio::detached);
    BOOST_TEST(run_to_end(ctx));
    BOOST_CHECK(watch.elapsed() >= 2ms);
}

// use_future
BOOST_FIXTURE_TEST_CASE_TEMPLATE(use_future, Family, families, io_fixture)
{
    typename Family::steady timer{ctx, 1ms};
    auto success = timer.async_wait(asio::use_future);
    BOOST_TEST(run_to_end(ctx));
    BOOST_REQUIRE((success.wait_for(0s) == std::future_status::ready));
    BOOST_CHECK_NO_THROW(success.get());

    ctx.restart();
    timer.expires_after(1h);
    auto cancelled = timer.async_wait(asio::use_future);
    auto function = timer.async_wait(asio::use_future([](error_code ec) { return ec.value(); }));
    timer.cancel();
    BOOST_TEST(run_to_end(ctx));
    BOOST_CHECK_EXCEPTION(cancelled.get(), boost::system::system_error, is_cancelled);
    BOOST_TEST(function.get() == static_cast<int>(asio::error::operation_aborted));
}

// use_future: the future of a wait that never ends is told so when the context goes away.
BOOST_AUTO_TEST_CASE_TEMPLATE(use_future_of_a_dropped_wait, Family, families)
{
    std::future<void> dropped;
    {
        asio::io_context ctx;
        typename Family::steady timer{ctx, 1h};
        dropped = timer.async_wait(asio::use_future);
    }
    BOOST_CHECK_THROW(dropped.get(), std::future_error);
}

// deferred: nothing starts before the operation is called, and operations chain.
BOOST_FIXTURE_TEST_CASE_TEMPLATE(deferred, Family, families, io_fixture)
{
    typename Family::steady first{ctx, 1ms};
    typename Family::steady second{ctx, 2ms};
    auto operation = first.async_wait(asio::deferred);
    poll_until_quiet(ctx);
    BOOST_TEST(first.cancel() == 0U);
    ctx.restart();
    outcome result;
    std::move(operation)(succeeds().into(result));
    BOOST_TEST(run_to_end(ctx));
    BOOST_TEST(result.invoked == 1);

    ctx.restart();
    outcome chained;
    first.expires_after(1ms);
    auto chain = first.async_wait(asio::deferred([&](error_code ec) {
        BOOST_TEST(!ec);
        second.expires_after(1ms);
        return second.async_wait(asio::deferred);
    }));
    std::move(chain)(succeeds().into(chained));
    BOOST_TEST(run_to_end(ctx));
    BOOST_TEST(chained.invoked == 1);

    // The expiry counts when the operation is started, not when it is made.
    ctx.restart();
    first.expires_after(1h);
    auto late = first.async_wait(asio::deferred);
    first.expires_after(1ms);
    std::move(late)(succeeds());
    BOOST_TEST(run_to_end(ctx));
}

// append, prepend and their nesting
BOOST_FIXTURE_TEST_CASE_TEMPLATE(append_and_prepend, Family, families, io_fixture)
{
    typename Family::steady timer{ctx, 1ms};
    std::string seen;
    timer.async_wait(asio::append(
        [&](error_code ec, int n, std::unique_ptr<int> p) {
            BOOST_TEST(!ec);
            seen += "a" + std::to_string(n + *p);
        },
        4,
        std::make_unique<int>(1)
    ));
    timer.async_wait(asio::prepend(
        [&](std::string text, error_code ec) {
            BOOST_TEST(!ec);
            seen += text;
        },
        std::string{"p"}
    ));
    timer.async_wait(asio::append(
        asio::prepend(
            [&](int first, error_code, int last) { seen += std::to_string(first + last); }, 1
        ),
        1
    ));
    timer.async_wait(asio::append(asio::deferred, 7))([&](error_code, int n) {
        seen += std::to_string(n);
    });
    BOOST_TEST(run_to_end(ctx));
    BOOST_TEST(seen == "a5p27");
}

// as_tuple
BOOST_FIXTURE_TEST_CASE_TEMPLATE(as_tuple, Family, families, io_fixture)
{
    typename Family::steady timer{ctx, 1h};
    int calls = 0;
    timer.async_wait(asio::as_tuple([&](std::tuple<error_code> result) {
        BOOST_TEST(std::get<0>(result) == asio::error::operation_aborted);
        ++calls;
    }));
    timer.cancel();
    BOOST_TEST(run_to_end(ctx));
    BOOST_TEST(calls == 1);
}

// redirect_error
BOOST_FIXTURE_TEST_CASE_TEMPLATE(redirect_error, Family, families, io_fixture)
{
    typename Family::steady timer{ctx, 1h};
    error_code ec;
    int calls = 0;
    timer.async_wait(asio::redirect_error([&] { ++calls; }, ec));
    timer.cancel();
    BOOST_TEST(run_to_end(ctx));
    BOOST_TEST(ec == asio::error::operation_aborted);
    BOOST_TEST(calls == 1);

    ctx.restart();
    error_code future_ec;
    auto future = timer.async_wait(asio::redirect_error(asio::use_future, future_ec));
    timer.cancel();
    BOOST_TEST(run_to_end(ctx));
    BOOST_CHECK_NO_THROW(future.get());
    BOOST_TEST(future_ec == asio::error::operation_aborted);
}

// consign: what is consigned lives until the handler has run.
BOOST_FIXTURE_TEST_CASE_TEMPLATE(consign, Family, families, io_fixture)
{
    auto timer = std::make_shared<typename Family::steady>(ctx, 1ms);
    std::weak_ptr<typename Family::steady> watch = timer;
    auto& reference = *timer;
    reference.async_wait(
        asio::consign(succeeds().then([&] { BOOST_TEST(!watch.expired()); }), std::move(timer))
    );
    BOOST_TEST(!watch.expired());
    BOOST_TEST(run_to_end(ctx));
    BOOST_TEST(watch.expired());
}

// bind_executor, bind_allocator and bind_cancellation_slot around a token, in any nesting.
BOOST_FIXTURE_TEST_CASE_TEMPLATE(binders_nest, Family, families, io_fixture)
{
    const tracker_executor<io_executor> tracker{ctx.get_executor()};
    allocation_account account;
    const counting_allocator<> allocator{account};
    asio::cancellation_signal signal;
    typename Family::steady timer{ctx, 1h};
    const auto checks = [&] {
        return is_aborted().on(tracker).then([&] { BOOST_TEST(account.settled()); });
    };
    const auto emit = [&] {
        BOOST_TEST(!account.settled());
        BOOST_TEST(tracker.diary().outstanding >= 1);
        signal.emit(cancellation_type::partial);
        BOOST_TEST(run_to_end(ctx));
        BOOST_TEST(account.settled());
        BOOST_TEST(tracker.diary().outstanding == 0);
        ctx.restart();
    };

    timer.async_wait(bind_executor(
        tracker, asio::bind_allocator(allocator, bind_cancellation_slot(signal.slot(), checks()))
    ));
    emit();
    timer.async_wait(bind_cancellation_slot(
        signal.slot(), asio::bind_allocator(allocator, bind_executor(tracker, checks()))
    ));
    emit();

    // Associations come through a deferred operation and the adapters of arguments.
    timer.async_wait(asio::deferred)(bind_executor(
        tracker, asio::bind_allocator(allocator, bind_cancellation_slot(signal.slot(), checks()))
    ));
    emit();
    timer.async_wait(asio::append(
        bind_executor(
            tracker,
            asio::bind_allocator(allocator, bind_cancellation_slot(signal.slot(), checks()))
        ),
        1
    ));
    emit();
    timer.async_wait(asio::consign(
        bind_executor(
            tracker,
            asio::bind_allocator(allocator, bind_cancellation_slot(signal.slot(), checks()))
        ),
        std::make_shared<int>(1)
    ));
    emit();

    auto future = timer.async_wait(bind_cancellation_slot(signal.slot(), asio::use_future));
    signal.emit(cancellation_type::terminal);
    BOOST_TEST(run_to_end(ctx));
    BOOST_CHECK_EXCEPTION(future.get(), boost::system::system_error, is_cancelled);
}

// any_completion_handler: type-erased, with all its associations.
BOOST_FIXTURE_TEST_CASE_TEMPLATE(any_completion_handler, Family, families, io_fixture)
{
    const tracker_executor<io_executor> tracker{ctx.get_executor()};
    asio::cancellation_signal signal;
    typename Family::steady timer{ctx, 1ms};
    int calls = 0;

    asio::any_completion_handler<void(error_code)> handler = move_only_handler{[&](error_code ec) {
        BOOST_TEST(!ec);
        ++calls;
    }};
    timer.async_wait(std::move(handler));
    BOOST_TEST(run_to_end(ctx));
    BOOST_TEST(calls == 1);

    ctx.restart();
    timer.expires_after(1h);
    asio::any_completion_handler<void(error_code)> bound =
        bind_executor(tracker, bind_cancellation_slot(signal.slot(), [&](error_code ec) {
                          BOOST_TEST(ec == asio::error::operation_aborted);
                          BOOST_TEST(tracker.running_here());
                          ++calls;
                      }));
    timer.async_wait(std::move(bound));
    signal.emit(cancellation_type::total);
    BOOST_TEST(run_to_end(ctx));
    BOOST_TEST(calls == 2);
}

// A token of the old form, with a handler type and a result to get.
BOOST_FIXTURE_TEST_CASE_TEMPLATE(tokens_of_the_old_form, Family, families, io_fixture)
{
    typename Family::steady timer{ctx, 1h};
    error_code result;
    const std::string started = timer.async_wait(eager_result_token{result});
    BOOST_TEST(started == "started");
    timer.cancel();
    BOOST_TEST(run_to_end(ctx));
    BOOST_TEST(result == asio::error::operation_aborted);
}

// async_compose: a timer inside a composed operation, with cancellation passed through.
BOOST_FIXTURE_TEST_CASE_TEMPLATE(composed_operations, Family, families, io_fixture)
{
    typename Family::steady timer{ctx};
    const auto start = [&](std::chrono::milliseconds step, auto&& token) {
        return asio::async_compose<decltype(token), void(error_code)>(
            countdown<typename Family::steady>{timer, step, 3}, token, timer
        );
    };
    const stopwatch watch;
    start(2ms, succeeds().then([&] { BOOST_CHECK(watch.elapsed() >= 6ms); }));
    BOOST_TEST(run_to_end(ctx));

    ctx.restart();
    asio::cancellation_signal signal;
    start(3'600'000ms, bind_cancellation_slot(signal.slot(), is_aborted()));
    poll_until_quiet(ctx);
    signal.emit(cancellation_type::terminal);
    BOOST_TEST(run_to_end(ctx));
}

// parallel_group: the first to end cancels the rest; or all are waited for.
BOOST_FIXTURE_TEST_CASE_TEMPLATE(parallel_group, Family, families, io_fixture)
{
    using namespace asio::experimental;
    typename Family::steady fast{ctx, 1ms};
    typename Family::steady slow{ctx, 1h};
    int calls = 0;
    make_parallel_group(slow.async_wait(asio::deferred), fast.async_wait(asio::deferred))
        .async_wait(
            wait_for_one(),
            [&](std::array<std::size_t, 2> order, error_code s, error_code f) {
                BOOST_TEST(order[0] == 1U);
                BOOST_TEST(order[1] == 0U);
                BOOST_TEST(s == asio::error::operation_aborted);
                BOOST_TEST(!f);
                ++calls;
            }
        );
    BOOST_TEST(run_to_end(ctx));

    ctx.restart();
    fast.expires_after(1ms);
    slow.expires_after(4ms);
    make_parallel_group(slow.async_wait(asio::deferred), fast.async_wait(asio::deferred))
        .async_wait(
            wait_for_all(),
            [&](std::array<std::size_t, 2> order, error_code s, error_code f) {
                BOOST_TEST(order[0] == 1U);
                BOOST_TEST(!s);
                BOOST_TEST(!f);
                ++calls;
            }
        );
    BOOST_TEST(run_to_end(ctx));

    // The group itself is cancelled from outside.
    ctx.restart();
    asio::cancellation_signal signal;
    fast.expires_after(1h);
    slow.expires_after(1h);
    make_parallel_group(slow.async_wait(asio::deferred), fast.async_wait(asio::deferred))
        .async_wait(
            wait_for_all(),
            bind_cancellation_slot(
                signal.slot(),
                [&](std::array<std::size_t, 2>, error_code s, error_code f) {
                    BOOST_TEST(s == asio::error::operation_aborted);
                    BOOST_TEST(f == asio::error::operation_aborted);
                    ++calls;
                }
            )
        );
    poll_until_quiet(ctx);
    signal.emit(cancellation_type::terminal);
    BOOST_TEST(run_to_end(ctx));
    BOOST_TEST(calls == 3);
}

// use_promise: started at once, waited for later; dropping the promise cancels the wait.
BOOST_FIXTURE_TEST_CASE_TEMPLATE(use_promise, Family, families, io_fixture)
{
    typename Family::steady timer{ctx, 1ms};
    auto promise = timer.async_wait(asio::experimental::use_promise);
    run_during(ctx, 5ms);
    ctx.restart();
    BOOST_TEST(promise.completed());
    int calls = 0;
    promise([&](error_code ec) { calls += !ec; });
    BOOST_TEST(run_to_end(ctx));
    BOOST_TEST(calls == 1);

    ctx.restart();
    timer.expires_after(1h);
    {
        auto dropped = timer.async_wait(asio::experimental::use_promise);
        BOOST_TEST(!dropped.completed());
    }
    const stopwatch watch;
    BOOST_TEST(run_to_end(ctx));
    BOOST_CHECK(watch.elapsed() < 1s);
}

#if BOOST_ASIO_VERSION >= 103200
// Asio's own cancel_after around a wait: the wait first, and the timeout first.
BOOST_FIXTURE_TEST_CASE_TEMPLATE(cancel_after_of_asio, Family, families, io_fixture)
{
    typename Family::steady timer{ctx, 2ms};
    timer.async_wait(asio::cancel_after(1h, succeeds()));
    BOOST_TEST(run_to_end(ctx));
    ctx.restart();
    timer.expires_after(1h);
    timer.async_wait(asio::cancel_after(2ms, is_aborted()));
    BOOST_TEST(run_to_end(ctx));
}
#endif

BOOST_AUTO_TEST_SUITE_END()

}
