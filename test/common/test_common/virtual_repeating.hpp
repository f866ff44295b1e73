// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#ifndef TIMEWHEEL_TEST_COMMON_VIRTUAL_REPEATING_HPP
#define TIMEWHEEL_TEST_COMMON_VIRTUAL_REPEATING_HPP

/** @file
    Repeating timers on a clock that the test moves, and a record of what they tell.
*/

#include <timewheel/manual_clock.hpp>
#include <timewheel/repeating_timer.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/wait_traits.hpp>
#include <boost/test/unit_test.hpp>

#include <chrono>
#include <cstdint>
#include <vector>

namespace timewheel::test {

using namespace std::chrono_literals;

template <class Tag, class Executor = asio::any_io_executor>
using virtual_repeating =
    basic_repeating_timer<manual_clock<Tag>, asio::wait_traits<manual_clock<Tag>>, Executor>;

/// A tick in figures that can be compared and printed: all times in nanoseconds since the epoch.
struct told_tick
{
    std::chrono::nanoseconds due{};
    std::chrono::nanoseconds late{};
    std::uint64_t missed = 0;
    std::uint64_t sequence = 0;

    friend bool operator==(const told_tick&, const told_tick&) = default;

    friend std::ostream& operator<<(std::ostream& out, const told_tick& tick)
    {
        return out << "{due " << tick.due.count() << " ns, " << tick.late.count() << " ns late, "
                   << tick.missed << " missed, number " << tick.sequence << '}';
    }
};

/// A handler that keeps what it is told; copies share the record, which must outlive them.
template <class Clock>
class recorder
{
public:
    recorder(std::vector<told_tick>& ticks, std::vector<error_code>& errors)
        : ticks_(&ticks)
        , errors_(&errors)
    {}

    void operator()(const error_code& ec, const basic_tick_info<Clock>& tick) const
    {
        errors_->push_back(ec);
        ticks_->push_back(
            {tick.scheduled_for.time_since_epoch(), tick.lateness, tick.missed, tick.sequence}
        );
    }

private:
    std::vector<told_tick>* ticks_;
    std::vector<error_code>* errors_;
};

/// What was told, for a test to take out.
template <class Clock>
class record
{
public:
    recorder<Clock> handler() { return {ticks_, errors_}; }

    /// How many completions nobody has looked at.
    std::size_t size() const { return ticks_.size(); }

    /// The only completion since the last look, which must have succeeded.
    told_tick tick()
    {
        BOOST_TEST_REQUIRE(ticks_.size() == 1u);
        BOOST_TEST(!errors_.front());
        return take();
    }

    /// Checks that there was one completion, cancelled, and that it says nothing.
    void cancelled()
    {
        BOOST_TEST_REQUIRE(ticks_.size() == 1u);
        BOOST_TEST(errors_.front() == asio::error::operation_aborted);
        BOOST_TEST(take() == told_tick{});
    }

    /// The oldest completion.
    told_tick take()
    {
        BOOST_TEST_REQUIRE(!ticks_.empty());
        const told_tick tick = ticks_.front();
        ticks_.erase(ticks_.begin());
        errors_.erase(errors_.begin());
        return tick;
    }

private:
    std::vector<told_tick> ticks_;
    std::vector<error_code> errors_;
};

}

#endif
