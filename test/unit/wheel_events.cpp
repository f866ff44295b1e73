// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

// What a job wheel tells: observers, handlers of errors, the logger, its counters and its timers.

#include <timewheel/wheel.hpp>

#include <test_common/job_fixture.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/test/unit_test.hpp>

#include <chrono>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace timewheel::test {

namespace {

using fixture = job_fixture<struct wheel_events_test>;
using clock = fixture::clock;
using job_context = fixture::job_context;

}

BOOST_FIXTURE_TEST_SUITE(wheel_events, fixture)

BOOST_AUTO_TEST_CASE(names_of_outcomes)
{
    using enum job_outcome;
    const std::pair<job_outcome, std::string_view> rows[] = {
        {completed, "completed"},
        {failed, "failed"},
        {threw, "threw"},
        {timed_out, "timed_out"},
        {cancelled, "cancelled"},
        {dropped, "dropped"},
        {skipped, "skipped"},
        {static_cast<job_outcome>(99), "unknown"},
    };
    for (const auto& [outcome, name] : rows)
        BOOST_TEST(to_string(outcome) == name);
}

BOOST_AUTO_TEST_CASE(an_event_refers_to_the_data_and_can_be_kept)
{
    using event_type = basic_job_event<std::string, clock>;
    std::vector<event_type> kept;
    const std::string* seen = nullptr;
    auto w = make_wheel<std::string>({.observer = [&](const auto& event) {
        seen = &event.data;
        kept.push_back(event);
    }});
    watch(w);
    const std::string* used = nullptr;
    w.add(1ms, "kept", [&](std::string& s) { used = &s; });
    at(3ms);
    BOOST_TEST(used == seen);
    BOOST_TEST_REQUIRE(kept.size() == 1u);
    BOOST_TEST(kept[0].data == "kept");
    BOOST_TEST((kept[0].started_at == clock::time_point(3ms)));
    BOOST_TEST((kept[0].lateness == 2ms));
    // Without data, it is the same type.
    static_assert(std::is_same_v<
                  fixture::options_for<>::event_type,
                  fixture::wheel_for<>::event_type>);
}

BOOST_AUTO_TEST_CASE(exceptions_are_told_to_both)
{
    for (const bool has_observer : {false, true}) {
        for (const bool has_handler : {false, true}) {
            clock::set({});
            std::string order;
            fixture::options_for<> options;
            timer_id id = timer_id::none;
            const auto text_of = [](const std::exception_ptr& e) {
                try {
                    std::rethrow_exception(e);
                } catch (const std::runtime_error& error) {
                    return std::string(error.what());
                }
            };
            if (has_observer)
                options.observer = [&](const auto& event) {
                    order += 'o';
                    BOOST_TEST(event.outcome == job_outcome::threw);
                    BOOST_TEST((event.error == timewheel::error::job_threw));
                    BOOST_TEST(text_of(event.exception) == "a job");
                };
            if (has_handler)
                options.on_error = [&](timer_id of, const std::exception_ptr& e) {
                    order += 'e';
                    BOOST_TEST(of == id);
                    BOOST_TEST(text_of(e) == "a job");
                };
            auto w = make_wheel(std::move(options));
            watch(w);
            id = w.add(1ms, [] { throw std::runtime_error("a job"); });
            wheel_at(1ms);
            workers.restart();
            if (has_observer || has_handler)
                workers.poll();
            else
                BOOST_CHECK_THROW(workers.poll(), std::runtime_error);
            BOOST_TEST(order == std::string(has_handler ? "e" : "") + (has_observer ? "o" : ""));
            BOOST_TEST(checked(w).threw == 1u);
            unwatch();
        }
    }
}

