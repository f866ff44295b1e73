// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#ifndef TIMEWHEEL_EXAMPLE_IDLE_SERVER_DELAY_PROBE_HPP
#define TIMEWHEEL_EXAMPLE_IDLE_SERVER_DELAY_PROBE_HPP

#include "lateness.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <vector>

namespace example {

/** @brief Measures how late a context runs what is due, without any help of the wheel.

    Twice a millisecond one of Asio's own timers expires and its handler posts a second one, since a
    timer on a wheel takes two turns as well: the tick, and the completion. What passes between the
    moment it was due and that second turn is the delay any timer would have seen at that time: a
    busy queue, a slow system call, or a processor that the system gave to somebody else.

    The timers take turns, a second apart each, so that there is one due at any time also while those
    before are still delayed: a single timer would not see the second half of a long delay.
*/
class delay_probe
{
public:
    using clock = std::chrono::steady_clock;

    explicit delay_probe(boost::asio::io_context& context)
    {
        const auto start = clock::now();
        for (int n = 0; n < timer_count; ++n)
            co_spawn(context, run(context, start + n * period), boost::asio::detached);
    }

    /// Ends the probe at its next expiries; any thread.
    void stop() noexcept { stopped_ = true; }

    [[nodiscard]] const lateness_histogram& delays() const noexcept { return delays_; }

    /// The longest delay that lies at least partly within [from, to]. Only after the context ended.
    [[nodiscard]] clock::duration worst_between(clock::time_point from, clock::time_point to) const
    {
        auto worst = clock::duration::zero();
        const auto ran_before = [](const sample& s, clock::time_point t) { return s.ran < t; };
        auto s = std::lower_bound(samples_.begin(), samples_.end(), from, ran_before);
        for (; s != samples_.end() && s->ran <= to + delays_.max(); ++s) {
            if (s->due <= to)
                worst = (std::max)(worst, s->ran - s->due);
        }
        return worst;
    }

private:
    static constexpr std::chrono::microseconds period{500};
    static constexpr int timer_count = 2000;

    struct sample
    {
        clock::time_point due;
        clock::time_point ran;
    };

    boost::asio::awaitable<void> run(boost::asio::io_context& context, clock::time_point start)
    {
        boost::asio::steady_timer timer(context, start);
        while (!stopped_) {
            co_await timer.async_wait(boost::asio::use_awaitable);
            co_await boost::asio::post(context, boost::asio::use_awaitable);
            const auto missed = add(timer.expiry()) / (timer_count * period);
            timer.expires_at(timer.expiry() + (missed + 1) * timer_count * period);
        }
    }

    clock::duration add(clock::time_point due)
    {
        const std::lock_guard lock(samples_mutex_);
        const auto now = clock::now(); // inside of the lock, so that the samples are sorted by it
        samples_.push_back({due, now});
        delays_.record(now - due);
        return now - due;
    }

    std::mutex samples_mutex_;
    std::vector<sample> samples_; // in the order of `ran`
    lateness_histogram delays_;
    std::atomic<bool> stopped_ = false;
};

}

#endif
