// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#include <timewheel/basic_waitable_timer.hpp>
#include <timewheel/manual_clock.hpp>
#include <timewheel/steady_timer.hpp>

#include "harness.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <thread>
#include <vector>

// A wait that is started while the context is about to sleep wakes it up (faults XB1, XB2, XB6), by
// the real clock and by one that another thread moves.

using namespace timewheel;
using namespace timewheel::test;
using namespace std::chrono_literals;

namespace {

struct tag;
using clock_type = timewheel::manual_clock<tag>;
using virtual_timer = basic_waitable_timer<clock_type>;

void must_come(std::future<void> future, const char* what)
{
    check(future.wait_for(20s) == std::future_status::ready, what);
    future.get();
}

// From an idle context, and with a later deadline that the context sleeps on.
void real_clock(bool with_later)
{
    asio::io_context ctx;
    steady_timer later(ctx, 1h);
    crew runners(ctx, 2);
    if (with_later)
        later.async_wait([](error_code) {});
    in_threads(3, [&](unsigned number) {
        for (int round = 0; round != 300; ++round) {
            steady_timer t(ctx, std::chrono::microseconds(number * 300U));
            must_come(t.async_wait(asio::use_future), "a new deadline wakes the context");
        }
    });
    later.cancel();
}

// One thread starts a wait, while another moves the clock past its deadline.
void moved_clock(bool with_later)
{
    asio::io_context ctx;
    virtual_timer later(ctx, 24h * 365);
    crew runners(ctx, 2);
    if (with_later)
        later.async_wait([](error_code) {});
    std::atomic<bool> over{false};
    std::thread mover([&] {
        while (!over)
            clock_type::advance(1ms);
    });
    in_threads(3, [&](unsigned number) {
        for (int round = 0; round != 500; ++round) {
            virtual_timer t(ctx, std::chrono::milliseconds(number));
            must_come(t.async_wait(asio::use_future), "a moving clock completes a new wait");
        }
    });
    over = true;
    mover.join();
    later.cancel();
}

// The clock moves once, at about the moment when the wait is started, and then stands still.
void clock_moved_once()
{
    asio::io_context ctx;
    virtual_timer later(ctx, 24h * 365);
    later.async_wait([](error_code) {});
    crew runners(ctx, 2);
    for (int round = 0; round != 1000; ++round) {
        const auto deadline = clock_type::now() + 1ms;
        virtual_timer t(ctx, deadline);
        std::atomic<bool> go{false};
        std::thread mover([&] {
            while (!go) {}
            clock_type::advance_to(deadline);
        });
        go = true;
        auto future = t.async_wait(asio::use_future);
        mover.join();
        must_come(std::move(future), "a clock that has moved completes a new wait");
    }
    later.cancel();
}

// Waits that follow each other, while others that are far away are started and cancelled meanwhile,
// with a pause for some luck, or so fast that the context is never done with the cancelled ones.
void far_ones_meanwhile(std::chrono::microseconds pause)
{
    asio::io_context ctx;
    std::vector<std::unique_ptr<steady_timer>> timers;
    std::vector<std::future<void>> futures;
    for (int i = 1; i != 1000; ++i) {
        timers.push_back(std::make_unique<steady_timer>(ctx, std::chrono::milliseconds(i)));
        futures.push_back(timers.back()->async_wait(asio::use_future));
    }
    crew runners(ctx, 1);
    std::atomic<bool> over{false};
    std::vector<std::thread> others;
    for (int i = 0; i != 2; ++i)
        others.emplace_back([&] {
            steady_timer far(ctx);
            while (!over) {
                far.expires_after(1h);
                far.async_wait([](error_code) {});
                far.cancel();
                if (pause != 0us)
                    std::this_thread::sleep_for(pause);
            }
        });
    for (std::future<void>& each : futures)
        must_come(std::move(each), "a wait does not sleep until another one that is far away");
    over = true;
    for (std::thread& each : others)
        each.join();
}

}

int main()
{
    for (const bool with_later : {false, true}) {
        real_clock(with_later);
        moved_clock(with_later);
    }
    clock_moved_once();
    far_ones_meanwhile(5us);
    far_ones_meanwhile(0us);
}
