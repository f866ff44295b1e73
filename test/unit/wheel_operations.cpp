// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

// The asynchronous operations of a job wheel, and the tokens that they take.

#include <timewheel/wheel.hpp>

#include <test_common/cancellation_types.hpp>
#include <test_common/checked_token.hpp>
#include <test_common/job_fixture.hpp>
#include <test_common/tracker_executor.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/test/unit_test.hpp>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace timewheel::test {

namespace {

using fixture = job_fixture<struct wheel_operations_test>;
using clock = fixture::clock;
using job_context = fixture::job_context;
using text_wheel = fixture::wheel_for<std::string>;
using text_event = text_wheel::event_type;

asio::awaitable<void> for_ever()
{
    asio::steady_timer timer(
        co_await asio::this_coro::executor, asio::steady_timer::time_point::max()
    );
    co_await timer.async_wait(asio::use_awaitable);
}

}

BOOST_FIXTURE_TEST_SUITE(wheel_operations, fixture)

BOOST_AUTO_TEST_CASE(run_after_completes_with_the_event)
{
    auto w = make_wheel<std::string>({.observer = observer()});
    watch(w);
    std::optional<text_event> got;
    error_code result = asio::error::eof;
    w.async_run_after(
        5ms,
        "hello",
        [](std::string& s) { s += " there"; },
        [&](error_code ec, text_event event) {
            result = ec;
            got = std::move(event);
        }
    );
    const timer_id id = w.pending_timers().front().id;
    wheel_at(5ms);
    BOOST_TEST(!got);
    at(7ms);
    BOOST_TEST_REQUIRE(got.has_value());
    BOOST_TEST(!result);
    BOOST_TEST(got->data == "hello there");
    const told_job expected{id, job_outcome::completed, 1, 5ms, 2ms};
    BOOST_TEST(told_job::of(*got) == expected);
    BOOST_TEST(take_one() == expected);
    BOOST_TEST((got->started_at == clock::time_point(7ms)));
    BOOST_TEST((got->finished_at == clock::time_point(7ms)));
    BOOST_TEST(ctx.stopped());
}

// How a job can end, and what its operation and the observer are told.
BOOST_AUTO_TEST_CASE(run_after_reports_each_outcome)
{
    struct row
    {
        const char* name;
        std::function<void(text_wheel&, std::function<void(error_code, text_event)>)> start;
        job_outcome outcome;
        error_code error;
        bool is_observed = true;
    };
    const error_code bad = asio::error::eof;
    const error_code aborted = asio::error::operation_aborted;
    const row rows[] = {
        {"completed",
         [](text_wheel& w, auto done) { w.async_run_after(1ms, "x", [] {}, std::move(done)); },
         job_outcome::completed,
         {}},
        {"failed",
         [&](text_wheel& w, auto done) {
             w.async_run_after(1ms, "x", [bad] { return bad; }, std::move(done));
         },
         job_outcome::failed,
         bad},
        {"threw",
         [](text_wheel& w, auto done) {
             w.async_run_after(1ms, "x", [] { throw std::runtime_error("x"); }, std::move(done));
         },
         job_outcome::threw,
         timewheel::error::job_threw},
        {"coroutine threw",
         [](text_wheel& w, auto done) {
             w.async_run_after(
                 1ms,
                 "x",
                 []() -> asio::awaitable<void> {
                     throw std::runtime_error("x");
                     co_return;
                 },
                 std::move(done)
             );
         },
         job_outcome::threw,
         timewheel::error::job_threw},
        {"stopped while it waits",
         [](text_wheel& w, auto done) {
             w.async_run_after(1h, "x", [] {}, std::move(done));
             w.stop();
         },
         job_outcome::cancelled,
         aborted},
        {"removed while it waits",
         [](text_wheel& w, auto done) {
             w.async_run_after(1h, "x", [] {}, std::move(done));
             w.remove(w.pending_timers().front().id);
         },
         job_outcome::cancelled,
         aborted,
         false},
        {"told to stop",
         [](text_wheel& w, auto done) {
             w.async_run_after(1ms, "x", for_ever, std::move(done));
             w.add(2ms, "y", [&w] { w.stop(); });
         },
         job_outcome::cancelled,
         aborted},
    };
    for (const bool is_observed : {false, true}) {
        for (const row& each : rows) {
            BOOST_TEST_CONTEXT(each.name)
            {
                clock::set({});
                fixture::options_for<std::string> options;
                if (is_observed)
                    options.observer = observer();
                auto w = make_wheel<std::string>(std::move(options));
                watch(w);
                int done = 0;
                each.start(w, [&](error_code ec, const text_event& event) {
                    ++done;
                    BOOST_TEST(ec == each.error);
                    BOOST_TEST(event.error == each.error);
                    BOOST_TEST(event.outcome == each.outcome);
                    BOOST_TEST(event.data == "x");
                    BOOST_TEST(
                        (event.exception != nullptr) ==
                        (std::string_view(each.name).find("threw") != std::string_view::npos ||
                         each.name == std::string_view("told to stop"))
                    );
                });
                BOOST_TEST(done == 0);
                at(1ms);
                at(2ms);
                BOOST_TEST(done == 1);
                if (is_observed && each.is_observed) {
                    BOOST_TEST_REQUIRE(!told.empty());
                    BOOST_TEST(told.back().outcome == each.outcome);
                    BOOST_TEST(told.back().error == each.error);
                }
                BOOST_TEST(ctx.stopped());
                unwatch();
                told.clear();
            }
        }
    }
}

