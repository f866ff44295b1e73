// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#include <timewheel/keyed_scheduler.hpp>

#include <test_common/keyed_fixture.hpp>

#include <boost/asio/post.hpp>
#include <boost/test/unit_test.hpp>

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

// How runs are scheduled, overlap, wait, time out and are triggered.

namespace timewheel::test {

namespace {

using fixture = keyed_fixture<struct keyed_scheduler_runs_test>;
using clock = fixture::clock;

}

BOOST_FIXTURE_TEST_SUITE(keyed_scheduler_runs, fixture)

BOOST_AUTO_TEST_CASE(after_finish_decides_when_a_run_has_ended)
{
    holds = true;
    auto& s = start();
    s.upsert("a", 5);
    at(5ms);
    decisions();
    BOOST_TEST(next_run("a") == "never");
    at(100ms);
    BOOST_TEST(decisions() == "");
    release("a");
    BOOST_TEST(decisions() == "a=5@100");
    BOOST_TEST(next_run("a") == "105");
    BOOST_TEST(runs() == "a=5@5");
}

BOOST_AUTO_TEST_CASE(after_finish_never_overlaps)
{
    for (const auto overlap :
         {overlap_policy::allow, overlap_policy::skip, overlap_policy::queue_one}) {
        clock::set({});
        options.overlap = overlap;
        holds = true;
        auto& s = start();
        s.upsert("a", 5);
        at(5ms);
        s.trigger_now("a");
        s.trigger_now("a");
        at(10ms);
        BOOST_TEST(s.snapshot("a")->running == 1u);
        release("a");
        BOOST_TEST(s.snapshot("a")->running == 1u);
        release("a");
        BOOST_TEST(runs() == "a=5@5, a=5@10");
        BOOST_TEST(s.snapshot("a")->running == 0u);
        BOOST_TEST(next_run("a") == "15");
        BOOST_TEST(s.snapshot("a")->skipped == 0u);
    }
}

BOOST_AUTO_TEST_CASE(before_run_keeps_the_cadence)
{
    options.reschedule = reschedule_policy::before_run;
    auto& s = start();
    next = [](auto now, auto&&, int data) {
        const auto period = data * 1ms;
        return clock::time_point((now.time_since_epoch() / period + 1) * period);
    };
    s.upsert("a", 10);
    inside = [&](auto&&) { BOOST_TEST(s.snapshot("a")->next_run.has_value()); };
    for (const auto time : {10ms, 23ms, 30ms, 55ms})
        at(time);
    BOOST_TEST(runs() == "a=10@10, a=10@23, a=10@30, a=10@55");
    BOOST_TEST(next_run("a") == "60");
}

BOOST_AUTO_TEST_CASE(before_run_may_overlap)
{
    options.reschedule = reschedule_policy::before_run;
    holds = true;
    auto& s = start();
    s.upsert("a", 5);
    for (const auto time : {5ms, 10ms, 15ms})
        at(time);
    BOOST_TEST(s.snapshot("a")->running == 3u);
    BOOST_TEST(changes() == "a pending, a running");
    release("a");
    BOOST_TEST(s.snapshot("a")->running == 2u);
    BOOST_TEST(state("a") == "running");
    release("a");
    release("a");
    BOOST_TEST(state("a") == "pending");
    BOOST_TEST(runs() == "a=5@5, a=5@10, a=5@15");
    BOOST_TEST(changes() == "a pending");
}

BOOST_AUTO_TEST_CASE(an_overlapping_run_is_skipped)
{
    options.reschedule = reschedule_policy::before_run;
    options.overlap = overlap_policy::skip;
    holds = true;
    auto& s = start();
    s.upsert("a", 5);
    for (const auto time : {5ms, 10ms, 15ms})
        at(time);
    BOOST_TEST(s.snapshot("a")->running == 1u);
    BOOST_TEST(s.snapshot("a")->skipped == 2u);
    release("a");
    BOOST_TEST(next_run("a") == "20");
    at(20ms);
    BOOST_TEST(runs() == "a=5@5, a=5@20");
    release("a");
    // Those that were left out have numbers, too.
    BOOST_TEST(s.snapshot("a")->last_run()->sequence == 4u);
    BOOST_TEST(ends() == "a completed, a completed");
}

BOOST_AUTO_TEST_CASE(one_overlapping_run_waits)
{
    options.reschedule = reschedule_policy::before_run;
    options.overlap = overlap_policy::queue_one;
    holds = true;
    auto& s = start();
    s.upsert("a", 5);
    for (const auto time : {5ms, 10ms, 15ms, 17ms})
        at(time);
    BOOST_TEST(s.snapshot("a")->running == 1u);
    release("a");
    BOOST_TEST(runs() == "a=5@5, a=5@17");
    at(20ms);
    release("a");
    BOOST_TEST(runs() == "a=5@20");
    release("a");
    BOOST_TEST(runs() == "");
    BOOST_TEST(next_run("a") == "25");
    BOOST_TEST(s.snapshot("a")->skipped == 0u);
}

BOOST_AUTO_TEST_CASE(none_leaves_it_to_the_caller)
{
    options.reschedule = reschedule_policy::none;
    auto& s = start();
    s.upsert("a", 5);
    BOOST_TEST(next_run("a") == "5");
    at(5ms);
    BOOST_TEST(state("a") == "disabled");
    decisions();
    at(100ms);
    BOOST_TEST(decisions() == "");
    s.reschedule("a");
    BOOST_TEST(next_run("a") == "105");
    BOOST_TEST(state("a") == "pending");
    at(105ms);
    BOOST_TEST(runs() == "a=5@5, a=5@105");
    BOOST_TEST(changes() == "a pending, a running, a disabled, a pending, a running, a disabled");
    // By the job itself, and by new data.
    inside = [&](const std::string& key) { s.reschedule(key); };
    s.trigger_now("a");
    poll();
    BOOST_TEST(next_run("a") == "110");
    BOOST_TEST(state("a") == "pending");
    inside = nullptr;
    at(110ms);
    BOOST_TEST(state("a") == "disabled");
    s.upsert("a", 6);
    BOOST_TEST(next_run("a") == "116");
}

BOOST_AUTO_TEST_CASE(a_run_is_told_to_stop_after_its_time)
{
    options.run_timeout = 20ms;
    holds = true;
    auto& s = start();
    s.upsert("a", 5);
    at(5ms);
    at(24ms);
    BOOST_TEST(state("a") == "running");
    at(25ms);
    BOOST_TEST(ends() == "a timed_out");
    BOOST_TEST(s.snapshot("a")->last_run()->error == error_code(error::timed_out));
    BOOST_CHECK(s.snapshot("a")->last_run()->duration == 20ms);
    BOOST_TEST(next_run("a") == "30");
    at(30ms);
    release("a");
    BOOST_TEST(ends() == "a completed");
}

// In order of their times, however they came in.
BOOST_AUTO_TEST_CASE(at_most_so_many_run_at_a_time)
{
    options.max_concurrent = 2;
    holds = true;
    auto& s = start();
    for (const int delay : {9, 5, 8, 6, 7})
        s.upsert(std::to_string(delay), delay);
    at(100ms);
    BOOST_TEST(runs() == "5=5@100, 6=6@100");
    BOOST_TEST(state("7") == "pending");
    at(110ms);
    release("6");
    BOOST_TEST(runs() == "7=7@110");
    release("5");
    release("7");
    BOOST_TEST(runs() == "8=8@110, 9=9@110");
    // What waits can still be taken away.
    at(120ms);
    s.remove("5");
    s.pause("6");
    s.upsert("7", 50);
    release("8");
    release("9");
    BOOST_TEST(runs() == "");
    at(130ms);
    BOOST_TEST(runs() == "8=8@130, 9=9@130");
    destroy();
    poll();
}

BOOST_AUTO_TEST_CASE(one_at_a_time_is_a_queue)
{
    options.max_concurrent = 1;
    auto& s = start();
    for (int i = 1; i != 6; ++i)
        s.upsert(std::string(1, static_cast<char>('a' + i)), 10);
    at(10ms);
    BOOST_TEST(runs() == "b=10@10, c=10@10, d=10@10, e=10@10, f=10@10");
}

// A run that waits for another one of its item holds no place.
BOOST_AUTO_TEST_CASE(a_run_that_waits_does_not_count_as_running)
{
    options.max_concurrent = 2;
    holds = true;
    auto& s = start();
    s.upsert("a", 5);
    s.upsert("b", 6);
    at(5ms);
    s.trigger_now("a");
    s.trigger_now("a");
    at(6ms);
    BOOST_TEST(runs() == "a=5@5, b=6@6");
    destroy();
    poll();
}

BOOST_AUTO_TEST_CASE(a_trigger_runs_an_item_whatever_its_state)
{
    auto& s = start();
    next = [](auto now, auto&& key, int data) {
        if (key == "invalid")
            throw 1;
        return key == "disabled" ? std::nullopt : std::optional(now + data * 1ms);
    };
    for (const char* key : {"disabled", "invalid", "paused", "pending"})
        s.upsert(key, 50);
    s.pause("paused");
    at(10ms);
    for (const char* key : {"disabled", "invalid", "paused", "pending"})
        s.trigger_now(key);
    BOOST_TEST(runs() == "");
    poll();
    BOOST_TEST(runs() == "disabled=50@10, invalid=50@10, paused=50@10, pending=50@10");
    for (const char* key : {"disabled", "invalid", "paused", "pending"})
        BOOST_TEST(state(key) == key);
    BOOST_TEST(next_run("pending") == "60");
}

// However coarse the grid is.
BOOST_AUTO_TEST_CASE(a_trigger_does_not_wait_for_a_tick)
{
    options.tick = 1min;
    auto& s = start();
    clock::set(clock::time_point(1234567ns));
    s.upsert("a", 5);
    s.trigger_now("a");
    poll();
    BOOST_TEST(runs() == "a=5@1");
    BOOST_CHECK(s.snapshot("a")->last_run()->scheduled_for == clock::time_point(1234567ns));
    BOOST_CHECK(s.snapshot("a")->last_run()->lateness == 0ns);
}

BOOST_AUTO_TEST_CASE(a_trigger_overlaps_as_a_due_run_does)
{
    options.reschedule = reschedule_policy::before_run;
    holds = true;
    for (const auto overlap :
         {overlap_policy::allow, overlap_policy::skip, overlap_policy::queue_one}) {
        destroy();
        poll();
        clock::set({});
        runs();
        options.overlap = overlap;
        auto& s = start();
        s.upsert("a", 5);
        at(5ms);
        for (int i = 0; i != 3; ++i)
            s.trigger_now("a");
        poll();
        const auto item = s.snapshot("a");
        BOOST_TEST(item->running == (overlap == overlap_policy::allow ? 4u : 1u));
        BOOST_TEST(item->skipped == (overlap == overlap_policy::skip ? 3u : 0u));
        release("a");
        BOOST_TEST(
            s.snapshot("a")->runs == (overlap == overlap_policy::allow       ? 4u
                                      : overlap == overlap_policy::queue_one ? 2u
                                                                             : 1u)
        );
    }
    destroy();
    poll();
}

BOOST_AUTO_TEST_CASE(a_trigger_runs_the_latest_data)
{
    auto& s = start();
    s.upsert("a", 50);
    s.trigger_now("a");
    s.upsert("a", 60);
    poll();
    BOOST_TEST(runs() == "a=60@0");
    s.trigger_now("a");
    s.remove("a");
    s.upsert("a", 70);
    poll();
    BOOST_TEST(runs() == "");
    s.trigger_now("a");
    s.stop();
    poll();
    BOOST_TEST(runs() == "");
}

BOOST_AUTO_TEST_CASE(stop_tells_running_jobs_to_stop)
{
    holds = true;
    auto& s = start();
    s.upsert("a", 5);
    s.upsert("b", 6);
    at(5ms);
    s.stop();
    BOOST_TEST(state("a") == "running");
    poll();
    BOOST_TEST(ends() == "a cancelled");
    BOOST_TEST(state("a") == "pending");
    BOOST_TEST(s.snapshot("a")->history.size() == 1u);
    at(100ms);
    BOOST_TEST(runs() == "a=5@5");
    BOOST_TEST(changes() == "a pending, b pending, a running, a pending");
}

BOOST_AUTO_TEST_CASE(plain_functions_are_told_to_stop_as_well)
{
    bool told = false;
    options.run = [&](context_type& job) {
        scheduler().stop();
        told = job.stop_requested();
    };
    auto& s = start();
    s.upsert("a", 5);
    at(5ms);
    BOOST_TEST(told);
}

BOOST_AUTO_TEST_CASE(close_does_not_wait_if_it_is_told_not_to)
{
    options.wait_running_on_close = false;
    options.run = [](context_type&) {};
    auto& s = start();
    s.upsert("a", 5);
    clock::set(clock::time_point(5ms));
    ctx.poll();
    s.close(); // nobody runs the workers
    poll();
    BOOST_TEST(ends() == "");
}

BOOST_AUTO_TEST_CASE(close_would_wait_for_its_own_job)
{
    error_code ec;
    options.run = [&] { scheduler().close(ec); };
    auto& s = start();
    s.upsert("a", 5);
    at(5ms);
    BOOST_TEST(ec == error_code(error::would_deadlock));
    BOOST_TEST(next_run("a") == "10"); // which changes nothing
    s.close();
}

BOOST_AUTO_TEST_CASE(a_run_has_the_data_it_began_with)
{
    std::string seen;
    options.run = [&](const std::string& key, const int& data) -> asio::awaitable<void> {
        co_await asio::post(co_await asio::this_coro::executor, asio::use_awaitable);
        if (data == 5)
            scheduler().replace_all({});
        co_await asio::post(co_await asio::this_coro::executor, asio::use_awaitable);
        seen = key + std::to_string(data);
    };
    auto& s = start();
    s.upsert("a", 5);
    at(5ms);
    BOOST_TEST(seen == "a5");
    BOOST_TEST(s.snapshot().empty());
}

BOOST_AUTO_TEST_SUITE_END()

}
