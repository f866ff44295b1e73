// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

// How often the timer of the operating system is set for 10 000 timers that are armed, cancelled and
// polled, one after the other, while a later one is pending. Each is a benchmark of its own, so that
// the system calls of a process are those of one of them.

#include "population.hpp"

#include <timewheel/wheel_service.hpp>

namespace timewheel::bench {

namespace {

constexpr std::size_t pairs = 10'000;

template <class Timer>
void arm_and_cancel(asio::io_context& context)
{
    std::uint64_t completed = 0;
    Timer later(context, 1h);
    later.async_wait(counting_handler{&completed});
    context.poll();
    for (std::size_t i = 0; i != pairs; ++i) {
        Timer timer(context, 30s);
        timer.async_wait(counting_handler{&completed});
        timer.cancel();
        context.poll();
    }
    require(completed == pairs, "a completion was lost or came twice");
}

void timer_calls_asio(session&)
{
    asio::io_context context{1};
    arm_and_cancel<asio_timer>(context);
}

void timer_calls_wheel(session& session)
{
    asio::io_context context{1};
    arm_and_cancel<wheel_timer>(context);
    const auto arms = asio::use_service<wheel_service>(context).stats().os_arms;
    session.record("timer_calls", 2, "calls", "wheel, by its counter", {static_cast<double>(arms)});
}

const benchmark asio_known("timer_calls_asio", timer_calls_asio);
const benchmark wheel_known("timer_calls_wheel", timer_calls_wheel);

}

}
