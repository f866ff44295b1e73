// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#include "families.hpp"

#include <test_common/checked_token.hpp>
#include <test_common/io_fixture.hpp>
#include <test_common/run.hpp>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/test/unit_test.hpp>

#include <atomic>
#include <chrono>
#include <deque>
#include <functional>
#include <future>
#include <memory>
#include <random>
#include <thread>
#include <vector>

namespace timewheel::test {

BOOST_AUTO_TEST_SUITE(conformance_threads)

namespace {

/// Threads that run one context until it is told to stop being busy.
class runners
{
public:
    runners(asio::io_context& ctx, int count) : work_{ctx.get_executor()}
    {
        for (int i = 0; i < count; ++i)
            threads_.emplace_back([&ctx] { ctx.run(); });
    }

    runners(const runners&) = delete;
    runners& operator=(const runners&) = delete;

    /// Waits until the context has nothing left to do.
    void join()
    {
        work_.reset();
        for (auto& thread : threads_)
            if (thread.joinable())
                thread.join();
    }

    ~runners() { join(); }

private:
    asio::executor_work_guard<asio::io_context::executor_type> work_;
    std::vector<std::thread> threads_;
};

}

// C23: threads that use timers of their own on one shared context do not disturb each other.
BOOST_FIXTURE_TEST_CASE_TEMPLATE(distinct_timers_on_many_threads, Family, families, io_fixture)
{
    constexpr int rounds = 500;
    std::atomic<int> started{0};
    std::atomic<int> ended{0};
    std::atomic<int> early{0};
    runners running{ctx, 2};
    std::vector<std::thread> users;
    for (unsigned seed = 1; seed <= 4; ++seed)
        users.emplace_back([&, seed] {
            std::minstd_rand random{seed};
            for (int i = 0; i < rounds; ++i) {
                typename Family::steady timer{ctx, std::chrono::microseconds{random() % 2000}};
                const auto expiry = timer.expiry();
                for (int k = 0; k < 2; ++k, ++started)
                    timer.async_wait([&ended, &early, expiry](error_code ec) {
                        ++ended;
                        if (!ec && std::chrono::steady_clock::now() < expiry)
                            ++early;
                    });
                if (i % 3 == 0)
                    timer.cancel_one();
                if (i % 7 == 0)
                    timer.expires_after(1ms);
                if (i % 50 == 0)
                    let_time_pass(1ms);
            }
        });
    for (auto& user : users)
        user.join();
    running.join();
    BOOST_TEST(started == 4 * rounds * 2);
    BOOST_TEST(ended == started);
    BOOST_TEST(early == 0);
}

// C24 (faults XB1, XB2): a wait from outside wakes the sleeping context if it is the new earliest.
BOOST_FIXTURE_TEST_CASE_TEMPLATE(a_new_earliest_wakes_the_context, Family, families, io_fixture)
{
    typename Family::steady far{ctx, 1h};
    far.async_wait(is_aborted());
    for (const int sleepers : {1, 2}) {
        runners running{ctx, sleepers};
        for (int i = 0; i < 5; ++i) {
            // Now and then give the threads the time to fall asleep.
            if (i % 2 == 0)
                let_time_pass(2ms);
            std::promise<error_code> promise;
            auto ended = promise.get_future();
            typename Family::steady near{ctx, 3ms};
            near.async_wait([&promise](error_code ec) { promise.set_value(ec); });
            BOOST_REQUIRE(ended.wait_for(patience) == std::future_status::ready);
            BOOST_CHECK(std::chrono::steady_clock::now() >= near.expiry());
            BOOST_TEST(!ended.get());
        }
        asio::post(ctx, [&] { far.cancel(); });
        running.join();
        ctx.restart();
        far.async_wait(is_aborted());
    }
    far.cancel();
    BOOST_TEST(run_to_end(ctx));
}

// C24: the same when nothing at all was pending, so that there was no deadline to sleep until.
BOOST_FIXTURE_TEST_CASE_TEMPLATE(a_first_wait_wakes_the_context, Family, families, io_fixture)
{
    runners running{ctx, 2};
    for (int i = 0; i < 20; ++i) {
        std::promise<void> promise;
        auto ended = promise.get_future();
        typename Family::steady timer{ctx, std::chrono::microseconds{i * 100}};
        timer.async_wait([&promise](error_code) { promise.set_value(); });
        BOOST_REQUIRE(ended.wait_for(patience) == std::future_status::ready);
    }
    running.join();
}

// C12, fault XB5: the last wait is cancelled from another thread, and run() returns.
BOOST_FIXTURE_TEST_CASE_TEMPLATE(cancelling_from_outside_ends_run, Family, families, io_fixture)
{
    for (int i = 0; i < 5; ++i) {
        typename Family::steady timer{ctx, 1h};
        timer.async_wait(is_aborted());
        std::promise<void> promise;
        auto returned = promise.get_future();
        std::thread runner{[&] {
            ctx.run();
            promise.set_value();
        }};
        if (i % 2 == 0)
            let_time_pass(2ms);
        timer.cancel();
        BOOST_TEST((returned.wait_for(patience) == std::future_status::ready));
        ctx.stop();
        runner.join();
        ctx.restart();
    }
}

// C23, fault XC9: expiry and cancellation race, serialised by a strand: one outcome each.
BOOST_AUTO_TEST_CASE_TEMPLATE(expiry_and_cancel_race_on_a_strand, Family, families)
{
    constexpr int rounds = 300;
    asio::thread_pool pool{3};
    struct session
    {
        session(asio::thread_pool& pool, unsigned seed)
            : strand{asio::make_strand(pool)}
            , timer{strand}
            , random{seed}
        {}

        void next()
        {
            if (started == rounds)
                return;
            ++started;
            timer.expires_after(std::chrono::microseconds{random() % 300});
            timer.async_wait(asio::bind_executor(strand, [this, n = started](error_code ec) {
                wrong_order += n != ++ended;
                aborted += ec == asio::error::operation_aborted;
                next();
            }));
            asio::post(strand, [this] {
                if (random() % 2 == 0)
                    cancelled += static_cast<int>(timer.cancel());
            });
        }

        asio::strand<asio::thread_pool::executor_type> strand;
        typename Family::steady timer;
        std::minstd_rand random;
        int started = 0;
        int ended = 0;
        int cancelled = 0;
        int aborted = 0;
        int wrong_order = 0;
    };
    std::deque<session> sessions;
    for (unsigned seed = 1; seed <= 4; ++seed) {
        auto& s = sessions.emplace_back(pool, seed);
        asio::post(s.strand, [&s] { s.next(); });
    }
    pool.join();
    for (const auto& s : sessions) {
        BOOST_TEST(s.ended == rounds);
        BOOST_TEST(s.aborted == s.cancelled);
        BOOST_TEST(s.wrong_order == 0);
    }
}

// C18, C23: a request and the expiry race, serialised by a strand.
BOOST_AUTO_TEST_CASE_TEMPLATE(expiry_and_requests_race_on_a_strand, Family, families)
{
    constexpr int rounds = 300;
    asio::thread_pool pool{2};
    const auto strand = asio::make_strand(pool);
    asio::cancellation_signal signal;
    typename Family::steady timer{strand};
    std::minstd_rand random{3};
    int ended = 0;
    std::function<void()> next = [&] {
        timer.expires_after(std::chrono::microseconds{random() % 300});
        timer.async_wait(asio::bind_cancellation_slot(
            signal.slot(),
            asio::bind_executor(
                strand,
                [&](error_code) {
                    if (++ended < rounds)
                        next();
                }
            )
        ));
        asio::post(strand, [&] { signal.emit(asio::cancellation_type::total); });
    };
    asio::post(strand, next);
    pool.join();
    BOOST_TEST(ended == rounds);
}

// C29: the first timers of a context are made by several threads at once: one service survives.
BOOST_AUTO_TEST_CASE_TEMPLATE(first_timers_race, Family, families)
{
    for (int round = 0; round < 100; ++round) {
        asio::io_context ctx;
        std::atomic<int> ready{0};
        int ended[2] = {};
        std::vector<std::thread> threads;
        std::deque<typename Family::steady> timers[2];
        for (int i = 0; i < 2; ++i)
            threads.emplace_back([&, i] {
                ++ready;
                while (ready < 2)
                    std::this_thread::yield();
                timers[i].emplace_back(ctx, 100us);
                timers[i].back().async_wait([&, i](error_code ec) { ended[i] += !ec; });
            });
        for (auto& thread : threads)
            thread.join();
        BOOST_REQUIRE(run_to_end(ctx));
        BOOST_REQUIRE(ended[0] == 1);
        BOOST_REQUIRE(ended[1] == 1);
    }
}

BOOST_AUTO_TEST_SUITE_END()

}
