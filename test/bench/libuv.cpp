// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#include "bench.hpp"
#include "event_loop.hpp"

#include <uv.h>

namespace timewheel::bench {

namespace {

class libuv_loop : public event_loop
{
public:
    explicit libuv_loop(std::size_t timers) : timers_(timers)
    {
        ::uv_loop_init(&loop_);
        for (uv_timer_t& timer : timers_)
            ::uv_timer_init(&loop_, &timer);
    }

    ~libuv_loop() override
    {
        for (uv_timer_t& timer : timers_)
            ::uv_close(reinterpret_cast<uv_handle_t*>(&timer), nullptr);
        ::uv_run(&loop_, UV_RUN_DEFAULT);
        ::uv_loop_close(&loop_);
    }

    void arm(std::size_t timer, std::chrono::milliseconds delay) override
    {
        ::uv_timer_start(&timers_[timer], &on_due, static_cast<std::uint64_t>(delay.count()), 0);
    }

    void cancel(std::size_t timer) override { ::uv_timer_stop(&timers_[timer]); }

    void poll() override { ::uv_run(&loop_, UV_RUN_NOWAIT); }

private:
    static void on_due(uv_timer_t*) {}

    uv_loop_t loop_;
    std::vector<uv_timer_t> timers_;
};

}

std::unique_ptr<event_loop> make_libuv(std::size_t timers)
{
    return std::make_unique<libuv_loop>(timers);
}

}
