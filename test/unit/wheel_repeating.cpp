// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

// Jobs that repeat: modes, limits, stalls and steps of the clock.

#include <timewheel/wheel.hpp>

#include <test_common/job_fixture.hpp>
#include <test_common/random_source.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/test/unit_test.hpp>

#include <chrono>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace timewheel::test {

namespace {

using fixture = job_fixture<struct wheel_repeating_test>;
using clock = fixture::clock;
using job_context = fixture::job_context;

constexpr auto all_modes =
    {repeat_mode::fixed_rate, repeat_mode::fixed_delay, repeat_mode::skip_if_running};
constexpr auto grid_modes = {repeat_mode::fixed_rate, repeat_mode::skip_if_running};

// A job that begins and ends at different times: it runs until the test ends it.
class long_job
{
public:
    auto job()
    {
        return [this](job_context& context) -> asio::awaitable<void> {
            began.push_back(context.scheduled_for().time_since_epoch());
            ++running;
            asio::steady_timer gate(
                co_await asio::this_coro::executor, asio::steady_timer::time_point::max()
            );
            gates_.push_back(&gate);
            error_code ec;
            co_await gate.async_wait(asio::redirect_error(asio::use_awaitable, ec));
            --running;
        };
    }

    // Ends the oldest run.
    void end()
    {
        BOOST_TEST_REQUIRE(!gates_.empty());
        gates_.front()->cancel();
        gates_.erase(gates_.begin());
    }

    std::vector<nanoseconds> began;
    int running = 0;

private:
    std::vector<asio::steady_timer*> gates_;
};

}

BOOST_FIXTURE_TEST_SUITE(wheel_repeating, fixture)

