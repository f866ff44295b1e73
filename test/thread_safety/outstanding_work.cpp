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
    std::atomic<bool> over{false};
    std::thread other([&] {
        steady_timer earlier(ctx);
        while (!over) {
            earlier.expires_after(1h);
            earlier.async_wait([](error_code) {});
            earlier.expires_after(10us);
            earlier.async_wait([](error_code) {});
            earlier.cancel();
        }
    });
    const auto end = std::chrono::steady_clock::now() + 4s;
    for (unsigned round = 0; std::chrono::steady_clock::now() < end; ++round) {
        bool done = false;
        ctx.restart();
        asio::post(ctx, [&] {
            t.expires_after(round % 2 == 0 ? 20us : std::chrono::microseconds(1h));
            t.async_wait([&](error_code) { done = true; });
            if (round % 2 != 0)
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
