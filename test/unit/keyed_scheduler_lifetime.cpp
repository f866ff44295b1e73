// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#include <timewheel/keyed_scheduler.hpp>

#include <test_common/keyed_fixture.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/test/unit_test.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#if defined(__GLIBC__)
#include <malloc.h>
#endif

// Moves, destruction in every order, and memory.

namespace timewheel::test {

namespace {

using fixture = keyed_fixture<struct keyed_scheduler_lifetime_test>;
using clock = fixture::clock;
using time_point = fixture::time_point;

// As far as the C library tells.
std::size_t bytes_in_use()
{
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 33)
    return mallinfo2().uordblks;
#else
    return 0;
#endif
}

}

BOOST_FIXTURE_TEST_SUITE(keyed_scheduler_lifetime, fixture)

BOOST_AUTO_TEST_CASE(a_moved_scheduler_goes_on)
{
    scheduler_type first(ctx, workers, options);
    first.start();
    first.upsert("a", 5);
    scheduler_type second(std::move(first));
    at(5ms);
    BOOST_TEST(runs() == "a=5@5");
    second.upsert("b", 5);
    at(10ms);
    BOOST_TEST(second.snapshot("b")->runs == 1u);
}

BOOST_AUTO_TEST_CASE(an_assigned_scheduler_stops)
{
    asio::io_context other;
    scheduler_type first(ctx, workers, options);
    first.start();
    first.upsert("a", 5);
    scheduler_type second(other, workers, options);
    second.start();
    second.upsert("b", 5);
    error_code ec;
    first.async_trigger("a", [&](error_code e, const record_type&) { ec = e; });
    first = std::move(second);
    BOOST_CHECK(first.get_executor() == asio::any_io_executor(other.get_executor()));
    poll();
    BOOST_TEST(ec == asio::error::operation_aborted);
    at(5ms);
    other.poll();
    poll();
    BOOST_TEST(runs() == "b=5@5");
    BOOST_TEST(first.snapshot().size() == 1u);
    auto& same = first;
    first = std::move(same);
    first.upsert("c", 1);
}

// A context that is destroyed takes all with it: handlers are dropped, jobs do not begin.
BOOST_AUTO_TEST_CASE(contexts_are_destroyed_in_every_order)
{
    enum part
    {
        io,
        pool,
        scheduler_
    };
    // The scheduler goes before the context that it waits in.
    constexpr std::array<std::array<part, 3>, 3> orders{
        {{scheduler_, io, pool}, {scheduler_, pool, io}, {pool, scheduler_, io}}
    };
    for (const auto& order : orders) {
        for (int phase = 0; phase != 5; ++phase) {
            BOOST_TEST_CONTEXT("order " << order[0] << order[1] << order[2] << " in " << phase)
            {
                clock::set({});
                runs();
                holds = phase >= 3;
                auto io_context = std::make_unique<asio::io_context>();
                auto job_context = std::make_unique<asio::io_context>();
                auto s = std::make_unique<scheduler_type>(*io_context, *job_context, options);
                int ended = 0;
                const auto count = [&ended](auto&&...) { ++ended; };
                if (phase > 0)
                    s->start();
                s->upsert("a", 5);
                s->upsert("b", 5);
                if (phase >= 2) {
                    clock::set(time_point(5ms));
                    io_context->poll(); // posted
                    s->async_trigger("a", count);
                    io_context->poll();
                }
                if (phase >= 3)
                    job_context->poll(); // running, or waiting for that
                if (phase >= 4) {
                    s->async_remove("a", count);
                    s->async_close(count);
                    io_context->poll();
                }
                for (const part next_part : order) {
                    if (next_part == io)
                        io_context.reset();
                    else if (next_part == pool)
                        job_context.reset();
                    else
                        s.reset();
                    if (io_context) {
                        io_context->restart();
                        io_context->poll();
                    }
                }
                BOOST_TEST(held() == 0u);
                BOOST_TEST(ended <= 3);
            }
        }
    }
}

// Operations end when the workers are gone, although their runs do not.
BOOST_AUTO_TEST_CASE(operations_do_not_outlive_the_workers)
{
    auto job_context = std::make_unique<asio::io_context>();
    holds = true;
    scheduler_type s(ctx, *job_context, options);
    s.start();
    s.upsert("running", 5);
    s.upsert("triggered", 5);
    at(5ms);
    job_context->poll();
    std::string told;
    const auto tell = [&](const std::string& what) {
        return [&told, what](error_code ec, auto&&...) {
            told += what + (ec == asio::error::operation_aborted ? " aborted, "
                            : ec                                 ? " failed, "
                                                                 : ", ");
        };
    };
    s.async_trigger("running", tell("waiting"));
    s.async_trigger("triggered", tell("queued"));
    s.async_remove("triggered", tell("removed"));
    poll();
    job_context.reset();
    poll();
    BOOST_TEST(told == "queued aborted, removed, waiting aborted, ");
    BOOST_CHECK(s.snapshot("running")->state == item_state::pending);
    BOOST_TEST(s.snapshot("running")->running == 0u);
}

