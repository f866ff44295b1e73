// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#include "families.hpp"

#include <test_common/checked_token.hpp>
#include <test_common/io_fixture.hpp>
#include <test_common/run.hpp>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/test/unit_test.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace timewheel::test {

BOOST_AUTO_TEST_SUITE(conformance_move)

using asio::bind_cancellation_slot;
using asio::cancellation_type;

namespace {

template <class Family>
using native_steady = typename Family::template basic<
    std::chrono::steady_clock,
    asio::wait_traits<std::chrono::steady_clock>,
    asio::io_context::executor_type>;

/// The state a timer has after its contents were moved away.
template <class Timer>
void check_moved_from(Timer& timer, asio::io_context& ctx)
{
    BOOST_CHECK(timer.expiry() == typename Timer::time_point{});
    BOOST_CHECK(timer.get_executor() == ctx.get_executor());
    BOOST_TEST(timer.cancel() == 0U);
    BOOST_TEST(timer.cancel_one() == 0U);
}

}

// C20: move construction takes the waits and the expiry along.
BOOST_FIXTURE_TEST_CASE_TEMPLATE(move_construction_carries_everything, Family, families, io_fixture)
{
    using timer_type = typename Family::steady;
    timer_type source{ctx, 5ms};
    const auto expiry = source.expiry();
    source.async_wait(succeeds());
    source.async_wait(succeeds());

    timer_type target{std::move(source)};
    check_moved_from(source, ctx);
    BOOST_CHECK(target.expiry() == expiry);
    BOOST_CHECK(target.get_executor() == ctx.get_executor());
    target.async_wait(succeeds().then([&] {
        BOOST_CHECK(std::chrono::steady_clock::now() >= expiry);
    }));
    BOOST_TEST(run_to_end(ctx));

    // All of it can be cancelled at the new place.
    ctx.restart();
    target.expires_after(1h);
    target.async_wait(is_aborted());
    target.async_wait(is_aborted());
    timer_type last{std::move(target)};
    BOOST_TEST(target.cancel() == 0U);
    BOOST_TEST(last.cancel_one() == 1U);
    BOOST_TEST(last.cancel() == 1U);
    BOOST_TEST(run_to_end(ctx));
}

// C20: the moved-from timer can be used again, beside the new one.
BOOST_FIXTURE_TEST_CASE_TEMPLATE(a_moved_from_timer_is_reusable, Family, families, io_fixture)
{
    using timer_type = typename Family::steady;
    timer_type source{ctx, 1h};
    source.async_wait(is_aborted());
    timer_type target{std::move(source)};

    source.async_wait(succeeds());
    poll_until_quiet(ctx);
    BOOST_TEST(source.expires_after(2ms) == 0U);
    source.async_wait(succeeds());
    run_during(ctx, 10ms);
    ctx.restart();
    BOOST_TEST(target.cancel() == 1U);
    BOOST_TEST(run_to_end(ctx));
}

// C20: destroying the moved-from timer cancels nothing.
BOOST_FIXTURE_TEST_CASE_TEMPLATE(a_moved_from_timer_owns_nothing, Family, families, io_fixture)
{
    using timer_type = typename Family::steady;
    std::optional<timer_type> source{std::in_place, ctx, 3ms};
    source->async_wait(succeeds());
    timer_type target{std::move(*source)};
    source.reset();
    BOOST_TEST(run_to_end(ctx));
}

// C20: move assignment cancels the waits of the target and carries those of the source.
BOOST_FIXTURE_TEST_CASE_TEMPLATE(move_assignment_cancels_the_target, Family, families, io_fixture)
{
    using timer_type = typename Family::steady;
    timer_type source{ctx, 3ms};
    const auto expiry = source.expiry();
    source.async_wait(succeeds());
    timer_type target{ctx, 1h};
    target.async_wait(is_aborted());
    target.async_wait(is_aborted());

    timer_type& result = (target = std::move(source));
    BOOST_TEST(&result == &target);
    check_moved_from(source, ctx);
    BOOST_CHECK(target.expiry() == expiry);
    BOOST_TEST(run_to_end(ctx));

    // An empty timer assigned to a busy one; the other way around.
    ctx.restart();
    target.expires_after(1h);
    target.async_wait(is_aborted());
    target = timer_type{ctx};
    BOOST_TEST(target.cancel() == 0U);
    BOOST_CHECK(target.expiry() == typename timer_type::time_point{});
    source.expires_after(1h);
    source.async_wait(is_aborted());
    target = std::move(source);
    BOOST_TEST(target.cancel() == 1U);
    BOOST_TEST(run_to_end(ctx));
}

