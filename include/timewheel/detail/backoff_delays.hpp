// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#ifndef TIMEWHEEL_DETAIL_BACKOFF_DELAYS_HPP
#define TIMEWHEEL_DETAIL_BACKOFF_DELAYS_HPP

#include <timewheel/detail/duration_text.hpp>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <concepts>
#include <random>
#include <stdexcept>
#include <string>

namespace timewheel::detail {

[[noreturn]] inline void
throw_bad_backoff(const char* name, const std::string& value, const std::string& allowed)
{
    throw std::invalid_argument(
        std::string("timewheel: exponential_backoff::") + name + " is " + value + ", but must be " +
        allowed
    );
}

// Throws if a number makes no sense; NaNs don't.
template <class Backoff>
void check_backoff(const Backoff& backoff)
{
    using duration = typename Backoff::duration;
    if (!(backoff.initial > duration::zero()))
        throw_bad_backoff("initial", duration_text(backoff.initial), "positive");
    if (!(backoff.multiplier >= 1) || !std::isfinite(backoff.multiplier))
        throw_bad_backoff(
            "multiplier", std::to_string(backoff.multiplier), "finite and at least 1"
        );
    if (!(backoff.maximum >= backoff.initial))
        throw_bad_backoff(
            "maximum",
            duration_text(backoff.maximum),
            "at least initial, " + duration_text(backoff.initial)
        );
    if (!(backoff.jitter >= 0 && backoff.jitter <= 1))
        throw_bad_backoff("jitter", std::to_string(backoff.jitter), "from 0 to 1");
    if (backoff.max_attempts == 0)
        throw_bad_backoff("max_attempts", "0", "at least 1");
}

// Seeds that differ between programs, and from each other, for the price of an addition.
inline unsigned next_seed()
{
    static std::atomic<unsigned> seed{std::random_device{}()};
    return seed.fetch_add(0x9e3779b9u, std::memory_order_relaxed);
}

// The delays of one operation. They are computed in floating point, so that small ones grow too.
template <class Duration>
class backoff_delays
{
public:
    template <class Backoff>
    explicit backoff_delays(const Backoff& backoff)
        : next_(static_cast<double>(backoff.initial.count()))
        , generator_(next_seed())
    {}

    template <class Backoff>
    Duration next(const Backoff& backoff)
    {
        const double maximum = static_cast<double>(backoff.maximum.count());
        const double longest = (std::min)(next_, maximum);
        next_ = longest * backoff.multiplier;
        const double delay = longest * (1 - backoff.jitter * (1 - fraction(backoff)));
        // Also for infinities, and what comes of them.
        if (!(delay < maximum))
            return backoff.maximum;
        using rep = typename Duration::rep;
        if constexpr (std::floating_point<rep>)
            return Duration(static_cast<rep>(delay));
        else
            return Duration(static_cast<rep>(std::ceil(delay)));
    }

private:
    // From 0 to 1.
    template <class Backoff>
    double fraction(const Backoff& backoff)
    {
        if (!backoff.random) {
            constexpr auto least = (std::minstd_rand::min)();
            constexpr double range = (std::minstd_rand::max)() - least;
            return static_cast<double>(generator_() - least) / range;
        }
        const double fraction = backoff.random();
        return fraction >= 0 ? (std::min)(fraction, 1.0) : 0.0;
    }

    double next_;
    std::minstd_rand generator_;
};

}

#endif
