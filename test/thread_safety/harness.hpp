// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#ifndef TIMEWHEEL_TEST_THREAD_SAFETY_HARNESS_HPP
#define TIMEWHEEL_TEST_THREAD_SAFETY_HARNESS_HPP

/** @file
    What the programs share that a thread sanitizer watches. They check counts only: exactly once
    is what a race breaks.
*/

#include <timewheel/wheel_service.hpp>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>

#include <atomic>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

namespace timewheel::test {

inline void check(bool holds, const char* what)
{
    if (holds)
        return;
    std::cerr << "failed: " << what << std::endl;
    std::abort();
}

/// Threads that run a context until they are told that all is done.
class crew
{
public:
    crew(asio::io_context& ctx, unsigned n) : work_(ctx.get_executor())
    {
        for (; n != 0; --n)
            threads_.emplace_back([&ctx] { ctx.run(); });
    }

    ~crew() { finish(); }

    /// Returns when the context has run out of work.
    void finish()
    {
        work_.reset();
        for (std::thread& thread : std::exchange(threads_, {}))
            thread.join();
    }

private:
    asio::executor_work_guard<asio::io_context::executor_type> work_;
    std::vector<std::thread> threads_;
};

/// Runs `function(number)` in some threads at a time and waits for them.
template <class Function>
void in_threads(unsigned n, Function function)
{
    std::vector<std::thread> threads;
    for (unsigned i = 0; i != n; ++i)
        threads.emplace_back([function, i]() mutable { function(i); });
    for (std::thread& thread : threads)
        thread.join();
}

/// The handler of an operation, which counts its end: a call, or its destruction. May own something.
class ending
{
public:
    explicit ending(std::atomic<int>& ended, std::shared_ptr<void> owned = nullptr)
        : ended_(&ended)
        , owned_(std::move(owned))
    {}

    ending(ending&& other) noexcept
        : ended_(std::exchange(other.ended_, nullptr))
        , owned_(std::move(other.owned_))
    {}

    ~ending()
    {
        if (ended_)
            ++*ended_;
    }

    template <class... Results>
    void operator()(const Results&...) const
    {}

private:
    std::atomic<int>* ended_;
    std::shared_ptr<void> owned_;
};

/// How the waits of a program ended.
struct tally
{
    std::atomic<std::uint64_t> started{0};
    std::atomic<std::uint64_t> fired{0};
    std::atomic<std::uint64_t> aborted{0};

    void count(const error_code& ec) { ++(ec ? aborted : fired); }

    /// Checks that each wait ended once, and that the service agrees.
    void check_against(const wheel_service_stats& stats) const
    {
        check(fired + aborted == started, "each wait ends once");
        check(stats.pending == 0, "nothing is pending in the end");
        check(stats.fired == fired, "the service counts what has fired");
        check(stats.cancelled == aborted, "the service counts what was cancelled");
    }
};

}

#endif
