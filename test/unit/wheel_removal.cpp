// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

// Timers that are removed: waiting, on their way, queued and running.

#include <timewheel/wheel.hpp>

#include <test_common/cancellation_types.hpp>
#include <test_common/checked_token.hpp>
#include <test_common/job_fixture.hpp>
#include <test_common/random_source.hpp>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/test/unit_test.hpp>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

namespace timewheel::test {

namespace {

using fixture = job_fixture<struct wheel_removal_test>;
using clock = fixture::clock;
using job_context = fixture::job_context;

constexpr auto all_modes =
    {repeat_mode::fixed_rate, repeat_mode::fixed_delay, repeat_mode::skip_if_running};

}

BOOST_FIXTURE_TEST_SUITE(wheel_removal, fixture)

BOOST_AUTO_TEST_CASE(waiting)
{
    auto w = make_wheel({.observer = observer()});
    watch(w);
    int ran = 0;
    const timer_id once = w.add(1ms, [&] { ++ran; });
    const timer_id repeating = w.add_repeating(1ms, [&] { ++ran; });
    BOOST_TEST(w.remove(once) == remove_result::removed);
    BOOST_TEST(w.remove(repeating, cancel_running) == remove_result::removed);
    BOOST_TEST(w.remove(once) == remove_result::unknown);
    BOOST_TEST((w.next_fire_time(once) == std::nullopt));
    BOOST_TEST(w.pending_timers().empty());
    at(1s);
    BOOST_TEST(ran == 0);
    BOOST_TEST(told.empty());
    const wheel_stats s = w.stats();
    BOOST_TEST(s.removed == 2u);
    BOOST_TEST(s.withdrawn == 2u);
    BOOST_TEST(s.pending == 0u);
}

// XC1: due, and its turn already queued in the context.
BOOST_AUTO_TEST_CASE(on_its_way_from_the_wheel)
{
    for (const bool repeats : {false, true}) {
        clock::set({});
        auto w = make_wheel();
        watch(w);
        int ran = 0;
        std::vector<timer_id> ids;
        const auto job = [&] { ++ran; };
        for (int i = 0; i != 3; ++i)
            ids.push_back(repeats ? w.add_repeating(1ms, job) : w.add(1ms, job));
        clock::set(clock::time_point(1ms));
        ctx.restart();
        ctx.poll_one(); // finds all of them due, and completes the first
        ctx.poll_one();
        for (const timer_id id : ids)
            BOOST_TEST(w.remove(id) == remove_result::removed);
        check();
        poll();
        BOOST_TEST(ran == 0);
        BOOST_TEST(w.stats().withdrawn == w.stats().scheduled);
        unwatch();
    }
}

BOOST_AUTO_TEST_CASE(queued)
{
    auto w = make_wheel();
    watch(w);
    int ran = 0;
    const timer_id a = w.add(1ms, [&] { ++ran; });
    const timer_id b = w.add_repeating(1ms, [&] { ++ran; });
    wheel_at(1ms);
    wheel_at(2ms);
    BOOST_TEST(w.stats().queued == 3u);
    BOOST_TEST(w.remove(a) == remove_result::removed);
    BOOST_TEST(w.stats().queued == 2u);
    BOOST_TEST(w.remove(b) == remove_result::removed);
    BOOST_TEST(w.stats().queued == 0u);
    BOOST_TEST(w.stats().withdrawn == 4u);
    BOOST_TEST(w.stats().removed == 2u);
    poll();
    BOOST_TEST(ran == 0);
    BOOST_TEST(w.remove(b) == remove_result::unknown);
}

BOOST_AUTO_TEST_CASE(running)
{
    auto w = make_wheel();
    watch(w);
    int ran = 0;
    timer_id id = timer_id::none;
    const auto job = [&](job_context& context) {
        ++ran;
        BOOST_TEST(w.remove(id) == remove_result::running);
        BOOST_TEST(w.remove(id) == remove_result::running);
        BOOST_TEST(!context.stop_requested());
        BOOST_TEST(w.remove(id, cancel_running) == remove_result::running);
        BOOST_TEST(context.stop_requested());
        BOOST_TEST(context.stop_token().stop_requested());
        check();
    };
    id = w.add(1ms, job);
    at(1ms);
    BOOST_TEST(w.remove(id) == remove_result::unknown);
    BOOST_TEST(w.stats().removed == 0u); // nothing of it was left to begin
    for (const auto mode : all_modes) {
        id = w.add_repeating(1ms, job, {.mode = mode});
        at(now() + 1ms);
        BOOST_TEST(w.remove(id) == remove_result::unknown);
        at(now() + 10ms);
    }
    BOOST_TEST(ran == 4);
    BOOST_TEST(w.stats().removed == 3u);
    BOOST_TEST(w.stats().completed == 4u);
    BOOST_TEST(ctx.stopped());
}

// XC2, XC3, XC4: jobs that remove each other, in one batch of the wheel's or of the workers'.
BOOST_AUTO_TEST_CASE(jobs_that_remove_others_of_their_batch)
{
    for (const bool same_context : {false, true}) {
        for (std::size_t remover = 0; remover != 5; ++remover) {
            clock::set({});
            fixture::wheel_for<> w(ctx, same_context ? ctx : workers, {.max_queued = 3});
            w.start();
            watch(w);
            std::vector<timer_id> ids;
            std::vector<std::size_t> ran;
            for (std::size_t i = 0; i != 5; ++i)
                ids.push_back(w.add(1ms, [&, i] {
                    ran.push_back(i);
                    if (i != remover)
                        return;
                    for (std::size_t other = 0; other != 5; ++other) {
                        const auto result = w.remove(ids[other]);
                        BOOST_TEST(
                            result == (other < i    ? remove_result::unknown
                                       : other == i ? remove_result::running
                                                    : remove_result::removed)
                        );
                    }
                }));
            at(1ms);
            BOOST_TEST(ran.size() == remover + 1);
            unwatch();
        }
    }
}

BOOST_AUTO_TEST_CASE(a_running_job_is_told_by_its_token)
{
    auto w = make_wheel({.observer = observer()});
    watch(w);
    int called = 0;
    timer_id id = timer_id::none;
    id = w.add(1ms, [&](job_context& job) -> error_code {
        const std::stop_callback callback(job.stop_token(), [&] {
            ++called;
            // Everything may be called from here.
            BOOST_TEST(w.remove(id) == remove_result::running);
            w.add(1ms, [] {});
            check();
        });
        BOOST_TEST(w.remove(id, cancel_running) == remove_result::running);
        return asio::error::eof;
    });
    at(1ms);
    BOOST_TEST(called == 1);
    const told_job job = take_one();
    BOOST_TEST(job.outcome == job_outcome::cancelled);
    BOOST_TEST((job.error == asio::error::operation_aborted));
    at(2ms);
    BOOST_TEST(take_one().outcome == job_outcome::completed);
    // A job that succeeds all the same has succeeded.
    id = w.add(1ms, [&] { w.remove(id, cancel_running); });
    at(3ms);
    BOOST_TEST(take_one().outcome == job_outcome::completed);
}

BOOST_AUTO_TEST_CASE(async_remove_completes_when_no_run_is_in_flight)
{
    auto w = make_wheel();
    watch(w);
    const timer_id waiting = w.add(1ms, [] {});
    outcome end;
    w.async_remove(waiting, succeeds().into(end));
    BOOST_TEST(!end.done());
    BOOST_TEST(w.stats().removed == 1u);
    poll();
    BOOST_TEST(end.done());

    remove_result result{};
    w.async_remove(waiting, [&](error_code ec, remove_result r) {
        BOOST_TEST(!ec);
        result = r;
    });
    poll();
    BOOST_TEST(result == remove_result::unknown);

    // Removed by its own job, twice.
    std::vector<remove_result> results;
    bool is_running = false;
    timer_id id = timer_id::none;
    const auto removed = [&](error_code ec, remove_result r) {
        BOOST_TEST(!ec);
        BOOST_TEST(!is_running);
        results.push_back(r);
    };
    id = w.add_repeating(1ms, [&] {
        is_running = true;
        w.async_remove(id, removed);
        w.async_remove(id, cancel_running, removed);
        poll_wheel();
        BOOST_TEST(results.empty());
        is_running = false;
    });
    at(2ms);
    BOOST_TEST(results.size() == 2u);
    BOOST_TEST((results == std::vector(2, remove_result::running)));
}

BOOST_AUTO_TEST_CASE(async_remove_waits_for_the_observer)
{
    timer_id id = timer_id::none;
    bool is_told = false;
    int observed = 0;
    std::optional<fixture::wheel_for<>> w;
    w.emplace(ctx, workers, fixture::options_for<>{.observer = [&](const auto&) {
                  w->async_remove(id, [&](error_code ec, remove_result result) {
                      BOOST_TEST(!ec);
                      BOOST_TEST(result == remove_result::unknown);
                      is_told = true;
                  });
                  poll_wheel();
                  BOOST_TEST(!is_told);
                  ++observed;
              }});
    w->start();
    watch(*w);
    id = w->add(1ms, [] {});
    at(1ms);
    BOOST_TEST(observed == 1);
    BOOST_TEST(is_told);
    unwatch();
}

BOOST_AUTO_TEST_CASE(async_remove_can_be_cancelled)
{
    for (const auto& each : cancellation_cases) {
        BOOST_TEST_CONTEXT(each.name)
        {
            clock::set({});
            auto w = make_wheel();
            watch(w);
            asio::cancellation_signal signal;
            outcome end;
            std::optional<remove_result> result;
            timer_id id = timer_id::none;
            id = w.add_repeating(1ms, [&] {
                w.async_remove(
                    id,
                    asio::bind_cancellation_slot(
                        signal.slot(),
                        [&](error_code ec, remove_result r) {
                            end.ec = ec;
                            ++end.invoked;
                            result = r;
                        }
                    )
                );
                signal.emit(each.type);
                poll_wheel();
                BOOST_TEST(end.done() == each.cancels);
            });
            at(1ms);
            BOOST_TEST(end.invoked == 1);
            BOOST_TEST((end.ec == (each.cancels ? asio::error::operation_aborted : error_code())));
            BOOST_TEST((result == remove_result::running));
            signal.emit(each.type); // too late
            at(10ms);
            BOOST_TEST(w.stats().executed == 1u);
            unwatch();
        }
    }
}

BOOST_AUTO_TEST_CASE(many_wait_for_one_removal)
{
    auto w = make_wheel();
    int done = 0;
    timer_id id = timer_id::none;
    id = w.add(1ms, [&] {
        for (int i = 0; i != 100'000; ++i)
            w.async_remove(id, [&](error_code, remove_result) { ++done; });
    });
    at(1ms);
    BOOST_TEST(done == 100'000);
    checked(w);
}

// XF1: what is removed gives its memory back at once.
BOOST_AUTO_TEST_CASE(removed_timers_free_their_data)
{
    auto w = make_wheel<std::shared_ptr<int>>();
    watch(w);
    const auto data = std::make_shared<int>();
    const auto job = [owned = data] { ++*owned; };
    const timer_id waiting = w.add(1h, data, job);
    const timer_id queued = w.add(1ms, data, job);
    wheel_at(1ms);
    BOOST_TEST(data.use_count() == 6);
    w.remove(waiting);
    BOOST_TEST(data.use_count() == 4);
    w.remove(queued);
    BOOST_TEST(data.use_count() == 2);
    w.add(1ms, data, job);
    at(2ms);
    BOOST_TEST(data.use_count() == 2);
    BOOST_TEST(*data == 1);
}

// The data of a timer may be whatever uses the wheel when it is destroyed.
BOOST_AUTO_TEST_CASE(data_that_removes_another_timer)
{
    std::optional<fixture::wheel_for<std::shared_ptr<void>>> w;
    w.emplace(ctx, workers);
    w->start();
    watch(*w);
    const timer_id other = w->add(1h, nullptr, [] {});
    int destroyed = 0;
    const auto data = [&] {
        return std::shared_ptr<void>(nullptr, [&](void*) {
            ++destroyed;
            error_code ec;
            w->remove(other, ec);
            w->add(1h, nullptr, [] {}, ec);
        });
    };
    const timer_id removed = w->add(1h, data(), [] {});
    w->add(1ms, data(), [] {});
    w->remove(removed);
    BOOST_TEST(destroyed == 1);
    at(1ms);
    BOOST_TEST(destroyed == 2);
    w->add(1h, data(), [] {});
    w->stop();
    BOOST_TEST(destroyed == 3);
    check();
    unwatch();
}

BOOST_AUTO_TEST_SUITE_END()

}
