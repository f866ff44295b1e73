// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

// Stackful coroutines, which need a library of Boost.

#include <timewheel.hpp>

#include <boost/asio/io_context.hpp>
#include <boost/asio/spawn.hpp>

#include <cstdio>
#include <exception>

namespace asio = boost::asio;
using boost::system::error_code;
using namespace std::chrono_literals;

namespace {

int failures = 0;

void check(const char* what, bool holds)
{
    if (holds)
        return;
    std::printf("failed: %s\n", what);
    ++failures;
}

void wait_in_all_ways(asio::io_context& ctx, asio::yield_context yield)
{
    error_code ec;
    timewheel::steady_timer timer(ctx, 1ms);
    timer.async_wait(yield);
    timer.expires_after(1h);
    timer.async_wait(timewheel::timeout_after(1ms, yield[ec]));
    check("a wait with a deadline times out", ec == timewheel::error::timed_out);
    timewheel::async_sleep_for(ctx, 1ms, yield);
    timewheel::idle_timer idle(ctx, 1ms);
    idle.async_wait(yield[ec]);
    check("silence ends the wait for it", !ec);
    timewheel::repeating_timer repeating(ctx, 1ms);
    const auto first = repeating.async_wait(yield).sequence;
    check("ticks come in sequence", repeating.async_wait(yield).sequence > first);
}

}

int main()
{
    asio::io_context ctx;
    bool ended = false;
    asio::spawn(
        ctx,
        [&](asio::yield_context yield) { wait_in_all_ways(ctx, yield); },
        [&](std::exception_ptr exception) { ended = !exception; }
    );
    ctx.run();
    check("the coroutine ends without an exception", ended);
    return failures == 0 ? 0 : 1;
}
