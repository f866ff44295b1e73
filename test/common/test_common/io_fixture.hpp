// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#ifndef TIMEWHEEL_TEST_COMMON_IO_FIXTURE_HPP
#define TIMEWHEEL_TEST_COMMON_IO_FIXTURE_HPP

/** @file
    An `io_context` that must be idle when its test case ends.
*/

#include <test_common/run.hpp>

#include <boost/asio/io_context.hpp>
#include <boost/test/unit_test.hpp>

#include <exception>

namespace timewheel::test {

/** A fixture with one context. A test case that ends with an operation still pending, or with work
    that nobody gave back, fails: `run()` would hang in a program that made the same mistake.

    A case that wants pending operations to meet the destructor says so with `leave_pending()`.
*/
class io_fixture
{
public:
    io_fixture() = default;
    io_fixture(const io_fixture&) = delete;
    io_fixture& operator=(const io_fixture&) = delete;

    ~io_fixture()
    {
        if (pending_allowed_ || std::uncaught_exceptions() != 0)
            return;
        ctx.restart();
        poll_until_quiet(ctx);
        BOOST_TEST(ctx.stopped(), "the context still has outstanding work at the end of the test");
    }

    void leave_pending() { pending_allowed_ = true; }

    asio::io_context ctx;

private:
    bool pending_allowed_ = false;
};

}

#endif
