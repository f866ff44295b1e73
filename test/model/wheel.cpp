// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

// The wheel against sorted containers, in random operations. TIMEWHEEL_SEED repeats a run,
// TIMEWHEEL_OPERATIONS makes it longer.

#include <timewheel/detail/hierarchical_wheel.hpp>

#include "wheel_run.hpp"

#include <boost/test/unit_test.hpp>

#include <test_common/random_source.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <sstream>
#include <string>
#include <vector>

namespace {

using namespace timewheel::test;

// What a run starts from; the operations come on top.
struct start
{
    tick_type now;
    std::size_t nodes;
};

constexpr tick_type half = tick_type{1} << 63;
constexpr std::array<tick_type, 15> interesting_starts{
    0,
    1,
    200,
    255,
    256,
    65535,
    (tick_type{1} << 24) - 2,
    (tick_type{1} << 32) - 1,
    tick_type{1} << 32,
    half - 300,
    half - 1,
    half,
    half + 1,
    wheel::never - 70000,
    wheel::never - 300,
};

template <class Value>
struct weighted
{
    unsigned weight;
    Value value;
};

template <class Value>
Value draw(random_source& random, std::span<const weighted<Value>> table)
{
    unsigned sum = 0;
    for (const auto& row : table)
        sum += row.weight;
    auto left = random.below(sum);
    for (const auto& row : table) {
        if (left < row.weight)
            return row.value;
        left -= row.weight;
    }
    return table.front().value;
}

using actions_table = std::span<const weighted<action>>;
using aims_table = std::span<const weighted<aim>>;

constexpr auto everything = std::to_array<weighted<action>>({
    {30, action::insert},
    {6, action::remove},
    {16, action::reschedule},
    {4, action::replace},
    {14, action::expire},
    {20, action::resume},
    {2, action::rewind},
    {1, action::take_all},
});
// Nothing that makes next_wakeup() inexact.
constexpr auto only_filing = std::to_array<weighted<action>>({
    {40, action::add},
    {4, action::replace},
    {14, action::expire},
    {20, action::resume},
    {1, action::rewind},
});
constexpr auto idle_timeouts = std::to_array<weighted<action>>({
    {5, action::insert},
    {60, action::reschedule},
    {20, action::expire},
    {15, action::resume},
});

constexpr auto any_aim = std::to_array<weighted<aim>>({
    {10, aim::close},
    {14, aim::near},
    {20, aim::boundary},
    {12, aim::magnitude},
    {6, aim::past},
    {16, aim::equal},
    {2, aim::top},
    {2, aim::never},
    {1, aim::bottom},
    {10, aim::clock},
});
// Stays in the lowest levels, where most slots are refiled.
constexpr auto low_aim = std::to_array<weighted<aim>>({
    {20, aim::close},
    {30, aim::near},
    {10, aim::past},
    {30, aim::equal},
    {10, aim::clock},
});

std::vector<operation> generate(random_source& random, std::size_t size)
{
    const actions_table what = random.any_of(
        std::array<actions_table, 4>{everything, everything, only_filing, idle_timeouts}
    );
    const aims_table at = random.one_in(2) ? aims_table(any_aim) : aims_table(low_aim);
    const bool nesting = !random.one_in(4);
    std::vector<operation> operations(size);
    for (operation& op : operations) {
        op.what = draw(random, what);
        op.at = draw(random, at);
        op.nested = nesting && random.one_in(3);
        op.node = static_cast<std::uint8_t>(random.bits());
        op.other = static_cast<std::uint8_t>(random.bits());
        op.value = random.bits();
        // Time goes in small steps, or a run would be over after a few jumps.
        if (op.what == action::expire && op.at == aim::magnitude && !random.one_in(8))
            op.other = static_cast<std::uint8_t>(40 + random.below(24));
        if (op.what == action::expire && op.at == aim::boundary && !random.one_in(8))
            op.value = op.value / 8 * 8 + random.below(3);
        if (op.what == action::expire && (op.at == aim::top || op.at == aim::never))
            op.at = random.one_in(8) ? op.at : aim::near;
    }
    return operations;
}

std::optional<std::string>
failure_of(start from, std::span<const operation> operations, bool thorough)
{
    try {
        wheel_run run(from.now, from.nodes);
        if (thorough)
            run.check_thoroughly();
        run.run(operations);
        return std::nullopt;
    } catch (const model_failure& failure) {
        return failure.what();
    }
}

// Leaves out halves, quarters and so on as long as the rest fails; again when that helped.
std::vector<operation> shrink(start from, std::vector<operation> operations)
{
    std::size_t before = 0;
    do {
        before = operations.size();
        for (std::size_t piece = before; piece != 0; piece /= 2) {
            for (std::size_t first = 0; first < operations.size();) {
                const auto begin = operations.begin() + static_cast<std::ptrdiff_t>(first);
                const std::size_t last = (std::min)(first + piece, operations.size());
                const auto end = operations.begin() + static_cast<std::ptrdiff_t>(last);
                std::vector<operation> rest(operations.begin(), begin);
                rest.insert(rest.end(), end, operations.end());
                if (failure_of(from, rest, true))
                    operations = rest;
                else
                    first = last;
            }
        }
    } while (operations.size() != before);
    return operations;
}

// Returns whether the run was good.
bool run_and_report(start from, const std::vector<operation>& operations, std::uint64_t seed)
{
    const auto failure = failure_of(from, operations, false);
    if (!failure)
        return true;
    const auto shortest = shrink(from, operations);
    std::ostringstream report;
    report << *failure << "\n  TIMEWHEEL_SEED=" << seed << "; shortened, "
           << failure_of(from, shortest, true).value_or("but that does not fail") << ", from "
           << from.now << " with " << from.nodes << " nodes:\n";
    for (const operation& op : shortest)
        report << op << '\n';
    BOOST_ERROR(report.str());
    return false;
}

start draw_start(random_source& random)
{
    const tick_type now =
        random.one_in(4) ? random.any_magnitude() : random.any_of(interesting_starts);
    const std::size_t nodes = std::array<std::size_t, 4>{3, 8, 40, 250}[random.below(4)];
    return {(std::min)(now, wheel::never - 1), nodes};
}

BOOST_AUTO_TEST_SUITE(wheel_model)

BOOST_AUTO_TEST_CASE(random_operations_agree_with_sorted_reference)
{
    const std::uint64_t seed = test_seed("wheel_model");
    random_source random(seed);
    const std::uint64_t operations = number_from_environment("TIMEWHEEL_OPERATIONS", 3'000'000);
    for (std::uint64_t done = 0; done < operations;) {
        const start from = draw_start(random);
        const auto list = generate(random, 20 + random.below(50 * from.nodes));
        done += list.size();
        if (!run_and_report(from, list, seed))
            return;
    }
}

BOOST_AUTO_TEST_SUITE_END()

}
