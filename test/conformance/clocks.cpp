// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#include "families.hpp"
#include "stepped_clock.hpp"

#include <test_common/checked_token.hpp>
#include <test_common/io_fixture.hpp>
#include <test_common/run.hpp>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <limits>
#include <random>
#include <ratio>
#include <vector>

namespace timewheel::test {

BOOST_AUTO_TEST_SUITE(conformance_clocks)

namespace {

/// Arms many timers at odd moments of the next milliseconds and checks each at its completion.
template <class Timer>
void check_never_early(asio::io_context& ctx)
{
    using clock = typename Timer::clock_type;
    std::minstd_rand random{5};
    std::deque<Timer> timers;
    int ended = 0;
    int early = 0;
    typename clock::duration latest{};
    // The first ones may end before the others are armed.
    auto busy = asio::make_work_guard(ctx);
    for (int i = 0; i < 300; ++i) {
        auto& timer = timers.emplace_back(ctx, std::chrono::nanoseconds{random() % 20'000'000});
        timer.async_wait([&, i](error_code ec) {
            const auto late = clock::now() - timers[static_cast<std::size_t>(i)].expiry();
            early += late < clock::duration::zero();
            latest = (std::max)(latest, late);
            ended += !ec;
        });
        if (i % 50 == 0)
            poll_until_quiet(ctx);
    }
    busy.reset();
    BOOST_TEST(run_to_end(ctx));
    BOOST_TEST(ended == 300);
    BOOST_TEST(early == 0);
    BOOST_CHECK(latest < patience);
}

}

// C10: no completion before the deadline by the timer's own clock.
BOOST_FIXTURE_TEST_CASE_TEMPLATE(a_steady_timer_is_never_early, Family, families, io_fixture)
{
    check_never_early<typename Family::steady>(ctx);
}

// C10
BOOST_FIXTURE_TEST_CASE_TEMPLATE(a_system_timer_is_never_early, Family, families, io_fixture)
{
    check_never_early<typename Family::system>(ctx);
}

// C10
BOOST_FIXTURE_TEST_CASE_TEMPLATE(
    a_high_resolution_timer_is_never_early,
    Family,
    families,
    io_fixture
)
{
    check_never_early<typename Family::high_resolution>(ctx);
}

// C31: a clock moved by hand, seen by polling: a timer fires when its clock says so, not before.
BOOST_FIXTURE_TEST_CASE_TEMPLATE(a_stepped_clock_decides, Family, families, io_fixture)
{
    using clock = stepped_clock<class decides_tag>;
    clock::set(100h + 300us); // inside a tick
    stepped_timer<Family, clock> timer{ctx, 24h};
    outcome result;
    timer.async_wait(succeeds().into(result));
    run_during(ctx, 5ms);
    clock::advance(24h - 1ns);
    run_during(ctx, 10ms);
    BOOST_TEST(!result.done());
    // At most one tick late, and a tick is a millisecond.
    clock::advance(1ms);
    ctx.restart();
    BOOST_TEST(run_until(ctx, [&] { return result.done(); }));
}

// C31, fault XE2: a clock that jumps far completes all it has passed, in order and at once.
BOOST_FIXTURE_TEST_CASE_TEMPLATE(a_clock_may_jump_far, Family, families, io_fixture)
{
    using clock = stepped_clock<class jump_tag>;
    clock::set(1h);
    std::deque<stepped_timer<Family, clock>> timers;
    std::vector<int> order;
    const std::vector<std::chrono::nanoseconds> delays{
        3ms, 255ms, 256ms + 2ms, 65'536ms, 65'538ms, 1h, 24h, 24h * 30, 24h * 365 * 20
    };
    for (int i = 0; i < static_cast<int>(delays.size()); ++i) {
        timers.emplace_back(ctx, delays[static_cast<std::size_t>(i)]);
        timers.back().async_wait(succeeds().then([&order, i] { order.push_back(i); }));
    }
    typename Family::template basic<clock, polling_traits<clock>> never{
        ctx, (clock::time_point::max)()
    };
    never.async_wait(is_aborted());
    poll_until_quiet(ctx);

    clock::advance(24h * 365 * 25);
    const stopwatch watch;
    BOOST_TEST(run_until(ctx, [&] { return order.size() == delays.size(); }));
    BOOST_CHECK(watch.elapsed() < 2s);
    BOOST_TEST(std::is_sorted(order.begin(), order.end()));
    never.cancel();
    BOOST_TEST(run_to_end(ctx));
}

// C10, fault XE3: a clock that is set back makes nothing early, and nothing is lost.
BOOST_FIXTURE_TEST_CASE_TEMPLATE(a_clock_may_go_back, Family, families, io_fixture)
{
    using clock = stepped_clock<class back_tag>;
    clock::set(100h);
    stepped_timer<Family, clock> first{ctx, 1h};
    stepped_timer<Family, clock> second{ctx, 2h};
    outcome first_result;
    outcome second_result;
    first.async_wait(succeeds().into(first_result));
    second.async_wait(succeeds().into(second_result));
    clock::set(101h - 1ms);
    run_during(ctx, 5ms);
    clock::set(50h);
    run_during(ctx, 5ms);
    BOOST_TEST(!first_result.done());

    // A timer of the new time is not taken for one of the old.
    stepped_timer<Family, clock> fresh{ctx, 10ms};
    outcome fresh_result;
    fresh.async_wait(succeeds().into(fresh_result));
    run_during(ctx, 5ms);
    BOOST_TEST(!fresh_result.done());
    clock::advance(12ms);
    ctx.restart();
    BOOST_TEST(run_until(ctx, [&] { return fresh_result.done(); }));
    BOOST_TEST(!first_result.done());

    clock::set(101h + 1ms);
    BOOST_TEST(run_until(ctx, [&] { return first_result.done(); }));
    BOOST_TEST(!second_result.done());
    clock::set(102h + 1ms);
    BOOST_TEST(run_to_end(ctx));
    BOOST_TEST(second_result.invoked == 1);
}

// C1: before the epoch of its clock, a timer that was never set waits for it.
BOOST_FIXTURE_TEST_CASE_TEMPLATE(the_epoch_may_lie_ahead, Family, families, io_fixture)
{
    using clock = stepped_clock<class ahead_tag>;
    clock::set(-1h);
    stepped_timer<Family, clock> timer{ctx};
    BOOST_CHECK(timer.expiry() == typename clock::time_point{});
    outcome result;
    timer.async_wait(succeeds().into(result));
    run_during(ctx, 5ms);
    clock::set(-1ns);
    run_during(ctx, 5ms);
    BOOST_TEST(!result.done());
    clock::set(1ms);
    ctx.restart();
    BOOST_TEST(run_to_end(ctx));
    BOOST_TEST(result.invoked == 1);
}

// C3: additions saturate at both ends, whatever the clock reads.
BOOST_FIXTURE_TEST_CASE_TEMPLATE(additions_saturate_at_both_ends, Family, families, io_fixture)
{
    using clock = stepped_clock<class saturation_tag>;
    using duration = typename clock::duration;
    using time_point = typename clock::time_point;
    stepped_timer<Family, clock> timer{ctx};
    const auto after = [&](duration d) {
        timer.expires_after(d);
        return timer.expiry();
    };
    const auto at = [](duration d) { return time_point{d}; };

    clock::set(1h);
    BOOST_CHECK(after((duration::max)()) == (time_point::max)());
    BOOST_CHECK(after((duration::max)() - 1h) == (time_point::max)());
    BOOST_CHECK(after((duration::max)() - 1h - 1ns) == (time_point::max)() - 1ns);
    BOOST_CHECK(after((duration::min)()) == at((duration::min)() + 1h));
    clock::set(-1h);
    BOOST_CHECK(after((duration::max)()) == at((duration::max)() - 1h));
    BOOST_CHECK(after((duration::min)()) == (time_point::min)());
    BOOST_CHECK(after((duration::min)() + 1h) == (time_point::min)());
    BOOST_CHECK(after((duration::min)() + 1h + 1ns) == (time_point::min)() + 1ns);
    clock::set(0h);
    BOOST_CHECK(after((duration::max)()) == (time_point::max)());
    BOOST_CHECK(after((duration::min)()) == (time_point::min)());
    clock::set((duration::max)() - 1ns);
    BOOST_CHECK(after(1ns) == (time_point::max)());
    BOOST_CHECK(after(1h) == (time_point::max)());
    BOOST_CHECK(after(-1h) == at((duration::max)() - 1ns - 1h));
    clock::set((duration::min)() + 1ns);
    BOOST_CHECK(after(-1h) == (time_point::min)());
    BOOST_CHECK(after(1h) == at((duration::min)() + 1ns + 1h));
}

// C3, C10: every offset of the clock works: negative, at powers of two, and near its ends.
BOOST_FIXTURE_TEST_CASE_TEMPLATE(any_clock_offset_works, Family, families, io_fixture)
{
    using clock = stepped_clock<class offset_tag>;
    using duration = typename clock::duration;
    const std::vector<std::chrono::nanoseconds> offsets{
        duration{0},
        duration{-1},
        duration{-1'000'000},
        duration{-1'500'000},
        duration{999'999},
        -1h,
        duration{std::int64_t{1} << 32},
        duration{(std::int64_t{1} << 40) - 1},
        duration{-(std::int64_t{1} << 48)},
        duration{std::int64_t{1} << 62},
        (duration::min)(),
        (duration::min)() + 1h,
        (duration::max)() - 1h
    };
    for (const auto offset : offsets) {
        BOOST_TEST_CONTEXT("offset " << offset.count() << " ns")
        {
            // A context of its own: the service reads the clock when it is made.
            asio::io_context own;
            clock::set(offset);
            stepped_timer<Family, clock> timer{own, 10ms + 300us};
            stepped_timer<Family, clock> past{own, -1ms};
            stepped_timer<Family, clock> never{own, (clock::time_point::max)()};
            outcome result;
            outcome past_result;
            timer.async_wait(succeeds().into(result));
            past.async_wait(succeeds().into(past_result));
            never.async_wait(is_aborted());
            BOOST_TEST(run_until(own, [&] { return past_result.done(); }));
            clock::advance(10ms + 300us - 1ns);
            run_during(own, 3ms);
            BOOST_TEST(!result.done());
            clock::advance(1ms);
            own.restart();
            BOOST_TEST(run_until(own, [&] { return result.done(); }));
            BOOST_TEST(never.cancel() == 1U);
            BOOST_TEST(run_to_end(own));
        }
    }
}

namespace {

template <class Family, class Clock>
void check_coarse_clock(asio::io_context& ctx, typename Clock::duration unit)
{
    Clock::set(unit * 1000);
    stepped_timer<Family, Clock> timer{ctx, unit * 5};
    stepped_timer<Family, Clock> never{ctx, (Clock::duration::max)()};
    BOOST_CHECK(never.expiry() == (Clock::time_point::max)());
    outcome result;
    timer.async_wait(succeeds().into(result));
    never.async_wait(is_aborted());
    run_during(ctx, 3ms);
    Clock::advance(unit * 4);
    run_during(ctx, 3ms);
    BOOST_TEST(!result.done());
    Clock::advance(unit * 2);
    ctx.restart();
    BOOST_TEST(run_until(ctx, [&] { return result.done(); }));
    never.cancel();
    BOOST_TEST(run_to_end(ctx));
    ctx.restart();
}

}

// Clocks need not count nanoseconds, nor in 64 bits.
BOOST_FIXTURE_TEST_CASE_TEMPLATE(clocks_of_other_periods_work, Family, families, io_fixture)
{
    using namespace std::chrono;
    check_coarse_clock<Family, stepped_clock<class seconds_tag, seconds>>(ctx, 1s);
    check_coarse_clock<
        Family,
        stepped_clock<class minutes_tag, duration<std::int64_t, std::ratio<60>>>>(ctx, 1min);
    check_coarse_clock<Family, stepped_clock<class short_tag, duration<std::int32_t, std::milli>>>(
        ctx, duration<std::int32_t, std::milli>{1}
    );
    check_coarse_clock<
        Family,
        stepped_clock<class thirds_tag, duration<std::int64_t, std::ratio<1, 300>>>>(
        ctx, duration<std::int64_t, std::ratio<1, 300>>{1}
    );
}

namespace {

/// Wait traits that shorten every wait and write down how they are used.
template <class Clock>
struct recording_traits
{
    static typename Clock::duration to_wait_duration(const typename Clock::duration& d)
    {
        ++durations;
        longest = (std::max)(longest.load(), d.count());
        return (std::min)(d, typename Clock::duration{std::chrono::milliseconds{1}});
    }

    // The overload for time points is left out on purpose: nothing has ever called it.

    static inline std::atomic<int> durations{0};
    static inline std::atomic<typename Clock::rep> longest{0};
};

}

// C30: of the wait traits, to_wait_duration(duration) is what is used; what it says may be too short.
BOOST_FIXTURE_TEST_CASE_TEMPLATE(wait_traits_may_shorten_a_wait, Family, families, io_fixture)
{
    using clock = std::chrono::steady_clock;
    using traits = recording_traits<clock>;
    traits::durations = 0;
    traits::longest = 0;
    typename Family::template basic<clock, traits> timer{ctx, 15ms};
    timer.async_wait(succeeds().then([&] { BOOST_CHECK(clock::now() >= timer.expiry()); }));
    BOOST_TEST(run_to_end(ctx));
    BOOST_TEST(traits::durations >= 3);
    // One tick more than the delay at the very most: that is how ours rounds up.
    BOOST_TEST(traits::longest <= std::chrono::nanoseconds{16ms}.count());
}

// C30: the blocking wait uses the traits as well.
BOOST_FIXTURE_TEST_CASE_TEMPLATE(the_blocking_wait_uses_the_traits, Family, families, io_fixture)
{
    using clock = std::chrono::steady_clock;
    using traits = recording_traits<clock>;
    traits::durations = 0;
    typename Family::template basic<clock, traits> timer{ctx, 5ms};
    timer.wait();
    BOOST_CHECK(clock::now() >= timer.expiry());
    BOOST_TEST(traits::durations >= 1); // more if the thread is not held up in between
}

// C30: the same clock with other traits is another kind of timer; both live on one context.
BOOST_FIXTURE_TEST_CASE_TEMPLATE(traits_are_part_of_the_type, Family, families, io_fixture)
{
    using clock = std::chrono::steady_clock;
    typename Family::template basic<clock, polling_traits<clock>> polled{ctx, 3ms};
    typename Family::steady plain{ctx, 3ms};
    polled.async_wait(succeeds());
    plain.async_wait(succeeds());
    BOOST_TEST(run_to_end(ctx));
}

BOOST_AUTO_TEST_SUITE_END()

}
