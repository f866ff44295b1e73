// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#ifndef TIMEWHEEL_EXAMPLE_COMMON_TEXT_HPP
#define TIMEWHEEL_EXAMPLE_COMMON_TEXT_HPP

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>

namespace example {

/// 1234567 as "1 234 567".
inline std::string grouped(std::uint64_t number)
{
    std::string text = std::to_string(number);
    for (std::size_t end = text.size(); end > 3; end -= 3)
        text.insert(end - 3, 1, ' ');
    return text;
}

/// A span in milliseconds as "0.52", shorter as it grows.
inline std::string milliseconds(std::chrono::nanoseconds span)
{
    const double value = std::chrono::duration<double, std::milli>(span).count();
    char text[32];
    std::snprintf(text, sizeof text, "%.*f", value < 100 ? 2 : 0, value);
    return text;
}

}

#endif
