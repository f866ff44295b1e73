// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

// Jobs of each form, run once.

#include <timewheel/wheel.hpp>

#include <test_common/job_fixture.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/test/unit_test.hpp>

#include <array>
#include <chrono>
#include <functional>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace timewheel::test {

namespace {

using fixture = job_fixture<struct wheel_jobs_test>;
using clock = fixture::clock;
using job_context = fixture::job_context;

// Data whose copies and moves throw when they are told to.
struct fragile
{
    explicit fragile(int& n) : moves_left(&n) {}

    fragile(fragile&& other) : moves_left(other.moves_left)
    {
        if ((*moves_left)-- == 0)
            throw std::runtime_error("moved too often");
    }

    fragile& operator=(fragile&&) = delete;

    int* moves_left;
};

}

BOOST_FIXTURE_TEST_SUITE(wheel_jobs, fixture)

BOOST_AUTO_TEST_CASE(a_job_runs_once_at_its_time_on_the_workers)
{
    auto w = make_wheel<std::string>({.observer = observer()});
    watch(w);
    std::string got;
    const timer_id id = w.add(100ms, "hello", [&](std::string& s) { got += s; });
    BOOST_TEST(w.stats().pending == 1u);
    BOOST_TEST((w.next_fire_time(id) == clock::time_point(100ms)));
    at(99ms);
    BOOST_TEST(got == "");
    wheel_at(100ms);
    BOOST_TEST(got == "");
    BOOST_TEST(w.stats().queued == 1u);
    BOOST_TEST(w.stats().pending == 0u);
    BOOST_TEST((w.next_fire_time(id) == std::nullopt));
    BOOST_TEST(!ctx.stopped());
    poll_workers();
    BOOST_TEST(got == "hello");
    BOOST_TEST(take_one() == (told_job{id, job_outcome::completed, 1, 100ms, 0ms, 0ms}));
    at(10s);
    BOOST_TEST(got == "hello");
    BOOST_TEST(ctx.stopped());
    BOOST_TEST(w.remove(id) == remove_result::unknown);
    const wheel_stats s = w.stats();
    BOOST_TEST(s.added == 1u);
    BOOST_TEST(s.scheduled == 1u);
    BOOST_TEST(s.executed == 1u);
    BOOST_TEST(s.completed == 1u);
    BOOST_TEST(s.removed == 0u);
}

BOOST_AUTO_TEST_CASE(every_form_without_data)
{
    auto w = make_wheel({.observer = observer()});
    watch(w);
    int ran = 0;
    const error_code bad = asio::error::eof;
    std::vector<timer_id> ids{
        w.add(1ms, [&] { ++ran; }),
        w.add(2ms, [&](job_context& job) { ran += job.sequence() == 1 ? 1 : 100; }),
        w.add(3ms, [&]() -> error_code { return ++ran, error_code(); }),
        w.add(4ms, [&](job_context&) -> error_code { return ++ran, bad; }),
        w.add(
            5ms,
            [&]() -> asio::awaitable<void> {
                ++ran;
                co_return;
            }
        ),
        w.add(
            6ms,
            [&](job_context&) -> asio::awaitable<void> {
                ++ran;
                co_return;
            }
        ),
        w.add(
            7ms,
            [&]() -> asio::awaitable<error_code> {
                ++ran;
                co_return bad;
            }
        ),
        w.add(
            8ms, [&](job_context&) -> asio::awaitable<error_code> { co_return ++ran, error_code(); }
        ),
        w.add(9ms, std::function<void()>([&] { ++ran; })),
        w.add(10ms, [&, owned = std::make_unique<int>(1)] { ran += *owned; }),
        w.add(11ms, [&, n = 0]() mutable { ran += ++n; }),
    };
    at(1s);
    BOOST_TEST(ran == 11);
    BOOST_TEST_REQUIRE(told.size() == ids.size());
    std::sort(told.begin(), told.end(), [](auto& a, auto& b) { return a.id < b.id; });
    for (std::size_t i = 0; i != ids.size(); ++i) {
        BOOST_TEST(told[i].id == ids[i]);
        const bool fails = i == 3 || i == 6;
        BOOST_TEST(told[i].error == (fails ? bad : error_code()));
        BOOST_TEST(told[i].outcome == (fails ? job_outcome::failed : job_outcome::completed));
    }
    BOOST_TEST(w.stats().completed == 9u);
    BOOST_TEST(w.stats().failed == 2u);
}

