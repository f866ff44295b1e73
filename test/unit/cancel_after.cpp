// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#include <timewheel/cancel_after.hpp>

#include <test_common/cancellation_types.hpp>
#include <test_common/checked_token.hpp>
#include <test_common/controlled_operation.hpp>
#include <test_common/io_fixture.hpp>
#include <test_common/run.hpp>
#include <test_common/virtual_time.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/compose.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/strand.hpp>
#include <boost/test/unit_test.hpp>

#include <array>
#include <chrono>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <stdexcept>
#include <tuple>
#include <utility>
#include <vector>

namespace timewheel::test {

BOOST_FIXTURE_TEST_SUITE(cancel_after, io_fixture)

using asio::bind_cancellation_slot;
using asio::cancellation_type;

namespace {

const error_code aborted = asio::error::operation_aborted;

/// The four adapters, with the deadline 10 ms away.
struct by_cancel_after
{
    template <class Clock, class... Rest>
    static auto make(Rest&&... rest)
    {
        return timewheel::cancel_after<Clock>(10ms, std::forward<Rest>(rest)...);
    }

    template <class Clock, class Executor, class... Rest>
    static auto make_on(Executor&& executor, Rest&&... rest)
    {
        return timewheel::cancel_after<Clock>(executor, 10ms, std::forward<Rest>(rest)...);
    }

    static error_code result() { return aborted; }
};

struct by_cancel_at
{
    template <class Clock, class... Rest>
    static auto make(Rest&&... rest)
    {
        return timewheel::cancel_at(Clock::now() + 10ms, std::forward<Rest>(rest)...);
    }

    template <class Clock, class Executor, class... Rest>
    static auto make_on(Executor&& executor, Rest&&... rest)
    {
        return timewheel::cancel_at(executor, Clock::now() + 10ms, std::forward<Rest>(rest)...);
    }

    static error_code result() { return aborted; }
};

struct by_timeout_after
{
    template <class Clock, class... Rest>
    static auto make(Rest&&... rest)
    {
        return timewheel::timeout_after<Clock>(10ms, std::forward<Rest>(rest)...);
    }

    template <class Clock, class Executor, class... Rest>
    static auto make_on(Executor&& executor, Rest&&... rest)
    {
        return timewheel::timeout_after<Clock>(executor, 10ms, std::forward<Rest>(rest)...);
    }

    static error_code result() { return error::timed_out; }
};

struct by_timeout_at
{
    template <class Clock, class... Rest>
    static auto make(Rest&&... rest)
    {
        return timewheel::timeout_at(Clock::now() + 10ms, std::forward<Rest>(rest)...);
    }

    template <class Clock, class Executor, class... Rest>
    static auto make_on(Executor&& executor, Rest&&... rest)
    {
        return timewheel::timeout_at(executor, Clock::now() + 10ms, std::forward<Rest>(rest)...);
    }

    static error_code result() { return error::timed_out; }
};

using all_adapters = std::tuple<by_cancel_after, by_cancel_at, by_timeout_after, by_timeout_at>;

/// Time for one operation after the other that has its deadline in 10 ms.
template <class Clock>
struct deadline_scene
{
    asio::io_context& ctx;

