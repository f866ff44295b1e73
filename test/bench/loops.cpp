// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

// The timers of event loops in C, which report nothing when a timer is cancelled, beside Asio's and
// ours, which run a handler.

#include "event_loop.hpp"
#include "population.hpp"

namespace timewheel::bench {

namespace {

// The timers of a loop: one of them is armed and cancelled, n others are pending or moved.
class loop_timers
{
public:
    loop_timers(std::unique_ptr<event_loop> (*make)(std::size_t), std::size_t n)
        : n_(n)
        , loop_(make(n + 1))
    {
        for (std::size_t i = 0; i != n; ++i)
            loop_->arm(i, some_delay());
        loop_->poll();
    }

    void rearm()
    {
        for (std::size_t i = 0; i != polled_every; ++i)
            loop_->arm(random_.below(n_), some_delay());
        loop_->poll();
    }

    void arm_cancel()
    {
        for (std::size_t i = 0; i != polled_every; ++i) {
            loop_->arm(n_, 10s);
            loop_->cancel(n_);
        }
        loop_->poll();
    }

private:
    std::chrono::milliseconds some_delay()
    {
        return 1min + std::chrono::milliseconds(random_.below(3'540'000));
    }

    std::size_t n_;
    random_numbers random_{42};
    std::unique_ptr<event_loop> loop_;
};

template <class Timer>
class context_timers
{
public:
    explicit context_timers(std::size_t n) : others_(n), timer_(others_.context()) {}

    void rearm()
    {
        for (std::size_t i = 0; i != polled_every; ++i)
            others_.arm(others_.random_timer());
        others_.settle();
    }

    void arm_cancel()
    {
        for (std::size_t i = 0; i != polled_every; ++i) {
            others_.arm(timer_, 10s);
            timer_.cancel();
        }
        others_.settle();
    }

private:
    population<Timer> others_;
    Timer timer_;
};

void loops(session& session)
{
    for (const std::size_t n : session.sizes({1'000, 100'000, 1'000'000})) {
        std::vector<subject> arm_cancel, rearm;
        const auto add = [&](const char* name, auto& timers) {
            arm_cancel.push_back(
                {name, [&] { return session.time(polled_every, [&] { timers.arm_cancel(); }); }}
            );
            rearm.push_back({name, [&] {
                                 return session.time(polled_every, [&] { timers.rearm(); });
                             }});
        };
        context_timers<asio_timer> asio(n);
        add("asio", asio);
        context_timers<wheel_timer> wheel(n);
        add("wheel", wheel);
#ifdef TIMEWHEEL_BENCH_LIBEVENT
        loop_timers libevent(&make_libevent, n);
        add("libevent", libevent);
#endif
#ifdef TIMEWHEEL_BENCH_LIBUV
        loop_timers libuv(&make_libuv, n);
        add("libuv", libuv);
#endif
#ifdef TIMEWHEEL_BENCH_LIBEV
        loop_timers libev(&make_libev, n);
        add("libev", libev);
#endif
        session.compare("loops_arm_cancel", n, arm_cancel);
        session.compare("loops_rearm", n, rearm);
    }
}

const benchmark known("loops", loops);

}

}