BOOST_AUTO_TEST_CASE(every_form_with_data)
{
    auto w = make_wheel<std::string>();
    watch(w);
    std::string got;
    w.add(1ms, "a", [&] { got += 'a'; });
    w.add(2ms, "b", [&](std::string& s) { got += s; });
    w.add(3ms, "c", [&](const std::string& s) { got += s; });
    w.add(4ms, "d", [&](std::string s) { got += s; });
    w.add(5ms, "e", [&](std::string_view s) { got += s; });
    w.add(6ms, "f", [&](job_context&, std::string& s) { got += s; });
    w.add(7ms, "g", [&](job_context&) { got += 'g'; });
    w.add(8ms, "h", [&](std::string& s) -> error_code { return got += s, error_code(); });
    w.add(9ms, "i", [&](job_context&, std::string s) -> error_code {
        return got += s, error_code();
    });
    w.add(10ms, "j", [&](std::string s) -> asio::awaitable<void> {
        got += s;
        co_return;
    });
    w.add(11ms, "k", [&](std::string& s) -> asio::awaitable<void> {
        got += s;
        co_return;
    });
    w.add(12ms, "l", [&](job_context&, std::string& s) -> asio::awaitable<error_code> {
        got += s;
        co_return error_code();
    });
    // As much as it can take: the context and the data, or the data.
    w.add(13ms, "m", [&](auto&&... all) { got += sizeof...(all) == 2 ? 'm' : '?'; });
    for (auto t = 1ms; t != 14ms; t += 1ms)
        at(t);
    BOOST_TEST(got == "abcdefghijklm");
    BOOST_TEST(w.stats().completed == 13u);
}

BOOST_AUTO_TEST_CASE(the_default_job)
{
    int ran = 0;
    auto w = make_wheel<int>({}, [&](int& n) { ran += n; });
    watch(w);
    w.add(1ms, 1);
    w.add(clock::time_point(1ms), 10);
    w.add(1ms, 100, [&](int& n) { ran += 2 * n; });
    w.add_repeating(1ms, 1000, {.count = 2});
    at(1ms);
    at(2ms);
    BOOST_TEST(ran == 2211);
}

BOOST_AUTO_TEST_CASE(the_data_stays_in_the_timer)
{
    auto w = make_wheel<std::unique_ptr<int>>({.observer = [&](const auto& event) {
        BOOST_TEST((event.data != nullptr));
        told.push_back(told_job::of(event));
    }});
    watch(w);
    std::vector<int> seen;
    w.add_repeating(
        1ms,
        std::make_unique<int>(7),
        [&](std::unique_ptr<int>& n) { seen.push_back((*n)++); },
        {.count = 3}
    );
    for (auto t = 1ms; t != 5ms; t += 1ms)
        at(t);
    BOOST_TEST((seen == std::vector<int>{7, 8, 9}));
    BOOST_TEST(told.size() == 3u);
}

BOOST_AUTO_TEST_CASE(large_data)
{
    using block = std::array<char, 100'000>;
    auto w = make_wheel<block>();
    watch(w);
    auto data = std::make_unique<block>();
    data->back() = 'x';
    char got = 0;
    w.add(1ms, *data, [&](block& b) { got = b.back(); });
    at(1ms);
    BOOST_TEST(got == 'x');
}

BOOST_AUTO_TEST_CASE(data_that_cannot_be_moved_changes_nothing)
{
    for (int n = 0; n != 10; ++n) {
        auto w = make_wheel<fragile>();
        int moves = n;
        int ran = 0;
        bool thrown = false;
        try {
            w.add(1ms, fragile(moves), [&] { ++ran; });
        } catch (const std::runtime_error&) {
            thrown = true;
        }
        BOOST_TEST(w.pending_timers().size() == (thrown ? 0u : 1u));
        moves = 100;
        at(now() + 1ms);
        BOOST_TEST(ran == (thrown ? 0 : 1));
        checked(w);
    }
}

BOOST_AUTO_TEST_CASE(when_it_is_due)
{
    for (const auto start : {0ns, -1'500'000ns, 1'700'000'000'123'456'789ns}) {
        clock::set(clock::time_point(start));
        auto w = make_wheel({.observer = observer()});
        watch(w);
        const auto base = std::chrono::ceil<std::chrono::milliseconds>(start);
        w.add(0s, [] {});
        w.add(-1h, [] {});
        w.add(nanoseconds::min(), [] {});
        w.add(clock::time_point::min(), [] {});
        w.add(clock::now(), [] {});
        poll();
        at(base);
        BOOST_TEST(take_told().size() == 5u);
        w.add(1ns, [] {});
        w.add(std::chrono::duration<double>(1e-12), [] {});
        w.add(1us, [] {});
        at(base + 999us);
        BOOST_TEST(told.empty());
        at(base + 1ms);
        BOOST_TEST(take_told().size() == 3u);
        w.add(nanoseconds::max(), [] {});
        w.add(std::chrono::hours::max(), [] {});
        w.add(clock::time_point::max(), [] {});
        BOOST_TEST(w.pending_timers().size() == 3u);
        BOOST_TEST((w.pending_timers().back().next == clock::time_point::max()));
        at(base + 100h);
        BOOST_TEST(told.empty());
        w.stop();
        BOOST_TEST(take_told().size() == 3u);
        unwatch();
    }
}

// A coarse tick lets what is close together come due together, never early.
BOOST_AUTO_TEST_CASE(times_are_rounded_up_to_the_tick)
{
    auto w = make_wheel({.tick = 10ms, .observer = observer()});
    watch(w);
    w.add(1ms, [] {});
    w.add(9ms, [] {});
    w.add(10ms, [] {});
    const timer_id last = w.add(10ms + 1ns, [] {});
    at(9ms);
    BOOST_TEST(told.empty());
    at(10ms);
    BOOST_TEST(take_told().size() == 3u);
    at(19ms);
    BOOST_TEST(told.empty());
    at(20ms);
    BOOST_TEST(
        take_one() == (told_job{last, job_outcome::completed, 1, 10'000'001ns, 9'999'999ns, 0ns})
    );
}

