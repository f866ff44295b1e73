// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#include <timewheel/after.hpp>

#include <timewheel/basic_waitable_timer.hpp>

#include <test_common/allocation_counter.hpp>
#include <test_common/counting_allocator.hpp>
#include <test_common/io_fixture.hpp>
#include <test_common/run.hpp>
#include <test_common/tracker_executor.hpp>
#include <test_common/virtual_time.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_allocator.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/defer.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/execution/allocator.hpp>
#include <boost/asio/execution/blocking.hpp>
#include <boost/asio/execution/blocking_adaptation.hpp>
#include <boost/asio/execution/context.hpp>
#include <boost/asio/execution/executor.hpp>
#include <boost/asio/execution/outstanding_work.hpp>
#include <boost/asio/execution/relationship.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/prefer.hpp>
#include <boost/asio/query.hpp>
#include <boost/asio/require.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/system_executor.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <thread>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace timewheel::test {

namespace {

namespace execution = asio::execution;
using io_executor = asio::io_context::executor_type;

// Models what Asio wants of an executor, whichever executor it delays.
template <class Inner>
constexpr bool is_usable = execution::is_executor<delayed_executor<Inner>>::value &&
                           std::is_nothrow_copy_constructible_v<delayed_executor<Inner>> &&
                           std::is_convertible_v<delayed_executor<Inner>, asio::any_io_executor>;
static_assert(is_usable<io_executor>);
static_assert(is_usable<asio::any_io_executor>);
static_assert(is_usable<asio::strand<io_executor>>);
static_assert(is_usable<asio::strand<asio::any_io_executor>>);
static_assert(is_usable<asio::thread_pool::executor_type>);
static_assert(is_usable<asio::system_executor>);
static_assert(is_usable<delayed_executor<io_executor>>);
static_assert(is_usable<tracker_executor<io_executor>>);

using native_timer_on_delayed = asio::basic_waitable_timer<
    std::chrono::steady_clock,
    asio::wait_traits<std::chrono::steady_clock>,
    delayed_executor<io_executor>>;
static_assert(std::is_constructible_v<native_timer_on_delayed, delayed_executor<io_executor>>);

// The types name the executor that is delayed and the clock.
template <class Target, class Time>
using after_t = decltype(timewheel::after(std::declval<Target>(), std::declval<Time>()));
static_assert(std::is_same_v<
              after_t<asio::io_context&, std::chrono::seconds>,
              delayed_executor<io_executor>>);
static_assert(std::is_same_v<
              after_t<const asio::any_io_executor&, std::chrono::system_clock::time_point>,
              delayed_executor<asio::any_io_executor, std::chrono::system_clock>>);

/// A function that tells when it is gone.
class witness
{
public:
    explicit witness(int& destroyed) : destroyed_{&destroyed} {}
    witness(witness&& other) noexcept : destroyed_{std::exchange(other.destroyed_, nullptr)} {}

    ~witness()
    {
        if (destroyed_)
            ++*destroyed_;
    }

private:
    int* destroyed_;
};

/// When a function ran, in the time of a clock since its epoch.
template <class Clock>
class diary
{
public:
    auto writer(int id = 0)
    {
        return [this, id] {
            times.push_back(Clock::now().time_since_epoch());
            ids.push_back(id);
        };
    }

    bool empty() const { return times.empty(); }

    std::vector<typename Clock::duration> times;
    std::vector<int> ids;
};

/// A clock that counts in seconds.
struct clock_of_seconds : manual_clock<clock_of_seconds>
{
    using duration = std::chrono::seconds;
    using rep = duration::rep;
    using period = duration::period;
    using time_point = std::chrono::time_point<clock_of_seconds, duration>;

    static time_point now() noexcept
    {
        return time_point(std::chrono::floor<duration>(manual_clock::now().time_since_epoch()));
    }
};

/// Advances in small steps, and completes what is due after each.
template <class Clock>
void pass(asio::io_context& ctx, std::chrono::nanoseconds span, std::chrono::nanoseconds step)
{
    for (; span > 0ns; span -= step) {
        Clock::advance((std::min)(span, step));
        ctx.restart();
        poll_until_quiet(ctx);
    }
}

}

BOOST_FIXTURE_TEST_SUITE(after, io_fixture)

namespace {

// The ways to submit a function.
struct by_post
{
    static void submit(const auto& executor, auto f) { asio::post(executor, std::move(f)); }
};
struct by_dispatch
{
    static void submit(const auto& executor, auto f) { asio::dispatch(executor, std::move(f)); }
};
struct by_defer
{
    static void submit(const auto& executor, auto f) { asio::defer(executor, std::move(f)); }
};
struct by_execute
{
    static void submit(const auto& executor, auto f) { executor.execute(std::move(f)); }
};
struct by_bound_executor
{
    static void submit(const auto& executor, auto f)
    {
        auto& ctx = static_cast<asio::io_context&>(
            asio::query(executor, execution::context_as<asio::execution_context&>)
        );
        asio::post(ctx, asio::bind_executor(executor, std::move(f)));
    }
};
struct by_any_io_executor
{
    static void submit(const auto& executor, auto f)
    {
        asio::post(asio::any_io_executor(executor), std::move(f));
    }
};
using all_ways =
    std::tuple<by_post, by_dispatch, by_defer, by_execute, by_bound_executor, by_any_io_executor>;

}

