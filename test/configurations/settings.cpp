// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

// A little of everything, compiled with settings of Asio that programs choose; see CMakeLists.txt.

#include <timewheel.hpp>

#ifdef BOOST_ASIO_SEPARATE_COMPILATION
#include <boost/asio/impl/src.hpp>
#endif

#include <boost/asio/bind_executor.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/strand.hpp>

#include <cstdio>
#include <exception>

namespace asio = boost::asio;
using boost::system::error_code;
using namespace std::chrono_literals;

namespace {

int failures = 0;

void expect(const char* what, int calls)
{
    if (calls == 1)
        return;
    std::printf("failed: %s was called %d times as expected, not once\n", what, calls);
    ++failures;
}

void run_timers(asio::io_context& ctx)
{
    int expired = 0;
    int cancelled = 0;
    int timed_out = 0;
    int slept = 0;
    int delayed = 0;
    int repeated = 0;
    timewheel::steady_timer short_wait(ctx, 2ms);
    short_wait.async_wait([&](error_code ec) { expired += !ec; });
    timewheel::steady_timer on_strand(asio::make_strand(ctx), 1h);
    on_strand.async_wait([&](error_code ec) { cancelled += ec == asio::error::operation_aborted; });
    asio::post(ctx, [&] { on_strand.cancel(); });
    timewheel::steady_timer long_wait(ctx, 1h);
    long_wait.async_wait(asio::bind_executor(ctx, timewheel::timeout_after(1ms, [&](error_code ec) {
                                                 timed_out += ec == timewheel::error::timed_out;
                                             })));
    asio::co_spawn(
        ctx,
        []() -> asio::awaitable<void> { co_await timewheel::sleep_for(1ms); },
        [&](std::exception_ptr exception) { slept += !exception; }
    );
    asio::post(timewheel::after(ctx.get_executor(), 1ms), [&] { ++delayed; });
    timewheel::repeating_timer repeating(ctx, 1ms);
    repeating.async_wait([&](error_code ec, const timewheel::tick_info&) { repeated += !ec; });
    ctx.run();
    expect("an expired wait", expired);
    expect("a cancelled wait", cancelled);
    expect("a wait with a deadline", timed_out);
    expect("a coroutine that sleeps", slept);
    expect("a function that is executed later", delayed);
    expect("a repeating timer", repeated);
}

// The workers are the context itself, which needs no other thread.
void run_jobs(asio::io_context& ctx)
{
    int jobs = 0;
    timewheel::wheel<> wheel(ctx, ctx);
    wheel.start();
    wheel.add(1ms, [&] { ++jobs; });
    ctx.restart();
    ctx.run();
    expect("a job", jobs);
}

}

int main()
{
    asio::io_context ctx;
    run_timers(ctx);
    run_jobs(ctx);
    return failures == 0 ? 0 : 1;
}
