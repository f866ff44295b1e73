// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#ifndef TIMEWHEEL_TEST_COMMON_CANCELLATION_TYPES_HPP
#define TIMEWHEEL_TEST_COMMON_CANCELLATION_TYPES_HPP

/** @file
    Every kind of cancellation request an operation can meet: the named types, their combinations,
    nothing at all, and bits that mean nothing today.
*/

#include <boost/asio/cancellation_type.hpp>

#include <array>

namespace timewheel::test {

/// A request and whether an operation that supports terminal, partial and total must obey it.
struct cancellation_case
{
    const char* name;
    boost::asio::cancellation_type type;
    bool cancels;
};

inline constexpr auto cancellation_bits(unsigned bits)
{
    return static_cast<boost::asio::cancellation_type>(bits);
}

inline constexpr std::array<cancellation_case, 12> cancellation_cases{{
    {"none", cancellation_bits(0), false},
    {"terminal", cancellation_bits(1), true},
    {"partial", cancellation_bits(2), true},
    {"terminal | partial", cancellation_bits(3), true},
    {"total", cancellation_bits(4), true},
    {"terminal | total", cancellation_bits(5), true},
    {"partial | total", cancellation_bits(6), true},
    {"terminal | partial | total", cancellation_bits(7), true},
    {"an unknown bit", cancellation_bits(8), false},
    {"all unknown bits", cancellation_bits(0xFFFF'FFF8U), false},
    {"an unknown bit | total", cancellation_bits(12), true},
    {"all", boost::asio::cancellation_type::all, true},
}};

}

#endif
