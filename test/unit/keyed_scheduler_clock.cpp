// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#include <timewheel/keyed_scheduler.hpp>

#include <test_common/keyed_fixture.hpp>

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <string>

// A clock that is set, forward and back.

namespace timewheel::test {

namespace {

using fixture = keyed_fixture<struct keyed_scheduler_clock_test>;
using clock = fixture::clock;
using time_point = fixture::time_point;

// The next full hour.
std::optional<time_point> hourly(time_point now, const std::string&, int)
{
    return std::chrono::floor<std::chrono::hours>(now) + 1h;
}

}

BOOST_FIXTURE_TEST_SUITE(keyed_scheduler_clock, fixture)

// XE1
BOOST_AUTO_TEST_CASE(a_step_forward_runs_once_what_became_due)
{
    next = &hourly;
    auto& s = start();
    s.upsert("a", 1);
    s.upsert("b", 1);
    at(10h + 30min);
    BOOST_TEST(s.snapshot("a")->runs == 1u);
    BOOST_CHECK(s.snapshot("a")->next_run == time_point(11h));
    BOOST_CHECK(s.snapshot("a")->last_run()->scheduled_for == time_point(1h));
    at(11h);
    BOOST_TEST(s.snapshot("b")->runs == 2u);
}

// XE3, XE4
BOOST_AUTO_TEST_CASE(a_step_back_decides_anew)
{
    next = &hourly;
    at(10h + 30min);
    auto& s = start();
    s.upsert("a", 1);
    decisions();
    at(7h + 30min);
    BOOST_TEST(decisions() == "a=1@27000000");
    BOOST_CHECK(s.snapshot("a")->next_run == time_point(8h));
    at(8h);
    BOOST_TEST(s.snapshot("a")->runs == 1u);
    BOOST_CHECK(s.snapshot("a")->next_run == time_point(9h));
    // Also what ran at the very time that the clock was set back from.
    at(7h + 45min);
    BOOST_CHECK(s.snapshot("a")->next_run == time_point(8h));
    at(8h);
    BOOST_TEST(s.snapshot("a")->runs == 2u);
}

// The wheel has not turned by the time that the clock was set back from.
BOOST_AUTO_TEST_CASE(a_step_back_that_no_timer_has_met)
{
    auto& s = start();
    s.upsert("far", 1'000'000'000);
    at(10h);
    s.upsert("a", 5);
    s.upsert("b", 1000);
    clock::set(time_point(10h - 3ms));
    poll();
    BOOST_CHECK(s.snapshot("a")->next_run == time_point(10h + 2ms));
    BOOST_CHECK(s.snapshot("b")->next_run == time_point(10h + 997ms));
    BOOST_CHECK(s.snapshot("far")->next_run == time_point(1'000'000s));
}

BOOST_AUTO_TEST_CASE(only_pending_items_are_decided_anew)
{
    holds = true;
    at(10h);
    auto& s = start();
    next = [](auto now, auto&& key, int) {
        if (key == "invalid")
            throw 1;
        return key == "disabled" ? std::nullopt : std::optional(now + 1h);
    };
    for (const char* key : {"disabled", "invalid", "paused", "pending", "running"})
        s.upsert(key, 1);
    s.pause("paused");
    s.trigger_now("running");
    poll();
    decisions();
    at(1h);
    BOOST_TEST(decisions() == "pending=1@3600000");
    release("running");
    BOOST_TEST(decisions() == "running=1@3600000");
    BOOST_TEST(next_run("running") == "7200000");
}

// No item waits for the time at which it ran before, even if the step has not been noticed.
BOOST_AUTO_TEST_CASE(a_step_back_during_a_run)
{
    holds = true;
    at(10h);
    auto& s = start();
    s.upsert("a", 5);
    at(10h + 5ms);
    at(5h);
    release("a");
    BOOST_CHECK(s.snapshot("a")->next_run == time_point(5h + 5ms));
    at(5h + 5ms);
    BOOST_CHECK(s.snapshot("a")->last_run()->scheduled_for == time_point(10h + 5ms));
    BOOST_TEST(s.snapshot("a")->running == 1u);
}

// Something decided by the new time, before the step is noticed, is not decided again when it is due.
BOOST_AUTO_TEST_CASE(what_was_decided_by_the_new_time_is_not_lost)
{
    at(10h);
    auto& s = start();
    s.upsert("b", 1000);
    clock::set(time_point(5h));
    s.upsert("a", 5);
    clock::set(time_point(5h + 5ms));
    poll();
    BOOST_TEST(runs() == "a=5@18000005");
    BOOST_CHECK(s.snapshot("b")->next_run == time_point(5h + 1s + 5ms));
}

BOOST_AUTO_TEST_CASE(a_trigger_does_not_wait_for_the_old_time)
{
    holds = true;
    at(10h);
    auto& s = start();
    s.upsert("a", 1000);
    s.trigger_now("a");
    clock::set(time_point(5h));
    poll();
    BOOST_TEST(runs() == "a=1000@18000000");
    // The same for what waited for the end of another run.
    s.trigger_now("a");
    poll();
    holds = false;
    clock::set(time_point(2h));
    release("a");
    BOOST_TEST(runs() == "a=1000@7200000");
    // Two that wait together stay together.
    holds = true;
    s.trigger_now("a");
    poll();
    runs();
    s.trigger_now("a");
    s.trigger_now("a");
    poll();
    holds = false;
    release("a");
    BOOST_TEST(runs() == "a=1000@7200000");
}

// What waits for room, or is on its way to the workers, is as pending as any other.
BOOST_AUTO_TEST_CASE(a_step_back_meets_what_is_due)
{
    options.max_concurrent = 1;
    holds = true;
    next = &hourly;
    at(9h + 30min);
    auto& s = start();
    s.upsert("a", 1);
    s.upsert("b", 2);
    s.upsert("c", 3);
    clock::set(time_point(10h));
    ctx.restart();
    ctx.poll(); // one has been posted, the others wait
    at(5h + 30min);
    BOOST_TEST(runs() == "");
    BOOST_CHECK(s.snapshot("c")->next_run == time_point(6h));
    at(6h);
    BOOST_TEST(runs() == "a=1@21600000");
    at(5h + 45min);
    release("a");
    BOOST_TEST(runs() == "");
    at(6h);
    BOOST_TEST(runs() == "a=1@21600000");
    destroy();
    poll();
}

// An item that never had the time to come due, else.
BOOST_AUTO_TEST_CASE(small_steps_back_starve_nobody)
{
    auto& s = start();
    at(10h);
    s.upsert("a", 1000);
    for (int i = 1; i != 100; ++i) {
        at(10h + i * 100ms);
        at(10h + i * 100ms - 1ms);
    }
    BOOST_TEST(s.snapshot("a")->runs == 9u);
    decisions();
    // The same for what has been handed to the workers.
    clock::set(time_point(10h + 10s));
    ctx.restart();
    ctx.poll();
    at(10h + 10s - 5ms);
    BOOST_TEST(s.snapshot("a")->runs == 9u);
    BOOST_TEST(decisions() == "");
    at(10h + 10s);
    BOOST_TEST(s.snapshot("a")->runs == 10u);
}

BOOST_AUTO_TEST_CASE(a_clock_that_goes_back_and_forth)
{
    next = &hourly;
    at(1000h);
    auto& s = start();
    s.upsert("a", 1);
    std::uint64_t expected = 0;
    for (int i = 0; i != 50; ++i) {
        at(1000h - i * 7h + 10min); // back
        BOOST_TEST(s.snapshot("a")->runs == expected);
        at(1000h - i * 7h + 3h + 1min); // forth
        BOOST_TEST(s.snapshot("a")->runs == ++expected);
    }
}

BOOST_AUTO_TEST_CASE(next_may_set_the_clock)
{
    at(10h);
    auto& s = start();
    bool is_first = true;
    next = [&](auto now, auto&&, int) {
        if (std::exchange(is_first, false))
            clock::set(time_point(5h));
        return now + 1h;
    };
    s.upsert("a", 1);
    poll();
    BOOST_CHECK(s.snapshot("a")->next_run == time_point(6h));
    at(6h);
    BOOST_TEST(s.snapshot("a")->runs == 1u);
}

BOOST_AUTO_TEST_CASE(clocks_that_start_anywhere)
{
    for (const std::chrono::nanoseconds start_time :
         {-1ns, -10'000h - 1ns, 123'456h + 789ns, std::chrono::nanoseconds(-2'000'000h)}) {
        clock::set(time_point(start_time));
        auto& s = start();
        s.upsert("a", 5);
        at(start_time + 4ms);
        BOOST_TEST(s.snapshot("a")->runs == 0u);
        at(start_time + 6ms);
        BOOST_TEST(s.snapshot("a")->runs == 1u);
    }
}

BOOST_AUTO_TEST_CASE(a_steady_clock_needs_no_watch)
{
    using steady = basic_keyed_scheduler<int, int, std::chrono::steady_clock>;
    steady s(ctx, workers, {.next = [](auto, int, int) { return std::nullopt; }, .run = [] {}});
    s.start();
    s.upsert(1, 1);
    BOOST_CHECK(s.snapshot(1)->state == item_state::disabled);
    s.trigger_now(1);
    BOOST_TEST(run_until(ctx, [&] {
        workers.restart();
        return workers.poll() != 0;
    }));
    BOOST_TEST(s.snapshot(1)->runs == 1u);
}

BOOST_AUTO_TEST_SUITE_END()

}