// C20: a timer moved to itself is left alone, its waits too.
BOOST_FIXTURE_TEST_CASE_TEMPLATE(self_move_is_a_no_op, Family, families, io_fixture)
{
    typename Family::steady timer{ctx, 1h};
    const auto expiry = timer.expiry();
    outcome result;
    timer.async_wait(is_aborted().into(result));
    auto& same = timer;
    timer = std::move(same);
    poll_until_quiet(ctx);
    BOOST_TEST(!result.done());
    BOOST_CHECK(timer.expiry() == expiry);
    BOOST_TEST(timer.cancel() == 1U);
    BOOST_TEST(run_to_end(ctx));
}

// C20: assignment across contexts switches the timer over; pending waits stay where they started.
BOOST_FIXTURE_TEST_CASE_TEMPLATE(assignment_crosses_contexts, Family, families, io_fixture)
{
    using timer_type = typename Family::steady;
    asio::io_context other;
    timer_type source{ctx, 3ms};
    outcome moved;
    source.async_wait(succeeds().into(moved));
    timer_type target{other, 1h};
    outcome cancelled;
    target.async_wait(is_aborted().into(cancelled));

    target = std::move(source);
    BOOST_CHECK(target.get_executor() == ctx.get_executor());
    BOOST_TEST(run_to_end(other));
    BOOST_TEST(cancelled.invoked == 1);
    BOOST_TEST(!moved.done());
    BOOST_TEST(run_to_end(ctx));
    BOOST_TEST(moved.invoked == 1);

    // New waits run in the new context, and both timers go on to work.
    ctx.restart();
    other.restart();
    outcome next;
    target.expires_after(1ms);
    target.async_wait(succeeds().into(next));
    BOOST_TEST(run_to_end(other));
    BOOST_TEST(!next.done());
    BOOST_TEST(run_to_end(ctx));
    BOOST_TEST(next.invoked == 1);
}

// C20: conversion from a timer with a narrower executor.
BOOST_FIXTURE_TEST_CASE_TEMPLATE(moves_convert_the_executor, Family, families, io_fixture)
{
    using erased = typename Family::steady;
    using native = native_steady<Family>;
    native source{ctx, 3ms};
    const auto expiry = source.expiry();
    source.async_wait(succeeds());
    erased target{std::move(source)};
    check_moved_from(source, ctx);
    BOOST_CHECK(target.expiry() == expiry);
    BOOST_TEST(run_to_end(ctx));

    ctx.restart();
    target.expires_after(1h);
    target.async_wait(is_aborted());
    source.expires_after(2ms);
    source.async_wait(succeeds());
    erased& result = (target = std::move(source));
    BOOST_TEST(&result == &target);
    check_moved_from(source, ctx);
    BOOST_TEST(run_to_end(ctx));
    static_assert(!std::is_convertible_v<erased, native>);
}

// C20: conversion by assignment across contexts.
BOOST_FIXTURE_TEST_CASE_TEMPLATE(conversion_crosses_contexts, Family, families, io_fixture)
{
    asio::io_context other;
    native_steady<Family> source{ctx, 1h};
    outcome moved;
    source.async_wait(is_aborted().into(moved));
    typename Family::steady target{other, 1h};
    target.async_wait(is_aborted());
    target = std::move(source);
    BOOST_CHECK(target.get_executor() == ctx.get_executor());
    BOOST_TEST(run_to_end(other));
    BOOST_TEST(target.cancel() == 1U);
    BOOST_TEST(run_to_end(ctx));
    BOOST_TEST(moved.invoked == 1);
}

// C20: timers in a vector move when it grows, with their waits.
BOOST_FIXTURE_TEST_CASE_TEMPLATE(timers_live_in_a_growing_vector, Family, families, io_fixture)
{
    std::vector<typename Family::steady> timers;
    int ended = 0;
    for (int i = 0; i < 50; ++i) {
        timers.emplace_back(ctx, i % 2 == 0 ? 2ms : 1h);
        timers.back().async_wait(
            ends_with(i % 2 == 0 ? error_code{} : asio::error::operation_aborted).then([&] {
                ++ended;
            })
        );
    }
    BOOST_TEST(run_until(ctx, [&] { return ended == 25; }));
    // Erasing from the front shifts all others down.
    timers.erase(timers.begin(), timers.begin() + 10);
    std::size_t cancelled = 0;
    for (auto& timer : timers)
        cancelled += timer.cancel();
    BOOST_TEST(cancelled == 20U);
    BOOST_TEST(run_to_end(ctx));
    BOOST_TEST(ended == 50);
}

