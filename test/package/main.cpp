// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

// What the consumer projects beside this file build: needs the library, Boost and threads.

#include <timewheel/error.hpp>
#include <timewheel/version.hpp>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

#include <iostream>
#include <thread>

int main()
{
    boost::asio::io_context context;
    timewheel::error_code result;
    boost::asio::post(context, [&] { result = timewheel::error::timed_out; });
    std::thread runner([&] { context.run(); });
    runner.join();

    std::cout << "timewheel " << TIMEWHEEL_VERSION_STRING << ", " << result.message() << '\n';
    return result == std::errc::timed_out ? 0 : 1;
}
