// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#ifndef TIMEWHEEL_EXAMPLE_WHEEL_SERVICE_JSON_TEXT_HPP
#define TIMEWHEEL_EXAMPLE_WHEEL_SERVICE_JSON_TEXT_HPP

#include "task.hpp"
#include "task_service.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

namespace wheel_service {

boost::json::object to_json(const task& shown, clock::time_point now);
boost::json::object to_json(const task_service::schedule_snapshot& shown);
boost::json::object stats_to_json(const task_service& tasks);
boost::json::object execution_stats_to_json(const task_service& tasks);

/// How many tasks are in each slot of the three lowest levels of the wheel, and where it is there.
boost::json::object rings_to_json(const task_service& tasks, clock::time_point now);

}

#endif