// C20: swapping is three moves.
BOOST_FIXTURE_TEST_CASE_TEMPLATE(timers_swap, Family, families, io_fixture)
{
    using std::swap;
    typename Family::steady a{ctx, 2ms};
    typename Family::steady b{ctx, 1h};
    const auto soon = a.expiry();
    const auto far = b.expiry();
    a.async_wait(succeeds());
    b.async_wait(is_aborted());
    swap(a, b);
    BOOST_CHECK(a.expiry() == far);
    BOOST_CHECK(b.expiry() == soon);
    BOOST_TEST(a.cancel() == 1U);
    BOOST_TEST(run_to_end(ctx));
}

// C20, C9: a ready wait is no longer the timer's, so a move neither carries nor loses it.
BOOST_FIXTURE_TEST_CASE_TEMPLATE(
    a_move_in_a_handler_loses_no_ready_wait,
    Family,
    families,
    io_fixture
)
{
    using timer_type = typename Family::steady;
    timer_type source{ctx};
    timer_type target{ctx, 1h};
    target.async_wait(is_aborted());
    source.async_wait(succeeds().then([&] {
        target = std::move(source);
        BOOST_TEST(target.cancel() == 0U);
    }));
    outcome second;
    source.async_wait(succeeds().into(second));
    BOOST_TEST(run_to_end(ctx));
    BOOST_TEST(second.invoked == 1);
}

// C21: a request finds its wait after the timer has moved. Asio's timers lose it, or worse.
BOOST_FIXTURE_TEST_CASE_TEMPLATE(a_request_follows_the_move, Family, families, io_fixture)
{
    using timer_type = typename Family::steady;
    asio::cancellation_signal signal;
    timer_type source{ctx, 1h};
    outcome first;
    outcome second;
    source.async_wait(is_aborted().into(first));
    source.async_wait(bind_cancellation_slot(signal.slot(), is_aborted().into(second)));
    timer_type target{std::move(source)};
    signal.emit(cancellation_type::terminal);
    poll_until_quiet(ctx);
    if constexpr (Family::is_ours) {
        BOOST_TEST(second.invoked == 1);
        BOOST_TEST(!first.done());
        BOOST_TEST(target.cancel() == 1U);
    } else {
        target.cancel();
    }
    BOOST_TEST(run_to_end(ctx));
    BOOST_TEST(first.invoked == 1);
    BOOST_TEST(second.invoked == 1);
}

// C21: also when the timer it was started on is gone, was assigned, converted, or sent across.
BOOST_FIXTURE_TEST_CASE_TEMPLATE(a_request_outlives_the_source, Family, families, io_fixture)
{
    if constexpr (Family::is_ours) {
        using timer_type = typename Family::steady;
        asio::io_context other;
        timer_type assigned{ctx};
        timer_type across{other};
        timer_type converted{ctx};
        std::optional<timer_type> constructed;
        asio::cancellation_signal signals[4];
        outcome results[4];
        {
            timer_type a{ctx, 1h};
            a.async_wait(bind_cancellation_slot(signals[0].slot(), is_aborted().into(results[0])));
            assigned = std::move(a);
            timer_type b{ctx, 1h};
            b.async_wait(bind_cancellation_slot(signals[1].slot(), is_aborted().into(results[1])));
            across = std::move(b);
            native_steady<Family> c{ctx, 1h};
            c.async_wait(bind_cancellation_slot(signals[2].slot(), is_aborted().into(results[2])));
            converted = std::move(c);
            auto d = std::make_unique<timer_type>(ctx, 1h);
            d->async_wait(bind_cancellation_slot(signals[3].slot(), is_aborted().into(results[3])));
            constructed.emplace(std::move(*d));
        }
        for (auto& signal : signals)
            signal.emit(cancellation_type::total);
        BOOST_TEST(run_to_end(ctx));
        for (const auto& result : results)
            BOOST_TEST(result.invoked == 1);
    } else {
        BOOST_TEST_MESSAGE("would be a use after free");
    }
}

BOOST_AUTO_TEST_SUITE_END()

}
