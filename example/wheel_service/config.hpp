// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#ifndef TIMEWHEEL_EXAMPLE_WHEEL_SERVICE_CONFIG_HPP
#define TIMEWHEEL_EXAMPLE_WHEEL_SERVICE_CONFIG_HPP

#include <timewheel/job.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace wheel_service {

/// What can be set, by a file, the environment and the command line, under the same names.
struct config
{
    std::string address = "127.0.0.1";
    std::uint16_t port = 8081;
    std::chrono::milliseconds tick_duration{100};
    std::size_t worker_threads = 4;
    bool enable_metrics = true;
    std::chrono::milliseconds task_timeout{30'000};
    std::size_t queue_size = 1024;
    timewheel::backpressure queue_policy = timewheel::backpressure::block;
    std::size_t max_tasks = 1'000'000;
    std::size_t max_batch = 100'000;
    std::size_t history_size = 10'000;
    std::size_t max_schedules = 10'000;
    std::size_t body_limit = 64 * 1024;
    std::size_t header_limit = 8 * 1024;
    std::size_t max_connections = 2'000;
    std::chrono::milliseconds idle_timeout{60'000};
    std::chrono::milliseconds request_timeout{10'000};
    std::chrono::milliseconds shutdown_timeout{5'000};
    std::vector<std::string> allowed_origins;
};

/// A setting is wrong; the message names its key and value, and what is allowed.
struct bad_setting : std::runtime_error
{
    using std::runtime_error::runtime_error;
};

/// The settings of this run, or nothing when the user asked for help and got it. The command line
/// wins over the environment, which wins over the file.
std::optional<config> read_config(int argc, char* argv[]);

}

#endif
