// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

// Activity on connections with an idle timeout: a timer that is re-armed, against a touch.

#include "population.hpp"

#include <timewheel/idle_timer.hpp>

#include <array>
#include <atomic>

namespace timewheel::bench {

namespace {

constexpr auto timeout = 10min; // longer than any run

// Re-arms a timer for each activity, as it is done with a plain timer; the aborted handler runs.
template <class Timer>
class rearmed_timers
{
public:
    explicit rearmed_timers(std::size_t n) : all_(n)
    {
        for (Timer& timer : all_.timers())
            all_.arm(timer, timeout);
        all_.settle();
    }

    void activities()
    {
        for (std::size_t i = 0; i != polled_every; ++i)
            all_.arm(all_.random_timer(), timeout);
        all_.settle();
    }

private:
    population<Timer> all_;
};

class touched_timers
{
public:
    explicit touched_timers(std::size_t n)
    {
        timers_.reserve(n);
        for (std::size_t i = 0; i != n; ++i) {
            timers_.emplace_back(context_, timeout);
            timers_.back().async_wait(counting_handler{&completed_});
        }
    }

    void activities()
    {
        for (std::size_t i = 0; i != polled_every; ++i)
            some_timer().touch();
        settle();
    }

    // Activities that are noticed in one turn, at a time that is known already.
    void activities_of_a_turn()
    {
        const auto now = steady_clock::now();
        for (std::size_t i = 0; i != polled_every; ++i)
            some_timer().touch(now);
        settle();
    }

private:
    idle_timer& some_timer() { return timers_[random_.below(timers_.size())]; }

    void settle()
    {
        context_.poll();
        require(completed_ == 0, "a timer expired although it was touched");
    }

    asio::io_context context_{1};
    random_numbers random_{42};
    std::uint64_t completed_ = 0;
    std::vector<idle_timer> timers_;
};

// What a touch can't do without: to read the clock, and to store the time in an object of that size.
class bare_records
{
public:
    explicit bare_records(std::size_t n) : records_(n) {}

    void activities()
    {
        for (std::size_t i = 0; i != polled_every; ++i)
            records_[random_.below(records_.size())].last_touch.store(
                steady_clock::now(), std::memory_order_relaxed
            );
    }

private:
    struct record
    {
        std::atomic<steady_clock::time_point> last_touch{};
        std::array<char, sizeof(idle_timer) - sizeof(last_touch)> rest{};
    };

    random_numbers random_{42};
    std::vector<record> records_;
};

void touch(session& session)
{
    for (const std::size_t n : session.sizes({1'000, 100'000, 1'000'000})) {
        rearmed_timers<asio_timer> asio(n);
        rearmed_timers<wheel_timer> wheel(n);
        touched_timers touched(n);
        bare_records bare(n);
        const auto sample = [&](auto batch) {
            return [&session, batch] { return session.time(polled_every, batch); };
        };
        std::int64_t sum = 0;
        session.compare(
            "touch",
            n,
            {{"asio", sample([&] { asio.activities(); })},
             {"wheel re-arm", sample([&] { wheel.activities(); })},
             {"wheel", sample([&] { touched.activities(); })},
             {"wheel, time known", sample([&] { touched.activities_of_a_turn(); })},
             {"bare store", sample([&] { bare.activities(); })},
             {"clock alone", sample([&] {
                  for (std::size_t i = 0; i != polled_every; ++i)
                      sum += steady_clock::now().time_since_epoch().count();
              })}}
        );
        require(sum != 0, "the clock stands still");
    }
}

const benchmark known("touch", touch);

}

}
