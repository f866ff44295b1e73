// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#ifndef TIMEWHEEL_TEST_MODEL_WHEEL_OPERATIONS_HPP
#define TIMEWHEEL_TEST_MODEL_WHEEL_OPERATIONS_HPP

#include <timewheel/detail/hierarchical_wheel.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <ostream>
#include <span>
#include <vector>

namespace timewheel::test {

using detail::tick_type;
using wheel = detail::hierarchical_wheel;

enum class action : std::uint8_t
{
    insert, // first removes the node if it is filed
    add,    // does nothing if it is filed
    remove,
    reschedule,
    replace,
    expire,
    resume, // expire() once more with the same now
    rewind,
    take_all,
};
constexpr std::uint8_t actions = 9;

// How an operation gets its tick from `value`.
enum class aim : std::uint8_t
{
    close,     // within four ticks of the wheel
    near,      // within a bit more than a rotation of the lowest level
    boundary,  // around a boundary of some level
    magnitude, // any distance
    past,      // before the wheel
    equal,     // the tick of another node
    top,       // around the end of the range
    never,     // no time at all
    bottom,    // around the beginning of the range
    clock,     // close to the target of the last expire(), which the wheel may not have reached
};
constexpr std::uint8_t aims = 10;

// Refers to nothing by address and says ticks relative to the state it meets, so that any selection
// of a list of operations is a list of operations.
struct operation
{
    action what = action::insert;
    aim at = aim::close;
    bool nested = false; // done by the next callback, if there is one before the next operation
    std::uint8_t node = 0;
    std::uint8_t other = 0;
    std::uint64_t value = 0;
};

constexpr std::array<std::size_t, 16> batch_sizes{
    1,
    2,
    3,
    4,
    5,
    6,
    7,
    8,
    16,
    17,
    64,
    255,
    1000,
    1000,
    1000,
    1000,
};

inline std::size_t batch_size(const operation& op) noexcept
{
    return batch_sizes[op.other % batch_sizes.size()];
}

// Eleven bytes are an operation, whatever they are.
inline std::vector<operation> decode(std::span<const std::uint8_t> bytes)
{
    constexpr std::size_t size = 11;
    std::vector<operation> operations;
    for (; bytes.size() >= size; bytes = bytes.subspan(size)) {
        operation op;
        op.what = static_cast<action>(bytes[0] % actions);
        op.nested = bytes[0] >= 128;
        op.at = static_cast<aim>(bytes[1] % aims);
        op.other = static_cast<std::uint8_t>(bytes[1] / aims);
        op.node = bytes[2];
        for (std::size_t i = 3; i != size; ++i)
            op.value = op.value << 8 | bytes[i];
        operations.push_back(op);
    }
    return operations;
}

inline std::ostream& operator<<(std::ostream& out, const operation& op)
{
    constexpr std::array<const char*, actions> what{
        "insert",
        "add",
        "remove",
        "reschedule",
        "replace",
        "expire",
        "resume",
        "rewind",
        "take_all",
    };
    constexpr std::array<const char*, aims> at{
        "close",
        "near",
        "boundary",
        "magnitude",
        "past",
        "equal",
        "top",
        "never",
        "bottom",
        "clock",
    };
    return out << (op.nested ? "    nested " : "    ") << what[static_cast<std::size_t>(op.what)]
               << " node=" << unsigned{op.node} << " other=" << unsigned{op.other} << " at "
               << at[static_cast<std::size_t>(op.at)] << ' ' << op.value;
}

}

#endif
