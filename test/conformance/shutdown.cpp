// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#include "families.hpp"

#include <test_common/checked_token.hpp>
#include <test_common/report.hpp>
#include <test_common/run.hpp>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/test/unit_test.hpp>

#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace timewheel::test {

BOOST_AUTO_TEST_SUITE(conformance_shutdown)

namespace {

/// Runs a function when it is destroyed, as a handler's captured object might.
class at_destruction
{
public:
    explicit at_destruction(std::function<void()> f) : function_{std::move(f)} {}

    at_destruction(at_destruction&& other) noexcept
        : function_{std::exchange(other.function_, nullptr)}
    {}

    at_destruction& operator=(at_destruction&&) = delete;

    ~at_destruction()
    {
        if (function_)
            function_();
    }

private:
    std::function<void()> function_;
};

}

// C27: the context goes away with waits pending: their handlers are destroyed and not invoked.
BOOST_AUTO_TEST_CASE_TEMPLATE(pending_handlers_are_destroyed, Family, families)
{
    outcome results[4];
    const auto object = std::make_shared<int>(0);
    auto ctx = std::make_unique<asio::io_context>();
    {
        // The timers are owned by their handlers: an I/O object must not outlive its context (C28).
        const auto a = std::make_shared<typename Family::steady>(*ctx, 1h);
        const auto b =
            std::make_shared<typename Family::steady>(*ctx, (Family::steady::time_point::max)());
        a->async_wait(is_dropped().into(results[0]).then([a, object] {}));
        a->async_wait(is_dropped().into(results[1]).then([a, object] {}));
        b->async_wait(asio::bind_executor(
            asio::make_strand(*ctx), is_dropped().into(results[2]).then([b, object] {})
        ));
        poll_until_quiet(*ctx);
        b->async_wait(is_dropped().into(results[3]).then([b, object] {}));
    }
    ctx.reset();
    for (const auto& result : results)
        BOOST_TEST(result.dropped == 1);
    BOOST_TEST(object.use_count() == 1);
}

// C27: so are those that were ready, or cancelled, and did not get their turn any more.
BOOST_AUTO_TEST_CASE_TEMPLATE(ready_handlers_are_destroyed, Family, families)
{
    outcome ready;
    outcome cancelled;
    int ended = 0;
    {
        asio::io_context ctx;
        typename Family::steady timer{ctx};
        typename Family::steady far{ctx, 1h};
        far.async_wait(is_dropped().into(cancelled));
        timer.async_wait(succeeds().then([&] {
            ++ended;
            far.cancel();
            ctx.stop();
        }));
        timer.async_wait(is_dropped().into(ready));
        ctx.run();
    }
    BOOST_TEST(ended == 1);
    BOOST_TEST(ready.dropped == 1);
    BOOST_TEST(cancelled.dropped == 1);
}

// C27: a context that never ran at all.
BOOST_AUTO_TEST_CASE_TEMPLATE(a_context_may_never_run, Family, families)
{
    outcome results[2];
    {
        asio::io_context ctx;
        typename Family::steady past{ctx};
        typename Family::steady far{ctx, 1h};
        past.async_wait(is_dropped().into(results[0]));
        far.async_wait(is_dropped().into(results[1]));
        typename Family::system unused{ctx};
    }
    BOOST_TEST(results[0].dropped == 1);
    BOOST_TEST(results[1].dropped == 1);
}

// C27: destructors of handlers may use timers: cancel, re-arm, and destroy them.
BOOST_AUTO_TEST_CASE_TEMPLATE(destructors_may_use_timers, Family, families)
{
    using timer_type = typename Family::steady;
    int destroyed = 0;
    {
        auto ctx = std::make_unique<asio::io_context>();
        for (int i = 0; i < 10; ++i) {
            const auto own = std::make_shared<timer_type>(*ctx, 1h);
            const auto next = std::make_shared<timer_type>(*ctx, i % 2 == 0 ? 2h : -2h);
            next->async_wait(is_dropped().then([own, next] {}));
            own->async_wait([own, guard = at_destruction{[own, next, &destroyed] {
                                      ++destroyed;
                                      next->cancel_one();
                                      own->cancel();
                                      own->expires_after(3h);
                                      next->expires_after(3h);
                                  }}](error_code) { BOOST_ERROR("invoked at shutdown"); });
        }
        ctx.reset();
    }
    BOOST_TEST(destroyed == 10);
}

// C27: a destructor may even start a new wait; it is accepted, never invoked, and not leaked.
BOOST_AUTO_TEST_CASE_TEMPLATE(destructors_may_start_waits, Family, families)
{
    using timer_type = typename Family::steady;
    int destroyed = 0;
    const auto object = std::make_shared<int>(0);
    {
        auto ctx = std::make_unique<asio::io_context>();
        for (int i = 0; i < 4; ++i) {
            const auto timer = std::make_shared<timer_type>(*ctx, 1h);
            timer->async_wait([guard = at_destruction{[timer, object, i, &destroyed] {
                                   ++destroyed;
                                   if (i % 2 == 0)
                                       timer->expires_after(-1s);
                                   timer->async_wait([timer, object](error_code) {
                                       BOOST_ERROR("invoked at shutdown");
                                   });
                               }}](error_code) { BOOST_ERROR("invoked at shutdown"); });
        }
        poll_until_quiet(*ctx);
        ctx.reset();
    }
    BOOST_TEST(destroyed == 4);
    BOOST_TEST(object.use_count() == 1);
}

