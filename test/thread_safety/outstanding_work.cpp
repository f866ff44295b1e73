// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#include <timewheel/steady_timer.hpp>

#include "harness.hpp"

#include <boost/asio/post.hpp>

#include <chrono>

// A context has work as long as one of its own waits is pending or ready, even while another thread is
// about to post a turn or to set the alarm for it: run() must not return before.

using namespace timewheel;
using namespace timewheel::test;
using namespace std::chrono_literals;

int main()
{
    asio::io_context ctx;
    steady_timer t(ctx);
    std::atomic<unsigned> rounds{0};
    std::atomic<bool> over{false};
    std::thread other([&] {
        steady_timer earlier(ctx);
        for (unsigned seen = 0; !over;) {
            if (seen == rounds)
                continue;
            ++seen;
            for (int i = 0; i != 100; ++i) {
                earlier.expires_after(1h);
                earlier.async_wait([](error_code) {});
                earlier.expires_after(10us);
                earlier.async_wait([](error_code) {});
                earlier.cancel();
            }
        }
    });
    const auto end = std::chrono::steady_clock::now() + 4s;
    while (std::chrono::steady_clock::now() < end) {
        bool done = false;
        ctx.restart();
        ++rounds;
        asio::post(ctx, [&] {
            const bool cancelled = rounds % 2 != 0;
            t.expires_after(cancelled ? std::chrono::microseconds(1h) : 20us);
            t.async_wait([&](error_code) { done = true; });
            if (cancelled)
                t.cancel();
        });
        ctx.run();
        check(done, "run() returns when there is no work any more");
    }
    over = true;
    other.join();
    ctx.restart();
    ctx.run();
}
