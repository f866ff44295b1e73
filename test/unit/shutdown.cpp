// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#include <timewheel/basic_waitable_timer.hpp>

#include <test_common/checked_token.hpp>
#include <test_common/io_fixture.hpp>
#include <test_common/run.hpp>
#include <test_common/virtual_time.hpp>

#include <boost/asio/bind_executor.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/test/unit_test.hpp>

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

// What becomes of waits when their context goes away (faults XF3, XF4, XF5).

namespace timewheel::test {

namespace {

// A handler that owns something and must not be called.
template <class Owned>
auto keeps(Owned owned)
{
    return [owned = std::move(owned)](error_code) { BOOST_ERROR("the handler was called"); };
}

// Calls a function when it is destroyed, but not for what it was moved from.
class at_destruction
{
public:
    explicit at_destruction(std::function<void()> function) : function_(std::move(function)) {}
    at_destruction(at_destruction&& other) noexcept
        : function_(std::exchange(other.function_, nullptr))
    {}

    ~at_destruction()
    {
        if (function_)
            function_();
    }

private:
    std::function<void()> function_;
};

}

BOOST_AUTO_TEST_SUITE(shutdown)

BOOST_AUTO_TEST_CASE(pending_handlers_are_destroyed_uncalled)
{
    struct tag;
    using timer = virtual_timer<tag>;
    const auto alive = std::make_shared<int>();
    {
        asio::io_context ctx;
        auto strand = asio::make_strand(ctx);
        for (int i = 0; i != 300; ++i) {
            const auto t = i % 2 == 0 ? std::make_shared<timer>(ctx, std::chrono::hours(i))
                                      : std::make_shared<timer>(strand, std::chrono::hours(i));
            t->async_wait(keeps(std::pair(alive, t)));
            t->async_wait(asio::bind_executor(strand, keeps(alive)));
        }
    }
    BOOST_TEST(alive.use_count() == 1);
}

// In each stage on the way to its handler: cancelled, due, handed out, submitted.
BOOST_AUTO_TEST_CASE(handlers_on_their_way_are_destroyed_uncalled)
{
    struct tag;
    using clock = timewheel::manual_clock<tag>;
    using timer = virtual_timer<tag>;
    for (const bool own_executor : {false, true}) {
        for (int turns = 0; turns != 140; turns += 7) {
            const auto alive = std::make_shared<int>();
            {
                asio::io_context ctx;
                auto strand = asio::make_strand(ctx);
                std::deque<timer> timers;
                for (int i = 0; i != 300; ++i) {
                    timers.emplace_back(ctx, i % 2 == 0 ? 1s : 1h);
                    const auto handler = [alive](error_code) {};
                    if (own_executor)
                        timers.back().async_wait(asio::bind_executor(strand, handler));
                    else
                        timers.back().async_wait(handler);
                }
                for (std::size_t i = 0; i < timers.size(); i += 3)
                    timers[i].cancel();
                clock::advance(1s);
                for (int i = 0; i != turns; ++i)
                    ctx.poll_one();
                BOOST_TEST(alive.use_count() > 1);
                timers.clear();
            }
            BOOST_TEST(alive.use_count() == 1);
        }
    }
}

// Fault XF5: destructors that destroy timers, cancel others, and start new waits.
BOOST_AUTO_TEST_CASE(destructors_of_handlers_use_timers)
{
    struct tag;
    using timer = virtual_timer<tag>;
    const auto alive = std::make_shared<int>();
    int started = 0;
    {
        asio::io_context ctx;
        std::vector<std::shared_ptr<timer>> timers;
        for (int i = 0; i != 100; ++i)
            timers.push_back(std::make_shared<timer>(ctx, std::chrono::seconds(i)));
        for (std::size_t i = 0; i != 100; ++i) {
            timers[i]->async_wait(keeps(std::tuple(
                alive, timers[i], at_destruction([&started, alive, other = timers[99 - i]] {
                    other->cancel();
                    other->expires_after(1s);
                    other->async_wait(keeps(alive));
                    ++started;
                })
            )));
        }
    }
    BOOST_TEST(started == 100);
    BOOST_TEST(alive.use_count() == 1);
}

BOOST_AUTO_TEST_CASE(destructors_start_waits_on_new_timers)
{
    struct tag;
    using timer = virtual_timer<tag>;
    const auto alive = std::make_shared<int>();
    int depth = 0;
    std::function<void(asio::io_context&)> start_another = [&](asio::io_context& ctx) {
        if (++depth == 100)
            return;
        const auto t = std::make_shared<timer>(ctx, 1h);
        t->async_wait(keeps(std::tuple(alive, t, at_destruction([&] { start_another(ctx); }))));
    };
    {
        asio::io_context ctx;
        start_another(ctx);
    }
    BOOST_TEST(depth == 100);
    BOOST_TEST(alive.use_count() == 1);
}

// Each handler owns the next timer, whose handler owns the next one: no recursion.
BOOST_AUTO_TEST_CASE(long_chain_of_owners)
{
    struct tag;
    using timer = virtual_timer<tag>;
    for (const bool forward : {false, true}) {
        const auto alive = std::make_shared<int>();
        {
            asio::io_context ctx;
            std::shared_ptr<timer> owned;
            for (int i = 0; i != 100'000; ++i) {
                const int at = forward ? i : 100'000 - i;
                auto t = std::make_shared<timer>(ctx, std::chrono::milliseconds(at));
                t->async_wait(keeps(std::pair(alive, std::move(owned))));
                owned = std::move(t);
            }
        }
        BOOST_TEST(alive.use_count() == 1);
    }
}

BOOST_AUTO_TEST_CASE(context_destroyed_with_handlers_in_another_context)
{
    struct tag;
    using clock = timewheel::manual_clock<tag>;
    using timer = virtual_timer<tag>;
    asio::io_context handlers;
    outcome result;
    {
        asio::io_context timers;
        timer t(timers, 1s);
        t.async_wait(asio::bind_executor(handlers, [&](error_code ec) {
            BOOST_TEST(!ec);
            ++result.invoked;
        }));
        clock::advance(1s);
        timers.poll();
        BOOST_TEST(!result.done());
    }
    handlers.poll();
    BOOST_TEST(result.done());
}

BOOST_AUTO_TEST_CASE(handlers_context_destroyed_first)
{
    struct tag;
    using clock = timewheel::manual_clock<tag>;
    using timer = virtual_timer<tag>;
    asio::io_context timers;
    timer t(timers, 1s);
    const auto alive = std::make_shared<int>();
    {
        asio::io_context handlers;
        t.async_wait(asio::bind_executor(handlers, keeps(alive)));
        clock::advance(1s);
        timers.poll();
        BOOST_TEST(alive.use_count() == 2);
    }
    BOOST_TEST(alive.use_count() == 1);
    timers.restart();
    timers.poll();
    BOOST_TEST(timers.stopped());
}

BOOST_AUTO_TEST_CASE(timer_destroyed_by_a_handler_of_the_same_batch)
{
    struct tag;
    using clock = timewheel::manual_clock<tag>;
    using timer = virtual_timer<tag>;
    asio::io_context ctx;
    std::vector<std::unique_ptr<timer>> timers;
    std::size_t done = 0;
    for (std::size_t i = 0; i != 200; ++i) {
        timers.push_back(std::make_unique<timer>(ctx, 1s));
        timers.back()->async_wait([&](error_code) {
            ++done;
            timers.clear();
        });
    }
    clock::advance(1s);
    BOOST_TEST(run_to_end(ctx));
    BOOST_TEST(done == 200u);
}

BOOST_AUTO_TEST_CASE(service_that_no_timer_ever_used)
{
    struct tag;
    using timer = virtual_timer<tag>;
    asio::io_context ctx;
    auto& service = service_of<timer>(ctx);
    BOOST_TEST(!service.next_expiry().has_value());
    BOOST_TEST(service.stats().os_arms == 0u);
}

BOOST_AUTO_TEST_CASE(timer_without_any_wait)
{
    struct tag;
    asio::io_context ctx;
    const virtual_timer<tag> t(ctx, 1s);
    BOOST_TEST(ctx.run() == 0u);
}

BOOST_AUTO_TEST_CASE(context_destroyed_after_stop_and_throw)
{
    struct tag;
    using clock = timewheel::manual_clock<tag>;
    using timer = virtual_timer<tag>;
    const auto alive = std::make_shared<int>();
    {
        asio::io_context ctx;
        std::vector<std::shared_ptr<timer>> timers;
        for (int i = 0; i != 200; ++i) {
            timers.push_back(std::make_shared<timer>(ctx, 1s));
            timers.back()->async_wait([alive, t = timers.back()](error_code) {
                throw std::runtime_error("thrown by a handler");
            });
        }
        clock::advance(1s);
        BOOST_CHECK_THROW(ctx.run(), std::runtime_error);
        ctx.stop();
    }
    BOOST_TEST(alive.use_count() == 1);
}

BOOST_AUTO_TEST_CASE(pool_destroyed_while_waits_are_pending)
{
    struct tag;
    using clock = timewheel::manual_clock<tag>;
    using timer = virtual_timer<tag, asio::thread_pool::executor_type>;
    const auto alive = std::make_shared<int>();
    for (int round = 0; round != 20; ++round) {
        asio::thread_pool pool(2);
        std::vector<std::shared_ptr<timer>> timers;
        for (int i = 0; i != 100; ++i) {
            timers.push_back(std::make_shared<timer>(pool, std::chrono::seconds(i % 2 + 1)));
            timers.back()->async_wait([alive, t = timers.back()](error_code) {});
        }
        clock::advance(1s);
        timers.clear();
        pool.stop();
    }
    BOOST_TEST(alive.use_count() == 1);
}

BOOST_AUTO_TEST_SUITE_END()

}
