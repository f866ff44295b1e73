// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#include <timewheel/idle_timer.hpp>

#include <test_common/allocation_counter.hpp>
#include <test_common/checked_token.hpp>
#include <test_common/io_fixture.hpp>
#include <test_common/run.hpp>
#include <test_common/tracker_executor.hpp>
#include <test_common/virtual_time.hpp>

#include <boost/asio/bind_executor.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/strand.hpp>
#include <boost/test/unit_test.hpp>

#include <chrono>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <ratio>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace timewheel::test {

namespace {

template <class Tag>
using virtual_idle_timer = basic_idle_timer<manual_clock<Tag>>;

template <class Clock>
typename Clock::time_point at(typename Clock::duration since_epoch)
{
    return typename Clock::time_point(since_epoch);
}

template <class Timer>
wheel_service_stats stats_of(asio::execution_context& context)
{
    return service_of<Timer>(context).stats();
}

// Runs what is ready, also after the context has once been out of work.
void run_ready(asio::io_context& ctx)
{
    ctx.restart();
    poll_until_quiet(ctx);
}

// The message that an invalid argument is answered with.
template <class Function>
std::string complaint(Function&& function)
{
    try {
        function();
    } catch (const std::invalid_argument& e) {
        return e.what();
    }
    return "nothing was thrown";
}

}

BOOST_AUTO_TEST_SUITE(idle_timer)

static_assert(std::is_same_v<timewheel::idle_timer, basic_idle_timer<std::chrono::steady_clock>>);
static_assert(!std::is_copy_constructible_v<timewheel::idle_timer>);
static_assert(std::is_move_constructible_v<timewheel::idle_timer>);
static_assert(std::is_constructible_v<
              timewheel::idle_timer,
              asio::io_context&,
              std::chrono::steady_clock::duration>);

