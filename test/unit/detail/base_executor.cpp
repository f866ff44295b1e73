// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#include <timewheel/detail/base_executor.hpp>

#include <timewheel/steady_timer.hpp>

#include <test_common/checked_token.hpp>
#include <test_common/run.hpp>
#include <test_common/tracker_executor.hpp>
#include <test_common/virtual_time.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/io_context_strand.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/system_executor.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/test/unit_test.hpp>

#include <atomic>
#include <future>
#include <thread>
#include <typeinfo>

namespace timewheel::test {

namespace {

using io_executor = asio::io_context::executor_type;
using pool_executor = asio::thread_pool::executor_type;

// Whether the base of an executor is exactly `expected`.
template <class Expected, class Executor>
bool has_base(const Executor& executor, const Expected& expected)
{
    int visits = 0;
    bool same = false;
    detail::visit_base_executor(executor, [&]<class Base>(const Base& base) {
        ++visits;
        if constexpr (std::is_same_v<Base, Expected>)
            same = base == expected;
    });
    return visits == 1 && same;
}

// An executor of a kind nobody knows: hides the type of its context and what it wraps.
class opaque_executor
{
public:
    explicit opaque_executor(io_executor inner, std::atomic<int>* executions = nullptr)
        : inner_(inner)
        , executions_(executions)
    {}

    template <class Function>
    void execute(Function&& function) const
    {
        if (executions_)
            ++*executions_;
        inner_.execute(std::forward<Function>(function));
    }

    asio::execution_context& query(asio::execution::context_t) const noexcept
    {
        return inner_.context();
    }

    static constexpr asio::execution::blocking_t query(asio::execution::blocking_t) noexcept
    {
        return asio::execution::blocking.never;
    }

    opaque_executor require(asio::execution::blocking_t::never_t) const
    {
        return opaque_executor(asio::require(inner_, asio::execution::blocking.never), executions_);
    }