BOOST_AUTO_TEST_CASE(a_context_owns_the_scheduler)
{
    asio::io_context own;
    auto shared = std::make_shared<std::optional<scheduler_type>>();
    shared->emplace(own, workers, options);
    (*shared)->start();
    (*shared)->upsert("a", 5);
    (*shared)->async_trigger("a", [shared](error_code, const record_type&) {});
    asio::post(own, [shared] {});
    // Destroyed with the handlers.
}

// The handler of an operation owns the scheduler, which owns the operation.
BOOST_AUTO_TEST_CASE(a_scheduler_dies_with_its_context_in_a_coroutine)
{
    holds = true;
    for (int which = 0; which != 3; ++which) {
        clock::set({});
        struct witness
        {
            bool& is_gone;

            ~witness() { is_gone = true; }
        };
        bool is_gone = false;
        {
            asio::io_context own;
            asio::co_spawn(
                own,
                [&]() -> asio::awaitable<void> {
                    const witness frame{is_gone};
                    scheduler_type s(co_await asio::this_coro::executor, workers, options);
                    s.start();
                    s.upsert("a", 5);
                    s.trigger_now("a");
                    own.poll();
                    workers.restart();
                    workers.poll(); // a run is under way
                    if (which == 0)
                        co_await s.async_trigger("a", asio::use_awaitable);
                    else if (which == 1)
                        co_await s.async_remove("a", asio::use_awaitable);
                    else
                        co_await s.async_close(asio::use_awaitable);
                    BOOST_ERROR("the run goes on");
                },
                asio::detached
            );
            own.poll();
            BOOST_TEST(!is_gone);
        }
        BOOST_TEST(is_gone);
        poll();
        BOOST_TEST(held() == 0u);
    }
}

BOOST_AUTO_TEST_CASE(strands_are_executors_as_well)
{
    const auto strand = asio::make_strand(workers);
    scheduler_type s(asio::make_strand(ctx), strand, options);
    bool on_strand = false;
    inside = [&](auto&&) { on_strand = strand.running_in_this_thread(); };
    s.start();
    s.upsert("a", 5);
    at(5ms);
    BOOST_TEST(runs() == "a=5@5");
    BOOST_TEST(on_strand);
}

BOOST_AUTO_TEST_CASE(another_executor_type)
{
    using io_executor = asio::io_context::executor_type;
    using io_scheduler = scheduler_type::rebind_executor<io_executor>::other;
    io_scheduler s(ctx, workers, options);
    static_assert(std::is_same_v<decltype(s.get_executor()), io_executor>);
    s.start();
    s.upsert("a", 5);
    at(5ms);
    BOOST_TEST(runs() == "a=5@5");
    io_scheduler other(ctx.get_executor(), workers.get_executor(), options);
    s = std::move(other);
}

BOOST_AUTO_TEST_CASE(run_returns_when_nothing_is_pending)
{
    auto& s = start();
    s.upsert("a", 5);
    s.upsert("b", 5);
    poll();
    BOOST_TEST(!ctx.stopped());
    s.remove("a");
    s.pause("b");
    poll();
    BOOST_TEST(ctx.stopped());
    s.resume("b");
    poll();
    BOOST_TEST(!ctx.stopped());
    s.stop();
    poll();
    BOOST_TEST(ctx.stopped());
}

// XF1
BOOST_AUTO_TEST_CASE(memory_is_flat)
{
    options.run = [] {};
    auto& s = start();
    options.on_run = {};
    const auto cycle = [&](int i) {
        const std::string key = "key " + std::to_string(i % 7) + " that is not a short one";
        s.upsert(key, 5 + i % 100);
        s.upsert(key, 1000 + i % 100);
        if (i % 3 == 0)
            s.trigger_now(key);
        if (i % 50 == 0)
            at(1ms * i);
        if (i % 2 == 0)
            s.remove(key);
        if (i % 1000 == 999)
            s.replace_all({});
        if (i % 100 == 99)
            static_cast<void>(changes() + ends() + decisions());
    };
    std::size_t before = 0;
    for (int i = 0; i != 100'000; ++i) {
        cycle(i);
        if (i == 19'999 || i == 99'999) {
            s.replace_all({});
            poll();
            static_cast<void>(changes() + ends() + decisions());
            const std::size_t now = bytes_in_use();
            if (i == 19'999)
                before = now;
            else
                BOOST_TEST(now <= before + 10'000);
        }
    }
}

BOOST_AUTO_TEST_SUITE_END()

}
