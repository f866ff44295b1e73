// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#ifndef TIMEWHEEL_TEST_COMMON_RETRY_FIXTURE_HPP
#define TIMEWHEEL_TEST_COMMON_RETRY_FIXTURE_HPP

/** @file
    An operation that fails as often as a test wants, for the tests of `async_retry`.
*/

#include <timewheel/retry.hpp>

#include <test_common/io_fixture.hpp>
#include <test_common/run.hpp>
#include <test_common/virtual_time.hpp>

#include <boost/asio/append.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/post.hpp>

#include <chrono>
#include <optional>
#include <utility>
#include <vector>

namespace timewheel::test {

// Error codes that are not Asio's, numbered from 1.
inline error_code error_number(int n)
{
    return {n, boost::system::generic_category()};
}

template <class Tag>
struct retry_fixture : io_fixture
{
    using clock = manual_clock<Tag>;
    using timer = basic_waitable_timer<clock>;
    using backoff_type = basic_exponential_backoff<clock>;

    retry_fixture() { clock::set(typename clock::time_point()); }

    // Delays of 10, 20, 40, 80, 100, 100 ... milliseconds.
    backoff_type options()
    {
        return {
            .initial = 10ms,
            .multiplier = 2,
            .maximum = 100ms,
            .jitter = 0,
            .on_retry = [this](
                            const error_code&, unsigned, std::chrono::nanoseconds delay
                        ) { delays.push_back(delay); }
        };
    }

    // An operation that fails `failures` times, each time with another error.
    auto attempt()
    {
        return [this](auto token) {
            const int n = ++attempts;
            const error_code ec = n > failures ? error_code() : error.value_or(error_number(n));
            return asio::post(ctx, asio::append(std::move(token), ec));
        };
    }

    void run_ready()
    {
        ctx.restart();
        poll_until_quiet(ctx);
    }

    void pass(std::chrono::nanoseconds time)
    {
        clock::advance(time);
        run_ready();
    }

    void run_all()
    {
        do
            run_ready();
        while (clock::advance_to_next());
    }

    int failures = 0;
    int attempts = 0;
    std::optional<error_code> error; // what all attempts fail with
    std::vector<std::chrono::nanoseconds> delays;
};

}

#endif