// What on_error or the logger throws does not change what the operation is told.
BOOST_AUTO_TEST_CASE(run_after_with_an_observer_that_throws)
{
    for (const bool by_observer : {false, true}) {
        clock::set({});
        auto w = make_wheel({
            .observer =
                [&](const auto&) {
                    if (by_observer)
                        throw std::logic_error("observer");
                },
            .on_error =
                [&](auto...) {
                    if (!by_observer)
                        throw std::logic_error("on_error");
                },
        });
        watch(w);
        error_code result;
        w.async_run_after(
            1ms,
            [] { throw std::runtime_error("job"); },
            [&](error_code ec, const auto& event) {
                result = ec;
                BOOST_TEST(event.outcome == job_outcome::threw);
                BOOST_TEST((event.exception != nullptr));
            }
        );
        wheel_at(1ms);
        workers.restart();
        BOOST_CHECK_THROW(workers.poll(), std::logic_error);
        poll();
        BOOST_TEST((result == timewheel::error::job_threw));
        unwatch();
    }
}

BOOST_AUTO_TEST_CASE(run_after_that_is_dropped)
{
    auto w = make_wheel({.max_queued = 1, .policy = backpressure::drop});
    watch(w);
    outcome end;
    w.add(1ms, [] {});
    w.async_run_after(1ms, [] {}, ends_with(timewheel::error::queue_full).into(end));
    at(1ms);
    BOOST_TEST(end.done());
}

