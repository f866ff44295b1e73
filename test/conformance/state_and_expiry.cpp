// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#include "families.hpp"

#include <test_common/checked_token.hpp>
#include <test_common/io_fixture.hpp>
#include <test_common/run.hpp>

#if BOOST_ASIO_VERSION >= 102800
#include <boost/asio/bind_immediate_executor.hpp>
#include <boost/asio/system_executor.hpp>
#endif
#include <boost/asio/post.hpp>
#include <boost/test/unit_test.hpp>

#include <chrono>
#include <vector>

namespace timewheel::test {

BOOST_AUTO_TEST_SUITE(conformance_state_and_expiry)

// C1: a timer that was never set has the epoch as its expiry, and that is in the past.
BOOST_FIXTURE_TEST_CASE_TEMPLATE(a_timer_never_set_is_at_the_epoch, Family, families, io_fixture)
{
    using timer_type = typename Family::steady;
    timer_type timer{ctx};
    BOOST_CHECK(timer.expiry() == typename timer_type::time_point{});

    timer.async_wait(succeeds());
    BOOST_TEST(run_to_end(ctx));
    BOOST_CHECK(timer.expiry() == typename timer_type::time_point{});
}

// C2 (fault XA4): a past expiry, however far, completes with success and never inline.
BOOST_FIXTURE_TEST_CASE_TEMPLATE(
    a_past_expiry_succeeds_and_never_inline,
    Family,
    families,
    io_fixture
)
{
    using time_point = typename Family::steady::time_point;
    const auto now = time_point::clock::now();
    const std::vector<time_point> past{
        time_point{},
        (time_point::min)(),
        (time_point::min)() + 1ns,
        time_point{} - 1ns,
        now - 500'000s,
        now - 256ms,
        now - 1ms,
        now - 1ns,
        now
    };

    typename Family::steady timer{ctx};
    for (const time_point expiry : past) {
        BOOST_TEST_CONTEXT("expiry " << expiry.time_since_epoch().count() << " ns")
        {
            outcome result;
            timer.expires_at(expiry);
            BOOST_CHECK(timer.expiry() == expiry);
            timer.async_wait(succeeds().into(result));
            BOOST_TEST(!result.done());
            BOOST_TEST(run_until(ctx, [&] { return result.done(); }));
            ctx.restart();
        }
    }
}

// C2: the same for a wait that is started inside the context, where inline would be easy.
BOOST_FIXTURE_TEST_CASE_TEMPLATE(
    a_past_expiry_is_not_inline_in_a_handler,
    Family,
    families,
    io_fixture
)
{
    typename Family::steady outer{ctx};
    typename Family::steady inner{ctx};
    outcome result;
    outer.async_wait(succeeds().then([&] {
        inner.async_wait(succeeds().into(result));
        BOOST_TEST(!result.done());
    }));
    asio::post(ctx, [&] { inner.async_wait(succeeds()); });
    BOOST_TEST(run_to_end(ctx));
    BOOST_TEST(result.invoked == 1);
}

#if BOOST_ASIO_VERSION >= 102800
// C2: an immediate executor does not make a completion inline either.
BOOST_FIXTURE_TEST_CASE_TEMPLATE(an_immediate_executor_is_not_inline, Family, families, io_fixture)
{
    typename Family::steady timer{ctx};
    timer.async_wait(asio::bind_immediate_executor(asio::system_executor{}, succeeds()));
    BOOST_TEST(run_to_end(ctx));
}
#endif

// C2 (fault XA4): a delay far into the past leaves the timers beside it alone.
BOOST_FIXTURE_TEST_CASE_TEMPLATE(
    a_past_expiry_does_not_disturb_others,
    Family,
    families,
    io_fixture
)
{
    typename Family::steady near{ctx, 10ms};
    typename Family::steady far{ctx, 1h};
    typename Family::steady past{ctx};
    outcome near_result;
    outcome past_result;
    near.async_wait(succeeds().into(near_result));
    far.async_wait(is_aborted());
    past.expires_after(-500'000s);
    past.async_wait(succeeds().into(past_result).then([&] { BOOST_TEST(!near_result.done()); }));

    BOOST_TEST(run_until(ctx, [&] { return near_result.done(); }));
    BOOST_TEST(past_result.done());
    BOOST_CHECK(near.expiry() <= std::chrono::steady_clock::now());
    BOOST_TEST(far.cancel() == 1U);
    BOOST_TEST(run_to_end(ctx));
}

// C3: additions saturate; `max()` is never, and it keeps the context at work.
BOOST_FIXTURE_TEST_CASE_TEMPLATE(max_is_never_and_counts_as_work, Family, families, io_fixture)
{
    using timer_type = typename Family::steady;
    using duration = typename timer_type::duration;
    using time_point = typename timer_type::time_point;

    timer_type timer{ctx};
    timer.expires_after((duration::max)());
    BOOST_CHECK(timer.expiry() == (time_point::max)());
    timer.expires_after((duration::max)() - 1ns);
    BOOST_CHECK(timer.expiry() == (time_point::max)());
    timer_type constructed{ctx, (duration::max)()};
    BOOST_CHECK(constructed.expiry() == (time_point::max)());

    outcome result;
    timer.async_wait(is_aborted().into(result));
    poll_until_quiet(ctx);
    run_during(ctx, 5ms);
    ctx.restart();
    poll_until_quiet(ctx);
    BOOST_TEST(!ctx.stopped());
    BOOST_TEST(!result.done());

    BOOST_TEST(timer.cancel() == 1U);
    BOOST_TEST(run_to_end(ctx));
    BOOST_TEST(result.invoked == 1);
}

// C3: deadlines close to the end of time are as good as any.
BOOST_FIXTURE_TEST_CASE_TEMPLATE(the_far_end_of_time_does_not_wrap, Family, families, io_fixture)
{
    using time_point = typename Family::steady::time_point;
    const auto now = time_point::clock::now();
    const std::vector<time_point> far{
        (time_point::max)(),
        (time_point::max)() - 1ns,
        (time_point::max)() - 1ms,
        (time_point::max)() - 24h,
        time_point{(time_point::max)().time_since_epoch() / 2},
        now + 24h * 365 * 100,
        now + 24h
    };

    std::vector<typename Family::steady> timers;
    for (const time_point expiry : far) {
        timers.emplace_back(ctx, expiry);
        timers.back().async_wait(is_aborted());
        BOOST_CHECK(timers.back().expiry() == expiry);
    }
    typename Family::steady near{ctx, 5ms};
    near.async_wait(succeeds());
    run_during(ctx, 15ms);

    for (auto& timer : timers)
        BOOST_TEST(timer.cancel() == 1U);
    BOOST_TEST(run_to_end(ctx));
}

// C3: the far past saturates too: a duration of `min()` is long over.
BOOST_FIXTURE_TEST_CASE_TEMPLATE(min_is_long_over, Family, families, io_fixture)
{
    using timer_type = typename Family::steady;
    timer_type timer{ctx, (timer_type::duration::min)()};
    BOOST_CHECK(timer.expiry() < timer_type::clock_type::now());
    timer.async_wait(succeeds());
    timer_type other{ctx};
    other.expires_after((timer_type::duration::min)());
    BOOST_CHECK(other.expiry() < timer_type::clock_type::now());
    other.async_wait(succeeds());
    BOOST_TEST(run_to_end(ctx));
}

// C4: cancelling leaves the expiry alone, and a new wait waits for it.
BOOST_FIXTURE_TEST_CASE_TEMPLATE(cancel_keeps_the_expiry, Family, families, io_fixture)
{
    typename Family::steady timer{ctx, 20ms};
    const auto expiry = timer.expiry();
    timer.async_wait(is_aborted());
    BOOST_TEST(timer.cancel() == 1U);
    BOOST_CHECK(timer.expiry() == expiry);
    timer.async_wait(is_aborted());
    BOOST_TEST(timer.cancel_one() == 1U);
    BOOST_CHECK(timer.expiry() == expiry);

    timer.async_wait(succeeds().then([&] {
        BOOST_CHECK(std::chrono::steady_clock::now() >= expiry);
    }));
    BOOST_TEST(run_to_end(ctx));
    BOOST_CHECK(timer.expiry() == expiry);
}

// C5: a new expiry cancels all waits and says how many.
BOOST_FIXTURE_TEST_CASE_TEMPLATE(a_new_expiry_cancels_and_counts, Family, families, io_fixture)
{
    typename Family::steady timer{ctx};
    BOOST_TEST(timer.expires_after(1h) == 0U);
    for (int i = 0; i < 3; ++i)
        timer.async_wait(is_aborted());
    BOOST_TEST(timer.expires_after(2h) == 3U);
    BOOST_TEST(timer.expires_after(3h) == 0U);

    timer.async_wait(is_aborted());
    timer.async_wait(is_aborted());
    const auto soon = std::chrono::steady_clock::now() + 10ms;
    BOOST_TEST(timer.expires_at(soon) == 2U);
    BOOST_TEST(timer.expires_at(soon) == 0U);
    BOOST_CHECK(timer.expiry() == soon);

    timer.async_wait(succeeds().then([&] { BOOST_CHECK(std::chrono::steady_clock::now() >= soon); })
    );
    BOOST_TEST(run_to_end(ctx));
    BOOST_TEST(timer.expires_after(1h) == 0U);
}

// C5: setting the very same expiry cancels as well.
BOOST_FIXTURE_TEST_CASE_TEMPLATE(the_same_expiry_cancels_too, Family, families, io_fixture)
{
    typename Family::steady timer{ctx, 1h};
    timer.async_wait(is_aborted());
    BOOST_TEST(timer.expires_at(timer.expiry()) == 1U);
    BOOST_TEST(run_to_end(ctx));
}

// C5, C9: zero means that the wait has fired or is about to, and then it ends with success.
BOOST_FIXTURE_TEST_CASE_TEMPLATE(
    a_new_expiry_cannot_recall_a_ready_wait,
    Family,
    families,
    io_fixture
)
{
    typename Family::steady timer{ctx};
    timer.async_wait(succeeds().then([&] { BOOST_TEST(timer.expires_after(1h) == 0U); }));
    outcome second;
    timer.async_wait(succeeds().into(second));
    BOOST_TEST(run_until(ctx, [&] { return second.done(); }));
    BOOST_TEST(run_to_end(ctx));
}

// Moving a deadline to earlier and to later, with a wait started after each move.
BOOST_FIXTURE_TEST_CASE_TEMPLATE(a_deadline_moves_both_ways, Family, families, io_fixture)
{
    typename Family::steady timer{ctx, 1h};
    timer.async_wait(is_aborted());
    poll_until_quiet(ctx);

    outcome earlier;
    BOOST_TEST(timer.expires_after(5ms) == 1U);
    timer.async_wait(succeeds().into(earlier));
    const stopwatch first;
    BOOST_TEST(run_until(ctx, [&] { return earlier.done(); }));
    BOOST_CHECK(first.elapsed() < patience);

    ctx.restart();
    timer.expires_after(5ms);
    timer.async_wait(is_aborted());
    poll_until_quiet(ctx);
    outcome later;
    BOOST_TEST(timer.expires_after(25ms) == 1U);
    const auto expiry = timer.expiry();
    timer.async_wait(succeeds().into(later).then([&] {
        BOOST_CHECK(std::chrono::steady_clock::now() >= expiry);
    }));
    BOOST_TEST(run_until(ctx, [&] { return later.done(); }));
}

// The expiry is what was asked for, to the last digit: whatever grid a timer fires on is not seen.
BOOST_FIXTURE_TEST_CASE_TEMPLATE(the_expiry_is_not_rounded, Family, families, io_fixture)
{
    using timer_type = typename Family::steady;
    using clock = typename timer_type::clock_type;

    const auto odd = clock::now() + 1'234'567ns;
    timer_type timer{ctx, odd};
    BOOST_CHECK(timer.expiry() == odd);
    timer.expires_at(odd + 1ns);
    BOOST_CHECK(timer.expiry() == odd + 1ns);

    const auto before = clock::now();
    timer.expires_after(7'654'321ns);
    const auto after = clock::now();
    BOOST_CHECK(timer.expiry() >= before + 7'654'321ns);
    BOOST_CHECK(timer.expiry() <= after + 7'654'321ns);

    const auto expiry = timer.expiry();
    timer.async_wait(succeeds());
    BOOST_TEST(run_to_end(ctx));
    BOOST_CHECK(timer.expiry() == expiry);
}

// The blocking wait returns at the expiry, never before, and runs no handler.
BOOST_FIXTURE_TEST_CASE_TEMPLATE(the_blocking_wait_is_never_early, Family, families, io_fixture)
{
    typename Family::steady timer{ctx, 10ms};
    outcome result;
    timer.async_wait(succeeds().into(result));
    timer.wait();
    BOOST_CHECK(std::chrono::steady_clock::now() >= timer.expiry());
    BOOST_TEST(!result.done());

    const stopwatch at_once;
    error_code ec = asio::error::operation_aborted;
    timer.wait(ec);
    BOOST_TEST(!ec);
    BOOST_CHECK(at_once.elapsed() < patience);
    BOOST_TEST(run_to_end(ctx));
    BOOST_TEST(result.done());

    timer.expires_after(3ms);
    ec = asio::error::operation_aborted;
    timer.wait(ec);
    BOOST_TEST(!ec);
    BOOST_CHECK(std::chrono::steady_clock::now() >= timer.expiry());
}

BOOST_AUTO_TEST_SUITE_END()

}
