// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

// Jobs at their time: a job wheel in a few lines. Its timers wait in one context, its jobs run in
// another one, here the threads of a pool. It ends when no timer is left, after about a second.

#include <timewheel/wheel.hpp>

#include <boost/asio/io_context.hpp>
#include <boost/asio/thread_pool.hpp>

#include <chrono>
#include <cstdio>
#include <exception>
#include <string>

namespace asio = boost::asio;
using namespace std::chrono_literals;

int main()
{
    try {
        asio::io_context context;
        asio::thread_pool workers{2};

        // Each timer has a string; this job is for those that have no job of their own.
        timewheel::wheel<std::string> wheel{
            context,
            workers,
            {.tick = 10ms},
            [](const std::string& text) { std::printf("fired: %s\n", text.c_str()); }
        };
        wheel.start();

        const timewheel::timer_id hello = wheel.add(500ms, "hello");

        wheel.add(250ms, "world", [](timewheel::job_context& job, std::string& text) {
            const auto late = std::chrono::ceil<std::chrono::milliseconds>(job.lateness());
            std::printf("a job of its own for %s, %d ms late\n", text.c_str(), int(late.count()));
        });

        wheel.add_repeating(300ms, "three of these", {.count = 3});

        const timewheel::timer_id never = wheel.add(1s, "never");
        if (wheel.remove(never) == timewheel::remove_result::removed)
            std::printf("removed in time\n");

        if (const auto due = wheel.next_fire_time(hello)) {
            const auto left = *due - std::chrono::steady_clock::now();
            const auto rounded = std::chrono::round<std::chrono::milliseconds>(left);
            std::printf("hello fires in %d ms\n", int(rounded.count()));
        }

        context.run(); // until no timer is left and no job is running
        wheel.close();
        return wheel.stats().completed == 5 ? 0 : 1;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "job_wheel: %s\n", error.what());
        return 1;
    }
}
