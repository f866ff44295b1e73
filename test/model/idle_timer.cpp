// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

// Idle timers against their definition, in random operations. TIMEWHEEL_SEED repeats a run,
// TIMEWHEEL_OPERATIONS makes it longer.

#include <timewheel/idle_timer.hpp>

#include "random_steps.hpp"

#include <test_common/random_source.hpp>
#include <test_common/run.hpp>
#include <test_common/virtual_time.hpp>

#include <boost/asio/error.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <deque>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace timewheel::test {

namespace {

using clock = manual_clock<struct idle_model>;
using timer = basic_idle_timer<clock>;
using duration = clock::duration;
using time_point = clock::time_point;

time_point rounded_up(time_point when)
{
    return time_point(std::chrono::ceil<std::chrono::milliseconds>(when.time_since_epoch()));
}

// An idle timer and what it should be: two numbers, and the waits for it.
struct subject
{
    subject(asio::io_context& ctx, duration span)
        : idle(ctx, span)
        , last(clock::now())
        , timeout(span)
    {}

    time_point expiry() const { return last + timeout; }
    bool is_due() const { return rounded_up(expiry()) <= clock::now(); }

    timer idle;
    time_point last;
    duration timeout;
    std::vector<int> waiting;
};

class run
{
public:
    explicit run(std::uint64_t seed) : random_(seed)
    {
        clock::set(
            time_point(duration(static_cast<std::int64_t>(random_.below(1u << 31)) - (1 << 30)))
        );
        for (int i = 0; i != 6; ++i)
            subjects_.emplace_back(ctx_, any_span());
    }

    ~run()
    {
        for (subject& s : subjects_)
            cancel(s);
        run_ready();
    }

    // Returns what is wrong, or nothing.
    std::string step()
    {
        subject& s = subjects_[random_.below(subjects_.size())];
        switch (random_.below(12)) {
        case 0:
        case 1: wait(s); break;
        case 2:
        case 3:
            s.last = clock::now();
            s.idle.touch();
            break;
        case 4:
            s.last = clock::now() + duration(random_.below(2'000'000)) - 1ms;
            s.idle.touch(s.last);
            break;
        case 5:
            s.timeout = any_span();
            s.idle.timeout(s.timeout);
            break;
        case 6:
            if (random_.one_in(2))
                cancel(s);
            else
                cancel_one(s);
            break;
        case 7: move(s, subjects_[random_.below(subjects_.size())]); break;
        case 8:
            if (random_.one_in(4))
                clock::set(clock::now() - duration(random_.below(50'000'000)));
            break;
        case 9: clock::advance_to_next(); break;
        default: clock::advance(duration(random_.any_magnitude() % 30'000'000));
        }
        // Often several changes before the wheel looks.
        if (random_.one_in(3))
            return std::string();
        expect_due();
        run_ready();
        return compare();
    }

private:
    struct ending
    {
        int wait;
        error_code ec;

        bool operator==(const ending&) const = default;
    };

    duration any_span()
    {
        return duration(
            1 +
            (random_.one_in(2) ? random_.below(20'000'000) : random_.any_magnitude() % 100'000'000)
        );
    }

    void run_ready()
    {
        ctx_.restart();
        poll_until_quiet(ctx_);
    }

    void wait(subject& s)
    {
        const int id = next_wait_++;
        s.waiting.push_back(id);
        s.idle.async_wait([this, id](error_code ec) { ended_.push_back({id, ec}); });
    }

    void cancel(subject& s)
    {
        BOOST_TEST(s.idle.cancel() == s.waiting.size());
        for (const int id : s.waiting)
            expected_.push_back({id, asio::error::operation_aborted});
        s.waiting.clear();
    }

    void cancel_one(subject& s)
    {
        BOOST_TEST(s.idle.cancel_one() == (s.waiting.empty() ? 0U : 1U));
        if (s.waiting.empty())
            return;
        expected_.push_back({s.waiting.front(), asio::error::operation_aborted});
        s.waiting.erase(s.waiting.begin());
    }

    void move(subject& to, subject& from)
    {
        if (&to != &from) {
            for (const int id : to.waiting)
                expected_.push_back({id, asio::error::operation_aborted});
            to.waiting = std::exchange(from.waiting, {});
            to.last = from.last;
            to.timeout = from.timeout;
        }
        to.idle = std::move(from.idle);
    }

    void expect_due()
    {
        for (subject& s : subjects_) {
            if (!s.is_due())
                continue;
            for (const int id : s.waiting)
                expected_.push_back({id, error_code()});
            s.waiting.clear();
        }
    }

    std::string compare()
    {
        const auto by_number = [](const ending& a, const ending& b) { return a.wait < b.wait; };
        std::sort(expected_.begin(), expected_.end(), by_number);
        std::sort(ended_.begin(), ended_.end(), by_number);
        std::ostringstream wrong;
        if (expected_ != ended_) {
            wrong << "at " << clock::now().time_since_epoch().count() << " expected";
            for (const ending& e : expected_)
                wrong << ' ' << e.wait << (e.ec ? "a" : "");
            wrong << ", but ended";
            for (const ending& e : ended_)
                wrong << ' ' << e.wait << (e.ec ? "a" : "");
        }
        for (const subject& s : subjects_)
            if (s.idle.expiry() != s.expiry() || s.idle.timeout() != s.timeout)
                wrong << " wrong expiry";
        expected_.clear();
        ended_.clear();
        return wrong.str();
    }

    random_source random_;
    asio::io_context ctx_;
    std::deque<subject> subjects_;
    int next_wait_ = 0;
    std::vector<ending> expected_;
    std::vector<ending> ended_;
};

}

BOOST_AUTO_TEST_SUITE(idle_timer_model)

BOOST_AUTO_TEST_CASE(random_operations_agree_with_the_definition)
{
    take_random_steps<run>("idle_timer_model", 200'000);
}

BOOST_AUTO_TEST_SUITE_END()

}
