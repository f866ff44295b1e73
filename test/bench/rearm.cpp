// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

// Re-arms timers that are pending, each to some other time; the handler of the aborted wait runs.

#include "population.hpp"

#include <optional>

namespace timewheel::bench {

namespace {

enum class order
{
    random,
    sequential
};

template <class Timer, order Order>
class rearmed_timers
{
public:
    explicit rearmed_timers(std::size_t n) : all_(n) {}

    void some()
    {
        for (std::size_t i = 0; i != polled_every; ++i)
            all_.arm(next());
        all_.settle();
    }

private:
    Timer& next()
    {
        if constexpr (Order == order::random)
            return all_.random_timer();
        next_ = next_ + 1 == all_.timers().size() ? 0 : next_ + 1;
        return all_.timers()[next_];
    }

    population<Timer> all_;
    std::size_t next_ = 0;
};

template <order Order>
void compare(session& session, const std::string& workload, std::vector<std::size_t> sizes)
{
    for (const std::size_t n : session.sizes(std::move(sizes))) {
        if (session.quick && n != 1'000 && n != 100'000 && n != 1'000'000)
            continue;
        const auto sample = [&](auto& timers) {
            return [&] { return session.time(polled_every, [&] { timers.some(); }); };
        };
        rearmed_timers<asio_timer, Order> asio(n);
        rearmed_timers<wheel_timer, Order> wheel(n);
        std::optional<rearmed_timers<io_asio_timer, Order>> io_asio;
        std::optional<rearmed_timers<io_wheel_timer, Order>> io_wheel;
        std::vector<subject> subjects{{"asio", sample(asio)}, {"wheel", sample(wheel)}};
        if (!session.quick && n <= 1'000'000) {
            subjects.push_back({"asio, executor type", sample(io_asio.emplace(n))});
            subjects.push_back({"wheel, executor type", sample(io_wheel.emplace(n))});
        }
        session.compare(workload, n, subjects);
    }
}

void rearm(session& session)
{
    compare<order::random>(session, "rearm", {100, 1'000, 10'000, 100'000, 1'000'000, 10'000'000});
    if (!session.quick)
        compare<order::sequential>(session, "rearm_sequential", {1'000, 100'000, 1'000'000});
}

const benchmark known("rearm", rearm);

}

}