BOOST_AUTO_TEST_CASE(what_a_job_can_learn)
{
    auto w = make_wheel();
    watch(w);
    timer_id id = timer_id::none;
    int ran = 0;
    id = w.add(5ms, [&](job_context& job) {
        BOOST_TEST(job.id() == id);
        BOOST_TEST((job.scheduled_for() == clock::time_point(5ms)));
        BOOST_TEST(job.sequence() == 1u);
        BOOST_TEST(job.missed() == 0u);
        BOOST_TEST((job.lateness() == 2ms));
        BOOST_TEST(!job.stop_requested());
        BOOST_TEST(!job.stop_token().stop_requested());
        BOOST_TEST(job.stop_token().stop_possible());
        BOOST_TEST(!job.cancellation_slot().is_connected());
        ++ran;
    });
    wheel_at(6ms);
    at(7ms);
    BOOST_TEST(ran == 1);
    BOOST_TEST((w.stats().lateness.longest() == 2ms));
}

// XC2, XD1: jobs of one batch and their own timers.
BOOST_AUTO_TEST_CASE(jobs_that_add_jobs)
{
    auto w = make_wheel();
    watch(w);
    int ran = 0;
    std::function<void()> again = [&] {
        if (++ran != 1000)
            w.add(0s, again);
    };
    w.add(1ms, again);
    at(1ms);
    BOOST_TEST(ran == 1000);
    // From a job of the same context too.
    fixture::wheel_for<> same(ctx, ctx);
    same.start();
    ran = 0;
    again = [&] {
        if (++ran != 1000)
            same.add(0s, again);
    };
    same.add(1ms, again);
    at(2ms);
    BOOST_TEST(ran == 1000);
}

BOOST_AUTO_TEST_CASE(a_wheel_can_be_moved)
{
    int ran = 0;
    auto w = make_wheel({.observer = observer()}, [&] { ++ran; });
    const timer_id id = w.add(1ms);
    w.add_repeating(1ms);
    auto moved = std::move(w);
    watch(moved);
    at(1ms);
    BOOST_TEST(ran == 2);
    BOOST_TEST(moved.remove(id) == remove_result::unknown);
    moved.add(1ms);
    at(2ms);
    BOOST_TEST(ran == 4);
    // The timers of the wheel that is assigned to end.
    auto other = make_wheel({}, [&] { ran += 100; });
    other.add(1ms);
    unwatch();
    other = std::move(moved);
    watch(other);
    at(3ms);
    BOOST_TEST(ran == 5);
    auto& self = other;
    other = std::move(self);
    at(4ms);
    BOOST_TEST(ran == 6);
    other.stop();
}

BOOST_AUTO_TEST_CASE(a_hundred_thousand_at_once)
{
    auto w = make_wheel();
    int ran = 0;
    for (int i = 0; i != 100'000; ++i)
        w.add(1ms, [&, i] { ran += ran == i ? 1 : 0; });
    at(1ms);
    BOOST_TEST(ran == 100'000); // in order
    checked(w);
}

BOOST_AUTO_TEST_CASE(a_job_that_throws_leaves_the_workers_run)
{
    auto w = make_wheel();
    watch(w);
    int ran = 0;
    const timer_id id = w.add_repeating(1ms, [&] {
        ++ran;
        throw std::runtime_error("a job");
    });
    wheel_at(1ms);
    workers.restart();
    BOOST_CHECK_THROW(workers.poll(), std::runtime_error);
    BOOST_TEST(checked(w).threw == 1u);
    wheel_at(2ms);
    workers.restart();
    BOOST_CHECK_THROW(workers.poll(), std::runtime_error);
    BOOST_TEST(checked(w).threw == 2u);
    BOOST_TEST(w.remove(id) == remove_result::removed);
    w.add(1ms, [&]() -> asio::awaitable<void> {
        ++ran;
        throw std::runtime_error("a coroutine");
        co_return;
    });
    wheel_at(3ms);
    workers.restart();
    BOOST_CHECK_THROW(workers.poll(), std::runtime_error);
    BOOST_TEST(checked(w).threw == 3u);
    w.add(1ms, [&] { ++ran; });
    at(4ms);
    BOOST_TEST(ran == 4);
    BOOST_TEST(w.stats().completed == 1u);
}

// A coroutine function may throw before it is one.
BOOST_AUTO_TEST_CASE(a_job_that_throws_instead_of_an_awaitable)
{
    auto w = make_wheel({.observer = observer()});
    watch(w);
    w.add(1ms, []() -> asio::awaitable<void> { throw std::runtime_error("no coroutine"); });
    at(1ms);
    const told_job job = take_one();
    BOOST_TEST(job.outcome == job_outcome::threw);
    BOOST_TEST((job.error == timewheel::error::job_threw));
}

BOOST_AUTO_TEST_SUITE_END()

}
