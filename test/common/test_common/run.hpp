// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#ifndef TIMEWHEEL_TEST_COMMON_RUN_HPP
#define TIMEWHEEL_TEST_COMMON_RUN_HPP

/** @file
    Ways to turn a context's crank that cannot hang a test run, and that do not rely on how many
    turns a library takes for its own housekeeping: what a test counts is its handlers.
*/

#include <timewheel/config.hpp>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/test/unit_test.hpp>

#include <chrono>
#include <cstddef>

namespace timewheel::test {

using namespace std::chrono_literals;

/// How long anything that is bound to happen may take on a loaded machine.
inline constexpr std::chrono::seconds patience{5};

/** Polls until a poll finds nothing to do, and checks that this comes soon: a context with nothing
    due must be idle, not busy with itself.
*/
template <class Context>
void poll_until_quiet(Context& ctx, std::size_t most_turns = 100'000)
{
    std::size_t turns = 0;
    while (turns < most_turns) {
        const std::size_t done = ctx.poll();
        if (done == 0)
            return;
        turns += done;
    }
    BOOST_ERROR("the context is still busy after " << turns << " turns");
}

/** Runs single turns until `done()`, at most for `limit`. Returns whether `done()` holds.
    Returns early, with the answer of the moment, if the context runs out of work.
*/
template <class Predicate>
[[nodiscard]] bool run_until(
    asio::io_context& ctx,
    Predicate done,
    std::chrono::steady_clock::duration limit = patience
)
{
    const auto deadline = std::chrono::steady_clock::now() + limit;
    while (!done()) {
        if (ctx.stopped() || std::chrono::steady_clock::now() >= deadline)
            return done();
        ctx.run_one_until(deadline);
    }
    return true;
}

/// Runs until the context is out of work; false if that takes longer than `limit`.
[[nodiscard]] inline bool
run_to_end(asio::io_context& ctx, std::chrono::steady_clock::duration limit = patience)
{
    ctx.run_for(limit);
    return ctx.stopped();
}

/// Runs turns for all of `span`, to see that something does *not* happen in it.
inline void run_during(asio::io_context& ctx, std::chrono::steady_clock::duration span)
{
    const auto busy = asio::make_work_guard(ctx);
    ctx.run_for(span);
}

/// Lets real time go by while no context runs, so that deadlines pass unseen.
inline void let_time_pass(std::chrono::steady_clock::duration span)
{
    asio::io_context aside;
    asio::steady_timer{aside, span}.wait();
}

/// Measures real time from its construction.
class stopwatch
{
public:
    [[nodiscard]] std::chrono::steady_clock::duration elapsed() const
    {
        return std::chrono::steady_clock::now() - start_;
    }

private:
    std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}

#endif
