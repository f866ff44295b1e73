// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#ifndef TIMEWHEEL_TEST_COMMON_REPORT_HPP
#define TIMEWHEEL_TEST_COMMON_REPORT_HPP

/** @file
    Failures found by an object far from the line that caused them: a handler that is destroyed
    uninvoked knows who created it, and that is the line a reader wants to see.
*/

#include <boost/assert/source_location.hpp>
#include <boost/test/unit_test.hpp>

#include <mutex>
#include <string_view>

namespace timewheel::test {

/// Fails the running test case and names `where`. May be called from any thread.
inline void report_failure(const boost::source_location& where, std::string_view what)
{
    static std::mutex one_at_a_time;
    const std::lock_guard lock{one_at_a_time};
    BOOST_ERROR("asked for at " << where.file_name() << ":" << where.line() << ": " << what);
}

}

#endif
