// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#ifndef TIMEWHEEL_STEADY_TIMER_HPP
#define TIMEWHEEL_STEADY_TIMER_HPP

#include <timewheel/basic_waitable_timer.hpp>

#include <chrono>

namespace timewheel {

/// A timer by the steady clock, in place of `boost::asio::steady_timer`.
using steady_timer = basic_waitable_timer<std::chrono::steady_clock>;

}

#endif
