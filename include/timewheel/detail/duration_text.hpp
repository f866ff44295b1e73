// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#ifndef TIMEWHEEL_DETAIL_DURATION_TEXT_HPP
#define TIMEWHEEL_DETAIL_DURATION_TEXT_HPP

#include <chrono>
#include <ratio>
#include <string>
#include <type_traits>

namespace timewheel::detail {

// A duration as people write it, for messages: "-5 ms".
template <class Rep, class Period>
std::string duration_text(const std::chrono::duration<Rep, Period>& value)
{
    using unit = typename Period::type;
    const std::string count = std::to_string(value.count());
    if constexpr (std::is_same_v<unit, std::nano>)
        return count + " ns";
    else if constexpr (std::is_same_v<unit, std::micro>)
        return count + " us";
    else if constexpr (std::is_same_v<unit, std::milli>)
        return count + " ms";
    else if constexpr (std::is_same_v<unit, std::ratio<1>>)
        return count + " s";
    else if constexpr (std::is_same_v<unit, std::ratio<60>>)
        return count + " min";
    else if constexpr (std::is_same_v<unit, std::ratio<3600>>)
        return count + " h";
    else
        return count + " * " + std::to_string(unit::num) + '/' + std::to_string(unit::den) + " s";
}

}

#endif