BOOST_AUTO_TEST_CASE(a_timer_without_a_job)
{
    std::vector<std::string> logged;
    auto w = make_wheel<int>({
        .observer = observer(),
        .logger = [&](std::string_view text) { logged.emplace_back(text); },
    });
    watch(w);
    const timer_id id = w.add(1ms, 1);
    const timer_id repeating = w.add_repeating(1ms, 2);
    at(2ms);
    BOOST_TEST_REQUIRE(logged.size() == 2u);
    BOOST_TEST(logged[0].find(std::to_string(static_cast<std::uint64_t>(id))) != std::string::npos);
    BOOST_TEST(logged[0].find("default job") != std::string::npos);
    const error_code no_job = timewheel::error::no_job;
    const std::vector<told_job> expected{
        {id, job_outcome::failed, 1, 1ms, 1ms, 0ms, 0, no_job},
        {repeating, job_outcome::failed, 1, 1ms, 1ms, 0ms, 0, no_job},
    };
    BOOST_TEST(take_told() == expected, boost::test_tools::per_element());
    BOOST_TEST(w.pending_timers().empty());
    BOOST_TEST(w.remove(repeating) == remove_result::unknown);
    BOOST_TEST(w.stats().failed == 2u);
    BOOST_TEST(w.stats().executed == 0u);
    at(10ms);
    BOOST_TEST(told.empty());
    // And nobody to tell.
    auto silent = make_wheel<int>();
    silent.add(1ms, 1);
    at(20ms);
    BOOST_TEST(checked(silent).failed == 1u);
}

// What an observer throws leaves the function of the thread that tells it, and nothing is lost.
BOOST_AUTO_TEST_CASE(an_observer_that_throws_at_the_end_of_a_run)
{
    auto w = make_wheel({.max_queued = 1, .observer = [&](const auto& event) {
                             told.push_back(told_job::of(event));
                             throw std::logic_error("an observer");
                         }});
    watch(w);
    int ran = 0;
    for (int i = 0; i != 5; ++i)
        w.add(1ms, [&] { ++ran; });
    w.add_repeating(1ms, [&] { ++ran; }, {.mode = repeat_mode::fixed_delay, .count = 3});
    for (auto t = 1ms; t != 5ms; t += 1ms) {
        clock::set(clock::time_point(t));
        for (int i = 0; i != 10; ++i) {
            poll_wheel();
            workers.restart();
            try {
                workers.poll();
            } catch (const std::logic_error&) {}
            check();
        }
    }
    BOOST_TEST(ran == 8);
    BOOST_TEST(told.size() == 8u);
    BOOST_TEST(ctx.stopped());
    w.close();
}

BOOST_AUTO_TEST_CASE(an_observer_that_throws_about_what_does_not_run)
{
    for (const auto what : {job_outcome::dropped, job_outcome::skipped, job_outcome::failed}) {
        clock::set({});
        bool throws = true;
        auto w = make_wheel({
            .max_queued = 1,
            .policy = backpressure::drop,
            .observer =
                [&](const auto& event) {
                    told.push_back(told_job::of(event));
                    if (event.outcome == what && throws)
                        throw std::logic_error("an observer");
                },
        });
        watch(w);
        if (what == job_outcome::failed)
            w.add(1ms); // has no job
        if (what == job_outcome::skipped)
            w.add_repeating(
                1ms, [] {}, {.mode = repeat_mode::skip_if_running, .initial_delay = 0s}
            );
        if (what == job_outcome::dropped) {
            w.add(0s, [] {});
            w.add_repeating(1ms, [] {});
        }
        poll_wheel();
        clock::set(clock::time_point(1ms));
        ctx.restart();
        BOOST_CHECK_THROW(ctx.poll(), std::logic_error);
        check();
        poll_wheel();
        BOOST_TEST(take_one().outcome == what);
        throws = false;
        at(2ms);
        at(3ms);
        BOOST_TEST(w.pending_timers().size() == (what == job_outcome::failed ? 0u : 1u));
        w.stop();
        told.clear();
        unwatch();
    }
}

BOOST_AUTO_TEST_CASE(an_observer_that_throws_while_the_wheel_stops)
{
    auto w = make_wheel({.observer = [&](const auto& event) {
        told.push_back(told_job::of(event));
        throw told.size();
    }});
    watch(w);
    for (int i = 0; i != 5; ++i)
        w.add(1h, [] {});
    std::size_t thrown = 0;
    try {
        w.stop();
    } catch (std::size_t n) {
        thrown = n;
    }
    BOOST_TEST(thrown == 1u); // the first, when all is done
    BOOST_TEST(told.size() == 5u);
    BOOST_TEST(w.stats().cancelled == 5u);
    w.close();
    poll();
    BOOST_TEST(ctx.stopped());
}

