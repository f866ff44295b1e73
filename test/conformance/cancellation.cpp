// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#include "families.hpp"
#include "stepped_clock.hpp"

#include <test_common/cancellation_types.hpp>
#include <test_common/checked_token.hpp>
#include <test_common/io_fixture.hpp>
#include <test_common/run.hpp>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/strand.hpp>
#include <boost/test/unit_test.hpp>

#include <array>
#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

namespace timewheel::test {

BOOST_AUTO_TEST_SUITE(conformance_cancellation)

using asio::bind_cancellation_slot;
using asio::cancellation_type;

// C7: cancel_one() takes the oldest wait, one per call.
BOOST_FIXTURE_TEST_CASE_TEMPLATE(cancel_one_takes_the_oldest, Family, families, io_fixture)
{
    typename Family::steady timer{ctx, 1h};
    std::vector<int> order;
    for (int i = 0; i < 3; ++i)
        timer.async_wait(is_aborted().then([&order, i] { order.push_back(i); }));
    for (std::size_t i = 1; i <= 3; ++i) {
        BOOST_TEST(timer.cancel_one() == 1U);
        poll_until_quiet(ctx);
        BOOST_TEST(order.size() == i);
    }
    BOOST_TEST(order == (std::vector{0, 1, 2}), boost::test_tools::per_element());
    BOOST_TEST(timer.cancel_one() == 0U);
    BOOST_TEST(timer.cancel() == 0U);
}

// C7: handlers complete in the order in which their waits were cancelled.
BOOST_FIXTURE_TEST_CASE_TEMPLATE(cancelled_waits_keep_their_order, Family, families, io_fixture)
{
    std::array<asio::cancellation_signal, 5> signals;
    typename Family::steady timer{ctx, 1h};
    std::vector<int> order;
    for (int i = 0; i < 5; ++i)
        timer.async_wait(bind_cancellation_slot(
            signals[static_cast<std::size_t>(i)].slot(),
            is_aborted().then([&order, i] { order.push_back(i); })
        ));
    BOOST_TEST(timer.cancel_one() == 1U);
    signals[2].emit(cancellation_type::total);
    BOOST_TEST(timer.cancel() == 3U);
    BOOST_TEST(run_to_end(ctx));
    BOOST_TEST(order == (std::vector{0, 2, 1, 3, 4}), boost::test_tools::per_element());
}

// Nothing to cancel: zero, at any time, without an effect on what comes after.
BOOST_FIXTURE_TEST_CASE_TEMPLATE(cancelling_nothing_is_harmless, Family, families, io_fixture)
{
    typename Family::steady timer{ctx};
    BOOST_TEST(timer.cancel() == 0U);
    BOOST_TEST(timer.cancel_one() == 0U);
    timer.expires_after(1ms);
    BOOST_TEST(timer.cancel() == 0U);
    timer.async_wait(succeeds());
    BOOST_TEST(run_to_end(ctx));
    BOOST_TEST(timer.cancel() == 0U);
    BOOST_TEST(timer.cancel_one() == 0U);
}

// Cancelling is not inline either: the handler runs in the context, later.
BOOST_FIXTURE_TEST_CASE_TEMPLATE(cancel_invokes_nothing_inline, Family, families, io_fixture)
{
    typename Family::steady timer{ctx, 1h};
    asio::cancellation_signal signal;
    outcome first;
    outcome second;
    outcome third;
    asio::post(ctx, [&] {
        timer.async_wait(is_aborted().into(first));
        timer.async_wait(bind_cancellation_slot(signal.slot(), is_aborted().into(second)));
        timer.async_wait(is_aborted().into(third));
        timer.cancel_one();
        BOOST_TEST(!first.done());
        signal.emit(cancellation_type::terminal);
        BOOST_TEST(!second.done());
        timer.expires_after(2h);
        BOOST_TEST(!third.done());
    });
    BOOST_TEST(run_to_end(ctx));
    BOOST_TEST(first.done());
    BOOST_TEST(second.done());
    BOOST_TEST(third.done());
}

// Waits that were cancelled are not counted again, and new ones are not cancelled with them.
BOOST_FIXTURE_TEST_CASE_TEMPLATE(a_cancelled_wait_is_gone, Family, families, io_fixture)
{
    typename Family::steady timer{ctx, 5ms};
    timer.async_wait(is_aborted());
    timer.async_wait(is_aborted());
    BOOST_TEST(timer.cancel() == 2U);
    BOOST_TEST(timer.cancel() == 0U);
    timer.async_wait(succeeds());
    BOOST_TEST(run_to_end(ctx));
}

// Fault XB4: an earlier timer that is cancelled does not take the later one's wake-up with it.
BOOST_FIXTURE_TEST_CASE_TEMPLATE(
    cancelling_the_earliest_keeps_the_next,
    Family,
    families,
    io_fixture
)
{
    using clock = stepped_clock<class cancelled_earliest_tag>;
    clock::set(1h);
    stepped_timer<Family, clock> later{ctx, 20ms};
    stepped_timer<Family, clock> earlier{ctx, 10ms};
    outcome result;
    later.async_wait(succeeds().into(result));
    earlier.async_wait(is_aborted());
    poll_until_quiet(ctx);
    BOOST_TEST(earlier.cancel() == 1U);
    clock::advance(19ms);
    poll_until_quiet(ctx);
    BOOST_TEST(!result.done());
    clock::advance(2ms);
    BOOST_TEST(run_to_end(ctx));
    BOOST_TEST(result.done());
}

// Fault XC2: a handler cancels a timer that is not due yet; that wait never sees success.
BOOST_FIXTURE_TEST_CASE_TEMPLATE(a_handler_cancels_other_timers, Family, families, io_fixture)
{
    typename Family::steady first{ctx, 2ms};
    std::deque<typename Family::steady> others;
    for (int i = 0; i < 5; ++i) {
        others.emplace_back(ctx, 1h);
        others.back().async_wait(is_aborted());
        others.back().async_wait(is_aborted());
    }
    outcome again;
    first.async_wait(succeeds().then([&] {
        for (auto& other : others)
            BOOST_TEST(other.cancel() == 2U);
        first.expires_after(2ms);
        first.async_wait(succeeds().into(again));
    }));
    BOOST_TEST(run_to_end(ctx));
    BOOST_TEST(again.invoked == 1);
}

// The destructor cancels: handlers run later, when the timer is gone.
BOOST_FIXTURE_TEST_CASE_TEMPLATE(destruction_cancels, Family, families, io_fixture)
{
    outcome first;
    outcome second;
    auto timer = std::make_unique<typename Family::steady>(ctx, 1h);
    timer->async_wait(is_aborted().into(first));
    timer->async_wait(is_aborted().into(second));
    timer.reset();
    BOOST_TEST(!first.done());
    BOOST_TEST(!second.done());
    BOOST_TEST(run_to_end(ctx));
    BOOST_TEST(first.invoked == 1);
    BOOST_TEST(second.invoked == 1);
}

// A handler destroys the timer it waited on, with waits left and with none.
BOOST_FIXTURE_TEST_CASE_TEMPLATE(a_handler_destroys_its_timer, Family, families, io_fixture)
{
    auto timer = std::make_unique<typename Family::steady>(ctx, 1ms);
    timer->async_wait(succeeds().then([&] {
        timer->expires_after(1h);
        timer->async_wait(is_aborted());
        timer.reset();
    }));
    BOOST_TEST(run_to_end(ctx));
    BOOST_TEST(!timer);
}

// C18: which kinds of request cancel a wait; only the one with the slot, among its neighbours.
BOOST_FIXTURE_TEST_CASE_TEMPLATE(requests_cancel_one_wait_or_none, Family, families, io_fixture)
{
    for (const cancellation_case& row : cancellation_cases) {
        BOOST_TEST_CONTEXT(row.name)
        {
            asio::cancellation_signal signal;
            asio::cancellation_signal unused;
            typename Family::steady timer{ctx, 1h};
            outcome before;
            outcome middle;
            outcome after;
            timer.async_wait(bind_cancellation_slot(unused.slot(), is_aborted().into(before)));
            timer.async_wait(bind_cancellation_slot(signal.slot(), is_aborted().into(middle)));
            timer.async_wait(is_aborted().into(after));

            signal.emit(row.type);
            BOOST_TEST(!middle.done());
            poll_until_quiet(ctx);
            BOOST_TEST(middle.done() == row.cancels);
            BOOST_TEST(!before.done());
            BOOST_TEST(!after.done());

            BOOST_TEST(timer.cancel() == (row.cancels ? 2U : 3U));
            BOOST_TEST(run_to_end(ctx));
            BOOST_TEST(before.invoked + middle.invoked + after.invoked == 3);
            ctx.restart();
        }
    }
}

// C18: a request that is ignored leaves the wait as it was, open to one that counts.
BOOST_FIXTURE_TEST_CASE_TEMPLATE(an_ignored_request_changes_nothing, Family, families, io_fixture)
{
    asio::cancellation_signal signal;
    typename Family::steady timer{ctx, 1h};
    outcome result;
    timer.async_wait(bind_cancellation_slot(signal.slot(), is_aborted().into(result)));
    signal.emit(cancellation_type::none);
    signal.emit(cancellation_bits(8));
    poll_until_quiet(ctx);
    BOOST_TEST(!result.done());
    signal.emit(cancellation_type::partial);
    signal.emit(cancellation_type::terminal);
    BOOST_TEST(run_to_end(ctx));
    BOOST_TEST(result.invoked == 1);
}

// C18: a slot that is connected to nothing is no slot, and an absent registration leaves no trace.
BOOST_FIXTURE_TEST_CASE_TEMPLATE(a_slot_may_be_unconnected, Family, families, io_fixture)
{
    typename Family::steady timer{ctx, 1ms};
    timer.async_wait(bind_cancellation_slot(asio::cancellation_slot{}, succeeds()));
    BOOST_TEST(run_to_end(ctx));

    asio::cancellation_signal signal;
    ctx.restart();
    timer.expires_after(1h);
    timer.async_wait(is_aborted());
    BOOST_TEST(!signal.slot().has_handler());
    timer.async_wait(bind_cancellation_slot(signal.slot(), is_aborted()));
    BOOST_TEST(signal.slot().has_handler());
    BOOST_TEST(timer.cancel() == 2U);
    BOOST_TEST(run_to_end(ctx));
}

// C18: a request before the wait starts has no effect on it.
BOOST_FIXTURE_TEST_CASE_TEMPLATE(a_request_before_the_start_is_void, Family, families, io_fixture)
{
    asio::cancellation_signal signal;
    signal.emit(cancellation_type::all);
    typename Family::steady timer{ctx, 1ms};
    timer.async_wait(bind_cancellation_slot(signal.slot(), succeeds()));
    BOOST_TEST(run_to_end(ctx));
}

// C18: nor has one after the wait has ended, on whatever uses the timer then.
BOOST_FIXTURE_TEST_CASE_TEMPLATE(a_request_after_the_end_is_void, Family, families, io_fixture)
{
    asio::cancellation_signal signal;
    typename Family::steady timer{ctx, 1ms};
    timer.async_wait(bind_cancellation_slot(signal.slot(), succeeds()));
    BOOST_TEST(run_to_end(ctx));
    ctx.restart();

    timer.expires_after(1h);
    outcome next;
    timer.async_wait(is_aborted().into(next));
    signal.emit(cancellation_type::all);
    poll_until_quiet(ctx);
    BOOST_TEST(!next.done());
    BOOST_TEST(timer.cancel() == 1U);
    BOOST_TEST(run_to_end(ctx));
}

// C9, C18: a wait that is ready is out of reach of its slot too.
BOOST_FIXTURE_TEST_CASE_TEMPLATE(a_ready_wait_ignores_its_slot, Family, families, io_fixture)
{
    asio::cancellation_signal signal;
    typename Family::steady timer{ctx};
    outcome second;
    timer.async_wait(succeeds().then([&] { signal.emit(cancellation_type::all); }));
    timer.async_wait(bind_cancellation_slot(signal.slot(), succeeds().into(second)));
    BOOST_TEST(run_to_end(ctx));
    BOOST_TEST(second.invoked == 1);
}

// C18: the request cancels the wait, not the timer: the next wait on it starts afresh.
BOOST_FIXTURE_TEST_CASE_TEMPLATE(a_slot_serves_one_wait_after_another, Family, families, io_fixture)
{
    asio::cancellation_signal signal;
    typename Family::steady timer{ctx, 1h};
    for (int i = 0; i < 3; ++i) {
        timer.async_wait(bind_cancellation_slot(signal.slot(), is_aborted()));
        signal.emit(cancellation_type::total);
        BOOST_TEST(run_to_end(ctx));
        ctx.restart();
    }
    timer.expires_after(1ms);
    timer.async_wait(bind_cancellation_slot(signal.slot(), succeeds()));
    BOOST_TEST(run_to_end(ctx));
}

// C22: a handler waits again on the very same slot; the new registration must survive its return.
BOOST_FIXTURE_TEST_CASE_TEMPLATE(a_handler_reuses_its_slot, Family, families, io_fixture)
{
    asio::cancellation_signal signal;
    typename Family::steady timer{ctx, 1ms};
    outcome first;
    outcome second;
    timer.async_wait(bind_cancellation_slot(signal.slot(), succeeds().into(first).then([&] {
        timer.expires_after(1h);
        timer.async_wait(bind_cancellation_slot(signal.slot(), is_aborted().into(second)));
    })));
    BOOST_TEST(run_until(ctx, [&] { return first.done(); }));
    poll_until_quiet(ctx);
    BOOST_TEST(signal.slot().has_handler());
    BOOST_TEST(!second.done());
    signal.emit(cancellation_type::terminal);
    BOOST_TEST(run_to_end(ctx));
    BOOST_TEST(second.invoked == 1);
}

// C22: the wait has ended when its handler runs: a request from there reaches nothing, neither the
// wait nor whatever else the timer is used for.
BOOST_FIXTURE_TEST_CASE_TEMPLATE(a_request_in_the_handler_is_void, Family, families, io_fixture)
{
    asio::cancellation_signal signal;
    typename Family::steady timer{ctx, 1ms};
    outcome first;
    outcome next;
    timer.async_wait(bind_cancellation_slot(signal.slot(), succeeds().into(first).then([&] {
        timer.expires_after(1h);
        timer.async_wait(is_aborted().into(next));
        signal.emit(cancellation_type::all);
    })));
    BOOST_TEST(run_until(ctx, [&] { return first.done(); }));
    poll_until_quiet(ctx);
    BOOST_TEST(!next.done());
    BOOST_TEST(timer.cancel() == 1U);
    BOOST_TEST(run_to_end(ctx));
}

// C22: late requests have no effect even when the timer, or the context, is gone. Asio's timers
// leave a dangling registration behind, which only a sanitizer shows.
BOOST_AUTO_TEST_CASE_TEMPLATE(a_request_after_everything_is_void, Family, families)
{
    if constexpr (Family::is_ours) {
        asio::cancellation_signal expired;
        asio::cancellation_signal cancelled;
        asio::cancellation_signal requested;
        asio::cancellation_signal destroyed;
        {
            asio::io_context ctx;
            {
                typename Family::steady timer{ctx, 1ms};
                typename Family::steady far{ctx, 1h};
                timer.async_wait(bind_cancellation_slot(expired.slot(), succeeds()));
                far.async_wait(bind_cancellation_slot(requested.slot(), is_aborted()));
                requested.emit(cancellation_type::terminal);
                far.async_wait(bind_cancellation_slot(cancelled.slot(), is_aborted()));
                far.cancel();
                far.async_wait(bind_cancellation_slot(destroyed.slot(), is_aborted()));
                run_during(ctx, 5ms);
            }
            ctx.restart();
            BOOST_TEST(run_to_end(ctx));
            for (auto* signal : {&expired, &cancelled, &requested, &destroyed})
                signal->emit(cancellation_type::all);
        }
        for (auto* signal : {&expired, &cancelled, &requested, &destroyed})
            signal->emit(cancellation_type::all);
    } else {
        BOOST_TEST_MESSAGE("would be a use after free");
    }
}

// C22: the same on a strand, to which the handler was submitted, with the timer destroyed before.
BOOST_FIXTURE_TEST_CASE_TEMPLATE(a_request_on_a_strand_is_void, Family, families, io_fixture)
{
    if constexpr (Family::is_ours) {
        const auto strand = asio::make_strand(ctx);
        asio::cancellation_signal signal;
        outcome result;
        std::optional<typename Family::steady> timer{std::in_place, ctx, 1ms};
        timer->async_wait(asio::bind_executor(
            strand, bind_cancellation_slot(signal.slot(), succeeds().into(result).then([&] {
                timer.reset();
                signal.emit(cancellation_type::all);
            }))
        ));
        BOOST_TEST(run_to_end(ctx));
        BOOST_TEST(result.invoked == 1);
    } else {
        BOOST_TEST_MESSAGE("would be a use after free");
    }
}

// A cancelled wait whose handler has not run yet: a request comes late and is ignored.
BOOST_FIXTURE_TEST_CASE_TEMPLATE(requests_and_cancel_overlap, Family, families, io_fixture)
{
    asio::cancellation_signal signal;
    typename Family::steady timer{ctx, 1h};
    outcome result;
    timer.async_wait(bind_cancellation_slot(signal.slot(), is_aborted().into(result)));
    BOOST_TEST(timer.cancel() == 1U);
    signal.emit(cancellation_type::all);
    BOOST_TEST(timer.cancel() == 0U);
    BOOST_TEST(run_to_end(ctx));
    BOOST_TEST(result.invoked == 1);

    ctx.restart();
    timer.async_wait(bind_cancellation_slot(signal.slot(), is_aborted()));
    signal.emit(cancellation_type::all);
    BOOST_TEST(timer.cancel() == 0U);
    BOOST_TEST(run_to_end(ctx));
}

BOOST_AUTO_TEST_SUITE_END()

}