BOOST_AUTO_TEST_CASE(run_after_can_be_cancelled)
{
    enum class where
    {
        waiting,
        queued,
        running_plain,
        running_coroutine
    };
    for (const auto at_point :
         {where::waiting, where::queued, where::running_plain, where::running_coroutine}) {
        for (const auto& each : cancellation_cases) {
            BOOST_TEST_CONTEXT(each.name << " at " << static_cast<int>(at_point))
            {
                clock::set({});
                auto w = make_wheel();
                watch(w);
                asio::cancellation_signal signal;
                outcome end;
                int ran = 0;
                auto done =
                    asio::bind_cancellation_slot(signal.slot(), [&](error_code ec, const auto&) {
                        end.ec = ec;
                        ++end.invoked;
                    });
                if (at_point == where::running_coroutine) {
                    w.async_run_after(
                        1ms,
                        [&]() -> asio::awaitable<void> {
                            ++ran;
                            asio::steady_timer timer(co_await asio::this_coro::executor, 0s);
                            if (each.cancels)
                                timer.expires_at(asio::steady_timer::time_point::max());
                            co_await timer.async_wait(asio::use_awaitable);
                        },
                        done
                    );
                } else {
                    w.async_run_after(
                        1ms,
                        [&](job_context& job) -> error_code {
                            ++ran;
                            if (at_point == where::running_plain)
                                signal.emit(each.type);
                            BOOST_TEST(
                                job.stop_requested() ==
                                (at_point == where::running_plain && each.cancels)
                            );
                            return job.stop_requested() ? asio::error::eof : error_code();
                        },
                        done
                    );
                }
                if (at_point == where::waiting)
                    signal.emit(each.type);
                wheel_at(1ms);
                if (at_point == where::queued)
                    signal.emit(each.type);
                while (!end.done()) {
                    poll();
                    if (at_point == where::running_coroutine && ran == 1) {
                        BOOST_TEST(w.stats().executed == 1u);
                        signal.emit(each.type);
                    }
                }
                const bool begins = at_point >= where::running_plain || !each.cancels;
                BOOST_TEST(ran == (begins ? 1 : 0));
                BOOST_TEST(
                    (end.ec == (each.cancels ? asio::error::operation_aborted : error_code()))
                );
                signal.emit(each.type); // too late
                poll();
                BOOST_TEST(end.invoked == 1);
                BOOST_TEST(ctx.stopped());
                unwatch();
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(repeat_is_the_life_of_a_timer)
{
    for (const auto mode :
         {repeat_mode::fixed_rate, repeat_mode::fixed_delay, repeat_mode::skip_if_running}) {
        clock::set({});
        auto w = make_wheel();
        watch(w);
        int ran = 0;
        std::vector<std::pair<error_code, std::uint64_t>> ends;
        const auto done = [&](error_code ec, std::uint64_t n) { ends.emplace_back(ec, n); };
        const auto job = [&] { ++ran; };
        w.async_repeat(1ms, job, {.mode = mode, .count = 3}, done);
        at(1ms);
        at(2ms);
        BOOST_TEST(ends.empty());
        at(3ms);
        BOOST_TEST_REQUIRE(ends.size() == 1u);
        BOOST_TEST((ends.back() == std::pair(error_code(), std::uint64_t{3})));
        w.async_repeat(1ms, job, {.mode = mode, .until = clock::time_point(5ms)}, done);
        for (auto t = 4ms; t != 10ms; t += 1ms)
            at(t);
        BOOST_TEST_REQUIRE(ends.size() == 2u);
        BOOST_TEST((ends.back() == std::pair(error_code(), std::uint64_t{2})));
        w.async_repeat(1ms, job, {.mode = mode, .until = clock::time_point(5ms)}, done);
        poll();
        BOOST_TEST_REQUIRE(ends.size() == 3u);
        BOOST_TEST((ends.back() == std::pair(error_code(), std::uint64_t{0})));
        // Removed by somebody else.
        w.async_repeat(1ms, job, {.mode = mode}, done);
        const timer_id id = w.pending_timers().front().id;
        at(11ms);
        w.remove(id);
        poll();
        BOOST_TEST_REQUIRE(ends.size() == 4u);
        BOOST_TEST(
            (ends.back() == std::pair(error_code(asio::error::operation_aborted), std::uint64_t{1}))
        );
        w.async_repeat(1ms, job, {.mode = mode}, done);
        w.stop();
        poll();
        BOOST_TEST_REQUIRE(ends.size() == 5u);
        BOOST_TEST((ends.back().first == asio::error::operation_aborted));
        BOOST_TEST(ctx.stopped());
        unwatch();
    }
}

BOOST_AUTO_TEST_CASE(repeat_can_be_cancelled)
{
    for (const auto& each : cancellation_cases) {
        BOOST_TEST_CONTEXT(each.name)
        {
            clock::set({});
            auto w = make_wheel();
            watch(w);
            asio::cancellation_signal signal;
            outcome end;
            std::uint64_t runs = 0;
            w.async_repeat(
                1ms,
                for_ever,
                {.count = 10},
                asio::bind_cancellation_slot(
                    signal.slot(),
                    [&](error_code ec, std::uint64_t n) {
                        end.ec = ec;
                        ++end.invoked;
                        runs = n;
                    }
                )
            );
            at(1ms);
            at(2ms);
            signal.emit(each.type);
            poll_wheel();
            BOOST_TEST(!end.done()); // two runs go on
            poll();
            BOOST_TEST(end.done() == each.cancels);
            if (!each.cancels) {
                signal.emit(asio::cancellation_type::all);
                poll();
            }
            BOOST_TEST(end.invoked == 1);
            BOOST_TEST((end.ec == asio::error::operation_aborted));
            BOOST_TEST(runs == 2u);
            BOOST_TEST(w.stats().cancelled == 2u);
            signal.emit(each.type); // too late
            poll();
            unwatch();
        }
    }
}

BOOST_AUTO_TEST_CASE(handlers_run_on_their_executor)
{
    auto w = make_wheel();
    watch(w);
    asio::io_context elsewhere;
    tracker_executor tracker{elsewhere.get_executor()};
    int done = 0;
    const auto on_tracker = [&](auto handler) { return asio::bind_executor(tracker, handler); };
    const auto handler = [&](error_code, auto&&...) {
        BOOST_TEST(tracker.running_here());
        ++done;
    };
    w.async_run_after(1ms, [] {}, on_tracker(handler));
    w.async_repeat(1ms, [] {}, {.count = 1}, on_tracker(handler));
    w.async_remove(timer_id(1), on_tracker(handler));
    elsewhere.poll();
    BOOST_TEST(!elsewhere.stopped());
    at(1ms);
    w.async_close(on_tracker(handler));
    poll();
    BOOST_TEST(done == 0);
    elsewhere.restart();
    elsewhere.poll();
    BOOST_TEST(done == 4);
    BOOST_TEST(elsewhere.stopped());
}

BOOST_AUTO_TEST_CASE(tokens)
{
    auto w = make_wheel<std::string>();
    watch(w);
    auto event = w.async_run_after(1ms, "x", [] {}, asio::use_future);
    auto failed =
        w.async_run_after(1ms, "x", [] { return error_code(asio::error::eof); }, asio::use_future);
    auto runs = w.async_repeat(1ms, "x", [] {}, {.count = 2}, asio::use_future);
    auto removed = w.async_remove(timer_id(1), asio::use_future);
    w.async_run_after(1ms, "x", [] {}, asio::detached);
    w.async_repeat(1ms, "x", [] {}, {.count = 1}, asio::detached);
    int by_move = 0;
    w.async_run_after(
        1ms,
        "x",
        [owned = std::make_unique<int>(1)] {},
        [&, owned = std::make_unique<int>(1)](error_code, const text_event&) { by_move += *owned; }
    );
    w.async_remove(timer_id(1), [&, owned = std::make_unique<int>(1)](error_code, remove_result) {
        by_move += *owned;
    });
    auto deferred = w.async_run_after(1ms, "later", [] {}, asio::deferred);
    auto by_default = w.async_run_after(1ms, "later", [] {});
    at(1ms);
    at(2ms);
    BOOST_TEST(event.get().data == "x");
    BOOST_CHECK_THROW(failed.get(), boost::system::system_error);
    BOOST_TEST(runs.get() == 2u);
    BOOST_TEST(removed.get() == remove_result::unknown);
    BOOST_TEST(by_move == 2);
    BOOST_TEST(w.stats().added == 6u); // the deferred ones have not begun
    outcome end[2];
    std::move(deferred)(succeeds().into(end[0]));
    std::move(by_default)(succeeds().into(end[1]));
    at(3ms);
    BOOST_TEST(end[0].done());
    BOOST_TEST(end[1].done());
    auto closed = w.async_close(asio::use_future);
    poll();
    closed.get();
}

BOOST_AUTO_TEST_CASE(coroutines)
{
    auto w = make_wheel<std::string>();
    watch(w);
    bool is_done = false;
    asio::co_spawn(
        ctx,
        [&]() -> asio::awaitable<void> {
            const auto event = co_await w.async_run_after(1ms, "x", [] {}, asio::use_awaitable);
            BOOST_TEST(event.data == "x");
            const auto runs =
                co_await w.async_repeat(1ms, "x", [] {}, {.count = 2}, asio::use_awaitable);
            BOOST_TEST(runs == 2u);
            const auto [ec, n] =
                co_await w.async_repeat(0s, "x", [] {}, {}, asio::as_tuple(asio::use_awaitable));
            BOOST_TEST((ec == timewheel::error::invalid_period));
            BOOST_TEST(n == 0u);
            const auto result = co_await w.async_remove(event.id, asio::use_awaitable);
            BOOST_TEST(result == remove_result::unknown);
            using namespace asio::experimental::awaitable_operators;
            const auto either = co_await (
                w.async_run_after(
                    1ms, "quick", [] {}, asio::use_awaitable
                ) ||
                w.async_repeat(
                    1ms, "x", [] {}, {}, asio::use_awaitable
                )
            );
            BOOST_TEST(either.index() == 0u);
            co_await w.async_close(asio::use_awaitable);
            is_done = true;
        },
        asio::detached
    );
    poll();
    while (!is_done && clock::advance_to_next())
        poll();
    BOOST_TEST(is_done);
}

// An operation that is started by the handler of another, and destroyed with its context.
BOOST_AUTO_TEST_CASE(handlers_start_operations)
{
    auto w = make_wheel();
    watch(w);
    int n = 0;
    std::function<void(error_code)> again = [&](error_code ec) {
        if (!ec && ++n != 1000)
            w.async_run_after(0s, [] {}, [&](error_code next, const auto&) { again(next); });
    };
    again({});
    poll();
    BOOST_TEST(n == 1000);
}

BOOST_AUTO_TEST_SUITE_END()

}
