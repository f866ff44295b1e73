// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

// The hold model: each timer that expires is armed again, by a delay from one distribution, so that
// n stay pending. The mean delay grows with n: 100 000 expire per second, whatever n is.

#include "population.hpp"

#include <cmath>
#include <memory>

namespace timewheel::bench {

namespace {

constexpr double per_second = 100'000;

enum class delays
{
    exponential,
    bimodal,
    constant
};

template <class Timer>
class held_timers
{
public:
    held_timers(std::size_t n, delays distribution)
        : mean_(static_cast<double>(n) / per_second)
        , distribution_(distribution)
    {
        timers_.reserve(n);
        const auto now = steady_clock::now();
        for (std::size_t i = 0; i != n; ++i) {
            // Of a constant delay, what is left at some moment is anything between none and all.
            const double left = distribution == delays::constant ? uniform() * mean_ : delay();
            timers_.emplace_back(context_, now + to_duration(left));
            wait(timers_.back());
        }
        context_.poll();
        completed_ = 0;
    }

    // Returns the CPU time for one expiry.
    double run(steady_clock::duration time)
    {
        const auto start = thread_cpu_time();
        context_.run_for(time);
        const auto used = thread_cpu_time() - start;
        require(completed_ != 0, "nothing expired");
        return static_cast<double>(used.count()) / static_cast<double>(completed_);
    }

private:
    struct handler
    {
        held_timers* self;
        Timer* timer;

        void operator()(const error_code& ec) const
        {
            if (ec)
                return;
            ++self->completed_;
            timer->expires_after(to_duration(self->delay()));
            self->wait(*timer);
        }
    };

    void wait(Timer& timer) { timer.async_wait(handler{this, &timer}); }

    // Above 0, and below 1.
    double uniform() { return (static_cast<double>(random_.below(1u << 30)) + 0.5) / (1u << 30); }

    double delay()
    {
        switch (distribution_) {
        case delays::exponential: return -std::log(uniform()) * mean_;
        case delays::bimodal: // nine short ones for each long one
            return (uniform() < 0.9 ? 0.2 : 16.4) * uniform() * mean_;
        case delays::constant: break;
        }
        return mean_;
    }

    static steady_clock::duration to_duration(double seconds)
    {
        return std::chrono::nanoseconds(static_cast<std::int64_t>(seconds * 1e9));
    }

    asio::io_context context_{1};
    random_numbers random_{42};
    double mean_;
    delays distribution_;
    std::uint64_t completed_ = 0;
    std::vector<Timer> timers_;
};

// Made for each sample: what comes due while another is sampled would all be late.
template <class Timer>
double sample(std::size_t n, delays distribution)
{
    return std::make_unique<held_timers<Timer>>(n, distribution)->run(200ms);
}

void hold(session& session)
{
    const auto compare = [&](const std::string& workload, delays distribution) {
        for (const std::size_t n : session.sizes({1'000, 100'000, 1'000'000}))
            session.compare_fresh(
                workload,
                n,
                {{"asio", [&] { return sample<asio_timer>(n, distribution); }},
                 {"wheel", [&] { return sample<wheel_timer>(n, distribution); }}}
            );
    };
    compare("hold_exponential", delays::exponential);
    compare("hold_bimodal", delays::bimodal);
    compare("hold_constant", delays::constant);
}

const benchmark known("hold", hold);

}

}
