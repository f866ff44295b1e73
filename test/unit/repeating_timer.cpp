// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#include <timewheel/repeating_timer.hpp>

#include <test_common/checked_token.hpp>
#include <test_common/io_fixture.hpp>
#include <test_common/random_source.hpp>
#include <test_common/virtual_repeating.hpp>
#include <test_common/virtual_time.hpp>

#include <boost/asio/bind_executor.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/strand.hpp>
#include <boost/test/unit_test.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace timewheel::test {

namespace {

using std::chrono::nanoseconds;

// One clock for the file, set back for each case: a clock of its own would be a wheel of its own.
using tag = struct repeating_timer_test;
using clock = manual_clock<tag>;

struct virtual_fixture : io_fixture
{
    virtual_fixture() { reset(); }

    static void reset(nanoseconds to = {}) { clock::set(clock::time_point(to)); }

    void poll()
    {
        ctx.restart();
        poll_until_quiet(ctx);
    }
};

// A timer and what it has told.
struct scene
{
    using timer_type = virtual_repeating<tag>;

    scene(asio::io_context& context, nanoseconds period, repeat_mode mode = repeat_mode::fixed_rate)
        : ctx(context)
        , timer(context, period, mode)
    {}

    void wait() { timer.async_wait(told.handler()); }

    void at(nanoseconds time)
    {
        virtual_fixture::reset(time);
        ctx.restart();
        poll_until_quiet(ctx);
    }

    // A wait that completes at `time`.
    told_tick tick_at(nanoseconds time)
    {
        wait();
        at(time);
        return told.tick();
    }

    asio::io_context& ctx;
    timer_type timer;
    record<clock> told;
};

constexpr auto all_modes =
    {repeat_mode::fixed_rate, repeat_mode::fixed_delay, repeat_mode::skip_if_running};
constexpr auto grid_modes = {repeat_mode::fixed_rate, repeat_mode::skip_if_running};

}

BOOST_FIXTURE_TEST_SUITE(repeating_timer, virtual_fixture)

using timewheel::repeating_timer;
using io_executor = asio::io_context::executor_type;
using io_repeating = repeating_timer::rebind_executor<io_executor>::other;

static_assert(std::is_same_v<repeating_timer::clock_type, std::chrono::steady_clock>);
static_assert(std::is_same_v<repeating_timer::tick_info_type, tick_info>);
static_assert(std::is_same_v<repeating_timer::executor_type, asio::any_io_executor>);
static_assert(std::is_same_v<io_repeating::executor_type, io_executor>);
static_assert(std::is_constructible_v<repeating_timer, asio::io_context&, std::chrono::seconds>);
static_assert(std::is_constructible_v<repeating_timer, io_executor, std::chrono::seconds>);
static_assert(std::is_constructible_v<repeating_timer, io_repeating&&>);
static_assert(std::is_assignable_v<repeating_timer&, io_repeating&&>);
static_assert(!std::is_constructible_v<io_repeating, repeating_timer&&>);
static_assert(!std::is_copy_constructible_v<repeating_timer>);
static_assert(!std::is_copy_assignable_v<repeating_timer>);
static_assert(!std::is_constructible_v<repeating_timer, int, std::chrono::seconds>);

BOOST_AUTO_TEST_CASE(ticks_are_on_the_grid)
{
    for (const auto mode : grid_modes) {
        reset();
        scene s(ctx, 100ms, mode);
        s.wait();
        s.at(99ms);
        BOOST_TEST(s.told.size() == 0u);
        s.at(100ms);
        BOOST_TEST(s.told.tick() == (told_tick{100ms, 0ms, 0, 1}));
        BOOST_TEST(s.tick_at(230ms) == (told_tick{200ms, 30ms, 0, 2}));
        s.wait();
        s.at(299ms);
        BOOST_TEST(s.told.size() == 0u);
        s.at(300ms);
        BOOST_TEST(s.told.tick() == (told_tick{300ms, 0ms, 0, 3}));
        BOOST_TEST((s.timer.mode() == mode));
        BOOST_TEST((s.timer.period() == 100ms));
        BOOST_TEST((s.timer.get_executor() == asio::any_io_executor(ctx.get_executor())));
    }
}