// C27 (fault XF5): a long chain of handlers that own the next timer is no deep recursion.
BOOST_AUTO_TEST_CASE_TEMPLATE(a_long_chain_of_owners_is_destroyed_flat, Family, families)
{
    using timer_type = typename Family::steady;
    constexpr int length = 20'000;
    int destroyed = 0;
    {
        auto ctx = std::make_unique<asio::io_context>();
        std::shared_ptr<timer_type> owned;
        for (int i = 0; i < length; ++i) {
            const auto timer = std::make_shared<timer_type>(*ctx, std::chrono::seconds{1 + i});
            timer->async_wait([previous = owned,
                               guard = at_destruction{[&destroyed] { ++destroyed; }}](error_code) {
                BOOST_ERROR("invoked at shutdown");
            });
            owned = timer;
        }
        owned.reset();
        ctx.reset();
    }
    BOOST_TEST(destroyed == length);
}

// C27: slots of destroyed handlers: the emitter may be destroyed by the very same shutdown.
BOOST_AUTO_TEST_CASE_TEMPLATE(signals_may_die_in_a_shutdown, Family, families)
{
    using timer_type = typename Family::steady;
    outcome results[2];
    {
        asio::io_context ctx;
        struct session
        {
            explicit session(asio::io_context& ctx) : timer{ctx, 1h} {}

            timer_type timer;
            asio::cancellation_signal signal;
        };
        for (auto& result : results) {
            const auto s = std::make_shared<session>(ctx);
            s->timer.async_wait(asio::bind_cancellation_slot(
                s->signal.slot(), is_dropped().into(result).then([s] {})
            ));
        }
        poll_until_quiet(ctx);
    }
    BOOST_TEST(results[0].dropped == 1);
    BOOST_TEST(results[1].dropped == 1);
}

// C27: the handlers belong to the timer's context even if they would run on another one.
BOOST_AUTO_TEST_CASE_TEMPLATE(handlers_of_another_context_are_destroyed, Family, families)
{
    outcome result;
    asio::io_context other;
    {
        asio::io_context ctx;
        typename Family::steady timer{ctx, 1h};
        timer.async_wait(asio::bind_executor(other.get_executor(), is_dropped().into(result)));
        // Not cancelled by the destructor: the context goes first.
        const auto owner = std::make_shared<typename Family::steady>(std::move(timer));
        owner->async_wait(is_dropped().then([owner] {}));
    }
    BOOST_TEST(result.dropped == 1);
    BOOST_TEST(run_to_end(other));
}

// C27: the same with a pool that is stopped while its threads complete timers.
BOOST_AUTO_TEST_CASE_TEMPLATE(a_pool_stops_in_the_middle, Family, families)
{
    for (int round = 0; round < 5; ++round) {
        std::atomic<int> ended{0};
        std::atomic<int> gone{0};
        {
            asio::thread_pool pool{2};
            for (int i = 0; i < 200; ++i) {
                const auto timer = std::make_shared<typename Family::steady>(
                    pool, std::chrono::microseconds{i * 20}
                );
                timer->async_wait([timer,
                                   guard = at_destruction{[&gone] { ++gone; }},
                                   &ended](error_code) { ++ended; });
            }
            let_time_pass(2ms);
            pool.stop();
            pool.join();
        }
        BOOST_TEST(gone == 200);
        BOOST_TEST(ended <= 200);
    }
}

// C28: a timer that is owned by somebody else's handler dies in the shutdown, after its service
// was told to let go.
BOOST_AUTO_TEST_CASE_TEMPLATE(posted_handlers_own_timers, Family, families)
{
    outcome result;
    {
        asio::io_context ctx;
        auto timer = std::make_shared<typename Family::steady>(ctx, 1h);
        timer->async_wait(is_dropped().into(result));
        asio::post(ctx, [timer] { timer->cancel(); });
        auto system = std::make_shared<typename Family::system>(ctx, 1h);
        timer->async_wait(is_dropped().then([system] {}));
        system->async_wait(is_dropped().then([timer] {}));
    }
    BOOST_TEST(result.dropped == 1);
}

// C27: one context after another in one process, each with a service of its own.
BOOST_AUTO_TEST_CASE_TEMPLATE(contexts_come_and_go, Family, families)
{
    for (int i = 0; i < 50; ++i) {
        outcome ended;
        outcome dropped;
        {
            asio::io_context ctx;
            typename Family::steady timer{ctx, 100us};
            const auto far = std::make_shared<typename Family::steady>(ctx, 1h);
            far->async_wait(is_dropped().into(dropped).then([far] {}));
            timer.async_wait(succeeds().into(ended));
            BOOST_TEST(run_until(ctx, [&] { return ended.done(); }));
        }
        BOOST_TEST(dropped.dropped == 1);
    }
}

BOOST_AUTO_TEST_SUITE_END()

}
