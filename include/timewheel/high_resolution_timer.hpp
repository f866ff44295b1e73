// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#ifndef TIMEWHEEL_HIGH_RESOLUTION_TIMER_HPP
#define TIMEWHEEL_HIGH_RESOLUTION_TIMER_HPP

#include <timewheel/basic_waitable_timer.hpp>

#include <chrono>

namespace timewheel {

/// A timer by the clock with the finest resolution, in place of `boost::asio::high_resolution_timer`.
using high_resolution_timer = basic_waitable_timer<std::chrono::high_resolution_clock>;

}

#endif
