// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#ifndef TIMEWHEEL_DETAIL_REJECTED_OPTION_HPP
#define TIMEWHEEL_DETAIL_REJECTED_OPTION_HPP

#include <timewheel/detail/duration_text.hpp>

#include <stdexcept>
#include <string>

namespace timewheel::detail {

inline std::invalid_argument rejected_option(
    const std::string& name,
    const std::string& owner,
    const std::string& value,
    const std::string& allowed
)
{
    return std::invalid_argument(
        "timewheel: " + name + " of a " + owner + " is " + value + ", but must be " + allowed
    );
}

template <class Duration>
void check_positive(const char* name, const char* owner, const Duration& value)
{
    if (!(value > Duration::zero())) // also for a NaN
        throw rejected_option(name, owner, duration_text(value), "positive");
}

}

#endif
