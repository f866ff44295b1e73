// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#include <timewheel/keyed_scheduler.hpp>

#include <test_common/cancellation_types.hpp>
#include <test_common/checked_token.hpp>
#include <test_common/keyed_fixture.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/system/system_error.hpp>
#include <boost/test/unit_test.hpp>

#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <utility>

// The asynchronous functions with all kinds of tokens, and their cancellation.

namespace timewheel::test {

namespace {

using fixture = keyed_fixture<struct keyed_scheduler_tokens_test>;
using clock = fixture::clock;
using record_type = fixture::record_type;

bool is_aborted_error(const boost::system::system_error& e)
{
    return e.code() == asio::error::operation_aborted;
}

// An item "a" that is running, and "b" that is not.
struct token_fixture : fixture
{
    token_fixture()
    {
        holds = true;
        start();
        scheduler().upsert("a", 5);
        scheduler().upsert("b", 1000);
        at(5ms);
    }
};

}

BOOST_FIXTURE_TEST_SUITE(keyed_scheduler_tokens, token_fixture)

using asio::use_awaitable;

BOOST_AUTO_TEST_CASE(a_removal_waits_for_the_runs)
{
    auto& s = scheduler();
    outcome running;
    outcome idle;
    remove_result found{};
    s.async_remove("a", succeeds().into(running));
    s.async_remove("b", [&](error_code ec, remove_result result) {
        BOOST_TEST(!ec);
        found = result;
        ++idle.invoked;
    });
    BOOST_TEST(state("a") == "none");
    BOOST_TEST(idle.invoked == 0);
    poll();
    BOOST_TEST(idle.invoked == 1);
    BOOST_CHECK(found == remove_result::removed);
    BOOST_TEST(running.invoked == 0);
    s.upsert("a", 7); // another item
    release("a");
    BOOST_TEST(running.invoked == 1);
    BOOST_TEST(state("a") == "pending");
}

BOOST_AUTO_TEST_CASE(a_removal_waits_for_all_runs)
{
    options.reschedule = reschedule_policy::before_run;
    auto& s = start();
    s.upsert("a", 5);
    at(10ms);
    at(15ms);
    outcome result;
    s.async_remove("a", succeeds().into(result));
    release("a");
    BOOST_TEST(!result.done());
    release("a");
    BOOST_TEST(result.done());
}

BOOST_AUTO_TEST_CASE(errors_at_once)
{
    auto& s = scheduler();
    s.async_remove("c", ends_with(error::unknown_key));
    s.async_trigger("c", ends_with(error::unknown_key));
    poll();
    s.stop();
    s.async_remove("a", ends_with(error::closed));
    s.async_trigger("a", ends_with(error::closed));
    s.async_close(succeeds());
    poll();
    auto& fresh = make();
    fresh.upsert("a", 5);
    fresh.async_trigger("a", ends_with(error::not_started));
    fresh.async_close(ends_with(error::not_started));
    fresh.async_remove("a", succeeds());
    poll();
}

BOOST_AUTO_TEST_CASE(a_trigger_tells_how_its_run_ended)
{
    auto& s = scheduler();
    record_type told;
    error_code ec;
    const auto tell = [&](error_code e, const record_type& record) {
        ec = e;
        told = record;
    };
    s.async_trigger("b", tell);
    at(7ms);
    at(9ms);
    release("b");
    BOOST_TEST(!ec);
    BOOST_CHECK(told.outcome == job_outcome::completed);
    BOOST_CHECK(told.scheduled_for == clock::time_point(5ms));
    BOOST_CHECK(told.started_at == clock::time_point(7ms));
    BOOST_CHECK(told.finished_at == clock::time_point(9ms));
    holds = false;
    answer = error::queue_full;
    s.async_trigger("b", tell);
    poll();
    BOOST_TEST(ec == error_code(error::queue_full));
    BOOST_CHECK(told.outcome == job_outcome::failed);
    BOOST_TEST(told.sequence == 2u);
    inside = [](auto&&) { throw 1; };
    s.async_trigger("b", tell);
    poll();
    BOOST_TEST(ec == error_code(error::job_threw));
    BOOST_CHECK(told.exception);
}

BOOST_AUTO_TEST_CASE(a_trigger_of_what_is_running)
{
    // It waits for its own run, which comes after that one.
    auto& s = scheduler();
    outcome first;
    outcome second;
    s.async_trigger("a", succeeds().into(first));
    s.async_trigger("a", succeeds().into(second));
    poll();
    release("a");
    BOOST_TEST(!first.done());
    BOOST_TEST(s.snapshot("a")->runs == 2u);
    release("a");
    BOOST_TEST(first.done());
    BOOST_TEST(second.done());
    BOOST_TEST(s.snapshot("a")->runs == 2u);
}

BOOST_AUTO_TEST_CASE(a_trigger_that_is_left_out)
{
    options.reschedule = reschedule_policy::before_run;
    options.overlap = overlap_policy::skip;
    auto& s = start();
    s.upsert("a", 5);
    at(10ms);
    record_type told;
    s.async_trigger("a", [&](error_code ec, const record_type& record) {
        BOOST_TEST(!ec);
        told = record;
    });
    poll();
    BOOST_CHECK(told.outcome == job_outcome::skipped);
    BOOST_CHECK(told.scheduled_for == clock::time_point(10ms));
    BOOST_TEST(told.sequence == 2u);
}

BOOST_AUTO_TEST_CASE(a_trigger_whose_run_does_not_begin)
{
    auto& s = scheduler();
    s.async_trigger("b", is_aborted());
    s.remove("b");
    poll();
    s.async_trigger("a", is_aborted()); // waits for the run under way
    poll();
    s.replace_all({});
    poll();
    s.upsert("a", 5);
    s.async_trigger("a", is_aborted());
    s.stop();
    poll();
}

BOOST_AUTO_TEST_CASE(a_trigger_whose_run_goes_on)
{
    auto& s = scheduler();
    outcome result;
    s.async_trigger("b", succeeds().into(result));
    poll();
    s.remove("b");
    poll();
    BOOST_TEST(!result.done());
    release("b");
    BOOST_TEST(result.done());
    s.upsert("c", 1000);
    s.async_trigger("c", is_aborted()); // told to stop, and does
    poll();
    s.stop();
    poll();
}

BOOST_AUTO_TEST_CASE(a_close_waits_for_the_runs)
{
    auto& s = scheduler();
    outcome result;
    s.async_close(succeeds().into(result));
    s.async_close(succeeds());
    BOOST_TEST(!result.done());
    poll();
    BOOST_TEST(result.done());
    BOOST_TEST(ends() == "a cancelled");
    s.async_close(succeeds());
    poll();
}

BOOST_AUTO_TEST_CASE(a_destroyed_scheduler_aborts_its_operations)
{
    auto& s = scheduler();
    s.async_trigger("a", is_aborted());
    s.async_trigger("b", is_aborted());
    s.async_remove("a", is_aborted());
    s.async_close(is_aborted());
    destroy();
    poll();
}

BOOST_AUTO_TEST_CASE(futures)
{
    auto& s = scheduler();
    auto removed = s.async_remove("b", asio::use_future);
    auto triggered = s.async_trigger("a", asio::use_future);
    auto unknown = s.async_trigger("c", asio::use_future);
    poll();
    release("a");
    release("a");
    BOOST_CHECK(removed.get() == remove_result::removed);
    BOOST_CHECK(triggered.get().outcome == job_outcome::completed);
    BOOST_CHECK_EXCEPTION(unknown.get(), boost::system::system_error, [](const auto& e) {
        return e.code() == error::unknown_key;
    });
    auto closed = s.async_close(asio::use_future);
    poll();
    closed.get();
}

BOOST_AUTO_TEST_CASE(deferred)
{
    auto& s = scheduler();
    auto trigger = s.async_trigger("b");
    auto remove = s.async_remove("b");
    auto close = s.async_close();
    poll();
    BOOST_TEST(state("b") == "pending"); // nothing has been started
    std::move(trigger)(succeeds());
    poll();
    release("b");
    std::move(remove)(succeeds());
    BOOST_TEST(state("b") == "none");
    std::move(close)(succeeds());
    poll();
}

BOOST_AUTO_TEST_CASE(coroutines)
{
    using namespace asio::experimental::awaitable_operators;
    auto& s = scheduler();
    bool done = false;
    asio::co_spawn(
        ctx,
        [&]() -> asio::awaitable<void> {
            const auto record = co_await s.async_trigger("b", use_awaitable);
            BOOST_TEST(!record.error);
            const auto [ec, found] = co_await s.async_remove("c", asio::as_tuple(use_awaitable));
            BOOST_TEST(ec == error_code(error::unknown_key));
            BOOST_CHECK(found == remove_result::unknown);
            // The other one is cancelled, and leaves no trace.
            const auto either = co_await (
                s.async_trigger("b", use_awaitable) || s.async_trigger("a", use_awaitable)
            );
            BOOST_TEST(either.index() == 0u);
            co_await s.async_close(use_awaitable);
            done = true;
        },
        asio::detached
    );
    poll();
    release("b");
    release("b");
    BOOST_TEST(done);
}

// And keep the contexts of these at work.
BOOST_AUTO_TEST_CASE(handlers_run_on_their_executors)
{
    auto& s = scheduler();
    asio::io_context other;
    int calls = 0;
    const auto bound = [&] {
        return asio::bind_executor(other, [&](auto&&...) {
            BOOST_TEST(other.get_executor().running_in_this_thread());
            ++calls;
        });
    };
    s.async_trigger("b", bound());
    s.async_remove("a", bound());
    const auto poll_other = [&] {
        poll();
        other.restart();
        other.poll();
    };
    poll_other();
    BOOST_TEST(!other.stopped());
    release("b");
    release("a");
    poll_other();
    BOOST_TEST(calls == 2);
    BOOST_TEST(other.stopped());
    s.async_close(bound());
    poll_other();
    BOOST_TEST(calls == 3);
}

BOOST_AUTO_TEST_CASE(handlers_need_only_be_movable)
{
    struct move_only
    {
        std::unique_ptr<int> owned = std::make_unique<int>(0);

        void operator()(error_code, const record_type&) && { owned.reset(); }
        void operator()(error_code, remove_result) && { owned.reset(); }
        void operator()(error_code) && { owned.reset(); }
    };
    auto& s = scheduler();
    s.async_trigger("b", move_only());
    s.async_remove("a", move_only());
    s.async_close(move_only());
    poll();
}

BOOST_AUTO_TEST_CASE(all_kinds_of_cancellation)
{
    for (const cancellation_case& each : cancellation_cases) {
        BOOST_TEST_CONTEXT(each.name)
        {
            destroy();
            poll();
            clock::set({});
            auto& s = start();
            s.upsert("a", 5);
            s.upsert("b", 5);
            s.upsert("c", 5);
            at(5ms);
            outcome removed;
            outcome triggered;
            outcome closed;
            asio::cancellation_signal remove;
            asio::cancellation_signal trigger;
            asio::cancellation_signal close;
            const auto wrapped = [](outcome& result) {
                return [&result](error_code ec, auto&&...) {
                    result.ec = ec;
                    ++result.invoked;
                };
            };
            s.async_remove("a", asio::bind_cancellation_slot(remove.slot(), wrapped(removed)));
            s.async_trigger("b", asio::bind_cancellation_slot(trigger.slot(), wrapped(triggered)));
            poll();
            remove.emit(each.type);
            trigger.emit(each.type);
            BOOST_TEST(!removed.done());
            poll();
            const error_code expected =
                each.cancels ? error_code(asio::error::operation_aborted) : error_code();
            BOOST_TEST(removed.done() == each.cancels);
            BOOST_TEST(triggered.done() == each.cancels);
            BOOST_TEST(state("a") == "none"); // removed all the same
            release("a");
            release("b");
            release("b"); // the triggered one runs all the same
            BOOST_TEST(removed.ec == expected);
            BOOST_TEST(triggered.ec == expected);
            BOOST_TEST(removed.invoked == 1);
            BOOST_TEST(triggered.invoked == 1);
            // Too late, and nobody there.
            remove.emit(asio::cancellation_type::all);
            trigger.emit(asio::cancellation_type::all);
            poll();

            s.async_close(asio::bind_cancellation_slot(close.slot(), wrapped(closed)));
            close.emit(each.type);
            poll();
            BOOST_TEST(closed.invoked == 1);
            BOOST_TEST(closed.ec == expected);
            BOOST_TEST(ends().ends_with("c cancelled")); // stopped all the same
        }
    }
}

BOOST_AUTO_TEST_CASE(cancelled_operations_are_forgotten)
{
    auto& s = scheduler();
    for (int i = 0; i != 1000; ++i) {
        asio::cancellation_signal signal;
        auto trigger =
            s.async_trigger("a", asio::bind_cancellation_slot(signal.slot(), asio::use_future));
        signal.emit(asio::cancellation_type::total);
        poll();
        BOOST_CHECK_EXCEPTION(trigger.get(), boost::system::system_error, is_aborted_error);
    }
    release("a");
    release("a"); // one run for all of them
    BOOST_TEST(held() == 0u);
    BOOST_TEST(s.snapshot("a")->runs == 2u);
}

BOOST_AUTO_TEST_SUITE_END()

}
