// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#include "bench.hpp"

#include <boost/version.hpp>

#include <algorithm>
#include <ctime>
#include <exception>
#include <iostream>
#include <map>
#include <string_view>

namespace timewheel::bench {

namespace {

std::map<std::string, void (*)(session&)>& benchmarks()
{
    static std::map<std::string, void (*)(session&)> all;
    return all;
}

int usage()
{
    std::cout << "usage: timewheel_bench [--quick] [--largest N] [--rounds N] [BENCHMARK]...\n\n"
                 "Prints one JSON object for each subject of each benchmark.\n\n"
                 "  --quick      short samples, and few of them\n"
                 "  --largest N  no more than N timers pending\n"
                 "  --rounds N   so many samples of each subject (default: 7)\n\nbenchmarks:";
    for (const auto& entry : benchmarks())
        std::cout << ' ' << entry.first;
    std::cout << '\n';
    return 0;
}

int run(session& session, const std::vector<std::string>& names)
{
    std::cout << "{\"compiler\": \"" << TIMEWHEEL_BENCH_COMPILER << "\", \"boost\": \""
              << BOOST_VERSION / 100'000 << '.' << BOOST_VERSION / 100 % 1000 << '.'
              << BOOST_VERSION % 100 << "\"}" << std::endl;
    int status = 0;
    for (const std::string& name : names) {
        try {
            benchmarks().at(name)(session);
        } catch (const std::exception& error) {
            std::cerr << "benchmark " << name << " failed: " << error.what() << '\n';
            status = 1;
        }
    }
    return status;
}

}

std::chrono::nanoseconds thread_cpu_time()
{
    timespec time{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

benchmark::benchmark(const char* name, void (*run)(session&))
{
    benchmarks().emplace(name, run);
}

std::vector<std::size_t> session::sizes(std::vector<std::size_t> all) const
{
    std::erase_if(all, [&](std::size_t n) { return n > largest; });
    return all;
}

void session::compare(
    const std::string& workload,
    std::size_t n,
    const std::vector<subject>& subjects
)
{
    for (const subject& subject : subjects)
        subject.sample();
    compare_fresh(workload, n, subjects);
}

void session::compare_fresh(
    const std::string& workload,
    std::size_t n,
    const std::vector<subject>& subjects
)
{
    std::vector<std::vector<double>> samples(subjects.size());
    for (std::size_t round = 0; round != rounds; ++round) {
        for (std::size_t i = 0; i != subjects.size(); ++i) {
            // Back and forth, so that nobody always comes after the same one.
            const std::size_t turn = round % 2 == 0 ? i : subjects.size() - 1 - i;
            samples[turn].push_back(subjects[turn].sample());
        }
    }
    for (std::size_t i = 0; i != subjects.size(); ++i)
        record(workload, n, "ns", subjects[i].name, samples[i]);
}

void session::record(
    const std::string& workload,
    std::size_t n,
    const std::string& unit,
    const std::string& subject,
    const std::vector<double>& samples
)
{
    std::cout << "{\"workload\": \"" << workload << "\", \"n\": " << n << ", \"unit\": \"" << unit
              << "\", \"subject\": \"" << subject << "\", \"samples\": [";
    const char* separator = "";
    for (const double sample : samples) {
        std::cout << separator << sample;
        separator = ", ";
    }
    std::cout << "]}" << std::endl;
}

}

int main(int argc, char* argv[])
{
    using namespace timewheel::bench;

    session session;
    std::vector<std::string> names;
    for (int i = 1; i != argc; ++i) {
        const std::string_view argument = argv[i];
        const auto number = [&]() -> std::size_t { return ++i == argc ? 0 : std::stoul(argv[i]); };
        if (argument == "--help" || argument == "-h")
            return usage();
        if (argument == "--quick") {
            session.quick = true;
            session.rounds = 5;
            session.budget = 20ms;
        } else if (argument == "--largest") {
            session.largest = number();
        } else if (argument == "--rounds") {
            session.rounds = number();
        } else if (benchmarks().contains(argv[i])) {
            names.emplace_back(argument);
        } else {
            std::cerr << "unknown argument '" << argument << "' (see --help)\n";
            return 2;
        }
    }
    if (names.empty())
        for (const auto& entry : benchmarks())
            names.push_back(entry.first);
    return run(session, names);
}