// XE5, XA11: seven ticks fit into no level of the wheel, and what each handler is late by is lost.
BOOST_AUTO_TEST_CASE(the_grid_does_not_drift)
{
    random_source random(test_seed("repeating_timer/the_grid_does_not_drift"));
    for (const nanoseconds start :
         {0ns, -1ns, 1'700'000'000'123'456'789ns, -1'700'000'000'000'000'000ns}) {
        reset(start);
        scene s(ctx, 7ms);
        for (int n = 1; n <= 5000; ++n) {
            const nanoseconds due = start + n * 7ms;
            const nanoseconds late(random.below(7'000'000));
            // The service's tick rounds up.
            const nanoseconds when = std::chrono::ceil<std::chrono::milliseconds>(due + late);
            const told_tick expected{due, when - due, 0, static_cast<std::uint64_t>(n)};
            if (expected.late >= 7ms)
                continue;
            const told_tick told = s.tick_at(when);
            if (told.due != due || told.late != expected.late)
                BOOST_FAIL("told " << told << " instead of " << expected);
        }
    }
}

// XA9: periods around the sizes of the wheel's levels, from each of many phases.
BOOST_AUTO_TEST_CASE(every_tick_comes_on_time)
{
    for (const auto period : {1ms, 7ms, 200ms, 255ms, 256ms, 257ms, 600ms, 65'535ms, 65'537ms}) {
        for (const auto start : {0ms, 200ms, 255ms, 256ms, 65'535ms, -1ms, -300ms}) {
            reset(start);
            scene s(ctx, period);
            for (int n = 1; n <= 300; ++n) {
                s.wait();
                BOOST_REQUIRE(clock::advance_to_next());
                poll();
                const auto number = static_cast<std::uint64_t>(n);
                BOOST_REQUIRE_EQUAL(s.told.tick(), (told_tick{start + n * period, 0ns, 0, number}));
            }
        }
    }
}

// XE1: the ticks that a stall or a step of the clock skips are counted, not delivered.
BOOST_AUTO_TEST_CASE(a_stall_is_one_tick)
{
    for (const auto mode : grid_modes) {
        reset();
        scene s(ctx, 1s, mode);
        BOOST_TEST(s.tick_at(1h) == (told_tick{3600s, 0s, 3599, 3600}));
        s.wait();
        poll();
        BOOST_TEST(s.told.size() == 0u);
        s.at(1h + 1s);
        BOOST_TEST(s.told.tick() == (told_tick{3601s, 0s, 0, 3601}));
        BOOST_TEST(s.tick_at(1h + 9500ms) == (told_tick{3609s, 500ms, 7, 3609}));
        BOOST_TEST(s.tick_at(1h + 10s) == (told_tick{3610s, 0ms, 0, 3610}));
    }
}

// XE2: as quick for a century as for a second.
BOOST_AUTO_TEST_CASE(a_century_is_one_tick)
{
    scene s(ctx, 10us);
    constexpr std::chrono::hours century{24 * 36'525};
    const auto ticks = static_cast<std::uint64_t>(nanoseconds(century) / 10us);
    BOOST_TEST(s.tick_at(century) == (told_tick{century, 0ns, ticks - 1, ticks}));
}

BOOST_AUTO_TEST_CASE(a_late_wait_completes_at_once_but_not_inline)
{
    for (const auto mode : grid_modes) {
        reset();
        scene s(ctx, 100ms, mode);
        s.at(350ms);
        s.timer.async_wait(succeeds());
        s.wait();
        BOOST_TEST(s.told.size() == 0u);
        poll();
        BOOST_TEST(s.told.tick() == (told_tick{300ms, 50ms, 2, 3}));
        BOOST_TEST(s.tick_at(400ms) == (told_tick{400ms, 0ms, 0, 4}));
    }
}

// The handler's own executor is busy when the tick comes.
BOOST_AUTO_TEST_CASE(a_late_handler_is_told_of_the_latest_tick)
{
    asio::io_context busy;
    scene s(ctx, 100ms);
    const auto wait = [&] {
        s.timer.async_wait(asio::bind_executor(busy.get_executor(), s.told.handler()));
        busy.restart();
    };
    wait();
    s.at(100ms);
    s.at(320ms);
    busy.poll();
    BOOST_TEST(s.told.tick() == (told_tick{300ms, 20ms, 2, 3}));
    wait();
    s.at(400ms);
    busy.poll();
    BOOST_TEST(s.told.tick() == (told_tick{400ms, 0ms, 0, 4}));
}

BOOST_AUTO_TEST_CASE(a_fixed_delay_begins_when_the_wait_is_started)
{
    scene s(ctx, 100ms, repeat_mode::fixed_delay);
    s.at(50ms);
    s.wait();
    s.at(149ms);
    BOOST_TEST(s.told.size() == 0u);
    s.at(150ms);
    BOOST_TEST(s.told.tick() == (told_tick{150ms, 0ms, 0, 1}));
    s.at(1s);
    BOOST_TEST(s.tick_at(1250ms) == (told_tick{1100ms, 150ms, 0, 2}));
    // What joins a wait does not begin another delay; what comes after it does.
    s.wait();
    s.at(1300ms);
    s.wait();
    s.at(1350ms);
    BOOST_TEST(s.told.take() == (told_tick{1350ms, 0ms, 0, 3}));
    BOOST_TEST(s.told.tick() == (told_tick{1350ms, 0ms, 0, 3}));
    s.wait();
    s.at(1400ms);
    BOOST_TEST(s.timer.cancel() == 1u);
    s.wait();
    s.at(1499ms);
    s.told.cancelled();
    s.at(1500ms);
    BOOST_TEST(s.told.tick() == (told_tick{1500ms, 0ms, 0, 4}));
}

BOOST_AUTO_TEST_CASE(pending_waits_are_told_of_the_same_tick)
{
    for (const auto mode : all_modes) {
        reset();
        scene s(ctx, 100ms, mode);
        std::vector<int> order;
        for (int i = 0; i < 3; ++i)
            s.timer.async_wait([&, i, handler = s.told.handler()](error_code ec, auto tick) {
                order.push_back(i);
                handler(ec, tick);
            });
        s.at(110ms);
        for (int i = 0; i < 3; ++i)
            BOOST_TEST(s.told.take() == (told_tick{100ms, 10ms, 0, 1}));
        BOOST_TEST((order == std::vector{0, 1, 2}));
        BOOST_TEST(s.told.size() == 0u);
    }
}

// A wait from a handler is for the next tick, also while others are yet to be told of this one.
BOOST_AUTO_TEST_CASE(a_wait_from_a_handler_is_for_the_next_tick)
{
    for (const auto mode : all_modes) {
        reset();
        scene s(ctx, 100ms, mode);
        s.timer.async_wait([&](error_code, auto) { s.wait(); });
        s.wait();
        s.at(100ms);
        BOOST_TEST(s.told.tick() == (told_tick{100ms, 0ms, 0, 1}));
        s.at(200ms);
        BOOST_TEST(s.told.tick() == (told_tick{200ms, 0ms, 0, 2}));
    }
}

BOOST_AUTO_TEST_CASE(cancel_keeps_the_grid)
{
    scene s(ctx, 100ms);
    BOOST_TEST(s.timer.cancel() == 0u);
    s.wait();
    s.at(40ms);
    BOOST_TEST(s.timer.cancel() == 1u);
    BOOST_TEST(s.timer.cancel() == 0u);
    BOOST_TEST(s.told.size() == 0u);
    poll();
    s.told.cancelled();
    BOOST_TEST(ctx.stopped());
    ctx.restart();
    BOOST_TEST(s.tick_at(100ms) == (told_tick{100ms, 0ms, 0, 1}));
    s.wait();
    s.timer.cancel();
    s.at(450ms);
    s.told.cancelled();
    s.wait();
    poll();
    BOOST_TEST(s.told.tick() == (told_tick{400ms, 50ms, 2, 4}));
    // Too late: it is due.
    s.wait();
    clock::advance(50ms);
    ctx.restart();
    ctx.poll_one();
    BOOST_TEST(s.timer.cancel() == 0u);
    poll();
    BOOST_TEST(s.told.tick() == (told_tick{500ms, 0ms, 0, 5}));
}

// XB3: what a handler cancels may leave nothing pending, and the next wait is armed all the same.
BOOST_AUTO_TEST_CASE(a_handler_that_cancels_its_timer)
{
    repeating_timer timer{ctx, 2ms};
    for (int i = 0; i < 3; ++i) {
        bool done = false;
        timer.async_wait([&](error_code ec, tick_info) {
            BOOST_TEST(!ec);
            timer.async_wait(is_aborted());
            BOOST_TEST(timer.cancel() == 1u);
            done = true;
        });
        BOOST_TEST(run_to_end(ctx));
        BOOST_TEST(done);
        ctx.restart();
    }
}

BOOST_AUTO_TEST_CASE(restart_begins_anew)
{
    for (const auto mode : grid_modes) {
        reset();
        scene s(ctx, 100ms, mode);
        BOOST_TEST(s.tick_at(250ms) == (told_tick{200ms, 50ms, 1, 2}));
        s.wait();
        BOOST_TEST(s.timer.restart() == 1u);
        s.wait();
        s.at(349ms);
        s.told.cancelled();
        s.at(350ms);
        BOOST_TEST(s.told.tick() == (told_tick{350ms, 0ms, 0, 1}));
        // Nothing is owed for the time before.
        s.at(1s);
        BOOST_TEST(s.timer.restart() == 0u);
        BOOST_TEST(s.tick_at(1100ms) == (told_tick{1100ms, 0ms, 0, 1}));
    }
}

BOOST_AUTO_TEST_CASE(restart_with_a_start)
{
    scene s(ctx, 1min);
    s.at(90s);
    s.timer.restart(std::chrono::floor<std::chrono::minutes>(clock::now()));
    BOOST_TEST(s.tick_at(2min) == (told_tick{2min, 0s, 0, 1}));
    BOOST_TEST(s.tick_at(3min) == (told_tick{3min, 0s, 0, 2}));
    s.timer.restart(clock::now() - 5min);
    s.wait();
    poll();
    BOOST_TEST(s.told.tick() == (told_tick{3min, 0s, 4, 5}));
    s.timer.restart(clock::now() + 1h);
    s.wait();
    s.at(1h + 3min);
    BOOST_TEST(s.told.size() == 0u);
    s.at(1h + 4min);
    BOOST_TEST(s.told.tick() == (told_tick{1h + 4min, 0s, 0, 1}));
}

BOOST_AUTO_TEST_CASE(restart_of_a_fixed_delay)
{
    scene s(ctx, 100ms, repeat_mode::fixed_delay);
    BOOST_TEST(s.tick_at(100ms) == (told_tick{100ms, 0ms, 0, 1}));
    s.wait();
    s.at(150ms);
    BOOST_TEST(s.timer.restart() == 1u);
    s.wait();
    s.at(249ms);
    s.told.cancelled();
    s.at(250ms);
    BOOST_TEST(s.told.tick() == (told_tick{250ms, 0ms, 0, 1}));
}

// A wait that had become due before is told of the old grid, and takes nothing from the new one.
BOOST_AUTO_TEST_CASE(restart_comes_too_late_for_what_is_due)
{
    asio::io_context aside;
    scene s(ctx, 100ms);
    s.timer.async_wait(asio::bind_executor(aside.get_executor(), s.told.handler()));
    s.at(130ms);
    BOOST_TEST(s.timer.restart() == 0u);
    s.wait();
    s.at(140ms);
    aside.poll();
    BOOST_TEST(s.told.tick() == (told_tick{100ms, 40ms, 0, 1}));
    s.at(230ms);
    BOOST_TEST(s.told.tick() == (told_tick{230ms, 0ms, 0, 1}));
}

BOOST_AUTO_TEST_CASE(a_new_period_begins_now)
{
    for (const auto mode : all_modes) {
        reset();
        scene s(ctx, 100ms, mode);
        // Longer, with a wait pending.
        s.wait();
        s.at(60ms);
        s.timer.period(1s);
        BOOST_TEST((s.timer.period() == 1s));
        s.at(1059ms);
        BOOST_TEST(s.told.size() == 0u);
        s.at(1060ms);
        BOOST_TEST(s.told.tick() == (told_tick{1060ms, 0ms, 0, 1}));
        // Shorter.
        s.wait();
        s.timer.period(10ms);
        s.at(1069ms);
        BOOST_TEST(s.told.size() == 0u);
        s.at(1070ms);
        BOOST_TEST(s.told.tick() == (told_tick{1070ms, 0ms, 0, 2}));
        // None pending.
        s.timer.period(20ms);
        BOOST_TEST(s.tick_at(1090ms) == (told_tick{1090ms, 0ms, 0, 3}));
        // A wait after all of that.
        BOOST_TEST(s.tick_at(1110ms) == (told_tick{1110ms, 0ms, 0, 4}));
    }
}

BOOST_AUTO_TEST_CASE(a_new_period_keeps_what_is_due)
{
    scene s(ctx, 100ms);
    s.wait();
    clock::advance(250ms); // nobody has looked yet
    s.timer.period(1h);
    poll();
    BOOST_TEST(s.told.tick() == (told_tick{200ms, 50ms, 1, 2}));
    BOOST_TEST(s.tick_at(1h + 250ms) == (told_tick{1h + 250ms, 0ms, 0, 3}));
}

// Whatever the period does not let the wheel see is missed, and nothing is busy meanwhile (XD5).
BOOST_AUTO_TEST_CASE(a_period_below_the_tick_does_not_spin)
{
    scene s(ctx, 1ns);
    std::function<void()> again = [&] {
        s.timer.async_wait([&](error_code ec, const auto& tick) {
            s.told.handler()(ec, tick);
            if (!ec)
                again();
        });
    };
    again();
    ctx.restart();
    poll_until_quiet(ctx, 10);
    BOOST_TEST(s.told.size() == 0u);
    s.at(1ms);
    BOOST_TEST(s.told.tick() == (told_tick{1ms, 0ns, 999'999, 1'000'000}));
    ctx.restart();
    poll_until_quiet(ctx, 10);
    s.at(2ms);
    BOOST_TEST(s.told.tick() == (told_tick{2ms, 0ns, 999'999, 2'000'000}));
    s.timer.cancel();
    poll();
}

// XD1: a timer that is always behind does not keep others waiting.
BOOST_AUTO_TEST_CASE(a_busy_timer_starves_nobody)
{
    asio::basic_waitable_timer<std::chrono::steady_clock> end{ctx, 30ms};
    basic_wheel_service<std::chrono::steady_clock>& service =
        asio::make_service<wheel_service>(ctx, wheel_service_options{.tick = 1us});
    BOOST_TEST((service.tick() == 1us));
    repeating_timer timer{ctx, 1ns};
    std::uint64_t ticks = 0;
    std::function<void()> again = [&] {
        timer.async_wait([&](error_code ec, const tick_info& tick) {
            if (ec)
                return;
            BOOST_REQUIRE(tick.sequence > ticks);
            ticks = tick.sequence;
            again();
        });
    };
    again();
    int posts = 0;
    std::function<void()> post = [&] {
        if (++posts < 100)
            asio::post(ctx, post);
    };
    post();
    end.async_wait([&](error_code) { timer.cancel(); });
    BOOST_TEST(run_to_end(ctx));
    BOOST_TEST(posts == 100);
    BOOST_TEST(ticks >= 10'000'000u);
}

BOOST_AUTO_TEST_CASE(the_ends_of_time)
{
    constexpr nanoseconds end = (nanoseconds::max)();
    {
        // A period that has no end, and one that ends the time.
        scene s(ctx, end);
        s.wait();
        s.at(end - 1ns);
        BOOST_TEST(s.told.size() == 0u);
        s.timer.period(1h);
        s.at(end - 1ns);
        BOOST_TEST(s.told.size() == 0u);
        s.timer.cancel();
        poll();
        s.told.cancelled();
    }
    reset((nanoseconds::min)());
    scene s(ctx, 100ms);
    const nanoseconds begin = (nanoseconds::min)();
    s.wait();
    s.at(begin + 99ms);
    BOOST_TEST(s.told.size() == 0u);
    s.at(begin + 101ms);
    const told_tick tick = s.told.tick();
    BOOST_TEST(tick.sequence == 1u);
    BOOST_TEST((tick.due == begin + 100ms));
    s.wait();
    s.at(end - 1s);
    const told_tick last = s.told.tick();
    BOOST_TEST((last.late < 100ms));
    BOOST_TEST(last.sequence == (std::numeric_limits<std::uint64_t>::max)() / 100'000'000 - 10);
}

BOOST_AUTO_TEST_CASE(bad_periods)
{
    const auto says = [](const char* text) {
        return [text](const std::invalid_argument& e) {
            const std::string what = e.what();
            return what.find("period") != std::string::npos &&
                   what.find(text) != std::string::npos &&
                   what.find("must be positive") != std::string::npos;
        };
    };
    const auto least = (nanoseconds::min)();
    BOOST_CHECK_EXCEPTION((repeating_timer{ctx, 0ms}), std::invalid_argument, says(" 0 ns"));
    BOOST_CHECK_EXCEPTION((repeating_timer{ctx, -5ns}), std::invalid_argument, says(" -5 ns"));
    BOOST_CHECK_EXCEPTION(
        (repeating_timer{ctx.get_executor(), least, repeat_mode::fixed_delay}),
        std::invalid_argument,
        says(" -9223372036854775808 ns")
    );
    BOOST_TEST(!asio::has_service<wheel_service>(ctx));

    scene s(ctx, 100ms);
    s.wait();
    s.at(50ms);
    BOOST_CHECK_EXCEPTION(s.timer.period(0s), std::invalid_argument, says(" 0 ns"));
    BOOST_CHECK_EXCEPTION(s.timer.period(-1s), std::invalid_argument, says(" -1000000000 ns"));
    BOOST_TEST((s.timer.period() == 100ms));
    s.at(100ms);
    BOOST_TEST(s.told.tick() == (told_tick{100ms, 0ms, 0, 1}));
}

BOOST_AUTO_TEST_CASE(a_moved_timer_keeps_ticks_and_waits)
{
    for (const auto mode : all_modes) {
        reset();
        scene s(ctx, 100ms, mode);
        BOOST_TEST(s.tick_at(100ms) == (told_tick{100ms, 0ms, 0, 1}));
        s.wait();
        auto moved = std::move(s.timer);
        BOOST_TEST((moved.period() == 100ms));
        BOOST_TEST((moved.mode() == mode));
        s.at(200ms);
        BOOST_TEST(s.told.tick() == (told_tick{200ms, 0ms, 0, 2}));
        moved.async_wait(s.told.handler());
        s.at(300ms);
        BOOST_TEST(s.told.tick() == (told_tick{300ms, 0ms, 0, 3}));

        // What was moved from begins anew when it is used.
        BOOST_TEST(s.timer.cancel() == 0u);
        BOOST_TEST((s.timer.period() == 100ms));
        BOOST_TEST((s.timer.mode() == mode));
        s.at(1s);
        BOOST_TEST(s.tick_at(1100ms) == (told_tick{1100ms, 0ms, 0, 1}));
        auto again = std::move(s.timer);
        s.timer.period(10ms);
        BOOST_TEST(s.tick_at(1110ms) == (told_tick{1110ms, 0ms, 0, 1}));
        BOOST_TEST((again.period() == 100ms));
        auto once_more = std::move(s.timer);
        BOOST_TEST(s.timer.restart() == 0u);
        BOOST_TEST(s.tick_at(1120ms) == (told_tick{1120ms, 0ms, 0, 1}));
    }
}

BOOST_AUTO_TEST_CASE(assignment_cancels_and_takes_over)
{
    asio::io_context other;
    scene s(ctx, 100ms);
    s.wait();
    virtual_repeating<tag> target{other, 7s, repeat_mode::fixed_delay};
    outcome result;
    target.async_wait(is_aborted().into(result));
    target = std::move(s.timer);
    other.poll();
    BOOST_TEST(result.invoked == 1);
    BOOST_TEST((target.period() == 100ms));
    BOOST_TEST((target.mode() == repeat_mode::fixed_rate));
    BOOST_TEST((target.get_executor() == asio::any_io_executor(ctx.get_executor())));
    s.at(100ms);
    BOOST_TEST(s.told.tick() == (told_tick{100ms, 0ms, 0, 1}));

    // To itself: nothing changes.
    target.async_wait(s.told.handler());
    auto& same = target;
    target = std::move(same);
    s.at(200ms);
    BOOST_TEST(s.told.tick() == (told_tick{200ms, 0ms, 0, 2}));
}

BOOST_AUTO_TEST_CASE(conversion_takes_over)
{
    record<clock> told;
    virtual_repeating<tag, io_executor> narrow{ctx, 100ms, repeat_mode::skip_if_running};
    narrow.async_wait(told.handler());
    virtual_repeating<tag> wide{std::move(narrow)};
    BOOST_TEST((wide.mode() == repeat_mode::skip_if_running));
    clock::advance(100ms);
    poll();
    BOOST_TEST(told.tick() == (told_tick{100ms, 0ms, 0, 1}));

    wide.async_wait(is_aborted());
    narrow.async_wait(told.handler());
    wide = std::move(narrow);
    clock::advance(100ms);
    poll();
    BOOST_TEST(told.tick() == (told_tick{200ms, 0ms, 0, 1}));
}

// The handlers run after the timer was moved, destroyed, or both.
BOOST_AUTO_TEST_CASE(handlers_outlive_the_timer)
{
    for (const auto mode : all_modes) {
        reset();
        asio::io_context busy;
        record<clock> told;
        std::optional<virtual_repeating<tag>> timer{std::in_place, ctx, 100ms, mode};
        timer->async_wait(asio::bind_executor(busy.get_executor(), told.handler()));
        clock::advance(100ms);
        poll();
        virtual_repeating<tag> moved{std::move(*timer)};
        timer.reset();
        clock::advance(30ms);
        busy.poll();
        BOOST_TEST(told.tick() == (told_tick{100ms, 30ms, 0, 1}));

        // The book is kept: the next one is the second.
        busy.restart();
        moved.async_wait(asio::bind_executor(busy.get_executor(), told.handler()));
        timer.emplace(std::move(moved));
        clock::advance(100ms);
        poll();
        timer.reset();
        busy.poll();
        const told_tick second = told.tick();
        BOOST_TEST(second.sequence == 2u);
        BOOST_TEST(second.missed == 0u);
    }
}

BOOST_AUTO_TEST_CASE(a_context_that_goes_first_drops_waits)
{
    outcome result;
    {
        asio::io_context gone;
        auto timer = std::make_shared<repeating_timer>(gone, 1h);
        timer->async_wait(is_dropped().into(result).then([timer] {}));
    }
    BOOST_TEST(result.dropped == 1);
}

BOOST_AUTO_TEST_CASE(each_timer_has_a_grid_of_its_own)
{
    random_source random(test_seed("repeating_timer/each_timer_has_a_grid_of_its_own"));
    struct one
    {
        virtual_repeating<tag> timer;
        nanoseconds start;
        std::uint64_t told = 0;
        std::uint64_t ticks = 0;
        std::uint64_t missed = 0;
    };
    std::vector<std::unique_ptr<one>> all;
    std::function<void(one&)> wait = [&](one& each) {
        each.timer.async_wait([&](error_code ec, const auto& tick) {
            if (ec)
                return;
            ++each.ticks;
            each.missed += tick.missed;
            each.told = tick.sequence;
            const nanoseconds due = tick.scheduled_for.time_since_epoch();
            BOOST_REQUIRE(
                (due - each.start) == each.timer.period() * static_cast<std::int64_t>(each.told)
            );
            BOOST_REQUIRE(clock::now() - tick.scheduled_for == tick.lateness);
            BOOST_REQUIRE(tick.lateness < each.timer.period());
            BOOST_REQUIRE(each.ticks + each.missed == each.told);
            wait(each);
        });
    };
    for (int i = 0; i < 500; ++i) {
        const nanoseconds period(random.below(3'000'000'000) + 1);
        const nanoseconds now = clock::now().time_since_epoch();
        all.push_back(std::make_unique<one>(one{virtual_repeating<tag>{ctx, period}, now}));
        wait(*all.back());
        clock::advance(nanoseconds(random.below(1'000'000)));
    }
    for (int i = 0; i < 300; ++i) {
        clock::advance(nanoseconds(random.below(50'000'000)));
        poll();
    }
    const nanoseconds now = clock::now().time_since_epoch();
    for (auto& each : all) {
        const auto passed = static_cast<std::uint64_t>((now - each->start) / each->timer.period());
        // Not one is lost; the wheel's tick may be still to come for the last ones.
        const nanoseconds seen = now - 1ms - each->start;
        BOOST_TEST(each->told <= passed);
        BOOST_TEST(static_cast<std::int64_t>(each->told) >= seen / each->timer.period());
        each->timer.cancel();
    }
    poll();
}

BOOST_AUTO_TEST_SUITE_END()

}
