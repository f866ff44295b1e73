// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

// How late handlers run: 5000 timers, each armed again by 1 to 100 ms when it expires, so that some
// 100 000 expire per second.

#include "population.hpp"

#include <timewheel/wheel_service.hpp>

#include <algorithm>
#include <array>

namespace timewheel::bench {

namespace {

template <class Timer>
class late_timers
{
public:
    explicit late_timers(std::chrono::nanoseconds tick = 0ns)
    {
        if (tick != 0ns)
            asio::make_service<wheel_service>(context_, wheel_service_options{.tick = tick});
        timers_.reserve(count);
        for (std::size_t i = 0; i != count; ++i)
            arm(timers_.emplace_back(context_));
    }

    // In microseconds, sorted.
    std::vector<double> run(steady_clock::duration time)
    {
        context_.run_for(time);
        require(!lateness_.empty(), "nothing expired");
        std::sort(lateness_.begin(), lateness_.end());
        require(lateness_.front() >= 0, "a timer expired early");
        return std::move(lateness_);
    }

private:
    static constexpr std::size_t count = 5'000;

    void arm(Timer& timer)
    {
        timer.expires_after(1ms + std::chrono::nanoseconds(random_.below(99'000'000)));
        timer.async_wait([this, &timer](const error_code& ec) {
            if (ec)
                return;
            const std::chrono::duration<double, std::micro> late =
                steady_clock::now() - timer.expiry();
            lateness_.push_back(late.count());
            arm(timer);
        });
    }

    asio::io_context context_{1};
    random_numbers random_{42};
    std::vector<double> lateness_;
    std::vector<Timer> timers_;
};

// All rounds of one subject.
class histogram
{
public:
    void add(const std::vector<double>& lateness)
    {
        median_.push_back(at(lateness, 0.5));
        p99_.push_back(at(lateness, 0.99));
        p999_.push_back(at(lateness, 0.999));
        max_.push_back(lateness.back());
        for (const double late : lateness)
            ++counts_[static_cast<std::size_t>(
                std::lower_bound(bounds.begin(), bounds.end(), late) - bounds.begin()
            )];
        total_ += lateness.size();
    }

    void record(session& session, const std::string& subject) const
    {
        session.record("lateness_median", 5'000, "us", subject, median_);
        session.record("lateness_p99", 5'000, "us", subject, p99_);
        session.record("lateness_p999", 5'000, "us", subject, p999_);
        session.record("lateness_max", 5'000, "us", subject, max_);
        // In place of n, up to how many microseconds late; 0 is all that is later.
        for (std::size_t i = 0; i != counts_.size(); ++i)
            session.record(
                "lateness_share",
                i == bounds.size() ? 0 : static_cast<std::size_t>(bounds[i]),
                "%",
                subject,
                {100.0 * static_cast<double>(counts_[i]) / static_cast<double>(total_)}
            );
    }

private:
    static constexpr std::array<double, 9>
        bounds{50, 100, 250, 500, 1'000, 2'000, 5'000, 10'000, 20'000};

    static double at(const std::vector<double>& sorted, double share)
    {
        return sorted[static_cast<std::size_t>(static_cast<double>(sorted.size()) * share)];
    }

    std::vector<double> median_, p99_, p999_, max_;
    std::array<std::size_t, bounds.size() + 1> counts_{};
    std::size_t total_ = 0;
};

void lateness(session& session)
{
    histogram asio, fine, coarse;
    for (std::size_t round = 0; round != session.rounds; ++round) {
        asio.add(late_timers<asio_timer>().run(500ms));
        fine.add(late_timers<wheel_timer>(1ms).run(500ms));
        coarse.add(late_timers<wheel_timer>(10ms).run(500ms));
    }
    asio.record(session, "asio");
    fine.record(session, "wheel, tick 1 ms");
    coarse.record(session, "wheel, tick 10 ms");
}

const benchmark known("lateness", lateness);

}

}
