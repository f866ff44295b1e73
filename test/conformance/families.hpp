// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#ifndef TIMEWHEEL_TEST_CONFORMANCE_FAMILIES_HPP
#define TIMEWHEEL_TEST_CONFORMANCE_FAMILIES_HPP

/** @file
    The timers that every conformance case runs on: Asio's, which shows that the case asks for what
    Asio does, and ours, which shows that replacing one by the other goes unnoticed. A case where
    ours promises more asks `Family::is_ours`.
*/

#include <timewheel/basic_waitable_timer.hpp>
#include <timewheel/config.hpp>
#include <timewheel/high_resolution_timer.hpp>
#include <timewheel/steady_timer.hpp>
#include <timewheel/system_timer.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/basic_waitable_timer.hpp>
#include <boost/asio/high_resolution_timer.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/system_timer.hpp>
#include <boost/asio/wait_traits.hpp>

#include <tuple>

namespace timewheel::test {

struct asio_family
{
    static constexpr bool is_ours = false;

    template <
        class Clock,
        class WaitTraits = asio::wait_traits<Clock>,
        class Executor = asio::any_io_executor>
    using basic = asio::basic_waitable_timer<Clock, WaitTraits, Executor>;

    using steady = asio::steady_timer;
    using system = asio::system_timer;
    using high_resolution = asio::high_resolution_timer;
};

struct wheel_family
{
    static constexpr bool is_ours = true;

    template <
        class Clock,
        class WaitTraits = asio::wait_traits<Clock>,
        class Executor = asio::any_io_executor>
    using basic = basic_waitable_timer<Clock, WaitTraits, Executor>;

    using steady = steady_timer;
    using system = system_timer;
    using high_resolution = high_resolution_timer;
};

using families = std::tuple<asio_family, wheel_family>;

}

#endif
