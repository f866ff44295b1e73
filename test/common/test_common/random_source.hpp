// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#ifndef TIMEWHEEL_TEST_COMMON_RANDOM_SOURCE_HPP
#define TIMEWHEEL_TEST_COMMON_RANDOM_SOURCE_HPP

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <random>

namespace timewheel::test {

// A number from the environment, to make a run longer or to repeat it.
inline std::uint64_t number_from_environment(const char* name, std::uint64_t otherwise)
{
    const char* const text = std::getenv(name);
    return text && *text ? std::strtoull(text, nullptr, 0) : otherwise;
}

// Another seed in each run of a test, but printed, and taken from TIMEWHEEL_SEED if that is set.
inline std::uint64_t test_seed(const char* test)
{
    std::random_device device;
    const std::uint64_t fresh = std::uint64_t{device()} << 32 | device();
    const std::uint64_t seed = number_from_environment("TIMEWHEEL_SEED", fresh);
    std::cout << test << ": TIMEWHEEL_SEED=" << seed << std::endl;
    return seed;
}

// The same numbers for the same seed with every standard library (splitmix64, by S. Vigna).
class random_source
{
public:
    explicit random_source(std::uint64_t seed) noexcept : state_(seed) {}

    std::uint64_t bits() noexcept
    {
        std::uint64_t z = state_ += 0x9e3779b97f4a7c15u;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
        return z ^ (z >> 31);
    }

    // From 0 to n - 1; close enough to evenly for a test.
    std::uint64_t below(std::uint64_t n) noexcept { return bits() % n; }

    bool one_in(std::uint64_t n) noexcept { return below(n) == 0; }

    // All magnitudes alike: as many numbers of three bits as of sixty.
    std::uint64_t any_magnitude() noexcept { return bits() >> below(64); }

    template <class Range>
    const auto& any_of(const Range& range) noexcept
    {
        return range[static_cast<std::size_t>(below(std::size(range)))];
    }

private:
    std::uint64_t state_;
};

}

#endif
