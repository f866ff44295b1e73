// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#ifndef TIMEWHEEL_EXAMPLE_COMMON_INTERRUPTION_HPP
#define TIMEWHEEL_EXAMPLE_COMMON_INTERRUPTION_HPP

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>

#include <csignal>
#include <exception>
#include <utility>

namespace example {

/// Waits for SIGINT or SIGTERM as part of the work of a context. A second one ends the program at
/// once. It must live as long as the context runs.
class interruption
{
public:
    /// `stop()` is called at the first signal.
    template <class Stop>
    interruption(boost::asio::io_context& context, Stop stop) : signals_(context, SIGINT, SIGTERM)
    {
        signals_.async_wait(
            [this, stop = std::move(stop)](boost::system::error_code ec, int signal) mutable {
                if (ec)
                    return;
                signal_ = signal;
                signals_.clear();
                stop();
            }
        );
    }

    interruption(const interruption&) = delete;
    interruption& operator=(const interruption&) = delete;

    /// Waits no longer, so that the context may run out of work.
    void forget() { signals_.cancel(); }

    /// The signal that has come, or zero.
    [[nodiscard]] int signal() const noexcept { return signal_; }

    /// What a shell expects of a program that a signal has ended.
    [[nodiscard]] int exit_code() const noexcept { return 128 + signal_; }

private:
    boost::asio::signal_set signals_;
    int signal_ = 0;
};

/// For `co_spawn`: an error of the coroutine ends the program.
inline void stop_at_error(std::exception_ptr error)
{
    if (error)
        std::rethrow_exception(error);
}

}

#endif
