// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#ifndef TIMEWHEEL_CONFIG_HPP
#define TIMEWHEEL_CONFIG_HPP

#if (defined(_MSVC_LANG) ? _MSVC_LANG : __cplusplus) < 202002L
#error "timewheel needs C++20: compile with -std=c++20 or later"
#else

#include <boost/asio/version.hpp>
#include <boost/system/error_code.hpp>

#if BOOST_ASIO_VERSION < 102600
#error "timewheel needs Boost 1.81 or later (Asio 1.26.0, BOOST_ASIO_VERSION 102600)"
#endif

// Whether to tell the address sanitizer which memory is kept for later.
#if defined(__SANITIZE_ADDRESS__)
#define TIMEWHEEL_ADDRESS_SANITIZER
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TIMEWHEEL_ADDRESS_SANITIZER
#endif
#endif

namespace boost::asio {}

/** @brief Timers, timeouts and scheduled jobs for Boost.Asio on one hierarchical timing wheel per
    execution context.
*/
namespace timewheel {

// Asio as this library sees it: the only place where its namespace is spelled.
namespace asio = boost::asio;

/// The error code type of every operation and of every overload that does not throw.
using error_code = boost::system::error_code;

}

#endif

#endif
