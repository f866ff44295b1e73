// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#ifndef TIMEWHEEL_EXAMPLE_WHEEL_SERVICE_TASK_HPP
#define TIMEWHEEL_EXAMPLE_WHEEL_SERVICE_TASK_HPP

#include <timewheel/job.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace wheel_service {

using clock = std::chrono::steady_clock;

enum class task_state : std::uint8_t
{
    waiting,
    running,
    completed,
    failed,
    cancelled,
    timed_out,
    dropped
};

inline constexpr std::array<std::string_view, 7>
    state_names{"waiting", "running", "completed", "failed", "cancelled", "timed_out", "dropped"};

constexpr std::string_view to_string(task_state state)
{
    return state_names[static_cast<std::size_t>(state)];
}

constexpr std::optional<task_state> to_state(std::string_view name)
{
    for (std::size_t i = 0; i != state_names.size(); ++i) {
        if (state_names[i] == name)
            return static_cast<task_state>(i);
    }
    return std::nullopt;
}

constexpr bool is_final(task_state state)
{
    return state != task_state::waiting && state != task_state::running;
}

using task_id = std::uint64_t;

/// A task as the API shows it.
struct task
{
    task_id id = 0;
    std::string type;
    task_state state = task_state::waiting;
    std::chrono::milliseconds delay{};
    std::optional<std::chrono::milliseconds> repeat;
    std::string schedule; // the key, if a schedule made it
    clock::time_point created{};
    clock::time_point due{};
    std::optional<clock::time_point> started;
    std::optional<clock::time_point> finished;
    std::optional<clock::duration> duration; // of the last run
    std::uint64_t runs = 0;
    std::string error;
    timewheel::timer_id timer = timewheel::timer_id::none;
};

}

#endif
