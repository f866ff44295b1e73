// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

// A histogram of durations against all of them, sorted.

#include <timewheel/stats.hpp>

#include <test_common/random_source.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace timewheel::test {

namespace {

using std::chrono::nanoseconds;
using namespace std::chrono_literals;

constexpr double shares[] = {0.0, 0.001, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99, 0.999, 1.0};

// The smallest span that is not exceeded by the share.
nanoseconds true_percentile(const std::vector<nanoseconds>& sorted, double share)
{
    const auto rank =
        static_cast<std::size_t>(std::ceil(share * static_cast<double>(sorted.size())));
    return sorted[(std::max)(rank, std::size_t{1}) - 1];
}

void check_against(std::vector<nanoseconds> all)
{
    duration_histogram h;
    nanoseconds sum{};
    for (const nanoseconds each : all)
        h.record(each);
    for (nanoseconds& each : all)
        each = (std::max)(each, 0ns);
    std::sort(all.begin(), all.end());
    BOOST_TEST(h.count() == all.size());
    BOOST_TEST((h.longest() == all.back()));
    for (const nanoseconds each : all)
        sum += each;
    BOOST_TEST((h.sum() == sum));
    for (const double share : shares) {
        const nanoseconds exact = true_percentile(all, share);
        const nanoseconds told = h.percentile(share);
        BOOST_TEST_CONTEXT(
            share << " of " << all.size() << ": " << told.count() << " for " << exact.count()
        )
        {
            BOOST_TEST((told >= exact));
            BOOST_TEST((told - exact <= exact / 8));
            BOOST_TEST((told <= h.longest()));
        }
    }
    for (const nanoseconds each : all) {
        const auto up_to = static_cast<std::uint64_t>(
            std::upper_bound(all.begin(), all.end(), each) - all.begin()
        );
        // What is not counted is in a part that reaches beyond it.
        const nanoseconds below = each - each / 8 - 1ns;
        const auto surely = static_cast<std::uint64_t>(
            std::lower_bound(all.begin(), all.end(), below) - all.begin()
        );
        BOOST_TEST(h.count_up_to(each) <= up_to);
        BOOST_TEST(h.count_up_to(each) >= surely);
    }
}

}

BOOST_AUTO_TEST_SUITE(stats)

BOOST_AUTO_TEST_CASE(an_empty_histogram)
{
    const duration_histogram h;
    BOOST_TEST(h.count() == 0u);
    BOOST_TEST((h.longest() == 0ns));
    BOOST_TEST((h.sum() == 0ns));
    BOOST_TEST((h.percentile(0.5) == 0ns));
    BOOST_TEST((h.percentile(1.0) == 0ns));
    BOOST_TEST(h.count_up_to(1h) == 0u);
}

BOOST_AUTO_TEST_CASE(one_span_is_every_percentile)
{
    for (const auto span :
         {0ns, 1ns, 7ns, 8ns, 15ns, 16ns, 17ns, 1'000'000'007ns, nanoseconds::max()}) {
        duration_histogram h;
        h.record(span);
        for (const double share : shares)
            BOOST_TEST((h.percentile(share) == span));
        BOOST_TEST(h.count_up_to(span) == 1u);
        if (span > 0ns)
            BOOST_TEST(h.count_up_to(span - 1ns) == 0u);
        BOOST_TEST(h.count_up_to(nanoseconds::max()) == 1u);
        BOOST_TEST(h.count_up_to(-1ns) == 0u);
    }
}

BOOST_AUTO_TEST_CASE(what_is_negative_counts_as_zero)
{
    duration_histogram h;
    h.record(-1ns);
    h.record(nanoseconds::min());
    BOOST_TEST(h.count() == 2u);
    BOOST_TEST((h.longest() == 0ns));
    BOOST_TEST((h.sum() == 0ns));
    BOOST_TEST(h.count_up_to(0ns) == 2u);
}

BOOST_AUTO_TEST_CASE(shares_out_of_range_count_as_the_nearest)
{
    duration_histogram h;
    h.record(1ns);
    h.record(5ns);
    BOOST_TEST((h.percentile(-1.0) == 1ns));
    BOOST_TEST((h.percentile(2.0) == 5ns));
    BOOST_TEST((h.percentile(std::numeric_limits<double>::infinity()) == 5ns));
    BOOST_TEST((h.percentile(-std::numeric_limits<double>::infinity()) == 1ns));
    BOOST_TEST((h.percentile(std::numeric_limits<double>::quiet_NaN()) == 1ns));
    BOOST_TEST((h.percentile(0.5) == 1ns));
    BOOST_TEST((h.percentile(0.500001) == 5ns));
}

// Each part begins where the one before it ends: exact at every boundary.
BOOST_AUTO_TEST_CASE(boundaries_of_parts)
{
    for (unsigned power = 0; power != 63; ++power) {
        for (std::uint64_t eighth = 8; eighth != 16; ++eighth) {
            const std::uint64_t begin =
                power < 3 ? std::uint64_t{1} << power : eighth << (power - 3);
            duration_histogram h;
            h.record(nanoseconds(static_cast<std::int64_t>(begin - 1)));
            h.record(nanoseconds(static_cast<std::int64_t>(begin)));
            BOOST_TEST((h.percentile(0.5) == nanoseconds(static_cast<std::int64_t>(begin - 1))));
            BOOST_TEST((h.percentile(1.0) == nanoseconds(static_cast<std::int64_t>(begin))));
            BOOST_TEST(h.count_up_to(nanoseconds(static_cast<std::int64_t>(begin - 1))) == 1u);
        }
    }
}

BOOST_AUTO_TEST_CASE(against_a_sorted_vector)
{
    random_source random(test_seed("stats"));
    for (const std::size_t n : {1u, 2u, 3u, 10u, 100u, 1000u}) {
        for (int i = 0; i != 20; ++i) {
            std::vector<nanoseconds> all(n);
            const std::uint64_t range = 1 + random.any_magnitude() % 1'000'000'000'000'000;
            for (nanoseconds& each : all)
                each = nanoseconds(static_cast<std::int64_t>(random.below(range))) -
                       (random.one_in(9) ? 3ns : 0ns);
            check_against(std::move(all));
        }
    }
}

BOOST_AUTO_TEST_SUITE_END()

}
