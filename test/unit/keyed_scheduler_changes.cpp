// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#include <timewheel/keyed_scheduler.hpp>

#include <test_common/keyed_fixture.hpp>

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

// What new data, a removal, a replacement of all and a pause do to an item, whatever it is doing.

namespace timewheel::test {

namespace {

using fixture = keyed_fixture<struct keyed_scheduler_changes_test>;
using clock = fixture::clock;

std::string list(const std::vector<std::string>& keys)
{
    std::string all;
    for (const std::string& key : keys)
        all += key;
    return all;
}

}

BOOST_FIXTURE_TEST_SUITE(keyed_scheduler_changes, fixture)

BOOST_AUTO_TEST_CASE(new_data_are_decided_at_once)
{
    auto& s = start();
    s.upsert("a", 50);
    at(20ms);
    BOOST_CHECK(s.upsert("a", 5) == upsert_result::updated);
    BOOST_TEST(next_run("a") == "25");
    at(25ms);
    BOOST_TEST(runs() == "a=5@25");
    s.upsert("a", 100);
    at(124ms);
    BOOST_TEST(runs() == "");
    at(125ms);
    BOOST_TEST(runs() == "a=100@125");
}

BOOST_AUTO_TEST_CASE(a_removed_item_does_not_run)
{
    auto& s = start();
    s.upsert("a", 5);
    s.upsert("b", 5);
    BOOST_CHECK(s.remove("a") == remove_result::removed);
    at(5ms);
    BOOST_TEST(runs() == "b=5@5");
    BOOST_TEST(state("a") == "none");
    // Due, and on its way to the workers.
    clock::set(clock::time_point(10ms));
    ctx.restart();
    ctx.poll();
    BOOST_CHECK(s.remove("b") == remove_result::removed);
    poll();
    BOOST_TEST(runs() == "");
    BOOST_TEST(changes() == "a pending, b pending, a removed, b running, b pending, b removed");
}

BOOST_AUTO_TEST_CASE(an_item_that_was_replaced_on_its_way_is_decided_anew)
{
    auto& s = start();
    s.upsert("a", 5);
    clock::set(clock::time_point(5ms));
    ctx.restart();
    ctx.poll();
    s.upsert("a", 7);
    poll();
    BOOST_TEST(runs() == "");
    at(12ms);
    BOOST_TEST(runs() == "a=7@12");
}

// The end of an old run does not touch what has the key now.
BOOST_AUTO_TEST_CASE(an_old_run_that_ends_late_changes_nothing)
{
    auto& s = start();
    holds = true;
    s.upsert("a", 5);
    at(5ms);
    BOOST_TEST(runs() == "a=5@5");
    decisions();

    BOOST_TEST_CONTEXT("removed")
    {
        BOOST_CHECK(s.remove("a") == remove_result::running);
        release("a");
        BOOST_TEST(state("a") == "none");
        BOOST_TEST(decisions() == "");
        BOOST_TEST(ends() == "a completed");
    }
    BOOST_TEST_CONTEXT("added again")
    {
        s.upsert("a", 5);
        at(10ms);
        s.remove("a");
        s.upsert("a", 50);
        decisions();
        release("a");
        BOOST_TEST(decisions() == "");
        const auto item = s.snapshot("a");
        BOOST_TEST(item->runs == 0u);
        BOOST_TEST(item->history.size() == 0u);
        BOOST_TEST(next_run("a") == "60");
        BOOST_TEST(state("a") == "pending");
    }
    BOOST_TEST_CONTEXT("replaced")
    {
        at(60ms);
        s.upsert("a", 100);
        BOOST_TEST(state("a") == "running");
        BOOST_TEST(next_run("a") == "160");
        decisions();
        at(70ms);
        release("a");
        BOOST_TEST(decisions() == "");
        BOOST_TEST(next_run("a") == "160");
        BOOST_TEST(state("a") == "pending");
        BOOST_TEST(s.snapshot("a")->history.size() == 0u);
    }
    BOOST_TEST_CONTEXT("replaced by what disables it")
    {
        at(160ms);
        next = [](auto, auto&&, int) { return std::nullopt; };
        s.upsert("a", 1);
        release("a");
        BOOST_TEST(state("a") == "disabled");
    }
    BOOST_TEST(held() == 0u);
}

BOOST_AUTO_TEST_CASE(what_is_due_while_an_old_run_goes_on_waits_for_its_end)
{
    auto& s = start();
    holds = true;
    s.upsert("a", 5);
    at(5ms);
    s.upsert("a", 6);
    at(11ms);
    BOOST_TEST(runs() == "a=5@5");
    BOOST_TEST(s.snapshot("a")->running == 1u);
    at(20ms);
    release("a");
    BOOST_TEST(runs() == "a=6@20");
    release("a");
    BOOST_TEST(next_run("a") == "26");
}

// What was due by the old data is not due any more.
BOOST_AUTO_TEST_CASE(a_run_that_waits_is_taken_away)
{
    const auto prepare = [&] {
        destroy();
        poll();
        clock::set({});
        auto& s = start();
        s.upsert("a", 5);
        at(5ms);
        s.upsert("a", 6);
        at(11ms);
        runs();
    };
    holds = true;
    BOOST_TEST_CONTEXT("by new data")
    {
        prepare();
        scheduler().upsert("a", 100);
        at(20ms);
        release("a");
        BOOST_TEST(runs() == "");
        BOOST_TEST(next_run("a") == "111");
    }
    BOOST_TEST_CONTEXT("by a pause")
    {
        prepare();
        scheduler().pause("a");
        at(20ms);
        release("a");
        BOOST_TEST(runs() == "");
        BOOST_TEST(state("a") == "paused");
        scheduler().resume("a");
        BOOST_TEST(next_run("a") == "26");
    }
    BOOST_TEST_CONTEXT("by another decision")
    {
        prepare();
        scheduler().reschedule("a");
        BOOST_TEST(next_run("a") == "17");
        at(15ms);
        release("a");
        BOOST_TEST(runs() == "");
        at(17ms);
        BOOST_TEST(runs() == "a=6@17");
    }
    BOOST_TEST_CONTEXT("but not if it was triggered")
    {
        prepare();
        scheduler().trigger_now("a");
        poll();
        scheduler().upsert("a", 100);
        scheduler().pause("a");
        release("a");
        BOOST_TEST(runs() == "a=100@11");
    }
    holds = false;
    destroy();
}

BOOST_AUTO_TEST_CASE(a_replacement_of_all_reports_what_has_changed)
{
    auto& s = start();
    auto report = s.replace_all({{"c", 30}, {"a", 10}, {"b", 20}});
    BOOST_TEST(list(report.added) == "abc");
    BOOST_TEST(list(report.updated) == "");
    BOOST_TEST(list(report.removed) == "");
    BOOST_TEST(report.unchanged == 0u);
    report = s.replace_all({{"e", 50}, {"d", 40}, {"b", 20}, {"a", 11}});
    BOOST_TEST(list(report.added) == "de");
    BOOST_TEST(list(report.updated) == "a");
    BOOST_TEST(list(report.removed) == "c");
    BOOST_TEST(report.unchanged == 1u);
    // The last one of a key counts, also for whether it has changed.
    report = s.replace_all({{"e", 0}, {"d", 40}, {"d", 41}, {"e", 50}});
    BOOST_TEST(list(report.added) == "");
    BOOST_TEST(list(report.updated) == "d");
    BOOST_TEST(list(report.removed) == "ab");
    BOOST_TEST(report.unchanged == 1u);
    report = s.replace_all({});
    BOOST_TEST(list(report.removed) == "de");
    BOOST_TEST(s.snapshot().size() == 0u);
}

BOOST_AUTO_TEST_CASE(a_reload_starves_nobody)
{
    auto& s = start();
    for (int i = 0; i != 100; ++i) {
        s.replace_all({{"a", 30}, {"b", 70}});
        at(10ms * i);
    }
    BOOST_TEST(s.snapshot("a")->runs == 990u / 30);
    BOOST_TEST(s.snapshot("b")->runs == 990u / 70);
}

// Running, paused, disabled and invalid ones as well.
BOOST_AUTO_TEST_CASE(a_reload_leaves_equal_items_as_they_are)
{
    const std::vector<item_type> items{{"disabled", 0}, {"invalid", -1}, {"paused", 5}, {"run", 5}};
    next = [](auto now, auto&&, int data) {
        if (data < 0)
            throw std::runtime_error("no");
        return data == 0 ? std::nullopt : std::optional(now + data * 1ms);
    };
    holds = true;
    auto& s = start();
    s.replace_all(items);
    s.pause("paused");
    at(5ms);
    changes();
    decisions();
    BOOST_TEST(s.replace_all(items).unchanged == 4u);
    BOOST_TEST(state("disabled") == "disabled");
    BOOST_TEST(state("invalid") == "invalid");
    BOOST_TEST(state("paused") == "paused");
    BOOST_TEST(state("run") == "running");
    release("run");
    BOOST_TEST(decisions() == "run=5@5");
    BOOST_TEST(changes() == "run pending");
}

BOOST_AUTO_TEST_CASE(a_replacement_before_the_start)
{
    auto& s = make();
    s.replace_all({{"a", 5}, {"b", 6}});
    s.replace_all({{"b", 7}});
    s.start();
    at(7ms);
    BOOST_TEST(runs() == "b=7@7");
}

BOOST_AUTO_TEST_CASE(a_paused_item_does_not_run)
{
    auto& s = start();
    s.upsert("a", 5);
    s.pause("a");
    s.pause("a");
    at(10ms);
    BOOST_TEST(runs() == "");
    BOOST_TEST(state("a") == "paused");
    BOOST_TEST(next_run("a") == "never");
    // New data do not wake it.
    s.upsert("a", 6);
    BOOST_TEST(state("a") == "paused");
    s.resume("a");
    BOOST_TEST(next_run("a") == "16");
    at(16ms);
    BOOST_TEST(runs() == "a=6@16");
    BOOST_TEST(changes() == "a pending, a paused, a pending, a running, a pending");
}

BOOST_AUTO_TEST_CASE(a_pause_lets_a_run_go_on)
{
    holds = true;
    auto& s = start();
    s.upsert("a", 5);
    at(5ms);
    s.pause("a");
    BOOST_TEST(state("a") == "running");
    release("a");
    BOOST_TEST(state("a") == "paused");
    BOOST_TEST(next_run("a") == "never");
    s.resume("a");
    BOOST_TEST(next_run("a") == "10");
    // A resumption during the run does not make a second one.
    at(10ms);
    s.pause("a");
    s.resume("a");
    BOOST_TEST(next_run("a") == "never");
    release("a");
    BOOST_TEST(next_run("a") == "15");
    BOOST_TEST(runs() == "a=5@5, a=5@10");
}

BOOST_AUTO_TEST_CASE(a_paused_item_can_be_triggered)
{
    auto& s = start();
    s.upsert("a", 5);
    s.pause("a");
    s.trigger_now("a");
    poll();
    BOOST_TEST(runs() == "a=5@0");
    BOOST_TEST(state("a") == "paused");
    at(10ms);
    BOOST_TEST(runs() == "");
}

BOOST_AUTO_TEST_CASE(an_item_can_be_paused_before_the_start)
{
    auto& s = make();
    s.upsert("a", 5);
    s.upsert("b", 5);
    s.pause("a");
    s.pause("b");
    s.resume("b");
    s.start();
    at(5ms);
    BOOST_TEST(runs() == "b=5@5");
}

BOOST_AUTO_TEST_CASE(running_jobs_are_told_to_stop_if_that_is_asked_for)
{
    holds = true;
    for (const bool cancels : {false, true}) {
        destroy();
        poll();
        clock::set({});
        runs();
        ends();
        options.cancel_running_on_remove = cancels;
        options.cancel_running_on_replace = cancels;
        auto& s = start();
        s.upsert("a", 5);
        s.upsert("b", 5);
        at(5ms);
        s.remove("a");
        s.upsert("b", 7);
        poll();
        BOOST_TEST(ends() == (cancels ? "a cancelled, b cancelled" : ""));
        at(12ms);
        BOOST_TEST(runs() == (cancels ? "a=5@5, b=5@5, b=7@12" : "a=5@5, b=5@5"));
        s.replace_all({});
        poll();
        BOOST_TEST(ends() == (cancels ? "b cancelled" : ""));
    }
    destroy();
    poll();
}

BOOST_AUTO_TEST_CASE(only_one_of_the_options_counts)
{
    holds = true;
    options.cancel_running_on_replace = true;
    auto& s = start();
    s.upsert("a", 5);
    s.upsert("b", 5);
    at(5ms);
    s.remove("a");
    s.replace_all({{"b", 6}});
    poll();
    BOOST_TEST(ends() == "b cancelled");
    release("a");
    BOOST_TEST(ends() == "a completed");
}

// Data whose equality throws: nothing has changed then.
BOOST_AUTO_TEST_CASE(an_exception_of_the_comparison_changes_nothing)
{
    options.equal = [](int, int) -> bool { throw std::runtime_error("can't tell"); };
    auto& s = start();
    s.upsert("a", 5);
    BOOST_CHECK_THROW(s.upsert("a", 6), std::runtime_error);
    BOOST_CHECK_THROW(s.replace_all({{"a", 6}, {"b", 7}}), std::runtime_error);
    BOOST_TEST(s.snapshot().size() == 1u);
    at(5ms);
    BOOST_TEST(runs() == "a=5@5");
}

// The comparison changes what is compared.
BOOST_AUTO_TEST_CASE(what_is_compared_can_change_meanwhile)
{
    bool disturbs = false;
    options.equal = [&](int a, int b) {
        if (std::exchange(disturbs, false))
            scheduler().upsert("a", 7);
        return a == b;
    };
    auto& s = start();
    s.upsert("a", 5);
    disturbs = true;
    BOOST_CHECK(s.upsert("a", 7) == upsert_result::unchanged);
    s.upsert("a", 5);
    disturbs = true;
    const auto report = s.replace_all({{"a", 7}});
    BOOST_TEST(report.unchanged == 1u);
    BOOST_TEST(report.updated.size() == 0u);
    options.equal = [&](int a, int b) {
        if (std::exchange(disturbs, false))
            scheduler().remove("a");
        return a == b;
    };
    auto& t = start();
    t.upsert("a", 5);
    disturbs = true;
    BOOST_CHECK(t.upsert("a", 7) == upsert_result::added);
    disturbs = true;
    BOOST_TEST(list(t.replace_all({{"a", 8}}).added) == "a");
}

// The data's own functions may use the scheduler: nothing of them is called under a lock.
BOOST_AUTO_TEST_CASE(data_may_call_the_scheduler)
{
    struct talking
    {
        int value = 0;
        std::function<void()> look = [] {};

        talking(int with, std::function<void()> call) : value(with), look(std::move(call)) {}
        talking(const talking& other) : value(other.value), look(other.look) { look(); }
        talking& operator=(const talking&) = delete;
        ~talking() { look(); }
        bool operator==(const talking& other) const
        {
            look();
            return value == other.value;
        }
    };
    using talking_scheduler = basic_keyed_scheduler<int, talking, clock>;
    int looks = 0;
    bool is_over = false;
    {
        talking_scheduler s(
            ctx,
            workers,
            {.next = [](auto now, int, const talking&) { return now + 1ms; },
             .run = [](int, const talking&) {},
             .history = 1}
        );
        const auto look = [&] {
            error_code ec;
            if (!is_over)
                s.pause(99, ec);
            ++looks;
        };
        s.start();
        s.upsert(1, {1, look});
        s.upsert(1, {1, look});
        s.upsert(1, {2, look});
        s.upsert(2, {1, look});
        for (int i = 1; i != 5; ++i)
            at(1ms * i);
        BOOST_TEST(s.snapshot().size() == 2u);
        BOOST_TEST(s.snapshot(1)->runs == 4u);
        s.remove(1);
        std::vector<keyed_item<int, talking>> items;
        items.push_back({2, {2, look}});
        items.push_back({3, {2, look}});
        s.replace_all(std::move(items));
        s.replace_all({});
        at(10ms);
        is_over = true;
    }
    BOOST_TEST(looks > 10);
}

BOOST_AUTO_TEST_SUITE_END()

}
