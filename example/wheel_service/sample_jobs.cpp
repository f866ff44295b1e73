// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#include "sample_jobs.hpp"

#include <timewheel/sleep.hpp>

#include <chrono>
#include <cstdint>

namespace wheel_service {

namespace {

using namespace std::chrono_literals;

// Some ten milliseconds of arithmetic.
std::uint64_t count_primes(std::uint64_t below)
{
    std::uint64_t found = 0;
    for (std::uint64_t n = 2; n < below; ++n) {
        bool is_prime = true;
        for (std::uint64_t d = 2; d * d <= n && is_prime; ++d)
            is_prime = n % d != 0;
        found += is_prime;
    }
    return found;
}

}

boost::asio::awaitable<boost::system::error_code> run_sample(std::string type)
{
    if (type == "slow") {
        co_await timewheel::sleep_for(2s);
    } else if (type == "cpu") {
        if (count_primes(60'000) != 6'057)
            co_return boost::system::errc::make_error_code(
                boost::system::errc::state_not_recoverable
            );
    } else if (type == "failing") {
        co_return boost::system::errc::make_error_code(boost::system::errc::io_error);
    } else if (type == "hanging") {
        for (;;)
            co_await timewheel::sleep_for(24h); // until it is told to stop
    }
    co_return boost::system::error_code();
}

}