    // The operation that `start` starts with a checked token ends at the deadline and not before.
    template <class Start>
    void ends_at_deadline(
        error_code result,
        Start start,
        const boost::source_location& where = BOOST_CURRENT_LOCATION
    ) const
    {
        outcome fate;
        start(ends_with(result, where).into(fate));
        Clock::advance(9ms);
        poll_until_quiet(ctx);
        if (fate.done())
            report_failure(where, "the operation ended before its deadline");
        Clock::advance(1ms);
        poll_until_quiet(ctx);
        if (!fate.done())
            report_failure(where, "the operation did not end at its deadline");
        ctx.restart();
    }
};

}

BOOST_AUTO_TEST_CASE_TEMPLATE(forms_with_a_token, Adapter, all_adapters)
{
    struct tag;
    using clock = manual_clock<tag>;
    const deadline_scene<clock> scene{ctx};
    virtual_timer<tag> timer(ctx, 1h);
    const auto strand = asio::make_strand(ctx);
    const asio::any_io_executor any = ctx.get_executor();
    const auto type = cancellation_type::total;
    const auto result = Adapter::result();

    scene.ends_at_deadline(result, [&](auto token) {
        timer.async_wait(Adapter::template make<clock>(token));
    });
    scene.ends_at_deadline(result, [&](auto token) {
        timer.async_wait(Adapter::template make<clock>(type, token));
    });
    scene.ends_at_deadline(result, [&](auto token) {
        timer.async_wait(Adapter::template make_on<clock>(ctx, token));
    });
    scene.ends_at_deadline(result, [&](auto token) {
        timer.async_wait(Adapter::template make_on<clock>(ctx.get_executor(), token));
    });
    scene.ends_at_deadline(result, [&](auto token) {
        timer.async_wait(Adapter::template make_on<clock>(strand, token));
    });
    scene.ends_at_deadline(result, [&](auto token) {
        timer.async_wait(Adapter::template make_on<clock>(any, type, token));
    });
    scene.ends_at_deadline(result, [&](auto token) {
        timer.async_wait(Adapter::template make_on<clock>(ctx, type, token));
    });
}

BOOST_AUTO_TEST_CASE_TEMPLATE(forms_without_a_token, Adapter, all_adapters)
{
    struct tag;
    using clock = manual_clock<tag>;
    const deadline_scene<clock> scene{ctx};
    virtual_timer<tag> timer(ctx, 1h);
    const auto type = cancellation_type::total;
    const auto result = Adapter::result();

    // called with a token
    scene.ends_at_deadline(result, [&](auto token) {
        timer.async_wait(Adapter::template make<clock>()(token));
    });
    scene.ends_at_deadline(result, [&](auto token) {
        timer.async_wait(Adapter::template make<clock>(type)(token));
    });
    scene.ends_at_deadline(result, [&](auto token) {
        timer.async_wait(Adapter::template make_on<clock>(ctx)(token));
    });
    scene.ends_at_deadline(result, [&](auto token) {
        timer.async_wait(Adapter::template make_on<clock>(ctx, type)(token));
    });

    // as a token, and with |
    scene.ends_at_deadline(result, [&](auto token) {
        timer.async_wait(Adapter::template make<clock>())(token);
    });
    scene.ends_at_deadline(result, [&](auto token) {
        timer.async_wait(Adapter::template make_on<clock>(ctx, type))(token);
    });
    scene.ends_at_deadline(result, [&](auto token) {
        (timer.async_wait(asio::deferred) | Adapter::template make<clock>())(token);
    });
    scene.ends_at_deadline(result, [&](auto token) {
        (timer.async_wait() | Adapter::template make_on<clock>(ctx, type))(token);
    });
}

// A duration counts from the start of the operation, not from when the token was made.
BOOST_AUTO_TEST_CASE(a_deferred_operation_is_timed_from_its_start)
{
    struct tag;
    using clock = manual_clock<tag>;
    const deadline_scene<clock> scene{ctx};
    virtual_timer<tag> timer(ctx, 1h);
    auto operation = timer.async_wait(timewheel::cancel_after<clock>(10ms));
    clock::advance(1s);
    // An lvalue may be started again and again.
    scene.ends_at_deadline(aborted, [&](auto token) { operation(token); });
    clock::advance(1s);
    scene.ends_at_deadline(aborted, [&](auto token) { operation(token); });
    scene.ends_at_deadline(aborted, [&](auto token) { std::move(operation)(token); });
}

BOOST_AUTO_TEST_CASE(a_deferred_operation_runs_twice_at_a_time)
{
    struct tag;
    using clock = manual_clock<tag>;
    virtual_timer<tag> timer(ctx, 1h);
    const auto operation = timer.async_wait(timewheel::cancel_after<clock>(10ms, asio::deferred));
    outcome first;
    outcome second;
    operation(is_aborted().into(first));
    clock::advance(5ms);
    operation(is_aborted().into(second));
    clock::advance(5ms);
    poll_until_quiet(ctx);
    BOOST_TEST(first.done());
    BOOST_TEST(!second.done());
    clock::advance(5ms);
    poll_until_quiet(ctx);
    BOOST_TEST(second.done());
}

// A token that is kept is copied from, whether or not it is const.
BOOST_AUTO_TEST_CASE(a_token_is_used_twice)
{
    struct tag;
    using clock = manual_clock<tag>;
    virtual_timer<tag> timer(ctx, 1h);
    const auto shared = std::make_shared<int>(0);
    const auto count = [shared](error_code ec) { *shared += ec == aborted; };

    const auto constant = timewheel::cancel_after<clock>(10ms, count);
    auto variable = timewheel::cancel_after<clock>(10ms, count);
    const auto partial = timewheel::cancel_after<clock>(10ms);
    timer.async_wait(constant);
    timer.async_wait(constant);
    timer.async_wait(variable);
    timer.async_wait(variable);
    timer.async_wait(partial)(count);
    timer.async_wait(partial)(count);
    clock::advance(10ms);
    poll_until_quiet(ctx);
    BOOST_TEST(*shared == 6);
}

BOOST_AUTO_TEST_CASE(the_operation_ends_first)
{
    struct tag;
    using clock = manual_clock<tag>;
    virtual_timer<tag> timer(ctx, 9ms);
    outcome fate;
    timer.async_wait(timewheel::cancel_after<clock>(10ms, succeeds().into(fate)));
    clock::advance(9ms);
    poll_until_quiet(ctx);
    BOOST_TEST(fate.done());
    // The deadline has been taken off the wheel: nothing is left to wait for.
    BOOST_TEST(ctx.stopped());
    BOOST_TEST(!clock::advance_to_next());
    const auto stats = checked_stats<virtual_timer<tag>>(ctx, 2);
    BOOST_TEST(stats.fired == 1u);
    BOOST_TEST(stats.cancelled == 1u);
}

// What was due first in the wheel wins; the other finds the operation ended.
BOOST_AUTO_TEST_CASE(operation_and_deadline_at_once)
{
    struct tag;
    using clock = manual_clock<tag>;
    virtual_timer<tag> timer(ctx, 10ms);
    outcome fate;
    timer.async_wait(timewheel::cancel_after<clock>(10ms, ends().into(fate)));
    clock::advance(10ms);
    poll_until_quiet(ctx);
    BOOST_TEST(fate.invoked == 1);
    BOOST_TEST((!fate.ec || fate.ec == aborted));
}

// The operation has ended and its handler is queued when the deadline comes.
BOOST_AUTO_TEST_CASE(deadline_while_the_completion_is_queued)
{
    struct tag;
    using clock = manual_clock<tag>;
    for (const bool deadline_first : {false, true}) {
        ctx.restart();
        controlled_operation operation(ctx.get_executor());
        outcome fate;
        operation.async_run(timewheel::cancel_after<clock>(10ms, succeeds().into(fate)));
        if (deadline_first)
            clock::advance(10ms);
        operation.complete();
        if (!deadline_first)
            clock::advance(10ms);
        poll_until_quiet(ctx);
        BOOST_TEST(fate.done());
        BOOST_TEST(operation.signals.size() == (deadline_first ? 1u : 0u));
    }
}

BOOST_AUTO_TEST_CASE(deadlines_that_have_passed)
{
    struct tag;
    using clock = manual_clock<tag>;
    const auto now = clock::now();
    const auto is_cancelled_at_once = [&](auto make, int line) {
        BOOST_TEST_CONTEXT("line " << line)
        {
            ctx.restart();
            virtual_timer<tag> timer(ctx, 1h);
            outcome fate;
            timer.async_wait(make(is_aborted().into(fate)));
            BOOST_TEST(!fate.done());
            poll_until_quiet(ctx);
            BOOST_TEST(fate.done());
        }
    };
    const auto after = [](auto time) {
        return [time](auto token) { return timewheel::cancel_after<clock>(time, token); };
    };
    const auto at = [](auto time) {
        return [time](auto token) { return timewheel::cancel_at(time, token); };
    };
    for (int round = 0; round != 2; ++round) {
        is_cancelled_at_once(after(0ms), __LINE__);
        is_cancelled_at_once(after(-1ns), __LINE__);
        is_cancelled_at_once(after(-1h), __LINE__);
        is_cancelled_at_once(after((clock::duration::min)()), __LINE__);
        is_cancelled_at_once(after((std::chrono::hours::min)()), __LINE__);
        is_cancelled_at_once(after(std::chrono::duration<double>(-1e300)), __LINE__);
        is_cancelled_at_once(at(now), __LINE__);
        is_cancelled_at_once(at(now - 1h), __LINE__);
        is_cancelled_at_once(at((clock::time_point::min)()), __LINE__);
        // Once more in the midst of a tick.
        clock::advance(2h + 1ns);
    }
}

BOOST_AUTO_TEST_CASE(deadlines_at_the_end_of_time)
{
    struct tag;
    using clock = manual_clock<tag>;
    using hours_point = std::chrono::time_point<clock, std::chrono::hours>;
    virtual_timer<tag> timer(ctx, 1h);
    int done = 0;
    const auto count = [&done](error_code ec) { done += !ec; };
    timer.async_wait(timewheel::cancel_after<clock>((clock::duration::max)(), count));
    timer.async_wait(timewheel::cancel_after<clock>((std::chrono::hours::max)(), count));
    timer.async_wait(timewheel::cancel_after<clock>(std::chrono::duration<double>(1e300), count));
    timer.async_wait(timewheel::cancel_at((clock::time_point::max)(), count));
    timer.async_wait(timewheel::cancel_at((hours_point::max)(), count));
    clock::advance(1h - 1ns);
    poll_until_quiet(ctx);
    BOOST_TEST(done == 0);
    clock::advance(1ns);
    poll_until_quiet(ctx);
    BOOST_TEST(done == 5);
    BOOST_TEST(ctx.stopped());
}

// Rounded up to a tick, never down.
BOOST_AUTO_TEST_CASE(a_deadline_within_a_tick)
{
    struct tag;
    using clock = manual_clock<tag>;
    clock::advance(300us);
    virtual_timer<tag> timer(ctx, 1h);
    outcome fate;
    timer.async_wait(timewheel::cancel_after<clock>(1.1ms, is_aborted().into(fate)));
    clock::advance(1699us);
    poll_until_quiet(ctx);
    BOOST_TEST(!fate.done());
    clock::advance(1us);
    poll_until_quiet(ctx);
    BOOST_TEST(fate.done());
}

BOOST_AUTO_TEST_CASE(the_type_of_the_signal)
{
    struct tag;
    using clock = manual_clock<tag>;
    for (const auto& [name, type, cancels] : cancellation_cases) {
        BOOST_TEST_CONTEXT(name)
        {
            ctx.restart();
            controlled_operation operation(ctx.get_executor());
            outcome fate;
            operation.async_run(timewheel::cancel_after<clock>(1ms, type, ends().into(fate)));
            clock::advance(1ms);
            poll_until_quiet(ctx);
            // To emit no type at all would be to surprise those who do not look at the type.
            const std::vector<cancellation_type> expected(
                type == cancellation_type::none ? 0 : 1, type
            );
            BOOST_CHECK(operation.signals == expected);
            operation.complete();
            poll_until_quiet(ctx);
            BOOST_TEST(fate.done());
        }
    }
}

BOOST_AUTO_TEST_CASE(the_default_type_is_terminal)
{
    struct tag;
    using clock = manual_clock<tag>;
    controlled_operation operation(ctx.get_executor());
    operation.obey_signals();
    operation.async_run(timewheel::cancel_after<clock>(1ms, is_aborted()));
    clock::advance(1ms);
    poll_until_quiet(ctx);
    BOOST_CHECK(operation.signals == std::vector{cancellation_type::terminal});
}

BOOST_AUTO_TEST_CASE(an_operation_that_ignores_the_type_runs_on)
{
    struct tag;
    using clock = manual_clock<tag>;
    virtual_timer<tag> timer(ctx, 1h);
    outcome fate;
    timer.async_wait(
        timewheel::cancel_after<clock>(10ms, cancellation_bits(8), succeeds().into(fate))
    );
    clock::advance(1h - 1ms);
    poll_until_quiet(ctx);
    BOOST_TEST(!fate.done());
    clock::advance(1ms);
    poll_until_quiet(ctx);
    BOOST_TEST(fate.done());
}

BOOST_AUTO_TEST_CASE(signals_of_the_parent_pass_unchanged)
{
    struct tag;
    using clock = manual_clock<tag>;
    for (const auto& [name, type, cancels] : cancellation_cases) {
        BOOST_TEST_CONTEXT(name)
        {
            ctx.restart();
            controlled_operation operation(ctx.get_executor());
            asio::cancellation_signal parent;
            outcome fate;
            operation.async_run(timewheel::cancel_after<clock>(
                1h, bind_cancellation_slot(parent.slot(), ends().into(fate))
            ));
            parent.emit(type);
            const std::vector<cancellation_type> expected(
                type == cancellation_type::none ? 0 : 1, type
            );
            BOOST_CHECK(operation.signals == expected);
            operation.complete();
            poll_until_quiet(ctx);
            BOOST_TEST(fate.done());
            parent.emit(cancellation_type::all);
            BOOST_TEST(operation.signals.size() == expected.size());
        }
    }
}

BOOST_AUTO_TEST_CASE(the_parent_cancels_a_timer)
{
    struct tag;
    using clock = manual_clock<tag>;
    for (const auto& [name, type, cancels] : cancellation_cases) {
        BOOST_TEST_CONTEXT(name)
        {
            ctx.restart();
            virtual_timer<tag> timer(ctx, 1h);
            asio::cancellation_signal parent;
            outcome fate;
            timer.async_wait(timewheel::cancel_after<clock>(
                2h, bind_cancellation_slot(parent.slot(), ends().into(fate))
            ));
            parent.emit(type);
            poll_until_quiet(ctx);
            BOOST_TEST(fate.done() == cancels);
            clock::advance(1h);
            poll_until_quiet(ctx);
            BOOST_TEST(fate.done());
            BOOST_TEST(fate.ec == (cancels ? aborted : error_code()));
        }
    }
}

// Both see the operation through, one signal each.
BOOST_AUTO_TEST_CASE(parent_and_deadline_both_signal)
{
    struct tag;
    using clock = manual_clock<tag>;
    controlled_operation operation(ctx.get_executor());
    asio::cancellation_signal parent;
    operation.async_run(
        timewheel::cancel_after<clock>(1ms, bind_cancellation_slot(parent.slot(), succeeds()))
    );
    parent.emit(cancellation_type::total);
    clock::advance(1ms);
    poll_until_quiet(ctx);
    parent.emit(cancellation_type::partial);
    const std::vector expected{
        cancellation_type::total, cancellation_type::terminal, cancellation_type::partial
    };
    BOOST_CHECK(operation.signals == expected);
    operation.complete();
    poll_until_quiet(ctx);
}

BOOST_AUTO_TEST_CASE(the_parent_may_go_first)
{
    struct tag;
    using clock = manual_clock<tag>;
    virtual_timer<tag> timer(ctx, 1h);
    outcome fate;
    {
        asio::cancellation_signal parent;
        timer.async_wait(timewheel::cancel_after<clock>(
            1ms, bind_cancellation_slot(parent.slot(), is_aborted().into(fate))
        ));
    }
    clock::advance(1ms);
    poll_until_quiet(ctx);
    BOOST_TEST(fate.done());
}

// The handler starts the next operation with the same slot, also within the parent's signal.
BOOST_AUTO_TEST_CASE(the_slot_of_the_parent_is_used_again)
{
    struct tag;
    using clock = manual_clock<tag>;
    controlled_operation first(ctx.get_executor());
    virtual_timer<tag> second(ctx, 1h);
    asio::cancellation_signal parent;
    outcome fate;
    first.on_signal = [&](cancellation_type) { first.complete_here(aborted); };
    first.async_run(timewheel::cancel_after<
                    clock>(1h, bind_cancellation_slot(parent.slot(), [&](error_code) {
                               second.async_wait(timewheel::cancel_after<clock>(
                                   1h,
                                   bind_cancellation_slot(parent.slot(), is_aborted().into(fate))
                               ));
                           })));
    parent.emit(cancellation_type::terminal);
    BOOST_TEST(!first.running());
    poll_until_quiet(ctx);
    BOOST_TEST(!fate.done());
    parent.emit(cancellation_type::terminal);
    poll_until_quiet(ctx);
    BOOST_TEST(fate.done());
}

BOOST_AUTO_TEST_CASE(nested_in_both_orders)
{
    struct tag;
    using clock = manual_clock<tag>;
    using timewheel::cancel_after;
    const deadline_scene<clock> scene{ctx};
    virtual_timer<tag> timer(ctx, 1h);
    scene.ends_at_deadline(aborted, [&](auto token) {
        timer.async_wait(cancel_after<clock>(10ms, cancel_after<clock>(20ms, token)));
    });
    scene.ends_at_deadline(aborted, [&](auto token) {
        timer.async_wait(cancel_after<clock>(20ms, cancel_after<clock>(10ms, token)));
    });
    scene.ends_at_deadline(aborted, [&](auto token) {
        timer.async_wait(cancel_after<clock>(10ms, cancel_after<clock>(10ms, token)));
    });
    scene.ends_at_deadline(aborted, [&](auto token) {
        timer.async_wait(cancel_after<clock>(10ms)(cancel_after<clock>(ctx, 20ms)(token)));
    });
    scene.ends_at_deadline(aborted, [&](auto token) {
        ((timer.async_wait() | cancel_after<clock>(30ms) | cancel_after<clock>(10ms)) |
         cancel_after<clock>(20ms))(token);
    });
    BOOST_TEST(!clock::advance_to_next());
}

BOOST_AUTO_TEST_CASE(nested_types_and_parent)
{
    struct tag;
    using clock = manual_clock<tag>;
    controlled_operation operation(ctx.get_executor());
    asio::cancellation_signal parent;
    operation.async_run(timewheel::cancel_after<clock>(
        1ms,
        cancellation_type::total,
        timewheel::cancel_after<clock>(
            2ms, cancellation_type::partial, bind_cancellation_slot(parent.slot(), succeeds())
        )
    ));
    for (int i = 0; i != 3; ++i) {
        clock::advance(1ms);
        poll_until_quiet(ctx);
    }
    parent.emit(cancellation_type::terminal);
    const std::vector expected{
        cancellation_type::total, cancellation_type::partial, cancellation_type::terminal
    };
    BOOST_CHECK(operation.signals == expected);
    operation.complete();
    poll_until_quiet(ctx);
}

// The result comes in the operation's own turn, and the deadline takes none for itself.
BOOST_AUTO_TEST_CASE(the_turns_of_an_operation_that_ends_first)
{
    struct tag;
    using clock = manual_clock<tag>;
    constexpr int n = 100;
    virtual_timer<tag> other(ctx, 10h);
    other.async_wait(is_aborted());
    poll_until_quiet(ctx);
    std::vector<std::unique_ptr<controlled_operation>> operations;
    int done = 0;
    for (int i = 0; i != n; ++i) {
        operations.push_back(std::make_unique<controlled_operation>(ctx.get_executor()));
        operations.back()->async_run(timewheel::cancel_after<clock>(1h, [&](error_code) { ++done; })
        );
    }
    poll_until_quiet(ctx);
    for (const auto& each : operations)
        each->complete();
    for (int turns = 1; turns <= n; ++turns) {
        BOOST_TEST_REQUIRE(ctx.poll_one() == 1u);
        BOOST_TEST_REQUIRE(done == turns);
    }
    BOOST_TEST(ctx.poll() == 0u);
    other.cancel();
    poll_until_quiet(ctx);
}

// The last one may have an alarm to clear, but only after the result.
BOOST_AUTO_TEST_CASE(the_turns_of_the_only_operation)
{
    struct tag;
    using clock = manual_clock<tag>;
    controlled_operation operation(ctx.get_executor());
    outcome fate;
    operation.async_run(timewheel::cancel_after<clock>(1h, succeeds().into(fate)));
    operation.complete();
    BOOST_TEST(ctx.poll_one() == 1u);
    BOOST_TEST(fate.done());
    BOOST_TEST(ctx.poll() <= 2u);
    BOOST_TEST(ctx.stopped());
}

// One turn for the deadline, and one for the operation.
BOOST_AUTO_TEST_CASE(the_turns_of_a_deadline)
{
    struct tag;
    using clock = manual_clock<tag>;
    virtual_timer<tag> timer(ctx, 1h);
    outcome fate;
    timer.async_wait(timewheel::cancel_after<clock>(1ms, is_aborted().into(fate)));
    poll_until_quiet(ctx);
    clock::advance(1ms);
    BOOST_TEST(ctx.poll_one() == 1u);
    BOOST_TEST(!fate.done());
    BOOST_TEST(ctx.poll_one() == 1u);
    BOOST_TEST(fate.done());
    poll_until_quiet(ctx);
}

// An operation that reacts within the signal ends in the deadline's own turn.
BOOST_AUTO_TEST_CASE(an_operation_that_ends_within_the_signal)
{
    struct tag;
    using clock = manual_clock<tag>;
    controlled_operation operation(ctx.get_executor());
    operation.on_signal = [&](cancellation_type) { operation.complete_here(aborted); };
    outcome fate;
    outcome next;
    operation.async_run(timewheel::cancel_after<clock>(1ms, is_aborted().into(fate).then([&] {
        operation.on_signal = nullptr;
        operation.async_run(timewheel::cancel_after<clock>(1h, succeeds().into(next)));
    })));
    clock::advance(1ms);
    poll_until_quiet(ctx);
    BOOST_TEST(fate.done());
    BOOST_TEST(operation.running());
    operation.complete();
    poll_until_quiet(ctx);
    BOOST_TEST(next.done());
}

BOOST_AUTO_TEST_CASE(an_operation_that_ends_within_the_signal_of_the_parent)
{
    struct tag;
    using clock = manual_clock<tag>;
    controlled_operation operation(ctx.get_executor());
    operation.on_signal = [&](cancellation_type) { operation.complete_here(aborted); };
    // The handler destroys the signal that is being emitted, as the end of a session may.
    auto parent = std::make_unique<asio::cancellation_signal>();
    std::optional<asio::cancellation_slot> slot = parent->slot();
    bool done = false;
    operation.async_run(timewheel::cancel_after<clock>(
        1h,
        timewheel::cancel_after<clock>(
            2h, bind_cancellation_slot(*slot, [&](error_code ec) { done = ec == aborted; })
        )
    ));
    parent->emit(cancellation_type::terminal);
    BOOST_TEST(done);
    poll_until_quiet(ctx);
    BOOST_TEST(!clock::advance_to_next());
}

// A signal that comes while the operation is being started waits until it has been.
BOOST_AUTO_TEST_CASE(a_signal_from_within_the_initiation)
{
    struct tag;
    using clock = manual_clock<tag>;
    virtual_timer<tag> timer(ctx, 1h);
    asio::cancellation_signal parent;
    outcome fate;
    auto token = timewheel::cancel_after<clock>(
        ctx, 1h, bind_cancellation_slot(parent.slot(), is_aborted().into(fate))
    );
    asio::async_initiate<decltype(token), void(error_code)>(
        [&](auto handler) {
            parent.emit(cancellation_type::terminal);
            timer.async_wait(std::move(handler));
            poll_until_quiet(ctx);
            BOOST_TEST(!fate.done());
        },
        token
    );
    poll_until_quiet(ctx);
    BOOST_TEST(fate.done());
}

namespace {

/// Counts to three in steps of a timer, and looks at the cancellation in between.
template <class Timer>
struct three_steps
{
    template <class Self>
    void operator()(Self& self, error_code ec = {})
    {
        if (ec || left == 0)
            return self.complete(ec);
        --left;
        timer.expires_after(10ms);
        timer.async_wait(std::move(self));
    }

