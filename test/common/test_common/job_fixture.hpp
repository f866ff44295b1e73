// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#ifndef TIMEWHEEL_TEST_COMMON_JOB_FIXTURE_HPP
#define TIMEWHEEL_TEST_COMMON_JOB_FIXTURE_HPP

/** @file
    Job wheels on a clock that the test moves, with workers that the test polls, and a record of what
    an observer is told. After each step, the counters of every wheel that is watched must add up.
*/

#include <timewheel/manual_clock.hpp>
#include <timewheel/wheel.hpp>

#include <test_common/io_fixture.hpp>
#include <test_common/virtual_time.hpp>

#include <boost/asio/io_context.hpp>
#include <boost/test/unit_test.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

namespace timewheel {

inline std::ostream& operator<<(std::ostream& out, job_outcome outcome)
{
    return out << to_string(outcome);
}

inline std::ostream& operator<<(std::ostream& out, remove_result result)
{
    switch (result) {
    case remove_result::removed: return out << "removed";
    case remove_result::running: return out << "running";
    case remove_result::unknown: return out << "unknown";
    }
    return out << "?";
}

inline std::ostream& operator<<(std::ostream& out, timer_id id)
{
    return out << '#' << static_cast<std::uint64_t>(id);
}

}

namespace timewheel::test {

using std::chrono::nanoseconds;

/// How all runs that were scheduled have ended, or where they are.
inline std::uint64_t accounted(const wheel_stats& s)
{
    return s.pending + s.queued + s.running + s.completed + s.failed + s.threw + s.timed_out +
           s.cancelled + s.dropped + s.skipped + s.withdrawn;
}

/// The counters of a wheel, which must add up at any moment.
template <class Wheel>
wheel_stats checked(const Wheel& wheel)
{
    const wheel_stats s = wheel.stats();
    BOOST_TEST(accounted(s) == s.scheduled);
    BOOST_TEST(s.executed == s.lateness.count());
    BOOST_TEST(s.executed <= s.scheduled);
    BOOST_TEST(s.removed <= s.added);
    return s;
}

/// What an observer was told, in figures that can be compared and printed.
struct told_job
{
    timer_id id = timer_id::none;
    job_outcome outcome = job_outcome::completed;
    std::uint64_t sequence = 1;
    nanoseconds due{};
    nanoseconds late{};
    nanoseconds took{};
    std::uint64_t missed = 0;
    error_code error{};

    template <class Event>
    static told_job of(const Event& event)
    {
        return {
            event.id,
            event.outcome,
            event.sequence,
            event.scheduled_for.time_since_epoch(),
            event.lateness,
            event.duration,
            event.missed,
            event.error
        };
    }

    friend bool operator==(const told_job&, const told_job&) = default;

    friend std::ostream& operator<<(std::ostream& out, const told_job& job)
    {
        return out << '{' << job.id << ' ' << job.outcome << ", number " << job.sequence << ", due "
                   << job.due.count() << " ns, " << job.late.count() << " ns late, took "
                   << job.took.count() << " ns, " << job.missed << " missed, " << job.error << '}';
    }
};

/// A context for the wheel (`ctx`) and one for the workers, both polled by the test.
template <class Tag>
class job_fixture : public io_fixture
{
public:
    using clock = manual_clock<Tag>;
    using time_point = typename clock::time_point;
    using job_context = basic_job_context<clock>;
    using repeat = basic_repeat_options<clock>;

    template <class T = void>
    using wheel_for = basic_wheel<T, clock>;

    template <class T = void>
    using options_for = basic_wheel_options<T, clock>;

    job_fixture() { clock::set(time_point()); }

    ~job_fixture()
    {
        if (std::uncaught_exceptions() != 0)
            return;
        unwatch();
        poll();
        BOOST_TEST(workers.stopped(), "the workers still have work at the end of the test");
    }

    /// A wheel that is running and watched, as long as the test lives.
    template <class T = void, class... Job>
    wheel_for<T> make_wheel(options_for<T> options = {}, Job... job)
    {
        wheel_for<T> wheel(ctx, workers, std::move(options), std::move(job)...);
        wheel.start();
        return wheel;
    }

    /// Has the counters of a wheel checked after each step of the test case, until its end.
    template <class Wheel>
    void watch(const Wheel& wheel)
    {
        watched_.push_back([&wheel] { checked(wheel); });
    }

    void unwatch() { watched_.clear(); }

    /// Observes: to be passed as the option.
    auto observer()
    {
        return [this](const auto& event) { told.push_back(told_job::of(event)); };
    }

    void check() const
    {
        for (const auto& each : watched_)
            each();
    }

    /// Runs the wheel's context only.
    void poll_wheel()
    {
        ctx.restart();
        poll_until_quiet(ctx);
        check();
    }

    /// Runs the workers only.
    void poll_workers()
    {
        workers.restart();
        poll_until_quiet(workers);
        check();
    }

    /// Runs one handler of the workers. Returns whether there was one.
    bool poll_worker()
    {
        workers.restart();
        const bool found = workers.poll_one() != 0;
        check();
        return found;
    }

    /// Runs both until neither has anything to do.
    void poll()
    {
        std::size_t done = 1;
        while (done != 0) {
            ctx.restart();
            done = ctx.poll();
            check();
            workers.restart();
            done += workers.poll();
            check();
        }
    }

    /// Moves the clock, also back, and runs what is due.
    void at(nanoseconds time)
    {
        clock::set(time_point(time));
        poll();
    }

    /// Moves the clock and runs the wheel's context only.
    void wheel_at(nanoseconds time)
    {
        clock::set(time_point(time));
        poll_wheel();
    }

    static nanoseconds now() { return clock::now().time_since_epoch(); }

    /// What the observer was told since the last call.
    std::vector<told_job> take_told() { return std::exchange(told, {}); }

    /// The only thing that the observer was told since the last call.
    told_job take_one()
    {
        BOOST_TEST_REQUIRE(told.size() == 1u);
        return take_told().front();
    }

    asio::io_context workers;
    std::vector<told_job> told;

private:
    std::vector<std::function<void()>> watched_;
};

}

#endif