BOOST_AUTO_TEST_CASE(an_observer_may_use_the_wheel)
{
    std::optional<fixture::wheel_for<>> w;
    int told_of = 0;
    w.emplace(ctx, workers, fixture::options_for<>{.observer = [&](const auto& event) {
                  checked(*w);
                  BOOST_TEST(w->remove(event.id) != remove_result::removed);
                  BOOST_TEST(w->pending_timers().size() <= 1u);
                  if (++told_of < 10)
                      w->add(1ms, [] {});
                  else
                      w->stop();
              }});
    w->start();
    watch(*w);
    w->add(1ms, [] {});
    for (auto t = 1ms; t != 20ms; t += 1ms)
        at(t);
    BOOST_TEST(told_of == 10);
    unwatch();
}

BOOST_AUTO_TEST_CASE(pending_timers_are_sorted)
{
    auto w = make_wheel({.max_queued = 1});
    watch(w);
    const timer_id late = w.add(5ms, [] {});
    const timer_id early = w.add(1ms, [] {});
    const timer_id also_early = w.add_repeating(1ms, [] {});
    const timer_id never = w.add(nanoseconds::max(), [] {});
    using info = fixture::wheel_for<>::timer_info_type;
    const auto at_time = [](nanoseconds t) { return clock::time_point(t); };
    const std::vector<info> all{
        {early, at_time(1ms)},
        {also_early, at_time(1ms)},
        {late, at_time(5ms)},
        {never, clock::time_point::max()},
    };
    BOOST_TEST((w.pending_timers() == all));
    BOOST_TEST((w.next_fire_time(also_early) == at_time(1ms)));
    BOOST_TEST((w.next_fire_time(timer_id::none) == std::nullopt));
    wheel_at(1ms);
    // One is queued, the other waits for room.
    const std::vector<info> rest{
        {also_early, at_time(1ms)}, {late, at_time(5ms)}, {never, clock::time_point::max()}
    };
    BOOST_TEST((w.pending_timers() == rest));
    BOOST_TEST(w.stats().pending == 3u);
    poll();
    BOOST_TEST((w.next_fire_time(also_early) == at_time(2ms)));
    w.stop();
    BOOST_TEST(w.pending_timers().empty());
    BOOST_TEST((w.next_fire_time(late) == std::nullopt));
}

BOOST_AUTO_TEST_CASE(counters)
{
    auto w = make_wheel({.max_queued = 2, .policy = backpressure::drop});
    watch(w);
    timer_id a = w.add(1ms, [] {});
    w.add(1ms, []() -> error_code { return asio::error::eof; });
    w.add(1ms, [] {});
    w.add_repeating(1ms, [] {});
    w.add(1h, [] {});
    wheel_stats s = w.stats();
    BOOST_TEST(s.added == 5u);
    BOOST_TEST(s.scheduled == 5u);
    BOOST_TEST(s.pending == 5u);
    wheel_at(1ms);
    s = w.stats();
    BOOST_TEST(s.queued == 2u);
    BOOST_TEST(s.dropped == 2u);
    BOOST_TEST(s.pending == 2u);
    BOOST_TEST(s.scheduled == 6u);
    w.remove(a);
    clock::set(clock::time_point(3ms));
    poll_workers();
    s = w.stats();
    BOOST_TEST(s.removed == 1u);
    BOOST_TEST(s.withdrawn == 1u);
    BOOST_TEST(s.executed == 1u);
    BOOST_TEST(s.failed == 1u);
    BOOST_TEST(s.completed == 0u);
    BOOST_TEST((s.lateness.percentile(0.5) == 2ms));
    w.stop();
    s = w.stats();
    BOOST_TEST(s.cancelled == 2u);
    BOOST_TEST(s.pending == 0u);
}

BOOST_AUTO_TEST_SUITE_END()

}
