// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#include "bench.hpp"
#include "event_loop.hpp"

#include <ev.h>

namespace timewheel::bench {

namespace {

class libev_loop : public event_loop
{
public:
    explicit libev_loop(std::size_t timers) : loop_(::ev_loop_new(EVFLAG_AUTO)), timers_(timers)
    {
        for (::ev_timer& timer : timers_)
            ev_init(&timer, &on_due);
    }

    ~libev_loop() override
    {
        for (::ev_timer& timer : timers_)
            ::ev_timer_stop(loop_, &timer);
        ::ev_loop_destroy(loop_);
    }

    void arm(std::size_t timer, std::chrono::milliseconds delay) override
    {
        ::ev_timer& moved = timers_[timer];
        ::ev_timer_stop(loop_, &moved);
        ev_timer_set(&moved, std::chrono::duration<double>(delay).count(), 0.);
        ::ev_timer_start(loop_, &moved);
    }

    void cancel(std::size_t timer) override { ::ev_timer_stop(loop_, &timers_[timer]); }

    void poll() override { ::ev_run(loop_, EVRUN_NOWAIT); }

private:
    static void on_due(struct ev_loop*, ::ev_timer*, int) {}

    struct ev_loop* loop_;
    std::vector<::ev_timer> timers_;
};

}

std::unique_ptr<event_loop> make_libev(std::size_t timers)
{
    return std::make_unique<libev_loop>(timers);
}

}
