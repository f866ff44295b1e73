// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#ifndef TIMEWHEEL_EXAMPLE_WHEEL_SERVICE_SAMPLE_JOBS_HPP
#define TIMEWHEEL_EXAMPLE_WHEEL_SERVICE_SAMPLE_JOBS_HPP

#include <timewheel/job.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/system/error_code.hpp>

#include <array>
#include <string>
#include <string_view>

namespace wheel_service {

inline constexpr std::array<std::string_view, 5>
    sample_types{"simple", "slow", "cpu", "failing", "hanging"};

/// Does what the name of the type says; it must be one of those above.
boost::asio::awaitable<boost::system::error_code> run_sample(std::string type);

}

#endif