// Never before the expiry and at most a tick after it, wherever in a tick it falls.
BOOST_AUTO_TEST_CASE(completes_within_a_tick_after_the_silence)
{
    using clock = manual_clock<struct silence>;
    const std::vector<std::chrono::nanoseconds> starts{
        0ns, 1ns, 999'999ns, 1ms, 123'456'789ns, -1ns, -5ms, -7'654'321ns, 24h * 365 * 60 + 1ns
    };
    const std::vector<std::chrono::nanoseconds> spans{1ns, 1ms, 1'000'001ns, 30s, 24h * 40};
    for (const std::chrono::nanoseconds tick : {1'000ns, 1'000'000ns, 7'000'000ns}) {
        for (const auto start : starts) {
            for (const auto span : spans) {
                BOOST_TEST_CONTEXT(
                    "tick " << tick.count() << " start " << start.count() << " span "
                            << span.count()
                )
                {
                    clock::set(at<clock>(start));
                    asio::io_context ctx;
                    asio::make_service<basic_wheel_service<clock>>(
                        ctx, wheel_service_options{.tick = tick}
                    );
                    basic_idle_timer<clock> idle{ctx, span};
                    BOOST_CHECK(idle.expiry() == at<clock>(start + span));
                    outcome result;
                    idle.async_wait(succeeds().into(result));
                    run_ready(ctx);
                    clock::advance(span - 1ns);
                    run_ready(ctx);
                    BOOST_TEST(!result.done());
                    clock::advance(tick); // one tick after the expiry, less a nanosecond
                    run_ready(ctx);
                    BOOST_TEST(result.done());
                }
            }
        }
    }
}

// XE6: what counts is the last touch, not the start of the wait, nor the deadline before.
BOOST_FIXTURE_TEST_CASE(counts_from_the_last_touch, io_fixture)
{
    using clock = manual_clock<struct last_touch>;
    basic_idle_timer<clock> idle{ctx, 30s};
    clock::advance(10s);
    outcome first;
    idle.async_wait(succeeds().into(first)); // 20 s left: the construction was a touch
    clock::advance(19s);
    run_ready(ctx);
    BOOST_TEST(!first.done());
    idle.touch();
    BOOST_CHECK(idle.expiry() == at<clock>(59s));
    for (int i = 0; i != 29; ++i) {
        clock::advance(1s);
        run_ready(ctx);
        BOOST_TEST(!first.done());
    }
    clock::advance(1s);
    run_ready(ctx);
    BOOST_TEST(first.done());
    BOOST_CHECK(idle.expiry() == clock::now());
}

BOOST_FIXTURE_TEST_CASE(touch_restarts_the_silence_after_an_expiry, io_fixture)
{
    using clock = manual_clock<struct after_expiry>;
    basic_idle_timer<clock> idle{ctx, 1s};
    for (int i = 0; i != 3; ++i) {
        outcome result;
        idle.async_wait(succeeds().into(result));
        run_ready(ctx);
        BOOST_TEST(!result.done());
        clock::advance(1s);
        run_ready(ctx);
        BOOST_TEST(result.done());
        idle.touch();
    }
}

// A wait on an idle object is over at once, but not within the initiating function.
BOOST_FIXTURE_TEST_CASE(wait_on_an_idle_object_completes_at_once, io_fixture)
{
    using clock = manual_clock<struct idle_already>;
    basic_idle_timer<clock> idle{ctx, 1s};
    clock::advance(1h);
    for (int i = 0; i != 2; ++i) {
        outcome result;
        idle.async_wait(succeeds().into(result));
        BOOST_TEST(!result.done());
        run_ready(ctx);
        BOOST_TEST(result.done());
    }
    // A touch between the start and the turn is still in time.
    outcome late;
    idle.async_wait(succeeds().into(late));
    idle.touch();
    run_ready(ctx);
    BOOST_TEST(!late.done());
    clock::advance(1s);
    run_ready(ctx);
    BOOST_TEST(late.done());
}

// No completion, no aborted wait, no post, and no alarm but the wheel's own, one for each span.
BOOST_FIXTURE_TEST_CASE(touch_has_no_side_effects, io_fixture)
{
    using clock = manual_clock<struct side_effects>;
    using timer = basic_idle_timer<clock>;
    timer idle{ctx, 10s};
    outcome result;
    idle.async_wait(succeeds().into(result));
    run_ready(ctx);
    const auto before = stats_of<timer>(ctx);
    for (int i = 0; i != 1000; ++i) {
        idle.touch();
        idle.touch(clock::now());
        BOOST_TEST(ctx.poll() == 0U);
        clock::advance(5ms);
    }
    const auto after = stats_of<timer>(ctx);
    BOOST_TEST(after.os_arms == before.os_arms);
    BOOST_TEST(after.wakeups == before.wakeups);
    BOOST_TEST(after.pending == 1U);
    BOOST_TEST(after.cancelled == 0U);

    // 100 spans with a touch in each: the wheel comes up once a span and goes back.
    for (int i = 0; i != 1000; ++i) {
        clock::advance(1s);
        run_ready(ctx);
        idle.touch();
    }
    const auto refiled = stats_of<timer>(ctx);
    BOOST_TEST(refiled.pending == 1U);
    BOOST_TEST(refiled.fired == 0U);
    BOOST_TEST(refiled.os_arms - after.os_arms <= 120U);
    BOOST_TEST(!result.done());
    clock::advance(10s);
    run_ready(ctx);
    BOOST_TEST(result.done());
}

BOOST_FIXTURE_TEST_CASE(touch_with_a_time, io_fixture)
{
    using clock = manual_clock<struct given_time>;
    basic_idle_timer<clock> idle{ctx, 10s};
    idle.touch(at<clock>(5s)); // may be in the future
    BOOST_CHECK(idle.expiry() == at<clock>(15s));
    outcome later;
    idle.async_wait(succeeds().into(later));
    clock::advance_to(at<clock>(15s - 1ns));
    run_ready(ctx);
    BOOST_TEST(!later.done());
    idle.touch(at<clock>(14s));
    clock::advance_to(at<clock>(24s - 1ns));
    run_ready(ctx);
    BOOST_TEST(!later.done());
    clock::advance_to(at<clock>(24s));
    run_ready(ctx);
    BOOST_TEST(later.done());

    // An earlier time moves the wait forward, also after the wait has been refiled.
    idle.touch(at<clock>(100s));
    outcome earlier;
    idle.async_wait(succeeds().into(earlier));
    run_ready(ctx);
    idle.touch(at<clock>(60s));
    clock::advance_to(at<clock>(70s - 1ns));
    run_ready(ctx);
    BOOST_TEST(!earlier.done());
    idle.touch(at<clock>(65s));
    clock::advance_to(at<clock>(70s));
    run_ready(ctx);
    BOOST_TEST(!earlier.done());
    idle.touch(at<clock>(62s));
    clock::advance_to(at<clock>(72s));
    run_ready(ctx);
    BOOST_TEST(earlier.done());

    // To the point that the silence has lasted long enough.
    idle.touch();
    outcome at_once;
    idle.async_wait(succeeds().into(at_once));
    run_ready(ctx);
    BOOST_TEST(!at_once.done());
    idle.touch((clock::time_point::min)());
    BOOST_TEST(!at_once.done());
    run_ready(ctx);
    BOOST_TEST(at_once.done());
}

// The winner of a race: a touch that is there when the wheel looks.
BOOST_FIXTURE_TEST_CASE(touch_before_the_wheel_looks_wins, io_fixture)
{
    using clock = manual_clock<struct early_touch>;
    basic_idle_timer<clock> idle{ctx, 10s};
    outcome result;
    idle.async_wait(succeeds().into(result));
    run_ready(ctx);
    clock::advance(1h); // due, but nothing has run yet
    idle.touch();
    run_ready(ctx);
    BOOST_TEST(!result.done());
    clock::advance(10s - 1ns);
    run_ready(ctx);
    BOOST_TEST(!result.done());
    clock::advance(1ns);
    run_ready(ctx);
    BOOST_TEST(result.done());
}

// XC1: the wheel has looked at both before the first handler runs, so its touch and its cancel()
// come too late for the second.
BOOST_FIXTURE_TEST_CASE(touch_after_the_wheel_has_looked_loses, io_fixture)
{
    using clock = manual_clock<struct late_touch>;
    basic_idle_timer<clock> first{ctx, 10s};
    basic_idle_timer<clock> second{ctx, 10s};
    outcome result;
    first.async_wait(succeeds().then([&] {
        second.touch();
        BOOST_TEST(second.cancel() == 0U);
        BOOST_TEST(!result.done());
    }));
    second.async_wait(succeeds().into(result));
    clock::advance(10s);
    run_ready(ctx);
    BOOST_TEST(result.invoked == 1);
    BOOST_CHECK(second.expiry() == at<clock>(20s)); // how a handler sees that it was touched
}

BOOST_FIXTURE_TEST_CASE(several_waits_end_together_in_order, io_fixture)
{
    using clock = manual_clock<struct several>;
    basic_idle_timer<clock> idle{ctx, 10s};
    std::vector<int> order;
    for (int i = 0; i != 5; ++i)
        idle.async_wait(succeeds().then([&order, i] { order.push_back(i); }));
    clock::advance(9s);
    idle.touch();
    clock::advance(9s);
    run_ready(ctx);
    BOOST_TEST(order.empty());
    clock::advance(1s);
    run_ready(ctx);
    BOOST_TEST(order == (std::vector<int>{0, 1, 2, 3, 4}));
}

BOOST_FIXTURE_TEST_CASE(cancel_ends_waits_and_nothing_else, io_fixture)
{
    using clock = manual_clock<struct cancelling>;
    using timer = basic_idle_timer<clock>;
    timer idle{ctx, 10s};
    BOOST_TEST(idle.cancel() == 0U);
    BOOST_TEST(idle.cancel_one() == 0U);
    outcome oldest, others;
    idle.async_wait(is_aborted().into(oldest));
    idle.async_wait(is_aborted().into(others));
    idle.async_wait(is_aborted().into(others));
    BOOST_TEST(idle.cancel_one() == 1U);
    run_ready(ctx);
    BOOST_TEST(oldest.invoked == 1);
    BOOST_TEST(others.invoked == 0);
    BOOST_TEST(idle.cancel() == 2U);
    run_ready(ctx);
    BOOST_TEST(others.invoked == 2);
    BOOST_TEST(ctx.stopped()); // nothing is pending, so run() would return
    BOOST_CHECK(idle.expiry() == at<clock>(10s));
    BOOST_CHECK(idle.timeout() == 10s);

    // The wait after it has the place of the one before.
    outcome again;
    idle.async_wait(succeeds().into(again));
    clock::advance(10s);
    run_ready(ctx);
    BOOST_TEST(again.done());
    checked_stats<timer>(ctx, 4);
}

// A wait that was cancelled leaves nothing behind that comes up again and again.
BOOST_FIXTURE_TEST_CASE(touched_without_a_wait_it_leaves_the_wheel, io_fixture)
{
    using clock = manual_clock<struct unarmed>;
    basic_idle_timer<clock> idle{ctx, 10s};
    virtual_timer<struct unarmed> other{ctx, 1h};
    other.async_wait(is_aborted());
    idle.async_wait(is_aborted());
    idle.cancel();
    run_ready(ctx);
    const auto before = service_of<decltype(other)>(ctx).stats();
    for (int i = 0; i != 100; ++i) {
        clock::advance(5s);
        idle.touch();
        run_ready(ctx);
    }
    const auto after = service_of<decltype(other)>(ctx).stats();
    BOOST_TEST(after.os_arms - before.os_arms <= 2U);
    other.cancel();
}

BOOST_FIXTURE_TEST_CASE(timeout_takes_effect_for_a_pending_wait, io_fixture)
{
    using clock = manual_clock<struct new_timeout>;
    basic_idle_timer<clock> idle{ctx, 10s};
    BOOST_CHECK(idle.timeout() == 10s);
    outcome shorter;
    idle.async_wait(succeeds().into(shorter));
    run_ready(ctx);
    idle.timeout(4s);
    BOOST_CHECK(idle.timeout() == 4s);
    BOOST_CHECK(idle.expiry() == at<clock>(4s));
    clock::advance(4s - 1ns);
    run_ready(ctx);
    BOOST_TEST(!shorter.done());
    clock::advance(1ns);
    run_ready(ctx);
    BOOST_TEST(shorter.done());

    idle.touch();
    outcome longer;
    idle.async_wait(succeeds().into(longer));
    run_ready(ctx);
    clock::advance(4s); // due, but the wheel has not looked
    idle.timeout(20s);
    run_ready(ctx);
    BOOST_TEST(!longer.done());
    clock::advance(16s - 1ns);
    run_ready(ctx);
    BOOST_TEST(!longer.done());

    idle.timeout(1s); // shorter than the silence so far
    BOOST_TEST(!longer.done());
    run_ready(ctx);
    BOOST_TEST(longer.done());
    BOOST_CHECK(idle.expiry() == at<clock>(5s));
}

BOOST_FIXTURE_TEST_CASE(the_longest_timeout_never_ends, io_fixture)
{
    using clock = manual_clock<struct never_ending>;
    const auto forever = (clock::duration::max)();
    for (const auto start : {0ns, -5'000'000'000ns, 5'000'000'000ns}) {
        clock::set(at<clock>(start));
        basic_idle_timer<clock> idle{ctx, forever};
        outcome result;
        idle.async_wait(succeeds().into(result));
        BOOST_CHECK(idle.expiry() == (clock::time_point::max)());
        clock::set((clock::time_point::max)());
        run_ready(ctx);
        BOOST_TEST(!result.done());
        clock::set(at<clock>(start));
        idle.timeout(1s);
        BOOST_CHECK(idle.expiry() == at<clock>(start + 1s));
        clock::advance(1s);
        run_ready(ctx);
        BOOST_TEST(result.done());

        idle.touch(at<clock>(forever - 1s));
        idle.timeout(24h); // past the end of time
        BOOST_CHECK(idle.expiry() == (clock::time_point::max)());
        idle.async_wait(is_aborted());
        run_ready(ctx);
        BOOST_TEST(idle.cancel() == 1U);
        run_ready(ctx);
    }
}

BOOST_FIXTURE_TEST_CASE(bad_timeouts_are_refused, io_fixture)
{
    using clock = manual_clock<struct bad_timeouts>;
    using timer = basic_idle_timer<clock>;
    for (const auto bad : {0ns, -1ns, -30s + 0ns, (clock::duration::min)()}) {
        const std::string expected = "timewheel: the timeout of an idle_timer is " +
                                     std::to_string(bad.count()) + " ns, but must be positive";
        BOOST_TEST(complaint([&] { timer(ctx, bad); }) == expected);
        BOOST_TEST(complaint([&] { timer(ctx.get_executor(), bad); }) == expected);
        timer idle{ctx, 10s};
        outcome result;
        idle.async_wait(succeeds().into(result));
        BOOST_TEST(complaint([&] { idle.timeout(bad); }) == expected);
        BOOST_CHECK(idle.timeout() == 10s);
        clock::advance(10s - 1ns);
        run_ready(ctx);
        BOOST_TEST(!result.done());
        clock::advance(1ns);
        run_ready(ctx);
        BOOST_TEST(result.done());
    }
    BOOST_TEST(stats_of<timer>(ctx).pending == 0U);
}

// A clock that is set back: nothing is early, and touches count by the new time.
BOOST_FIXTURE_TEST_CASE(clock_goes_back, io_fixture)
{
    using clock = manual_clock<struct back>;
    clock::set(at<clock>(24h));
    basic_idle_timer<clock> idle{ctx, 10s};
    outcome touched;
    idle.async_wait(succeeds().into(touched));
    run_ready(ctx);
    for (int i = 0; i != 3; ++i) {
        clock::set(clock::now() - 1h);
        idle.touch();
        BOOST_CHECK(idle.expiry() == clock::now() + 10s);
        clock::advance(10s - 1ns);
        run_ready(ctx);
        BOOST_TEST(!touched.done());
    }
    clock::advance(1ms); // to the end of the tick
    run_ready(ctx);
    BOOST_TEST(touched.done());

    idle.touch();
    const auto expiry = idle.expiry();
    outcome untouched;
    idle.async_wait(succeeds().into(untouched));
    clock::set(at<clock>(0s));
    run_ready(ctx);
    clock::set(expiry - 1ns);
    run_ready(ctx);
    BOOST_TEST(!untouched.done());
    clock::set(expiry + 1ms);
    run_ready(ctx);
    BOOST_TEST(untouched.done());
}

namespace {

// Counts in some other way; it moves while it is looked at, so that no test needs to move it.
template <class Duration>
struct real_clock
{
    using duration = Duration;
    using rep = typename duration::rep;
    using period = typename duration::period;
    using time_point = std::chrono::time_point<real_clock>;
    static constexpr bool is_steady = true;

    static time_point now()
    {
        static const auto start = std::chrono::steady_clock::now();
        const auto since = std::chrono::steady_clock::now() - start;
        return time_point(std::chrono::duration_cast<duration>(since));
    }
};

using real_clocks = std::tuple<
    real_clock<std::chrono::duration<double>>,
    real_clock<std::chrono::duration<float, std::milli>>,
    real_clock<std::chrono::duration<unsigned, std::milli>>,
    real_clock<std::chrono::duration<short, std::milli>>,
    std::chrono::steady_clock,
    std::chrono::system_clock>;

}

BOOST_AUTO_TEST_CASE_TEMPLATE(other_clocks, Clock, real_clocks)
{
    using duration = typename Clock::duration;
    asio::io_context ctx;
    const auto span = std::chrono::duration_cast<duration>(std::chrono::milliseconds(30));
    basic_idle_timer<Clock> idle{ctx, span};
    const auto start = Clock::now();
    outcome result;
    idle.async_wait(succeeds().into(result).then([&] {
        BOOST_CHECK(Clock::now() >= idle.expiry());
        BOOST_CHECK(Clock::now() - start >= span);
    }));
    ctx.run_for(15ms);
    BOOST_TEST(!result.done());
    idle.touch();
    BOOST_TEST(run_to_end(ctx));
    BOOST_TEST(result.done());
    BOOST_CHECK_THROW(idle.timeout(duration::zero()), std::invalid_argument);
    if constexpr (std::is_floating_point_v<typename duration::rep>) {
        using limits = std::numeric_limits<typename duration::rep>;
        BOOST_CHECK_THROW(idle.timeout(duration(limits::quiet_NaN())), std::invalid_argument);
        idle.timeout(duration(limits::infinity()));
        BOOST_CHECK((idle.expiry() == (Clock::time_point::max)()));
    }
}

BOOST_FIXTURE_TEST_CASE(move_takes_the_waits_along, io_fixture)
{
    using clock = manual_clock<struct moving>;
    using timer = basic_idle_timer<clock>;
    timer source{ctx, 10s};
    outcome moved;
    source.async_wait(succeeds().into(moved));
    clock::advance(5s);
    source.touch();
    timer target{std::move(source)};
    BOOST_CHECK(target.timeout() == 10s);
    BOOST_CHECK(target.expiry() == at<clock>(15s));
    BOOST_TEST(source.cancel() == 0U);
    clock::advance(5s);
    target.touch();
    clock::advance(10s - 1ns);
    run_ready(ctx);
    BOOST_TEST(!moved.done());

    // What was moved from is a timer like any other.
    BOOST_CHECK(source.timeout() == 10s);
    source.touch();
    outcome reused;
    source.async_wait(succeeds().into(reused));
    clock::advance(1ns);
    run_ready(ctx);
    BOOST_TEST(moved.done());
    BOOST_TEST(!reused.done());
    clock::advance(10s);
    run_ready(ctx);
    BOOST_TEST(reused.done());
}

BOOST_FIXTURE_TEST_CASE(move_assignment_cancels_what_was_there, io_fixture)
{
    using clock = manual_clock<struct assigning>;
    using timer = basic_idle_timer<clock>;
    asio::io_context other_ctx;
    timer target{other_ctx, 1h};
    outcome gone, kept;
    target.async_wait(is_aborted().into(gone));
    timer source{ctx, 10s};
    source.async_wait(succeeds().into(kept));
    target = std::move(source);
    BOOST_CHECK(target.get_executor() == ctx.get_executor());
    run_ready(other_ctx);
    BOOST_TEST(gone.done());

    timer& itself = target;
    target = std::move(itself);
    clock::advance(5s);
    target.touch();
    clock::advance(9s);
    run_ready(ctx);
    BOOST_TEST(!kept.done());
    clock::advance(1s);
    run_ready(ctx);
    BOOST_TEST(kept.done());
}

BOOST_FIXTURE_TEST_CASE(move_to_another_executor_type, io_fixture)
{
    using clock = manual_clock<struct rebinding>;
    using plain =
        basic_idle_timer<clock, asio::wait_traits<clock>, asio::io_context::executor_type>;
    using any = plain::rebind_executor<asio::any_io_executor>::other;
    static_assert(std::is_same_v<any, basic_idle_timer<clock>>);
    plain source{ctx, 10s};
    outcome result;
    source.async_wait(succeeds().into(result));
    any target{std::move(source)};
    clock::advance(5s);
    target.touch();
    clock::advance(5s);
    run_ready(ctx);
    BOOST_TEST(!result.done());
    clock::advance(5s);
    run_ready(ctx);
    BOOST_TEST(result.done());
    plain second{ctx, 1s};
    second.async_wait(succeeds().into(result));
    target = std::move(second);
    BOOST_CHECK(target.timeout() == 1s);
    clock::advance(1s);
    run_ready(ctx);
    BOOST_TEST(result.invoked == 2);
}

BOOST_FIXTURE_TEST_CASE(destruction_cancels, io_fixture)
{
    using clock = manual_clock<struct destroying>;
    using timer = basic_idle_timer<clock>;
    outcome result;
    {
        timer idle{ctx, 10s};
        idle.async_wait(is_aborted().into(result));
    }
    run_ready(ctx);
    BOOST_TEST(result.done());

    // XC8: in the handler of a wait that was due in the same tick.
    auto doomed = std::make_unique<timer>(ctx, 10s);
    timer killer{ctx, 10s};
    killer.async_wait(succeeds().then([&] { doomed.reset(); }));
    doomed->async_wait(succeeds().into(result));
    clock::advance(10s);
    run_ready(ctx);
    BOOST_TEST(result.invoked == 2);

    // By its own handler.
    auto own = std::make_unique<timer>(ctx, 10s);
    own->async_wait(succeeds().then([&] { own.reset(); }));
    clock::advance(10s);
    run_ready(ctx);
    BOOST_TEST(!own);
}

BOOST_AUTO_TEST_CASE(shutdown_drops_pending_waits)
{
    using timer = virtual_idle_timer<struct shutting_down>;
    outcome result;
    std::optional<timer> idle;
    {
        asio::io_context ctx;
        auto owned = std::make_shared<timer>(ctx, 10s);
        owned->async_wait([owned](error_code) { BOOST_ERROR("called at shutdown"); });
        timer other{ctx, (timer::duration::max)()};
        other.async_wait(is_dropped().into(result));
        idle.emplace(std::move(other));
        idle->touch();
        run_ready(ctx);
        // The timer goes before its context, in which the aborted wait is left.
        idle.reset();
    }
    BOOST_TEST(result.dropped == 1);
}

BOOST_FIXTURE_TEST_CASE(a_strand_and_a_bound_executor_are_kept, io_fixture)
{
    using clock = manual_clock<struct executors>;
    const auto strand = asio::make_strand(ctx);
    basic_idle_timer<clock> idle{strand, 10s};
    int calls = 0;
    idle.async_wait([&](error_code) { calls += strand.running_in_this_thread(); });
    const tracker_executor tracker{ctx.get_executor()};
    idle.async_wait(asio::bind_executor(tracker, [&](error_code) {
        calls += tracker.running_here();
    }));
    BOOST_TEST(tracker.diary().outstanding == 1);
    clock::advance(10s);
    run_ready(ctx);
    BOOST_TEST(calls == 2);
    BOOST_TEST(tracker.diary().outstanding == 0);
}

BOOST_FIXTURE_TEST_CASE(steady_state_allocates_nothing, io_fixture)
{
    BOOST_REQUIRE(counts_allocations());
    using clock = manual_clock<struct allocations>;
    basic_idle_timer<clock> idle{ctx, 10s};
    int ended = 0;
    // Started from a handler, where Asio recycles memory.
    std::function<void()> next = [&] {
        idle.async_wait([&](error_code ec) {
            if (ec)
                return;
            ++ended;
            idle.touch();
            next();
        });
    };
    next();
    const auto some_spans = [&] {
        for (int i = 0; i != 200; ++i) {
            clock::advance(3s);
            if (i % 8 != 0)
                idle.touch();
            idle.timeout(i % 2 == 0 ? 8s : 7s);
            ctx.poll();
            if (i % 8 == 0)
                clock::advance(10s);
            ctx.poll();
        }
    };
    some_spans();
    const int warm = ended;
    BOOST_TEST(warm > 10);
    const allocation_counter counter;
    some_spans();
    BOOST_TEST(counter.count() == 0U);
    BOOST_TEST(ended > warm);
    idle.cancel();
}

BOOST_AUTO_TEST_SUITE_END()

}
