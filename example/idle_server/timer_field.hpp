// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#ifndef TIMEWHEEL_EXAMPLE_IDLE_SERVER_TIMER_FIELD_HPP
#define TIMEWHEEL_EXAMPLE_IDLE_SERVER_TIMER_FIELD_HPP

#include "lateness.hpp"

#include <timewheel.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/post.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

namespace example {

/// What a field of timers counts while it lives; any thread may read it.
struct timer_counts
{
    std::atomic<std::uint64_t> armed = 0;
    std::atomic<std::uint64_t> fired = 0;
    std::atomic<std::uint64_t> cancelled = 0;
    lateness_histogram lateness;
};

/** @brief Very many timers with nothing to do, as a busy server has them.

    Each expires 1 to 60 s from when it was armed and is armed anew at once; besides, some of them,
    chosen at random, are armed anew long before they expire, which aborts the wait under way.
    Long work is cut into pieces, so that connections have their turns in between.

    Timers are no more thread-safe than sockets: all of a field's work runs on the one executor it
    was given, and only `cancel_all` and the counts may be used from elsewhere.
*/
class timer_field
{
public:
    using clock = std::chrono::steady_clock;

    timer_field(
        boost::asio::any_io_executor executor,
        std::size_t size,
        std::size_t rearms_per_second,
        std::uint64_t seed,
        timer_counts& counts
    )
        : executor_(std::move(executor))
        , size_(size)
        , rearms_per_round_(size == 0 ? 0 : rearms_per_second / rounds_per_second)
        , random_(seed)
        , counts_(counts)
        , round_(executor_)
    {
        timers_.reserve(size_);
        boost::asio::post(executor_, [this] { arm_more(); });
    }

    /// Cancels every timer; each still runs its handler, with an error code that says so.
    void cancel_all()
    {
        boost::asio::post(executor_, [this] {
            ending_ = true;
            round_.cancel();
            cancel_more(0);
        });
    }

private:
    static constexpr std::size_t piece = 1000;
    static constexpr std::size_t rounds_per_second = 200;

    void arm_more()
    {
        for (std::size_t n = 0; n < piece && timers_.size() < size_ && !ending_; ++n) {
            timers_.emplace_back(executor_);
            arm(timers_.size() - 1);
        }
        if (ending_)
            return;
        if (timers_.size() < size_)
            boost::asio::post(executor_, [this] { arm_more(); });
        else
            rearm_some();
    }

    void rearm_some()
    {
        for (std::size_t n = 0; n < rearms_per_round_; ++n)
            arm(random_() % timers_.size());
        round_.expires_after(std::chrono::milliseconds(1000 / rounds_per_second));
        round_.async_wait([this](timewheel::error_code error) {
            if (!error && !ending_)
                rearm_some();
        });
    }

    void arm(std::size_t index)
    {
        std::uniform_int_distribution<int> milliseconds(1'000, 60'000);
        timewheel::steady_timer& timer = timers_[index];
        timer.expires_after(std::chrono::milliseconds(milliseconds(random_)));
        counts_.armed.fetch_add(1, std::memory_order_relaxed);
        timer.async_wait([this, index, due = timer.expiry()](timewheel::error_code error) {
            if (error) {
                counts_.cancelled.fetch_add(1, std::memory_order_relaxed);
                return;
            }
            counts_.lateness.record(clock::now() - due);
            counts_.fired.fetch_add(1, std::memory_order_relaxed);
            if (!ending_)
                arm(index);
        });
    }

    void cancel_more(std::size_t first)
    {
        for (std::size_t n = 0; n < piece && first < timers_.size(); ++n, ++first)
            timers_[first].cancel();
        if (first < timers_.size())
            boost::asio::post(executor_, [this, first] { cancel_more(first); });
    }

    boost::asio::any_io_executor executor_;
    std::size_t size_;
    std::size_t rearms_per_round_;
    std::mt19937_64 random_;
    timer_counts& counts_;
    timewheel::steady_timer round_;
    std::vector<timewheel::steady_timer> timers_;
    bool ending_ = false;
};

}

#endif
