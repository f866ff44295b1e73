// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#ifndef TIMEWHEEL_HPP
#define TIMEWHEEL_HPP

#include <timewheel/after.hpp>
#include <timewheel/basic_waitable_timer.hpp>
#include <timewheel/calendar.hpp>
#include <timewheel/cancel_after.hpp>
#include <timewheel/config.hpp>
#include <timewheel/cron_error.hpp>
#include <timewheel/default_completion_token.hpp>
#include <timewheel/error.hpp>
#include <timewheel/high_resolution_timer.hpp>
#include <timewheel/idle_timer.hpp>
#include <timewheel/job.hpp>
#include <timewheel/keyed_item.hpp>
#include <timewheel/keyed_job.hpp>
#include <timewheel/keyed_scheduler.hpp>
#include <timewheel/keyed_scheduler_options.hpp>
#include <timewheel/manual_clock.hpp>
#include <timewheel/repeat.hpp>
#include <timewheel/repeating_timer.hpp>
#include <timewheel/retry.hpp>
#include <timewheel/sleep.hpp>
#include <timewheel/stats.hpp>
#include <timewheel/steady_timer.hpp>
#include <timewheel/system_timer.hpp>
#include <timewheel/version.hpp>
#include <timewheel/wheel.hpp>
#include <timewheel/wheel_options.hpp>
#include <timewheel/wheel_service.hpp>

#endif
