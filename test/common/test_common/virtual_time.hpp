// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#ifndef TIMEWHEEL_TEST_COMMON_VIRTUAL_TIME_HPP
#define TIMEWHEEL_TEST_COMMON_VIRTUAL_TIME_HPP

/** @file
    Timers on a clock that the test moves. A test case declares a type of its own as the tag, so
    that it begins at the epoch and meets no other case.
*/

#include <timewheel/basic_waitable_timer.hpp>
#include <timewheel/manual_clock.hpp>
#include <timewheel/wheel_service.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/execution_context.hpp>
#include <boost/asio/wait_traits.hpp>
#include <boost/test/unit_test.hpp>

#include <chrono>

namespace timewheel::test {

using namespace std::chrono_literals;

template <class Tag, class Executor = asio::any_io_executor>
using virtual_timer =
    basic_waitable_timer<manual_clock<Tag>, asio::wait_traits<manual_clock<Tag>>, Executor>;

/// The service of a timer type on a context.
template <class Timer>
using service_for = basic_wheel_service<typename Timer::clock_type, typename Timer::traits_type>;

template <class Timer>
service_for<Timer>& service_of(asio::execution_context& context)
{
    return asio::use_service<service_for<Timer>>(context);
}

/// Checks that the counters of a service account for each wait that was started, and returns them.
template <class Timer>
wheel_service_stats checked_stats(asio::execution_context& context, std::uint64_t started)
{
    const wheel_service_stats stats = service_of<Timer>(context).stats();
    BOOST_TEST(stats.pending + stats.fired + stats.cancelled == started);
    return stats;
}

}

#endif