    Timer& timer;
    int left = 3;
};

}

BOOST_AUTO_TEST_CASE(composed_operations)
{
    struct tag;
    using clock = manual_clock<tag>;
    for (const auto& [deadline, result] :
         {std::pair(5ms, aborted), {15ms, aborted}, {29ms, aborted}, {31ms, error_code()}}) {
        BOOST_TEST_CONTEXT("a deadline of " << deadline.count() << " ms")
        {
            ctx.restart();
            virtual_timer<tag> timer(ctx);
            outcome fate;
            auto token = timewheel::cancel_after<clock>(deadline, ends_with(result).into(fate));
            asio::async_compose<decltype(token), void(error_code)>(
                three_steps<virtual_timer<tag>>{timer}, token, timer
            );
            for (auto now = 0ms; now != 40ms; now += 1ms) {
                BOOST_TEST(fate.done() == (now >= (std::min)(deadline, 30ms)));
                clock::advance(1ms);
                poll_until_quiet(ctx);
            }
            BOOST_TEST(fate.done());
            BOOST_TEST(!clock::advance_to_next());
        }
    }
}

// Between two steps nothing of the operation could take the signal: it is kept for the next one.
BOOST_AUTO_TEST_CASE(a_signal_between_two_steps)
{
    struct tag;
    using clock = manual_clock<tag>;
    virtual_timer<tag> timer(ctx);
    asio::cancellation_signal parent;
    outcome fate;
    int steps = 0;
    auto token = timewheel::cancel_after<clock>(
        1h, bind_cancellation_slot(parent.slot(), is_aborted().into(fate))
    );
    asio::async_compose<decltype(token), void(error_code)>(
        [&, n = 0](auto& self, error_code ec = {}) mutable {
            if (ec || n == 3)
                return self.complete(ec);
            steps = ++n;
            timer.expires_after(10ms);
            if (n == 2)
                parent.emit(cancellation_type::terminal);
            timer.async_wait(std::move(self));
        },
        token,
        timer
    );
    clock::advance(10ms);
    poll_until_quiet(ctx);
    BOOST_TEST(steps == 2);
    BOOST_TEST(fate.done());
}

BOOST_AUTO_TEST_CASE(thousands_of_deadlines)
{
    struct tag;
    using clock = manual_clock<tag>;
    constexpr int n = 3000;
    virtual_timer<tag> timer(ctx, 1s);
    int cancelled = 0;
    int succeeded = 0;
    for (int i = 1; i <= n; ++i)
        timer.async_wait(timewheel::cancel_after<clock>(
            std::chrono::milliseconds(i), [&](error_code ec) { ++(ec ? cancelled : succeeded); }
        ));
    while (clock::advance_to_next())
        poll_until_quiet(ctx);
    BOOST_TEST(cancelled + succeeded == n);
    BOOST_TEST(cancelled >= 999);
    BOOST_TEST(cancelled <= 1000);
    BOOST_TEST(ctx.stopped());
}

// What a handler throws leaves run(), and the deadline is gone all the same.
BOOST_AUTO_TEST_CASE(a_handler_that_throws)
{
    struct tag;
    using clock = manual_clock<tag>;
    virtual_timer<tag> timer(ctx, 1h);
    const auto fail = [](error_code) { throw std::runtime_error("thrown by a handler"); };
    timer.async_wait(timewheel::cancel_after<clock>(1ms, fail));
    timer.async_wait(timewheel::cancel_after<clock>(2h, fail));
    clock::advance(1ms);
    BOOST_CHECK_THROW(ctx.run(), std::runtime_error);
    clock::advance(1h);
    BOOST_CHECK_THROW(ctx.run(), std::runtime_error);
    poll_until_quiet(ctx);
    BOOST_TEST(!clock::advance_to_next());
}

// The only case in real time: the default clock, and never early.
BOOST_AUTO_TEST_CASE(in_real_time)
{
    controlled_operation operation(ctx.get_executor());
    operation.obey_signals();
    const stopwatch watch;
    operation.async_run(timewheel::cancel_after(20ms, is_aborted()));
    BOOST_TEST(run_to_end(ctx));
    BOOST_CHECK(watch.elapsed() >= 20ms);
    ctx.restart();
    operation.async_run(
        timewheel::timeout_at(std::chrono::system_clock::now() + 5ms, ends_with(error::timed_out))
    );
    BOOST_TEST(run_to_end(ctx));
}

BOOST_AUTO_TEST_SUITE_END()

}