BOOST_AUTO_TEST_CASE_TEMPLATE(never_early_and_at_most_a_tick_late, Way, all_ways)
{
    struct tag;
    using clock = manual_clock<tag>;
    using time_point = typename clock::time_point;
    for (const auto start : {0us, 1us, 400us, 999us}) {
        for (const auto delay : {1ns, 1000ns, 999'999ns, 1'000'000ns, 1'000'001ns, 300'000'000ns}) {
            BOOST_TEST_CONTEXT(start.count() << " us, " << delay.count() << " ns")
            {
                asio::io_context own;
                clock::set(time_point(start));
                diary<clock> ran;
                Way::submit(timewheel::after<clock>(own, delay), ran.writer());
                own.poll();
                BOOST_TEST(ran.empty());
                clock::advance(delay - 1ns);
                own.restart();
                poll_until_quiet(own);
                BOOST_TEST(ran.empty());
                pass<clock>(own, 1ms + 1ns, 100us);
                BOOST_REQUIRE(ran.times.size() == 1);
                BOOST_CHECK(ran.times[0] >= start + delay);
                BOOST_CHECK(ran.times[0] <= start + delay + 1ms);
            }
        }
    }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(until_a_time, Way, all_ways)
{
    struct tag;
    using clock = manual_clock<tag>;
    using time_point = typename clock::time_point;
    diary<clock> ran;
    Way::submit(timewheel::after(ctx, time_point(50ms)), ran.writer(1));
    Way::submit(timewheel::after(ctx.get_executor(), time_point(20ms)), ran.writer(2));
    poll_until_quiet(ctx);
    pass<clock>(ctx, 100ms, 1ms);
    BOOST_TEST(ran.ids == (std::vector<int>{2, 1}), boost::test_tools::per_element());
    BOOST_CHECK((ran.times == std::vector<std::chrono::nanoseconds>{20ms, 50ms}));
}

BOOST_AUTO_TEST_CASE(counts_from_the_call)
{
    struct tag;
    using clock = manual_clock<tag>;
    const auto in_a_second = timewheel::after<clock>(ctx, 1s);
    diary<clock> ran;
    asio::post(in_a_second, ran.writer(1));
    clock::advance(900ms);
    asio::post(in_a_second, ran.writer(2));
    poll_until_quiet(ctx);
    BOOST_TEST(ran.empty());
    clock::advance(100ms);
    poll_until_quiet(ctx);
    BOOST_TEST(ran.ids == (std::vector<int>{1, 2}), boost::test_tools::per_element());
    ctx.restart();
    asio::post(in_a_second, ran.writer(3)); // late: at once
    BOOST_TEST(ran.ids.size() == 2);
    ctx.poll();
    BOOST_TEST(ran.ids.size() == 3);
}

BOOST_AUTO_TEST_CASE(time_in_a_finer_unit_than_the_clock_rounds_up)
{
    using coarse = clock_of_seconds;
    const auto late =
        timewheel::after(ctx, std::chrono::time_point<coarse, std::chrono::milliseconds>(1001ms));
    BOOST_CHECK(late.policy().when == coarse::time_point(2s));
    BOOST_CHECK(timewheel::after<coarse>(ctx, 1ns).policy().when == coarse::time_point(1s));
    BOOST_CHECK(timewheel::after<coarse>(ctx, -1ns).policy().when == coarse::time_point(0s));
}

BOOST_AUTO_TEST_CASE(past_times_run_at_once_but_post_never_inline)
{
    struct tag;
    using clock = manual_clock<tag>;
    clock::set(clock::time_point(10s));
    constexpr auto longest = (std::chrono::hours::min)();
    for (const auto& executor :
         {timewheel::after<clock>(ctx, 0s),
          timewheel::after<clock>(ctx, -1s),
          timewheel::after<clock>(ctx, longest),
          timewheel::after(ctx, (clock::time_point::min)()),
          timewheel::after(ctx, clock::now())}) {
        int posted = 0;
        int dispatched = 0;
        asio::post(executor, [&] { ++posted; });
        asio::dispatch(executor, [&] { ++dispatched; });
        BOOST_TEST(posted + dispatched == 0);
        ctx.restart();
        ctx.poll(); // without a step of the clock
        BOOST_TEST(posted == 1);
        BOOST_TEST(dispatched == 1);
        // On the context, dispatch is inline and post is not, as without a delay.
        asio::post(ctx, [&] {
            asio::post(executor, [&] { ++posted; });
            asio::defer(executor, [&] { ++posted; });
            BOOST_TEST(posted == 1);
            asio::dispatch(executor, [&] { ++dispatched; });
            BOOST_TEST(dispatched == 2);
        });
        ctx.restart();
        ctx.poll();
        BOOST_TEST(posted == 3);
    }
}

BOOST_AUTO_TEST_CASE(dispatch_before_the_time_is_not_inline)
{
    struct tag;
    using clock = manual_clock<tag>;
    diary<clock> ran;
    asio::post(ctx, [&] {
        asio::dispatch(timewheel::after<clock>(ctx, 5ms), ran.writer());
        BOOST_TEST(ran.empty());
    });
    poll_until_quiet(ctx);
    BOOST_TEST(ran.empty());
    pass<clock>(ctx, 5ms, 1ms);
    BOOST_CHECK((ran.times == std::vector<clock::duration>{5ms}));
}

BOOST_AUTO_TEST_CASE(the_end_of_time_never_comes_but_holds_work)
{
    struct tag;
    using clock = manual_clock<tag>;
    int destroyed = 0;
    {
        asio::io_context own;
        bool ran = false;
        const auto never = [&](const auto& executor) {
            asio::post(executor, [&ran, w = witness(destroyed)] { ran = true; });
        };
        never(timewheel::after(own, (clock::time_point::max)()));
        never(timewheel::after<clock>(own, (clock::duration::max)()));
        never(timewheel::after<clock>(own, (std::chrono::hours::max)()));
        clock::set(clock::time_point(1h));
        never(timewheel::after<clock>(own, (std::chrono::hours::max)()));
        clock::advance(24h * 365 * 200);
        for (int i = 0; i != 3; ++i)
            own.poll();
        BOOST_TEST(!own.stopped());
        BOOST_TEST(!ran);
        BOOST_TEST(destroyed == 0);
    }
    BOOST_TEST(destroyed == 4);
}

BOOST_AUTO_TEST_CASE(equal_times_run_in_order_of_submission)
{
    struct tag;
    using clock = manual_clock<tag>;
    diary<clock> ran;
    std::vector<int> expected;
    for (int i = 0; i != 1000; ++i) {
        const auto executor = timewheel::after(ctx, clock::time_point(i % 2 == 0 ? 20ms : 10ms));
        asio::post(executor, ran.writer(i));
    }
    for (int i = 1; i < 1000; i += 2)
        expected.push_back(i);
    for (int i = 0; i < 1000; i += 2)
        expected.push_back(i);
    pass<clock>(ctx, 20ms, 5ms);
    BOOST_TEST(ran.ids == expected, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(order_holds_when_all_is_due_at_once)
{
    struct tag;
    using clock = manual_clock<tag>;
    diary<clock> ran;
    std::vector<int> expected;
    for (int i = 999; i >= 0; --i)
        asio::post(timewheel::after(ctx, clock::time_point(1ms * i + 1ms)), ran.writer(i));
    for (int i = 0; i != 1000; ++i)
        expected.push_back(i);
    clock::advance(2s);
    poll_until_quiet(ctx);
    BOOST_TEST(ran.ids == expected, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(holds_work_from_submission_to_execution)
{
    struct tag;
    using clock = manual_clock<tag>;
    bool ran = false;
    const auto later = timewheel::after<clock>(ctx, 10ms);
    ctx.poll();
    BOOST_TEST(ctx.stopped()); // the executor alone has none
    ctx.restart();
    asio::post(later, [&] { ran = true; });
    poll_until_quiet(ctx);
    BOOST_TEST(!ctx.stopped());
    clock::advance(10ms);
    poll_until_quiet(ctx);
    BOOST_TEST(ran);
    BOOST_TEST(ctx.stopped()); // and does not hang
}

BOOST_AUTO_TEST_CASE(holds_work_of_the_executor_while_it_runs)
{
    struct tag;
    using clock = manual_clock<tag>;
    const tracker_executor tracker{ctx.get_executor()};
    int outstanding_inside = 0;
    bool on_executor = false;
    asio::post(timewheel::after<clock>(tracker, 10ms), [&] {
        outstanding_inside = tracker.diary().outstanding;
        on_executor = tracker.running_here();
    });
    BOOST_TEST(tracker.diary().outstanding == 1);
    BOOST_TEST(tracker.diary().submissions == 0);
    pass<clock>(ctx, 9ms, 1ms);
    BOOST_TEST(tracker.diary().outstanding == 1);
    pass<clock>(ctx, 1ms, 1ms);
    BOOST_TEST(on_executor);
    BOOST_TEST(outstanding_inside >= 1);
    BOOST_TEST(tracker.diary().outstanding == 0);
    BOOST_TEST(tracker.diary().submissions == 1);
}

BOOST_AUTO_TEST_CASE(run_returns_at_the_real_time)
{
    const stopwatch watch;
    bool ran = false;
    asio::post(timewheel::after(ctx, 5ms), [&] { ran = true; });
    BOOST_TEST(run_to_end(ctx));
    BOOST_TEST(ran);
    BOOST_CHECK(watch.elapsed() >= 5ms);
}

BOOST_AUTO_TEST_CASE(move_only_functions)
{
    struct tag;
    using clock = manual_clock<tag>;
    int sum = 0;
    const auto later = timewheel::after<clock>(ctx, 1ms);
    const auto function = [&](int n) {
        return
            [&sum, p = std::make_unique<int>(n)]() mutable { sum += *std::exchange(p, nullptr); };
    };
    asio::post(later, function(1));
    asio::dispatch(later, function(10));
    asio::defer(later, function(100));
    later.execute(function(1000));
    asio::any_io_executor(later).execute(function(10'000));
    clock::advance(1ms);
    poll_until_quiet(ctx);
    BOOST_TEST(sum == 11'111);
}

BOOST_AUTO_TEST_CASE(lvalue_functions_are_copied)
{
    struct tag;
    using clock = manual_clock<tag>;
    int calls = 0;
    auto function = [&calls, token = std::make_shared<int>(7)] { calls += *token; };
    const auto later = timewheel::after<clock>(ctx, 1ms);
    later.execute(function);
    later.execute(std::as_const(function));
    clock::advance(1ms);
    poll_until_quiet(ctx);
    function();
    BOOST_TEST(calls == 21);
}

BOOST_AUTO_TEST_CASE(exceptions_leave_run_and_others_still_run)
{
    struct tag;
    using clock = manual_clock<tag>;
    int ran = 0;
    int thrown = 0;
    for (int i = 0; i != 10; ++i) {
        asio::post(timewheel::after<clock>(ctx, 1ms), [&, i] {
            ++ran;
            if (i % 3 == 0)
                throw std::runtime_error("on purpose");
        });
    }
    clock::advance(1ms);
    for (bool more = true; more;) {
        try {
            poll_until_quiet(ctx);
            more = false;
        } catch (const std::runtime_error&) {
            ++thrown;
        }
    }
    BOOST_TEST(ran == 10);
    BOOST_TEST(thrown == 4);
}

BOOST_AUTO_TEST_CASE(functions_submit_further_ones)
{
    struct tag;
    using clock = manual_clock<tag>;
    std::vector<clock::duration> times;
    std::function<void()> again = [&] {
        times.push_back(clock::now().time_since_epoch());
        if (times.size() != 5)
            asio::post(timewheel::after<clock>(ctx, 10ms), again);
    };
    again();
    while (clock::advance_to_next())
        poll_until_quiet(ctx);
    BOOST_CHECK((times == std::vector<clock::duration>{0ms, 10ms, 20ms, 30ms, 40ms}));
}

BOOST_AUTO_TEST_CASE(clock_set_back_meanwhile_defers)
{
    struct tag;
    using clock = manual_clock<tag>;
    clock::set(clock::time_point(10s));
    diary<clock> ran;
    asio::post(timewheel::after<clock>(ctx, 1s), ran.writer());
    clock::set(clock::time_point(5s));
    poll_until_quiet(ctx);
    clock::advance(5999ms);
    poll_until_quiet(ctx);
    BOOST_TEST(ran.empty());
    clock::advance(1ms);
    poll_until_quiet(ctx);
    BOOST_CHECK((ran.times == std::vector<clock::duration>{11s}));
}

BOOST_AUTO_TEST_CASE(coroutine_starts_late_and_is_not_delayed_twice)
{
    struct tag;
    using clock = manual_clock<tag>;
    diary<clock> ran;
    const auto coroutine = [&]() -> asio::awaitable<int> {
        ran.writer(1)();
        virtual_timer<tag> timer{co_await asio::this_coro::executor, 10ms};
        co_await timer.async_wait(asio::use_awaitable);
        ran.writer(2)();
        co_await asio::post(asio::use_awaitable);
        ran.writer(3)();
        co_return 42;
    };
    auto result =
        asio::co_spawn(timewheel::after<clock>(ctx, 100ms), coroutine(), asio::use_future);
    poll_until_quiet(ctx);
    BOOST_TEST(ran.empty());
    pass<clock>(ctx, 200ms, 1ms);
    BOOST_TEST(result.get() == 42);
    BOOST_CHECK((ran.times == std::vector<clock::duration>{100ms, 110ms, 110ms}));
}

BOOST_AUTO_TEST_CASE(coroutine_of_the_delayed_executor_type)
{
    struct tag;
    using clock = manual_clock<tag>;
    using executor_type = delayed_executor<io_executor, clock>;
    bool ran = false;
    const auto coroutine = [&]() -> asio::awaitable<void, executor_type> {
        const executor_type executor = co_await asio::this_coro::executor;
        virtual_timer<tag, executor_type> timer{executor, 10ms};
        co_await timer.async_wait(asio::use_awaitable_t<executor_type>());
        ran = true;
    };
    asio::co_spawn(timewheel::after<clock>(ctx, 10ms), coroutine(), asio::detached);
    pass<clock>(ctx, 19ms, 1ms);
    BOOST_TEST(!ran);
    pass<clock>(ctx, 1ms, 1ms);
    BOOST_TEST(ran);
}

BOOST_AUTO_TEST_CASE(coroutine_that_throws_late)
{
    struct tag;
    using clock = manual_clock<tag>;
    const auto coroutine = []() -> asio::awaitable<void> {
        throw std::runtime_error("on purpose");
        co_return;
    };
    auto result = asio::co_spawn(timewheel::after<clock>(ctx, 5ms), coroutine(), asio::use_future);
    pass<clock>(ctx, 5ms, 1ms);
    BOOST_CHECK_THROW(result.get(), std::runtime_error);
}

BOOST_AUTO_TEST_CASE(bound_handler_of_another_operation)
{
    struct tag;
    using clock = manual_clock<tag>;
    diary<clock> ran;
    virtual_timer<tag> timer{ctx, 10ms};
    timer.async_wait(asio::bind_executor(timewheel::after<clock>(ctx, 30ms), [&](error_code ec) {
        BOOST_TEST(!ec);
        ran.writer()();
    }));
    pass<clock>(ctx, 100ms, 1ms);
    BOOST_CHECK((ran.times == std::vector<clock::duration>{30ms}));
}

BOOST_AUTO_TEST_CASE(native_timer_on_it)
{
    native_timer_on_delayed timer{timewheel::after(ctx, 20ms), 1ms};
    const stopwatch watch;
    std::optional<std::chrono::steady_clock::duration> ended;
    timer.async_wait([&](error_code ec) {
        BOOST_TEST(!ec);
        ended = watch.elapsed();
    });
    BOOST_TEST(run_to_end(ctx));
    BOOST_REQUIRE(ended.has_value());
    BOOST_CHECK(*ended >= 18ms);
}

BOOST_AUTO_TEST_CASE(delays_a_strand)
{
    struct tag;
    using clock = manual_clock<tag>;
    const auto strand = asio::make_strand(ctx);
    bool ran = false;
    asio::post(timewheel::after<clock>(strand, 5ms), [&] {
        BOOST_TEST(strand.running_in_this_thread());
        ran = true;
    });
    pass<clock>(ctx, 4ms, 1ms);
    BOOST_TEST(!ran);
    pass<clock>(ctx, 1ms, 1ms);
    BOOST_TEST(ran);
}

BOOST_AUTO_TEST_CASE(inside_a_strand)
{
    struct tag;
    using clock = manual_clock<tag>;
    diary<clock> ran;
    const auto strand = asio::make_strand(timewheel::after<clock>(ctx, 5ms));
    for (int i = 0; i != 10; ++i)
        asio::post(strand, ran.writer(i));
    pass<clock>(ctx, 4ms, 1ms);
    BOOST_TEST(ran.empty());
    pass<clock>(ctx, 1ms, 1ms);
    BOOST_TEST(
        ran.ids == (std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}),
        boost::test_tools::per_element()
    );
}

BOOST_AUTO_TEST_CASE(inside_itself_the_later_one_counts)
{
    struct tag;
    using clock = manual_clock<tag>;
    diary<clock> ran;
    asio::post(timewheel::after<clock>(timewheel::after<clock>(ctx, 5ms), 9ms), ran.writer(1));
    asio::post(timewheel::after<clock>(timewheel::after<clock>(ctx, 15ms), 9ms), ran.writer(2));
    pass<clock>(ctx, 20ms, 1ms);
    BOOST_CHECK((ran.times == std::vector<clock::duration>{9ms, 15ms}));
}

BOOST_AUTO_TEST_CASE(equality)
{
    struct tag;
    using clock = manual_clock<tag>;
    asio::io_context other;
    const clock::time_point when(5ms);
    const auto executor = timewheel::after(ctx, when);
    BOOST_CHECK(executor == timewheel::after(ctx, when));
    BOOST_CHECK(executor == timewheel::after<clock>(ctx, 5ms));
    BOOST_CHECK(executor != timewheel::after(ctx, when + 1ns));
    BOOST_CHECK(executor != timewheel::after(other, when));
    BOOST_CHECK(!(executor != timewheel::after(ctx, when)));
    const asio::any_io_executor erased = executor;
    BOOST_CHECK(erased == asio::any_io_executor(timewheel::after(ctx, when)));
    BOOST_CHECK(erased != asio::any_io_executor(timewheel::after(ctx, when + 1ns)));
    BOOST_CHECK(erased != asio::any_io_executor(ctx.get_executor()));
    BOOST_CHECK(erased != asio::any_io_executor());
}

BOOST_AUTO_TEST_CASE(assignment)
{
    struct tag;
    using clock = manual_clock<tag>;
    auto executor = timewheel::after<clock>(ctx, 5ms);
    const auto other = timewheel::after<clock>(ctx, 6ms);
    executor = other;
    BOOST_CHECK(executor == other);
}

BOOST_AUTO_TEST_CASE(context_of_it)
{
    const auto executor = timewheel::after(ctx, 1h);
    static_assert(std::is_same_v<
                  decltype(asio::query(executor, execution::context)),
                  decltype(asio::query(ctx.get_executor(), execution::context))>);
    BOOST_TEST(&asio::query(executor, execution::context) == &ctx);
    BOOST_TEST(&asio::query(asio::any_io_executor(executor), execution::context) == &ctx);
    asio::thread_pool pool{1};
    BOOST_TEST(&asio::query(timewheel::after(pool, 1h), execution::context) == &pool);
}

BOOST_AUTO_TEST_CASE(tracked_work_keeps_the_context_running)
{
    const auto executor = timewheel::after(ctx, 1h);
    BOOST_CHECK(
        asio::query(executor, execution::outstanding_work) == execution::outstanding_work.untracked
    );
    {
        const auto tracked = asio::require(executor, execution::outstanding_work.tracked);
        BOOST_CHECK(
            asio::query(tracked, execution::outstanding_work) == execution::outstanding_work.tracked
        );
        ctx.poll();
        BOOST_TEST(!ctx.stopped());
        const auto untracked = asio::require(tracked, execution::outstanding_work.untracked);
        BOOST_CHECK(untracked == executor);
    }
    ctx.poll();
    BOOST_TEST(ctx.stopped());

    ctx.restart();
    {
        auto guard = asio::make_work_guard(executor);
        static_assert(std::is_same_v<
                      decltype(guard),
                      asio::executor_work_guard<std::remove_const_t<decltype(executor)>>>);
        ctx.poll();
        BOOST_TEST(!ctx.stopped());
        guard.reset();
        ctx.poll();
        BOOST_TEST(ctx.stopped());
    }
    ctx.restart();
    {
        const auto guard = asio::make_work_guard(asio::any_io_executor(executor));
        ctx.poll();
        BOOST_TEST(!ctx.stopped());
    }
    ctx.poll();
    BOOST_TEST(ctx.stopped());
}

BOOST_AUTO_TEST_CASE(other_properties)
{
    const auto executor = timewheel::after(ctx, 1h);
    const auto never = asio::require(executor, execution::blocking.never);
    BOOST_CHECK(asio::query(never, execution::blocking) == execution::blocking.never);
    const auto possibly = asio::require(never, execution::blocking.possibly);
    BOOST_CHECK(asio::query(possibly, execution::blocking) == execution::blocking.possibly);
    const auto continuation = asio::prefer(executor, execution::relationship.continuation);
    BOOST_CHECK(
        asio::query(continuation, execution::relationship) == execution::relationship.continuation
    );
    const auto fork = asio::prefer(continuation, execution::relationship.fork);
    BOOST_CHECK(asio::query(fork, execution::relationship) == execution::relationship.fork);
    allocation_account account;
    const auto with = asio::require(executor, execution::allocator(counting_allocator<>(account)));
    BOOST_CHECK(asio::query(with, execution::allocator) == counting_allocator<>(account));
    // The time is kept whatever else changes.
    BOOST_CHECK(never.policy() == executor.policy());
    BOOST_CHECK(fork.policy() == executor.policy());
    BOOST_CHECK(with.policy() == executor.policy());
}

// That the function has run when execute() returns is a promise that can't be kept.
BOOST_AUTO_TEST_CASE(does_not_claim_to_block_always)
{
    using pool_executor = asio::thread_pool::executor_type;
    static_assert(asio::can_require_v<pool_executor, execution::blocking_t::always_t>);
    using delayed = delayed_executor<pool_executor>;
    static_assert(!asio::can_require_v<delayed, execution::blocking_t::always_t>);
    asio::thread_pool pool{1};
    const auto adapted =
        asio::require(timewheel::after(pool, 1h), execution::blocking_adaptation.allowed);
    static_assert(!asio::can_require_v<decltype(adapted), execution::blocking_t::always_t>);
}

BOOST_AUTO_TEST_CASE(memory_of_the_associated_allocator)
{
    struct tag;
    using clock = manual_clock<tag>;
    allocation_account account;
    const auto later = timewheel::after<clock>(ctx, 1ms);
    bool ran = false;
    const auto function = [&] {
        BOOST_TEST(account.settled()); // freed before the function runs
        ran = true;
    };
    asio::post(later, asio::bind_allocator(counting_allocator<>(account), function));
    BOOST_TEST(account.requests == 1);
    BOOST_TEST(account.blocks == 1);
    clock::advance(1ms);
    poll_until_quiet(ctx);
    BOOST_TEST(ran);
    BOOST_TEST(account.requests == 1);
    BOOST_TEST(account.settled());
}

BOOST_AUTO_TEST_CASE(memory_is_freed_before_a_posted_function_runs)
{
    struct tag;
    using clock = manual_clock<tag>;
    allocation_account account;
    const auto strand = asio::make_strand(ctx);
    bool ran = false;
    asio::post(
        timewheel::after<clock>(strand, 1ms),
        asio::bind_allocator(
            counting_allocator<>(account),
            [&] {
                BOOST_TEST(account.settled());
                ran = true;
            }
        )
    );
    BOOST_TEST(account.blocks == 1);
    clock::advance(1ms);
    poll_until_quiet(ctx);
    BOOST_TEST(ran);
    BOOST_TEST(account.settled());
}

BOOST_AUTO_TEST_CASE(no_memory)
{
    struct tag;
    using clock = manual_clock<tag>;
    allocation_account account{.refuse = 1};
    int destroyed = 0;
    bool ran = false;
    const auto later = timewheel::after<clock>(ctx, 1ms);
    BOOST_CHECK_THROW(
        asio::post(
            later,
            asio::bind_allocator(
                counting_allocator<>(account), [&ran, w = witness(destroyed)] { ran = true; }
            )
        ),
        std::bad_alloc
    );
    BOOST_TEST(destroyed == 1);
    clock::advance(1ms);
    poll_until_quiet(ctx);
    BOOST_TEST(!ran);
    BOOST_TEST(ctx.stopped()); // no work is left
}

BOOST_AUTO_TEST_CASE(function_whose_copy_throws)
{
    struct tag;
    using clock = manual_clock<tag>;
    struct fragile
    {
        fragile() = default;
        fragile(const fragile&) { throw std::runtime_error("on purpose"); }
        void operator()() const {}
    };
    allocation_account account;
    const auto later = asio::require(
        timewheel::after<clock>(ctx, 1ms), execution::allocator(counting_allocator<>(account))
    );
    const fragile function;
    BOOST_CHECK_THROW(later.execute(function), std::runtime_error);
    BOOST_TEST(account.settled());
    poll_until_quiet(ctx);
    BOOST_TEST(ctx.stopped());
}

BOOST_AUTO_TEST_CASE(no_allocation_in_the_steady_state)
{
    struct tag;
    using clock = manual_clock<tag>;
    BOOST_REQUIRE(counts_allocations());
    struct again
    {
        asio::io_context& ctx;
        int& left;

        void operator()() const
        {
            if (left-- != 0)
                asio::post(timewheel::after<clock>(ctx, 1ms), *this);
        }
    };
    // Asio's memory of a thread moves on from one poll() to the next one inside of it only.
    asio::io_context around;
    int left = 10'300;
    asio::post(around, [&] {
        again{ctx, left}();
        std::optional<allocation_counter> allocations;
        while (left != 0) {
            if (left == 10'000) // once around the lowest level
                allocations.emplace();
            clock::advance(1ms);
            ctx.poll();
        }
        BOOST_TEST(allocations->count() == 0);
    });
    around.run();
    clock::advance(1ms);
    poll_until_quiet(ctx); // the last one, which looks at what is left
}

BOOST_AUTO_TEST_CASE(submission_from_other_threads)
{
    struct tag;
    using clock = manual_clock<tag>;
    constexpr int threads = 4;
    constexpr int each = 2000;
    std::atomic<int> ran{0};
    std::atomic<int> early{0};
    std::atomic<bool> submitted{false};
    {
        std::vector<std::jthread> submitting;
        std::jthread driving([&] {
            while (!submitted) {
                clock::advance(1ms);
                std::this_thread::yield();
            }
        });
        const auto busy = asio::make_work_guard(ctx);
        std::jthread running([&] { ctx.run(); });
        for (int t = 0; t != threads; ++t) {
            submitting.emplace_back([&] {
                for (int i = 0; i != each; ++i) {
                    const auto when = clock::now() + std::chrono::microseconds(i % 5000);
                    asio::post(timewheel::after(ctx, when), [&, when] {
                        early += clock::now() < when ? 1 : 0;
                        ++ran;
                    });
                }
            });
        }
        submitting.clear();
        submitted = true;
        driving.join();
        clock::advance(10ms);
        for (const stopwatch watch; ran != threads * each && watch.elapsed() < patience;)
            std::this_thread::sleep_for(1ms);
        ctx.stop();
    }
    BOOST_TEST(ran == threads * each);
    BOOST_TEST(early == 0);
}

BOOST_AUTO_TEST_CASE(context_is_destroyed_with_waiting_functions)
{
    struct tag;
    using clock = manual_clock<tag>;
    int destroyed = 0;
    int ran = 0;
    {
        asio::io_context own;
        for (int i = 1; i <= 10; ++i) {
            asio::post(timewheel::after<clock>(own, 1ms * i), [&ran, w = witness(destroyed)] {
                ++ran;
            });
        }
        clock::advance(5ms); // some of them are due
        own.poll_one();
        own.stop();
        own.poll();
        BOOST_TEST(ran <= 5);
    }
    BOOST_TEST(destroyed == 10);
    BOOST_TEST(ran <= 5);
}

BOOST_AUTO_TEST_CASE(waiting_functions_own_others)
{
    struct tag;
    using clock = manual_clock<tag>;
    int destroyed = 0;
    bool ran = false;
    {
        asio::io_context own;
        // One that submits another one when it is destroyed, which is destroyed as well.
        struct successor
        {
            asio::io_context* ctx;
            witness last;
            int generations;

            successor(asio::io_context& c, int& destroyed, int n)
                : ctx{&c}
                , last{destroyed}
                , generations{n}
                , destroyed_{&destroyed}
            {}
            successor(successor&& other) noexcept
                : ctx{std::exchange(other.ctx, nullptr)}
                , last{std::move(other.last)}
                , generations{other.generations}
                , destroyed_{other.destroyed_}
            {}
            ~successor()
            {
                if (ctx && generations != 0) {
                    asio::post(
                        timewheel::after<clock>(*ctx, 1ms),
                        [next = successor(*ctx, *destroyed_, generations - 1)] {}
                    );
                }
            }

        private:
            int* destroyed_;
        };
        asio::post(timewheel::after<clock>(own, 1ms), [s = successor(own, destroyed, 5)] {});

        // One that owns a timer with a pending wait, whose handler owns another one.
        auto timer = std::make_unique<virtual_timer<tag>>(own, 1h);
        auto inner = std::make_unique<virtual_timer<tag>>(own, 1h);
        inner->async_wait([&](error_code) { ran = true; });
        timer->async_wait([&ran, w = witness(destroyed), inner = std::move(inner)](error_code) {
            ran = true;
        });
        asio::post(
            timewheel::after<clock>(own, 1ms),
            [&ran, w = witness(destroyed), timer = std::move(timer)] { ran = true; }
        );

        // One that owns the guard of the context's work, one that waits on a strand of the executor.
        asio::post(
            timewheel::after<clock>(own, 1ms),
            [w = witness(destroyed), guard = asio::make_work_guard(own)] {}
        );
        asio::post(
            asio::make_strand(timewheel::after<clock>(own, 1ms)),
            [&ran, w = witness(destroyed)] { ran = true; }
        );
        own.poll();
    }
    BOOST_TEST(destroyed == 6 + 2 + 2);
    BOOST_TEST(!ran);
}

BOOST_AUTO_TEST_CASE(context_is_destroyed_with_a_waiting_coroutine)
{
    struct tag;
    using clock = manual_clock<tag>;
    int destroyed = 0;
    bool ran = false;
    {
        asio::io_context own;
        asio::co_spawn(
            timewheel::after<clock>(own, 1s),
            [](bool& flag, witness) -> asio::awaitable<void> {
                flag = true;
                co_return;
            }(ran, witness(destroyed)),
            asio::detached
        );
        poll_until_quiet(own);
    }
    BOOST_TEST(destroyed == 1);
    BOOST_TEST(!ran);
}

// The wheel does not take a delayed executor for its own: nothing of it would move before the time.
BOOST_AUTO_TEST_CASE(other_timers_are_not_delayed_with_it)
{
    struct tag;
    using clock = manual_clock<tag>;
    const auto check = [](asio::io_context& own, const auto& executor) {
        using executor_type = std::decay_t<decltype(executor)>;
        virtual_timer<tag, executor_type> first{executor, 1ms};
        bool first_ended = false;
        first.async_wait([&](error_code) { first_ended = true; });
        virtual_timer<tag> second{own, 1ms};
        bool second_ended = false;
        second.async_wait([&](error_code) { second_ended = true; });
        pass<clock>(own, 9ms, 1ms);
        BOOST_TEST(!first_ended);
        BOOST_TEST(second_ended);
        pass<clock>(own, 1ms, 1ms);
        BOOST_TEST(first_ended);
    };
    {
        asio::io_context own;
        check(own, timewheel::after<clock>(own, 10ms));
    }
    {
        asio::io_context own;
        check(own, timewheel::after<clock>(asio::any_io_executor(own.get_executor()), 10ms));
    }
    {
        asio::io_context own;
        check(own, asio::any_io_executor(timewheel::after<clock>(own, 10ms)));
    }
    {
        asio::io_context own;
        const asio::any_io_executor erased = own.get_executor();
        check(own, asio::any_io_executor(timewheel::after<clock>(erased, 10ms)));
    }
    {
        asio::io_context own;
        check(own, asio::make_strand(timewheel::after<clock>(own, 10ms)));
    }
}

BOOST_AUTO_TEST_CASE(on_a_thread_pool)
{
    asio::thread_pool pool{2};
    const stopwatch watch;
    std::atomic<int> ran{0};
    std::atomic<bool> early{false};
    for (int i = 0; i != 20; ++i) {
        asio::post(timewheel::after(pool, 5ms), [&] {
            early = early || watch.elapsed() < 5ms;
            ++ran;
        });
    }
    pool.join(); // waits for all of them
    BOOST_TEST(ran == 20);
    BOOST_TEST(!early);
}

BOOST_AUTO_TEST_CASE(on_a_thread_pool_that_is_stopped)
{
    int destroyed = 0;
    {
        asio::thread_pool pool{1};
        asio::post(timewheel::after(pool, 1h), [w = witness(destroyed)] {});
        pool.stop();
    }
    BOOST_TEST(destroyed == 1);
}

BOOST_AUTO_TEST_CASE(on_the_system_executor)
{
    const stopwatch watch;
    std::promise<std::chrono::steady_clock::duration> ran;
    asio::post(timewheel::after(asio::system_executor(), 5ms), [&] {
        ran.set_value(watch.elapsed());
    });
    auto elapsed = ran.get_future();
    BOOST_REQUIRE(elapsed.wait_for(patience) == std::future_status::ready);
    BOOST_CHECK(elapsed.get() >= 5ms);
}

BOOST_AUTO_TEST_SUITE_END()

}
