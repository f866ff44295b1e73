// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#include <timewheel/wheel.hpp>

#include <test_common/job_fixture.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/test/unit_test.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <functional>
#include <string>
#include <utility>

// Every repeat mode with every policy, on every kind of workers, with every form of a job.

namespace timewheel::test {

namespace {

using tag = struct wheel_matrix_test;
using fixture = job_fixture<tag>;
using wheel_type = fixture::wheel_for<int>;

constexpr int runs_each = 3;

error_code failure()
{
    return make_error_code(boost::system::errc::io_error);
}

// A form of a job, and how its runs end.
struct job_form
{
    const char* name;
    job_outcome outcome;
    std::function<void(wheel_type&, const fixture::repeat&)> add;
};

template <class Job>
job_form form(const char* name, job_outcome outcome, Job job)
{
    return {name, outcome, [job](wheel_type& w, const fixture::repeat& options) {
                w.add_repeating(10ms, 0, job, options);
            }};
}

const std::array<job_form, 8>& all_forms()
{
    using context = fixture::job_context;
    static const std::array<job_form, 8> forms{
        form("nothing", job_outcome::completed, [] {}),
        form("data", job_outcome::completed, [](int& n) { ++n; }),
        form("context", job_outcome::completed, [](context& c) { BOOST_TEST(c.sequence() != 0u); }),
        form("both", job_outcome::completed, [](context&, int& n) { ++n; }),
        form("an error", job_outcome::failed, [](int&) { return failure(); }),
        form("an exception", job_outcome::threw, [] { throw std::string("as agreed"); }),
        form(
            "a coroutine",
            job_outcome::completed,
            [](context&, int& n) -> asio::awaitable<void> {
                co_await asio::post(co_await asio::this_coro::executor, asio::use_awaitable);
                ++n;
            }
        ),
        form(
            "a coroutine with an error",
            job_outcome::failed,
            []() -> asio::awaitable<error_code> {
                co_await asio::post(co_await asio::this_coro::executor, asio::use_awaitable);
                co_return failure();
            }
        ),
    };
    return forms;
}

}

BOOST_FIXTURE_TEST_SUITE(wheel_matrix, fixture)

// Two timers that are always due together share one place in the queue. Each has all of its runs in
// the end, none early; only a policy that drops loses attempts, which don't count as runs.
BOOST_AUTO_TEST_CASE(all_combinations)
{
    const std::array<std::pair<const char*, asio::any_io_executor>, 3> all_workers{{
        {"the same context", ctx.get_executor()},
        {"another context", workers.get_executor()},
        {"a strand", asio::make_strand(workers)},
    }};
    for (const auto mode :
         {repeat_mode::fixed_rate, repeat_mode::fixed_delay, repeat_mode::skip_if_running}) {
        for (const auto policy :
             {backpressure::block, backpressure::drop, backpressure::run_inline}) {
            for (const auto& [kind, executor] : all_workers) {
                for (const job_form& job : all_forms()) {
                    BOOST_TEST_CONTEXT(
                        "mode " << static_cast<int>(mode) << ", policy " << static_cast<int>(policy)
                                << ", workers: " << kind << ", job: " << job.name
                    )
                    {
                        clock::set({});
                        wheel_type w(
                            ctx,
                            executor,
                            {.max_queued = 1, .policy = policy, .observer = observer()}
                        );
                        w.start();
                        watch(w);
                        for (int i = 0; i != 2; ++i)
                            job.add(w, {.mode = mode, .count = runs_each});
                        int steps = 0;
                        while (w.stats().pending != 0 && ++steps < 100) {
                            clock::advance_to_next();
                            poll();
                        }
                        const auto seen = checked(w);
                        BOOST_TEST(seen.pending == 0u);
                        BOOST_TEST(seen.executed == 2u * runs_each);
                        BOOST_TEST(seen.skipped == 0u);
                        if (policy != backpressure::drop)
                            BOOST_TEST(seen.dropped == 0u);
                        std::size_t ended = 0;
                        for (const told_job& each : take_told()) {
                            BOOST_TEST((each.late >= 0ns));
                            BOOST_TEST((each.due.count() % nanoseconds(10ms).count() == 0));
                            if (each.outcome == job_outcome::dropped)
                                continue;
                            BOOST_TEST(each.outcome == job.outcome);
                            ++ended;
                        }
                        BOOST_TEST(ended == seen.executed);
                        unwatch();
                        w.close();
                    }
                }
            }
        }
    }
}

BOOST_AUTO_TEST_SUITE_END()

}
