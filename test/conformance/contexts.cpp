// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#include "families.hpp"

#include <test_common/checked_token.hpp>
#include <test_common/io_fixture.hpp>
#include <test_common/run.hpp>
#include <test_common/tracker_executor.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/execution/context.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/system_executor.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/test/unit_test.hpp>

#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#if defined(__unix__) && !defined(__SANITIZE_THREAD__)
#include <sys/wait.h>
#include <unistd.h>
#define TIMEWHEEL_TEST_CAN_FORK
#endif

namespace timewheel::test {

BOOST_AUTO_TEST_SUITE(conformance_contexts)

namespace {

template <class Family, class Executor>
using steady_on = typename Family::template basic<
    std::chrono::steady_clock,
    asio::wait_traits<std::chrono::steady_clock>,
    Executor>;

/** Uses timers on `executor` in every way that matters to the service behind them: one that
    expires, one that is cancelled, one that is destroyed, one that re-arms in its handler. Returns
    when all of it is done, which is another thread's work.
*/
template <class Timer, class Executor>
void use_from_outside(const Executor& executor)
{
    struct counter
    {
        void add()
        {
            if (++ended == 5)
                all.set_value();
        }

        std::atomic<int> ended{0};
        std::promise<void> all;
    } done;
    const auto token = [&done](checked_token t) { return std::move(t).then([&] { done.add(); }); };

    Timer expiring{executor, 2ms};
    Timer cancelled{executor, 1h};
    Timer past{executor};
    auto destroyed = std::make_unique<Timer>(executor, 1h);
    BOOST_CHECK(expiring.get_executor() == executor);
    cancelled.async_wait(token(is_aborted()));
    destroyed->async_wait(token(is_aborted()));
    past.async_wait(token(succeeds()));
    expiring.async_wait(token(succeeds()));
    BOOST_TEST(cancelled.cancel() == 1U);
    destroyed.reset();

    Timer chain{executor, 1ms};
    int left = 3;
    std::function<void()> next = [&] {
        if (--left == 0)
            return done.add();
        chain.expires_after(1ms);
        chain.async_wait(succeeds().then(next));
    };
    chain.async_wait(succeeds().then(next));
    auto all = done.all.get_future();
    BOOST_REQUIRE(all.wait_for(patience) == std::future_status::ready);
    BOOST_TEST(left == 0);
}

/// The least an executor offers: it runs functions and names its context.
class plain_executor
{
public:
    explicit plain_executor(asio::io_context& ctx) : inner_{ctx.get_executor()} {}

    asio::execution_context& query(asio::execution::context_t) const noexcept
    {
        return inner_.context();
    }

    template <class Function>
    void execute(Function&& f) const
    {
        inner_.execute(std::forward<Function>(f));
    }

