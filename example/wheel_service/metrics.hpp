// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#ifndef TIMEWHEEL_EXAMPLE_WHEEL_SERVICE_METRICS_HPP
#define TIMEWHEEL_EXAMPLE_WHEEL_SERVICE_METRICS_HPP

#include "task_service.hpp"

#include <cstddef>
#include <cstdint>
#include <string>

namespace wheel_service {

/// The counters in Prometheus' text format.
std::string
metrics_text(const task_service& tasks, std::size_t connections, std::uint64_t requests);

}

#endif
