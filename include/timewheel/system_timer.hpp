// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#ifndef TIMEWHEEL_SYSTEM_TIMER_HPP
#define TIMEWHEEL_SYSTEM_TIMER_HPP

#include <timewheel/basic_waitable_timer.hpp>

#include <chrono>

namespace timewheel {

/// A timer by the wall clock, in place of `boost::asio::system_timer`.
using system_timer = basic_waitable_timer<std::chrono::system_clock>;

}

#endif
