// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

// A timeout that is never reached: a timer is armed, waited for and cancelled, while n others wait.

#include "population.hpp"

#include <optional>

namespace timewheel::bench {

namespace {

template <class Timer>
class cancelled_timer
{
public:
    cancelled_timer(std::size_t n, std::chrono::milliseconds delay)
        : others_(n)
        , timer_(others_.context())
        , delay_(delay)
    {}

    void some()
    {
        for (std::size_t i = 0; i != polled_every; ++i) {
            others_.arm(timer_, delay_);
            timer_.cancel();
        }
        others_.settle();
    }

private:
    population<Timer> others_;
    Timer timer_;
    std::chrono::milliseconds delay_;
};

// 10M is not among them with the executor's type: what they show there is the same.
constexpr std::size_t largest_of_both = 1'000'000;

void compare(session& session, const std::string& workload, std::chrono::milliseconds delay)
{
    for (const std::size_t n :
         session.sizes({100, 1'000, 10'000, 100'000, 1'000'000, 10'000'000})) {
        if (session.quick && n != 1'000 && n != 100'000 && n != 1'000'000)
            continue;
        const auto sample = [&](auto& timer) {
            return [&] { return session.time(polled_every, [&] { timer.some(); }); };
        };
        std::vector<subject> subjects;
        std::optional<cancelled_timer<io_asio_timer>> io_asio;
        std::optional<cancelled_timer<io_wheel_timer>> io_wheel;
        cancelled_timer<asio_timer> asio(n, delay);
        cancelled_timer<wheel_timer> wheel(n, delay);
        subjects.push_back({"asio", sample(asio)});
        subjects.push_back({"wheel", sample(wheel)});
        if (!session.quick && n <= largest_of_both) {
            subjects.push_back({"asio, executor type", sample(io_asio.emplace(n, delay))});
            subjects.push_back({"wheel, executor type", sample(io_wheel.emplace(n, delay))});
        }
        session.compare(workload, n, subjects);
    }
}

void arm_cancel(session& session)
{
    compare(session, "arm_cancel", 10s); // before all others
    if (!session.quick)
        compare(session, "arm_cancel_late", 2h); // after all others
}

const benchmark known("arm_cancel", arm_cancel);

}

}