    [[maybe_unused]] friend bool
    operator==(const plain_executor& a, const plain_executor& b) noexcept
    {
        return a.inner_ == b.inner_;
    }

private:
    asio::io_context::executor_type inner_;
};

}

// C25: the executors of an io_context, native and erased.
BOOST_FIXTURE_TEST_CASE_TEMPLATE(timers_run_on_an_io_context, Family, families, io_fixture)
{
    auto work = std::make_optional(asio::make_work_guard(ctx));
    std::thread runner{[this] { ctx.run(); }};
    using executor = asio::io_context::executor_type;
    use_from_outside<steady_on<Family, executor>>(ctx.get_executor());
    use_from_outside<typename Family::steady>(asio::any_io_executor{ctx.get_executor()});
    work.reset();
    runner.join();
}

// C25: a thread pool. Its join() waits for the pending waits.
BOOST_AUTO_TEST_CASE_TEMPLATE(timers_run_on_a_thread_pool, Family, families)
{
    asio::thread_pool pool{2};
    using executor = asio::thread_pool::executor_type;
    use_from_outside<steady_on<Family, executor>>(pool.get_executor());
    use_from_outside<typename Family::steady>(asio::any_io_executor{pool.get_executor()});

    typename Family::steady timer{pool, 3ms};
    outcome result;
    timer.async_wait(succeeds().into(result));
    pool.join();
    BOOST_TEST(result.invoked == 1);
}

// C25: the system context.
BOOST_AUTO_TEST_CASE_TEMPLATE(timers_run_on_the_system_context, Family, families)
{
    use_from_outside<steady_on<Family, asio::system_executor>>(asio::system_executor{});
    use_from_outside<typename Family::steady>(asio::any_io_executor{asio::system_executor{}});
}

// C25: strands, bare and erased; handlers run on the strand.
BOOST_AUTO_TEST_CASE_TEMPLATE(timers_run_on_a_strand, Family, families)
{
    asio::thread_pool pool{2};
    const auto strand = asio::make_strand(pool);
    using executor = asio::strand<asio::thread_pool::executor_type>;
    use_from_outside<steady_on<Family, executor>>(strand);
    use_from_outside<typename Family::steady>(asio::any_io_executor{strand});
    const auto erased = asio::make_strand(asio::any_io_executor{pool.get_executor()});
    use_from_outside<steady_on<Family, asio::strand<asio::any_io_executor>>>(erased);

    // Deep wrapping: a strand in an erased executor in a strand.
    const auto deep = asio::make_strand(asio::any_io_executor{strand});
    use_from_outside<typename Family::steady>(asio::any_io_executor{deep});

    steady_on<Family, executor> timer{strand, 1ms};
    std::promise<bool> promise;
    auto on_strand = promise.get_future();
    timer.async_wait([&](error_code) { promise.set_value(strand.running_in_this_thread()); });
    BOOST_REQUIRE(on_strand.wait_for(patience) == std::future_status::ready);
    BOOST_TEST(on_strand.get());
    pool.join();
}

// C25: the strand that made the first timer of a context carries nobody else's completions.
BOOST_AUTO_TEST_CASE_TEMPLATE(a_blocked_strand_holds_up_no_other, Family, families)
{
    asio::thread_pool pool{2};
    const auto strand = asio::make_strand(pool);
    steady_on<Family, asio::strand<asio::thread_pool::executor_type>> first{strand, 1ms};
    typename Family::steady other{pool, 5ms};
    std::promise<void> promise;
    auto other_ended = promise.get_future();
    std::atomic<bool> met{false};
    first.async_wait([&](error_code) {
        met = other_ended.wait_for(patience) == std::future_status::ready;
    });
    other.async_wait([&](error_code) { promise.set_value(); });
    pool.join();
    BOOST_TEST(met);
}

// C25: an executor of the user's own that wraps one of Asio's.
BOOST_FIXTURE_TEST_CASE_TEMPLATE(timers_run_on_a_wrapping_executor, Family, families, io_fixture)
{
    auto work = std::make_optional(asio::make_work_guard(ctx));
    std::thread runner{[this] { ctx.run(); }};
    const tracker_executor tracker{ctx.get_executor()};
    use_from_outside<steady_on<Family, tracker_executor<asio::io_context::executor_type>>>(tracker);
    use_from_outside<typename Family::steady>(asio::any_io_executor{tracker});
    work.reset();
    runner.join();
    BOOST_TEST(tracker.diary().outstanding == 0);
    BOOST_TEST(tracker.diary().submissions >= 10);
}

// C25: an executor with nothing but execute() and a context. Ours posts its turns, and so asks for
// an executor that can be required to be `blocking.never`, as asio::post and any_io_executor do.
BOOST_FIXTURE_TEST_CASE_TEMPLATE(timers_run_on_a_plain_executor, Family, families, io_fixture)
{
    if constexpr (!Family::is_ours) {
        const plain_executor plain{ctx};
        steady_on<Family, plain_executor> timer{plain, 2ms};
        outcome first;
        outcome second;
        timer.async_wait(succeeds().into(first));
        BOOST_TEST(run_until(ctx, [&] { return first.done(); }));
        ctx.restart();
        timer.expires_after(1h);
        timer.async_wait(is_aborted().into(second));
        timer.cancel();
        BOOST_TEST(run_to_end(ctx));
        BOOST_TEST(second.invoked == 1);
    }
}

// C15, C25: handlers on an erased strand, which is a type of its own among executors.
BOOST_FIXTURE_TEST_CASE_TEMPLATE(handlers_run_on_an_erased_strand, Family, families, io_fixture)
{
    const auto strand = asio::make_strand(asio::any_io_executor{ctx.get_executor()});
    typename Family::steady timer{ctx, 1ms};
    timer.async_wait(asio::bind_executor(strand, succeeds().then([&] {
        BOOST_TEST(strand.running_in_this_thread());
    })));
    BOOST_TEST(run_to_end(ctx));
}

// C25: one timer per executor type on the same context: they share it without mixing up handlers.
BOOST_FIXTURE_TEST_CASE_TEMPLATE(executor_types_share_a_context, Family, families, io_fixture)
{
    const auto strand = asio::make_strand(ctx);
    const tracker_executor tracker{ctx.get_executor()};
    typename Family::steady a{ctx, 2ms};
    steady_on<Family, asio::io_context::executor_type> b{ctx, 2ms};
    steady_on<Family, asio::strand<asio::io_context::executor_type>> c{strand, 2ms};
    typename Family::steady d{tracker, 2ms};
    int ended = 0;
    a.async_wait(succeeds().then([&] { ++ended; }));
    b.async_wait(succeeds().then([&] { ++ended; }));
    c.async_wait(succeeds().then([&] {
        BOOST_TEST(strand.running_in_this_thread());
        ++ended;
    }));
    d.async_wait(succeeds().on(tracker).then([&] { ++ended; }));
    BOOST_TEST(run_to_end(ctx));
    BOOST_TEST(ended == 4);
}

// C25: clocks do not share anything either, on one context.
BOOST_FIXTURE_TEST_CASE_TEMPLATE(clocks_share_a_context, Family, families, io_fixture)
{
    typename Family::steady a{ctx, 2ms};
    typename Family::system b{ctx, 2ms};
    typename Family::high_resolution c{ctx, 2ms};
    a.async_wait(succeeds());
    b.async_wait(succeeds());
    c.async_wait(succeeds());
    BOOST_TEST(run_to_end(ctx));
    BOOST_CHECK(std::chrono::steady_clock::now() >= a.expiry());
    BOOST_CHECK(std::chrono::system_clock::now() >= b.expiry());
}

#if defined(TIMEWHEEL_TEST_CAN_FORK)
// C26: after a fork both processes complete the waits that were pending, each for itself.
BOOST_FIXTURE_TEST_CASE_TEMPLATE(timers_survive_a_fork, Family, families, io_fixture)
{
    typename Family::steady pending{ctx, 10ms};
    typename Family::steady far{ctx, 1h};
    int ended = 0;
    const auto count = [&](error_code ec) { ended += !ec; };
    pending.async_wait(count);
    far.async_wait([](error_code) {});
    poll_until_quiet(ctx);

    ctx.notify_fork(asio::execution_context::fork_prepare);
    const pid_t child = ::fork();
    BOOST_REQUIRE(child >= 0);
    if (child == 0) {
        // No test macros here: the child must leave without running anything of the parent's.
        ctx.notify_fork(asio::execution_context::fork_child);
        typename Family::steady fresh{ctx, 2ms};
        fresh.async_wait(count);
        const bool done = run_until(ctx, [&] { return ended == 2; });
        const bool early = std::chrono::steady_clock::now() < pending.expiry();
        far.cancel();
        ::_exit(done && !early && run_to_end(ctx) ? 0 : 1);
    }
    ctx.notify_fork(asio::execution_context::fork_parent);
    typename Family::steady fresh{ctx, 2ms};
    fresh.async_wait(count);
    BOOST_TEST(run_until(ctx, [&] { return ended == 2; }));
    far.cancel();
    BOOST_TEST(run_to_end(ctx));
    int status = 0;
    BOOST_TEST(::waitpid(child, &status, 0) == child);
    BOOST_TEST(WIFEXITED(status));
    BOOST_TEST(WEXITSTATUS(status) == 0);
}
#endif

BOOST_AUTO_TEST_SUITE_END()

}
