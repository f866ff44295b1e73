// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#include <timewheel/keyed_scheduler.hpp>

#include <test_common/keyed_fixture.hpp>

#include <boost/test/unit_test.hpp>

#include <atomic>
#include <chrono>
#include <exception>
#include <future>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

// When `next` is called, and what becomes of its answer.

namespace timewheel::test {

namespace {

using fixture = keyed_fixture<struct keyed_scheduler_next_test>;
using clock = fixture::clock;
using time_point = fixture::time_point;

std::string what(const std::exception_ptr& exception)
{
    if (!exception)
        return "nothing";
    try {
        std::rethrow_exception(exception);
    } catch (const std::exception& e) {
        return e.what();
    }
}

}

BOOST_FIXTURE_TEST_SUITE(keyed_scheduler_next, fixture)

BOOST_AUTO_TEST_CASE(is_called_once_for_each_decision)
{
    auto& s = make();
    s.upsert("a", 5);
    BOOST_TEST(decisions() == "");
    s.start();
    BOOST_TEST(decisions() == "a=5@0");
    s.upsert("a", 6);
    BOOST_TEST(decisions() == "a=6@0");
    s.upsert("a", 6);
    s.replace_all({{"a", 6}});
    BOOST_TEST(decisions() == "");
    s.reschedule("a");
    BOOST_TEST(decisions() == "a=6@0");
    s.pause("a");
    s.reschedule("a");
    s.upsert("a", 7);
    BOOST_TEST(decisions() == "");
    s.resume("a");
    s.resume("a");
    BOOST_TEST(decisions() == "a=7@0");
    at(7ms);
    BOOST_TEST(decisions() == "a=7@7");
    s.trigger_now("a");
    poll();
    BOOST_TEST(decisions() == "a=7@7");
    s.remove("a");
    at(100ms);
    s.upsert("a", 7);
    BOOST_TEST(decisions() == "a=7@100");
    s.stop();
    poll();
    BOOST_TEST(decisions() == "");
}

BOOST_AUTO_TEST_CASE(a_passed_time_is_now)
{
    auto& s = start();
    at(1s);
    next = [](auto now, const std::string&, int) {
        return now < time_point(1s + 10ms) ? time_point(10ms) : time_point(2s);
    };
    s.upsert("a", 1);
    BOOST_TEST(next_run("a") == "10");
    poll();
    BOOST_TEST(runs() == "a=1@1000");
    BOOST_CHECK(s.snapshot("a")->last_run()->lateness == 990ms);
}

// A spin, else.
BOOST_AUTO_TEST_CASE(an_item_does_not_begin_twice_within_a_tick)
{
    options.tick = 10ms;
    for (const auto policy : {reschedule_policy::after_finish, reschedule_policy::before_run}) {
        clock::set({});
        options.reschedule = policy;
        auto& s = start();
        next = [](auto now, const std::string&, int) { return now - 1h; };
        s.upsert("a", 1);
        poll();
        BOOST_TEST(runs() == "a=1@0");
        BOOST_TEST(next_run("a") == "10");
        at(9ms);
        BOOST_TEST(runs() == "");
        at(10ms);
        BOOST_TEST(runs() == "a=1@10");
        at(35ms);
        BOOST_TEST(runs() == "a=1@35");
        BOOST_TEST(next_run("a") == "45");
    }
}

// The same for items whose run is left out or put off.
BOOST_AUTO_TEST_CASE(an_item_is_not_left_out_twice_within_a_tick)
{
    options.reschedule = reschedule_policy::before_run;
    holds = true;
    for (const auto policy : {overlap_policy::skip, overlap_policy::queue_one}) {
        clock::set({});
        options.overlap = policy;
        auto& s = start();
        next = [](auto now, const std::string&, int) { return now; };
        s.upsert("a", 1);
        poll();
        at(1ms);
        at(2ms);
        BOOST_TEST(runs() == "a=1@0");
        BOOST_TEST(next_run("a") == "3");
        BOOST_TEST(s.snapshot("a")->skipped == (policy == overlap_policy::skip ? 2u : 0u));
        destroy();
        poll();
    }
}

BOOST_AUTO_TEST_CASE(nothing_disables_an_item)
{
    auto& s = start();
    bool runs_once = true;
    next = [&](auto now, const std::string&, int) {
        return std::exchange(runs_once, false) ? std::optional(now + 5ms) : std::nullopt;
    };
    s.upsert("a", 1);
    at(5ms);
    BOOST_TEST(state("a") == "disabled");
    BOOST_TEST(next_run("a") == "never");
    BOOST_TEST(changes() == "a pending, a running, a pending, a disabled");
    at(1h);
    runs();
    decisions();
    BOOST_CHECK(s.upsert("a", 1) == upsert_result::unchanged);
    BOOST_TEST(state("a") == "disabled");
    // It comes back by other data, by being asked, or by a run.
    runs_once = true;
    s.upsert("a", 2);
    BOOST_TEST(state("a") == "pending");
    at(2h);
    BOOST_TEST(state("a") == "disabled");
    runs_once = true;
    s.reschedule("a");
    BOOST_TEST(state("a") == "pending");
    at(3h);
    BOOST_TEST(state("a") == "disabled");
    runs_once = true;
    s.trigger_now("a");
    poll();
    BOOST_TEST(state("a") == "pending");
}

BOOST_AUTO_TEST_CASE(an_exception_makes_an_item_invalid)
{
    std::vector<std::string> told;
    options.on_invalid = [&](const std::string& key, const std::exception_ptr& reason) {
        told.push_back(key + ": " + what(reason));
    };
    auto& s = start();
    next = [&](auto now, const std::string&, int data) {
        if (data < 0)
            throw std::runtime_error("less than nothing");
        return now + data * 1ms;
    };
    s.upsert("a", -1);
    s.upsert("b", 5);
    BOOST_TEST(state("a") == "invalid");
    BOOST_TEST(next_run("a") == "never");
    BOOST_TEST(what(s.snapshot("a")->invalid_reason) == "less than nothing");
    BOOST_TEST(told == std::vector<std::string>{"a: less than nothing"});
    BOOST_TEST(changes() == "a pending, a invalid, b pending");
    at(5ms);
    BOOST_TEST(runs() == "b=5@5");
    s.upsert("a", 5);
    BOOST_TEST(state("a") == "pending");
    BOOST_TEST(what(s.snapshot("a")->invalid_reason) == "nothing");
    at(10ms);
    BOOST_TEST(runs() == "b=5@10, a=5@10");
    // One that was valid before, and its next run is taken away.
    next = [](auto now, const std::string& key, int) {
        if (key == "a")
            throw std::runtime_error("not any more");
        return now + 5ms;
    };
    s.reschedule("a");
    BOOST_TEST(state("a") == "invalid");
    at(15ms);
    BOOST_TEST(runs() == "b=5@15");
    BOOST_TEST(told.size() == 2u);
    // An invalid item can be paused and triggered as any other.
    s.pause("a");
    BOOST_TEST(state("a") == "paused");
    s.trigger_now("a");
    poll();
    BOOST_TEST(runs() == "a=5@15");
    s.resume("a");
    BOOST_TEST(state("a") == "invalid");
    BOOST_TEST(told.size() == 3u);
}

BOOST_AUTO_TEST_CASE(a_decision_that_comes_too_late_is_nobodys_business)
{
    int told = 0;
    options.on_invalid = [&](const std::string&, const std::exception_ptr&) { ++told; };
    auto& s = start();
    next = [&](auto, const std::string&, int) -> std::optional<time_point> {
        s.remove("a");
        throw std::runtime_error("of an item that is gone");
    };
    s.upsert("a", 1);
    next = [&](auto, const std::string&, int) -> std::optional<time_point> {
        s.pause("b");
        throw std::runtime_error("of an item that is paused");
    };
    s.upsert("b", 1);
    BOOST_TEST(told == 0);
    BOOST_TEST(state("b") == "paused");
    BOOST_CHECK(!s.snapshot("b")->invalid_reason);
    next = [&](auto now, const std::string&, int data) {
        if (data == 1) {
            s.upsert("c", 2);
            throw std::runtime_error("of data that were replaced");
        }
        return now + 5ms;
    };
    s.upsert("c", 1);
    BOOST_TEST(told == 0);
    BOOST_TEST(state("c") == "pending");
    at(5ms);
    BOOST_TEST(runs() == "c=2@5");
}

BOOST_AUTO_TEST_CASE(may_call_everything_of_its_own_item)
{
    auto& s = start();
    const auto with = [&](auto call) {
        next = [&, call](auto now, const std::string&, int data) {
            call();
            return now + data * 1ms;
        };
    };
    with([&] { s.reschedule("a"); });
    s.upsert("a", 5);
    BOOST_TEST(decisions() == "a=5@0");
    BOOST_TEST(next_run("a") == "5");
    with([&] { s.upsert("a", 7); });
    s.upsert("a", 6);
    BOOST_TEST(decisions() == "a=6@0, a=7@0");
    BOOST_TEST(next_run("a") == "7");
    with([&] {
        s.pause("a");
        s.resume("a");
    });
    s.reschedule("a");
    BOOST_TEST(decisions() == "a=7@0");
    BOOST_TEST(next_run("a") == "7");
    with([&] { s.trigger_now("a"); });
    s.reschedule("a");
    BOOST_TEST(decisions() == "a=7@0");
    with([&] { BOOST_TEST(s.snapshot().size() == 1u); });
    poll();
    BOOST_TEST(runs() == "a=7@0");
    BOOST_TEST(decisions() == "a=7@0");
    with([&] { s.replace_all({{"b", 3}}); });
    s.reschedule("a");
    BOOST_TEST(decisions() == "a=7@0, b=3@0");
    BOOST_TEST(state("a") == "none");
    with([&] { s.pause("b"); });
    s.reschedule("b");
    BOOST_TEST(state("b") == "paused");
    with([&] { s.stop(); });
    s.upsert("c", 1);
    BOOST_TEST(next_run("c") == "never");
    with([&] { destroy(); });
    start().upsert("d", 1);
    BOOST_TEST(!exists());
    poll();
}

BOOST_AUTO_TEST_CASE(may_remove_and_add_its_own_item)
{
    auto& s = start();
    int depth = 0;
    next = [&](auto now, const std::string& key, int data) {
        BOOST_TEST(depth++ == 0, "next is called by itself");
        if (data == 5) {
            s.remove(key);
            s.upsert(key, 6);
            s.remove(key);
            s.upsert(key, 7);
        }
        --depth;
        return now + data * 1ms;
    };
    s.upsert("a", 5);
    BOOST_TEST(decisions() == "a=5@0, a=7@0");
    BOOST_TEST(next_run("a") == "7");
}

// Whatever other threads do to the item meanwhile.
BOOST_AUTO_TEST_CASE(is_never_called_concurrently_for_one_key)
{
    std::promise<void> begun;
    std::promise<void> ends;
    std::atomic<int> depth{0};
    std::atomic<int> calls{0};
    options.next = [&](time_point now, const std::string& key, const int& data) {
        if (key != "a")
            return now + data * 1ms;
        BOOST_TEST(depth++ == 0);
        if (calls++ == 0) {
            begun.set_value();
            ends.get_future().wait();
        }
        --depth;
        return now + data * 1ms;
    };
    auto& s = start();
    std::thread slow([&] { s.upsert("a", 1); });
    begun.get_future().wait();
    // None of these waits for the other thread.
    s.reschedule("a");
    s.upsert("a", 2);
    s.pause("a");
    s.resume("a");
    s.remove("a");
    s.upsert("a", 3);
    s.remove("a");
    s.upsert("a", 4);
    s.reschedule("a");
    s.trigger_now("a");
    poll();
    BOOST_TEST(runs() == "a=4@0");
    s.upsert("b", 9);
    BOOST_TEST(next_run("a") == "never");
    BOOST_TEST(next_run("b") == "9");
    ends.set_value();
    slow.join();
    BOOST_TEST(next_run("a") == "4");
    BOOST_TEST(calls == 2);
}

BOOST_AUTO_TEST_CASE(is_not_called_under_a_lock)
{
    auto& s = start();
    next = [&](auto now, const std::string&, int data) {
        // From another thread, or the scheduler would know itself.
        std::async(std::launch::async, [&] {
            BOOST_TEST(s.snapshot().size() == 1u);
            s.upsert("b", data);
            s.remove("b");
        }).get();
        return now + data * 1ms;
    };
    bool first = true;
    const auto outer = std::exchange(next, {});
    next = [&](auto now, const std::string& key, int data) {
        return std::exchange(first, false) ? outer(now, key, data) : std::optional(now + 1ms);
    };
    s.upsert("a", 5);
    BOOST_TEST(next_run("a") == "5");
}

BOOST_AUTO_TEST_CASE(all_triggers_are_decided_once)
{
    options.reschedule = reschedule_policy::before_run;
    auto& s = start();
    s.upsert("a", 5);
    decisions();
    for (int i = 0; i != 3; ++i)
        s.trigger_now("a");
    poll();
    BOOST_TEST(runs() == "a=5@0, a=5@0, a=5@0");
    BOOST_TEST(decisions() == "");
    BOOST_TEST(next_run("a") == "5");
}

BOOST_AUTO_TEST_SUITE_END()

}
