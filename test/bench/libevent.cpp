// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#include "bench.hpp"
#include "event_loop.hpp"

#include <event2/event.h>
#include <event2/event_struct.h>

namespace timewheel::bench {

namespace {

class libevent_loop : public event_loop
{
public:
    explicit libevent_loop(std::size_t timers) : base_(::event_base_new()), timers_(timers)
    {
        for (event& timer : timers_)
            ::event_assign(&timer, base_, -1, 0, &on_due, nullptr);
    }

    ~libevent_loop() override
    {
        for (event& timer : timers_)
            ::event_del(&timer);
        ::event_base_free(base_);
    }

    void arm(std::size_t timer, std::chrono::milliseconds delay) override
    {
        const timeval time{delay.count() / 1000, delay.count() % 1000 * 1000};
        ::event_add(&timers_[timer], &time);
    }

    void cancel(std::size_t timer) override { ::event_del(&timers_[timer]); }

    void poll() override { ::event_base_loop(base_, EVLOOP_NONBLOCK); }

private:
    static void on_due(evutil_socket_t, short, void*) {}

    event_base* base_;
    std::vector<event> timers_;
};

}

std::unique_ptr<event_loop> make_libevent(std::size_t timers)
{
    return std::make_unique<libevent_loop>(timers);
}

}
