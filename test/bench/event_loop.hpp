// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#ifndef TIMEWHEEL_BENCH_EVENT_LOOP_HPP
#define TIMEWHEEL_BENCH_EVENT_LOOP_HPP

#include <chrono>
#include <cstddef>
#include <memory>

namespace timewheel::bench {

/// An event loop written in C with timers. None of them reports a timer that is stopped or moved.
class event_loop
{
public:
    virtual ~event_loop() = default;

    /// Starts a timer, or moves it.
    virtual void arm(std::size_t timer, std::chrono::milliseconds delay) = 0;
    virtual void cancel(std::size_t timer) = 0;
    /// Does what is due, without waiting.
    virtual void poll() = 0;
};

/// Each with so many timers; they exist if the library was found.
std::unique_ptr<event_loop> make_libevent(std::size_t timers);
std::unique_ptr<event_loop> make_libuv(std::size_t timers);
std::unique_ptr<event_loop> make_libev(std::size_t timers);

}

#endif
