// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#ifndef TIMEWHEEL_BENCH_BENCH_HPP
#define TIMEWHEEL_BENCH_BENCH_HPP

/** @file
    What all benchmarks share: who takes part, how long a sample takes, and where the numbers go.

    The subjects of a comparison live at the same time in one process and are sampled in turns, so
    that whatever else the machine does falls on all of them. Output is one JSON object a line.
*/

#include <chrono>
#include <cstddef>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

namespace timewheel::bench {

using namespace std::chrono_literals;

/// How much CPU time this thread has used: what others do on the machine counts less than by a clock.
std::chrono::nanoseconds thread_cpu_time();

/// Fails the benchmark, and the program in the end.
inline void require(bool holds, const char* otherwise)
{
    if (!holds)
        throw std::runtime_error(otherwise);
}

/// One thing that is measured; each call of `sample` is one measurement.
struct subject
{
    std::string name;
    std::function<double()> sample;
};

class session
{
public:
    bool quick = false;
    std::size_t rounds = 7;
    std::size_t largest = 10'000'000;       ///< no benchmark has more timers pending
    std::chrono::nanoseconds budget = 60ms; ///< for one sample

    /// The sizes that are not above the largest one; the first, if only one is wanted.
    std::vector<std::size_t> sizes(std::vector<std::size_t> all) const;

    /// Samples all subjects in turns, each once for warming up, and writes down the rest.
    void compare(const std::string& workload, std::size_t n, const std::vector<subject>& subjects);

    /// The same for samples that make their timers anew, and so need no warming up.
    void
    compare_fresh(const std::string& workload, std::size_t n, const std::vector<subject>& subjects);

    /// Writes down what a benchmark has measured in its own way.
    void record(
        const std::string& workload,
        std::size_t n,
        const std::string& unit,
        const std::string& subject,
        const std::vector<double>& samples
    );

    /// Repeats `batch`, which does so many operations, for a sample. Returns nanoseconds for one.
    template <class Batch>
    double time(std::size_t operations, Batch&& batch) const
    {
        const auto start = thread_cpu_time();
        auto used = start - start;
        std::size_t done = 0;
        do {
            batch();
            done += operations;
            used = thread_cpu_time() - start;
        } while (used < budget);
        return static_cast<double>(used.count()) / static_cast<double>(done);
    }
};

/// Makes a benchmark known: one static object of this type in each file.
struct benchmark
{
    benchmark(const char* name, void (*run)(session&));
};

}

#endif