    bool operator==(const opaque_executor&) const = default;

private:
    io_executor inner_;
    std::atomic<int>* executions_;
};

// The timer works on an executor of `context`, which `run` runs.
template <class Executor, class Run>
void works_on(const Executor& executor, Run run)
{
    using timer = basic_waitable_timer<
        std::chrono::steady_clock,
        asio::wait_traits<std::chrono::steady_clock>,
        Executor>;
    outcome fired;
    outcome aborted;
    timer t(executor, 2ms), u(executor, 1h);
    t.async_wait(succeeds().into(fired));
    u.async_wait(is_aborted().into(aborted));
    u.cancel();
    run([&] { return fired.done() && aborted.done(); });
    BOOST_TEST(fired.done());
    BOOST_TEST(aborted.done());
}

// Waits while other threads run the context.
void from_outside(const std::function<bool()>& done)
{
    const stopwatch watch;
    while (!done() && watch.elapsed() < patience)
        let_time_pass(1ms);
}

}

BOOST_AUTO_TEST_SUITE(base_executor)

BOOST_AUTO_TEST_CASE(strands_and_type_erasure_are_removed)
{
    asio::io_context ctx;
    const auto io = ctx.get_executor();
    const asio::any_io_executor any = io;
    const auto strand = asio::make_strand(ctx);
    BOOST_TEST(has_base(io, io));
    BOOST_TEST(has_base(any, io));
    BOOST_TEST(has_base(strand, io));
    BOOST_TEST(has_base(asio::make_strand(strand), io));
    BOOST_TEST(has_base(asio::any_io_executor(strand), io));
    BOOST_TEST(has_base(asio::make_strand(any), io));
    BOOST_TEST(has_base(asio::any_io_executor(asio::make_strand(any)), io));
    BOOST_TEST(has_base(asio::make_strand(asio::any_io_executor(asio::make_strand(any))), io));
}

BOOST_AUTO_TEST_CASE(properties_are_removed)
{
    asio::io_context ctx;
    const auto io = ctx.get_executor();
    using asio::execution::blocking;
    using asio::execution::outstanding_work;
    BOOST_TEST(has_base(asio::require(io, outstanding_work.tracked), io));
    BOOST_TEST(has_base(asio::require(io, blocking.never), io));
    const asio::any_io_executor any = asio::require(io, outstanding_work.tracked);
    BOOST_TEST(has_base(any, io));
    BOOST_TEST(has_base(asio::prefer(asio::any_io_executor(io), outstanding_work.tracked), io));
    const asio::any_io_executor strand = asio::make_strand(io);
    BOOST_TEST(has_base(asio::prefer(strand, outstanding_work.tracked), io));
}

BOOST_AUTO_TEST_CASE(pools_and_the_system)
{
    asio::thread_pool pool(1);
    const auto in_pool = pool.get_executor();
    BOOST_TEST(has_base(in_pool, in_pool));
    BOOST_TEST(has_base(asio::make_strand(pool), in_pool));
    BOOST_TEST(has_base(asio::any_io_executor(in_pool), in_pool));
    BOOST_TEST(has_base(asio::any_io_executor(asio::make_strand(pool)), in_pool));
    const asio::system_executor system;
    BOOST_TEST(has_base(system, system));
    BOOST_TEST(has_base(asio::any_io_executor(system), system));
    BOOST_TEST(has_base(asio::make_strand(system), system));
}

BOOST_AUTO_TEST_CASE(wrappers_that_show_their_context_are_removed)
{
    asio::io_context ctx;
    BOOST_TEST(has_base(tracker_executor(ctx.get_executor()), ctx.get_executor()));
    BOOST_TEST(has_base(asio::io_context::strand(ctx), ctx.get_executor()));
}

BOOST_AUTO_TEST_CASE(what_is_not_known_is_used_as_it_is)
{
    asio::io_context ctx;
    const opaque_executor opaque(ctx.get_executor());
    BOOST_TEST(has_base(opaque, opaque));
    BOOST_TEST(has_base(asio::make_strand(opaque), opaque));
    const asio::any_io_executor any = opaque;
    BOOST_TEST(has_base(any, any));
}

BOOST_AUTO_TEST_CASE(timers_work_on_each_executor_of_an_io_context)
{
    asio::io_context ctx;
    const auto run = [&](const std::function<bool()>& done) {
        ctx.restart();
        BOOST_TEST(run_until(ctx, done));
        BOOST_TEST(run_to_end(ctx));
    };
    // The first one is what the service gets.
    std::atomic<int> executions{0};
    works_on(opaque_executor(ctx.get_executor(), &executions), run);
    BOOST_TEST(executions != 0);
    works_on(ctx.get_executor(), run);
    works_on(asio::any_io_executor(ctx.get_executor()), run);
    works_on(asio::make_strand(ctx), run);
    works_on(asio::any_io_executor(asio::make_strand(ctx)), run);
    works_on(asio::make_strand(asio::any_io_executor(ctx.get_executor())), run);
    works_on(tracker_executor(ctx.get_executor()), run);
    works_on(asio::require(ctx.get_executor(), asio::execution::blocking.never), run);
    works_on(asio::io_context::strand(ctx), run);
}

BOOST_AUTO_TEST_CASE(each_executor_may_be_the_first)
{
    const auto on = [](const auto& make) {
        asio::io_context ctx;
        works_on(make(ctx), [&](const std::function<bool()>&) { BOOST_TEST(run_to_end(ctx)); });
    };
    on([](asio::io_context& ctx) { return asio::any_io_executor(ctx.get_executor()); });
    on([](asio::io_context& ctx) { return asio::make_strand(ctx); });
    on([](asio::io_context& ctx) { return asio::any_io_executor(asio::make_strand(ctx)); });
    on([](asio::io_context& ctx) {
        return asio::make_strand(asio::any_io_executor(ctx.get_executor()));
    });
    on([](asio::io_context& ctx) { return tracker_executor(ctx.get_executor()); });
    on([](asio::io_context& ctx) { return asio::io_context::strand(ctx); });
    on([](asio::io_context& ctx) {
        return asio::any_io_executor(opaque_executor(ctx.get_executor()));
    });
    on([](asio::io_context& ctx) { return asio::make_strand(opaque_executor(ctx.get_executor())); }
    );
}

BOOST_AUTO_TEST_CASE(tracked_executor_that_came_first_is_not_kept)
{
    asio::io_context ctx;
    {
        const steady_timer t(asio::prefer(
            asio::any_io_executor(ctx.get_executor()), asio::execution::outstanding_work.tracked
        ));
    }
    BOOST_TEST(ctx.run() == 0u);
}

BOOST_AUTO_TEST_CASE(timers_work_on_pools)
{
    asio::thread_pool pool(2);
    works_on(pool.get_executor(), from_outside);
    works_on(asio::any_io_executor(pool.get_executor()), from_outside);
    works_on(asio::make_strand(pool), from_outside);
    pool.join();
    asio::thread_pool strands(1);
    works_on(asio::any_io_executor(asio::make_strand(strands)), from_outside);
    strands.join();
}

BOOST_AUTO_TEST_CASE(timers_work_on_the_system_executor)
{
    works_on(asio::make_strand(asio::system_executor()), from_outside);
    works_on(asio::system_executor(), from_outside);
    works_on(asio::any_io_executor(asio::system_executor()), from_outside);
}

// The strand of the first connection does not carry everybody's ticks.
BOOST_AUTO_TEST_CASE(blocked_strand_holds_up_nobody_else)
{
    struct tag;
    using clock = timewheel::manual_clock<tag>;
    using timer = virtual_timer<tag>;
    asio::io_context ctx;
    const asio::any_io_executor strand =
        asio::make_strand(asio::any_io_executor(asio::make_strand(ctx)));
    timer first(strand, 1s), same_strand(strand, 2s), other(ctx, 2s);
    std::promise<void> blocking;
    std::promise<void> unblock;
    std::promise<void> fired;
    std::atomic<bool> unblocked{false};
    first.async_wait([&](error_code) {
        blocking.set_value();
        unblock.get_future().wait();
        unblocked = true;
    });
    same_strand.async_wait([&](error_code) { BOOST_TEST(unblocked); });
    other.async_wait([&](error_code) { fired.set_value(); });
    std::thread a([&] { ctx.run(); });
    std::thread b([&] { ctx.run(); });
    clock::advance(1s);
    blocking.get_future().wait();
    clock::advance(1s);
    BOOST_TEST((fired.get_future().wait_for(patience) == std::future_status::ready));
    unblock.set_value();
    a.join();
    b.join();
}

BOOST_AUTO_TEST_SUITE_END()

}