// XA11, XE5
BOOST_AUTO_TEST_CASE(quick_jobs_run_every_period)
{
    for (const auto mode : all_modes) {
        for (const auto period : {1ms, 7ms, 200ms, 257ms, 65'537ms}) {
            for (const auto start : {0ms, -300ms, 255ms}) {
                clock::set(clock::time_point(start));
                auto w = make_wheel({.observer = observer()});
                watch(w);
                const timer_id id = w.add_repeating(period, [] {}, {.mode = mode});
                for (int n = 1; n <= 50; ++n) {
                    BOOST_REQUIRE(clock::advance_to_next());
                    poll();
                    const auto number = static_cast<std::uint64_t>(n);
                    const nanoseconds due = start + n * period;
                    BOOST_REQUIRE_EQUAL(
                        take_one(), (told_job{id, job_outcome::completed, number, due})
                    );
                    BOOST_TEST((w.next_fire_time(id) == clock::time_point(due + period)));
                }
                unwatch();
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(the_first_run_has_a_delay_of_its_own)
{
    for (const auto mode : all_modes) {
        clock::set({});
        auto w = make_wheel({.observer = observer()});
        watch(w);
        const timer_id at_once = w.add_repeating(10ms, [] {}, {.mode = mode, .initial_delay = 0s});
        const timer_id late = w.add_repeating(10ms, [] {}, {.mode = mode, .initial_delay = 25ms});
        const timer_id past = w.add_repeating(10ms, [] {}, {.mode = mode, .initial_delay = -35ms});
        poll();
        // The grid of the last one has points in the past, which are not run one by one.
        BOOST_TEST(take_told().size() == 2u);
        BOOST_TEST((w.next_fire_time(at_once) == clock::time_point(10ms)));
        const bool on_grid = mode != repeat_mode::fixed_delay;
        BOOST_TEST((w.next_fire_time(past) == clock::time_point(on_grid ? 5ms : 10ms)));
        BOOST_TEST((w.next_fire_time(late) == clock::time_point(25ms)));
        at(25ms);
        BOOST_TEST((w.next_fire_time(late) == clock::time_point(35ms)));
        unwatch();
        told.clear();
    }
}

BOOST_AUTO_TEST_CASE(count_and_until)
{
    struct row
    {
        fixture::repeat options;
        int runs;
    };
    for (const auto mode : all_modes) {
        const row rows[] = {
            {{.mode = mode, .count = 1}, 1},
            {{.mode = mode, .count = 3}, 3},
            {{.mode = mode, .until = clock::time_point(30ms)}, 3},
            {{.mode = mode, .until = clock::time_point(39ms)}, 3},
            {{.mode = mode, .until = clock::time_point(29ms)}, 2},
            {{.mode = mode, .until = clock::time_point(9ms)}, 0},
            {{.mode = mode, .until = clock::time_point(-1h)}, 0},
            {{.mode = mode, .initial_delay = 0s, .count = 2}, 2},
            {{.mode = mode, .count = 2, .until = clock::time_point(15ms)}, 1},
            {{.mode = mode, .count = 5, .until = clock::time_point::max()}, 5},
        };
        for (const row& each : rows) {
            clock::set({});
            auto w = make_wheel();
            watch(w);
            int ran = 0;
            const timer_id id = w.add_repeating(10ms, [&] { ++ran; }, each.options);
            for (auto t = 0ms; t != 200ms; t += 5ms)
                at(t);
            BOOST_TEST(ran == each.runs);
            BOOST_TEST(w.remove(id) == remove_result::unknown);
            BOOST_TEST(ctx.stopped());
            unwatch();
        }
    }
}

// XE1, XE2: one run for a stall, told how many it missed.
BOOST_AUTO_TEST_CASE(a_stall_is_one_run)
{
    for (const auto mode : grid_modes) {
        clock::set({});
        auto w = make_wheel({.observer = observer()});
        watch(w);
        std::vector<std::uint64_t> missed;
        const timer_id id = w.add_repeating(
            1s, [&](job_context& job) { missed.push_back(job.missed()); }, {.mode = mode}
        );
        at(3600s);
        BOOST_TEST(take_one() == (told_job{id, job_outcome::completed, 1, 1s, 3599s}));
        BOOST_TEST((w.next_fire_time(id) == clock::time_point(3601s)));
        at(3601s);
        BOOST_TEST(take_one() == (told_job{id, job_outcome::completed, 3601, 3601s, 0s, 0s, 3599}));
        BOOST_TEST((missed == std::vector<std::uint64_t>{0, 3599}));
        at(3601s + 24h * 36'525);
        BOOST_TEST(take_one().sequence == 3602u);
        unwatch();
    }
}

BOOST_AUTO_TEST_CASE(a_fixed_delay_begins_at_the_end_of_a_run)
{
    auto w = make_wheel({.observer = observer()});
    watch(w);
    long_job job;
    const timer_id id = w.add_repeating(10ms, job.job(), {.mode = repeat_mode::fixed_delay});
    at(10ms);
    BOOST_TEST(job.running == 1);
    BOOST_TEST((w.next_fire_time(id) == std::nullopt));
    at(100ms);
    BOOST_TEST(job.running == 1);
    job.end();
    poll();
    BOOST_TEST(job.running == 0);
    BOOST_TEST(take_one() == (told_job{id, job_outcome::completed, 1, 10ms, 0ms, 90ms}));
    BOOST_TEST((w.next_fire_time(id) == clock::time_point(110ms)));
    at(110ms);
    BOOST_TEST(job.running == 1);
    job.end();
    at(115ms);
    BOOST_TEST(take_one().sequence == 2u);
    BOOST_TEST((w.next_fire_time(id) == clock::time_point(125ms)));
    BOOST_TEST(w.remove(id) == remove_result::removed);
}

BOOST_AUTO_TEST_CASE(runs_of_a_fixed_rate_may_overlap)
{
    auto w = make_wheel({.observer = observer()});
    watch(w);
    long_job job;
    const timer_id id = w.add_repeating(10ms, job.job(), {.count = 3});
    at(10ms);
    at(20ms);
    BOOST_TEST(job.running == 2);
    BOOST_TEST((w.next_fire_time(id) == clock::time_point(30ms)));
    at(30ms);
    BOOST_TEST(job.running == 3);
    BOOST_TEST(w.stats().running == 3u);
    job.end();
    poll();
    BOOST_TEST(job.running == 2);
    BOOST_TEST(w.remove(id) == remove_result::running);
    job.end();
    job.end();
    poll();
    BOOST_TEST(take_told().size() == 3u);
    BOOST_TEST(w.remove(id) == remove_result::unknown);
}

BOOST_AUTO_TEST_CASE(what_would_overlap_is_skipped)
{
    auto w = make_wheel({.observer = observer()});
    watch(w);
    long_job job;
    const timer_id id =
        w.add_repeating(10ms, job.job(), {.mode = repeat_mode::skip_if_running, .count = 2});
    at(10ms);
    BOOST_TEST(told.empty());
    at(20ms);
    BOOST_TEST(take_one() == (told_job{id, job_outcome::skipped, 2, 20ms}));
    at(30ms);
    BOOST_TEST(take_one() == (told_job{id, job_outcome::skipped, 3, 30ms}));
    BOOST_TEST(w.stats().skipped == 2u);
    BOOST_TEST(job.running == 1);
    job.end();
    poll();
    BOOST_TEST(take_one() == (told_job{id, job_outcome::completed, 1, 10ms, 0ms, 20ms}));
    // Queued counts as well as running.
    wheel_at(40ms);
    wheel_at(50ms);
    BOOST_TEST(take_told().empty()); // the second run was the last one
    BOOST_TEST(w.stats().pending == 0u);
    poll();
    job.end();
    poll();
    BOOST_TEST(take_one() == (told_job{id, job_outcome::completed, 4, 40ms, 10ms, 0ms}));
}

BOOST_AUTO_TEST_CASE(a_queued_run_is_not_overtaken)
{
    auto w = make_wheel({.observer = observer()});
    watch(w);
    int ran = 0;
    const timer_id id =
        w.add_repeating(10ms, [&] { ++ran; }, {.mode = repeat_mode::skip_if_running});
    wheel_at(10ms);
    wheel_at(20ms);
    BOOST_TEST(take_one() == (told_job{id, job_outcome::skipped, 2, 20ms}));
    poll();
    BOOST_TEST(ran == 1);
    BOOST_TEST(take_one() == (told_job{id, job_outcome::completed, 1, 10ms, 10ms}));
    at(30ms);
    BOOST_TEST(take_one() == (told_job{id, job_outcome::completed, 3, 30ms}));
}

// XE3
BOOST_AUTO_TEST_CASE(a_clock_that_is_set_back)
{
    for (const auto mode : all_modes) {
        clock::set(clock::time_point(1h));
        auto w = make_wheel({.observer = observer()});
        watch(w);
        const timer_id id = w.add_repeating(10ms, [] {}, {.mode = mode});
        at(1h + 10ms);
        BOOST_TEST((take_one().late == 0ms));
        at(1h - 1s);
        BOOST_TEST(told.empty());
        BOOST_TEST((w.next_fire_time(id) == clock::time_point(1h + 20ms)));
        at(1h + 19ms);
        BOOST_TEST(told.empty());
        at(1h + 20ms);
        BOOST_TEST(take_one() == (told_job{id, job_outcome::completed, 2, 1h + 20ms}));
        unwatch();
    }
}

// A run that began before the clock was set back ends before it began.
BOOST_AUTO_TEST_CASE(no_time_is_negative)
{
    auto w = make_wheel({.observer = observer()});
    watch(w);
    long_job job;
    const timer_id id = w.add_repeating(10ms, job.job(), {.mode = repeat_mode::fixed_delay});
    at(10ms);
    clock::set(clock::time_point(-1s));
    job.end();
    poll();
    BOOST_TEST(take_one() == (told_job{id, job_outcome::completed, 1, 10ms}));
    BOOST_TEST((w.next_fire_time(id) == clock::time_point(-990ms)));
    wheel_at(-990ms);
    clock::set(clock::time_point(-2s));
    poll();
    job.end();
    poll();
    BOOST_TEST(take_one() == (told_job{id, job_outcome::completed, 2, -990ms}));
}

BOOST_AUTO_TEST_CASE(the_longest_periods)
{
    for (const auto mode : all_modes) {
        clock::set(clock::time_point(1h));
        auto w = make_wheel({.observer = observer()});
        watch(w);
        w.add_repeating(nanoseconds::max(), [] {}, {.mode = mode});
        const timer_id id =
            w.add_repeating(nanoseconds::max(), [] {}, {.mode = mode, .initial_delay = 0s});
        poll();
        BOOST_TEST(take_one().id == id);
        BOOST_TEST((w.next_fire_time(id) == clock::time_point::max()));
        at(1000h);
        BOOST_TEST(told.empty());
        w.stop();
        take_told();
        unwatch();
    }
}

// Seven milliseconds fit into no level of the wheel, and what each run is late by is lost.
BOOST_AUTO_TEST_CASE(the_grid_does_not_drift)
{
    random_source random(test_seed("wheel_repeating/the_grid_does_not_drift"));
    auto w = make_wheel({.observer = observer()});
    watch(w);
    w.add_repeating(7ms, [] {});
    for (int n = 1; n <= 2000; ++n) {
        const nanoseconds due = n * 7ms;
        at(due + nanoseconds(random.below(6'999'999)));
        BOOST_TEST_REQUIRE(take_one().due == due);
    }
}

// A job that takes longer than its period, of plain functions on one thread.
BOOST_AUTO_TEST_CASE(a_job_longer_than_its_period)
{
    struct row
    {
        repeat_mode mode;
        std::vector<nanoseconds> began;
    };
    const row rows[] = {
        {repeat_mode::fixed_rate, {10ms, 35ms, 60ms}},
        {repeat_mode::fixed_delay, {10ms, 45ms, 80ms}},
        {repeat_mode::skip_if_running, {10ms, 35ms, 60ms}},
    };
    for (const row& each : rows) {
        clock::set({});
        auto w = make_wheel();
        watch(w);
        std::vector<nanoseconds> began;
        w.add_repeating(
            10ms,
            [&] {
                began.push_back(now());
                clock::advance(25ms);
            },
            {.mode = each.mode, .count = 3}
        );
        while (clock::advance_to_next())
            poll();
        BOOST_TEST((began == each.began));
        unwatch();
    }
}

BOOST_AUTO_TEST_SUITE_END()

}
