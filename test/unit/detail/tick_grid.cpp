// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#include <timewheel/detail/tick_grid.hpp>

#include <test_common/random_source.hpp>

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <ratio>

namespace timewheel::test {

namespace {

// All that a grid needs of a clock.
template <class Rep, class Period = std::nano>
struct clock_type
{
    using duration = std::chrono::duration<Rep, Period>;
    using time_point = std::chrono::time_point<clock_type, duration>;
};

using clock_64 = clock_type<std::int64_t>;
template <class Clock>
using grid_of = detail::tick_grid<Clock>;
__extension__ typedef __int128 wide;

template <class Clock = clock_64>
typename Clock::time_point at(typename Clock::duration::rep count)
{
    return typename Clock::time_point(typename Clock::duration(count));
}

template <class Clock = clock_64>
typename Clock::duration span(typename Clock::duration::rep count)
{
    return typename Clock::duration(count);
}

template <class Clock>
auto count(std::chrono::time_point<Clock, typename Clock::duration> time)
{
    return time.time_since_epoch().count();
}

constexpr std::int64_t last = (std::numeric_limits<std::int64_t>::max)();
constexpr std::int64_t first = (std::numeric_limits<std::int64_t>::min)();

constexpr std::array<std::int64_t, 9> starts{
    0,
    1,
    -1,
    1'700'000'000'000'000'000,
    -1'700'000'000'000'000'000,
    first,
    first + 1,
    1LL << 32,
    -7
};

#define CHECK_TICK(tick, due, late, misses, number)                                                \
    do {                                                                                           \
        const auto& checked = (tick);                                                              \
        BOOST_TEST(count(checked.scheduled_for) == (due));                                         \
        BOOST_TEST(checked.lateness.count() == (late));                                            \
        BOOST_TEST(checked.missed == static_cast<std::uint64_t>(misses));                          \
        BOOST_TEST(checked.sequence == static_cast<std::uint64_t>(number));                        \
    } while (false)

}

BOOST_AUTO_TEST_SUITE(tick_grid)

// XE5: lateness does not add up.
BOOST_DATA_TEST_CASE(a_million_periods_do_not_drift, boost::unit_test::data::make(starts), start)
{
    random_source random(static_cast<std::uint64_t>(start) + 1);
    constexpr std::int64_t period = 1'000'003;
    grid_of<clock_64> grid(at(start), span(period), repeat_mode::fixed_rate);
    wide number = 0;
    auto now = at(start);
    while (number < 1'000'000) {
        const auto next = grid.next(now, true);
        const auto due = next.due;
        now = due + span(static_cast<std::int64_t>(random.below(period)));
        const auto tick = grid.deliver(next.position, now);
        ++number;
        const bool right = count(due) == start + period * number && tick.scheduled_for == due &&
                           tick.lateness == now - due && tick.missed == 0 &&
                           tick.sequence == static_cast<std::uint64_t>(number);
        if (!right)
            BOOST_FAIL("wrong at tick " << tick.sequence);
    }
}

BOOST_DATA_TEST_CASE(what_passed_is_one_tick, boost::unit_test::data::make(starts), start)
{
    grid_of<clock_64> grid(at(start), span(10), repeat_mode::fixed_rate);
    auto next = grid.next(at(start + 9), true);
    BOOST_TEST(count(next.due) == start + 10);
    // Called late: the third tick is the latest.
    CHECK_TICK(grid.deliver(next.position, at(start + 39)), start + 30, 9, 2, 3);
    // Waited late: at the end of a period the next tick is the latest.
    next = grid.next(at(start + 60), true);
    BOOST_TEST(count(next.due) == start + 60);
    CHECK_TICK(grid.deliver(next.position, at(start + 60)), start + 60, 0, 2, 6);
    next = grid.next(at(start + 60), true);
    BOOST_TEST(count(next.due) == start + 70);
}

BOOST_AUTO_TEST_CASE(the_whole_range_of_the_clock_is_exact)
{
    // As many periods as there are.
    grid_of<clock_64> shortest(at(first), span(1), repeat_mode::fixed_rate);
    auto next = shortest.next(at(last), true);
    BOOST_TEST(count(next.due) == last);
    const auto all = (std::numeric_limits<std::uint64_t>::max)();
    CHECK_TICK(shortest.deliver(next.position, at(last)), last, 0, all - 1, all);

    grid_of<clock_64> longest(at(first), span(last), repeat_mode::fixed_rate);
    next = longest.next(at(first), true);
    BOOST_TEST(count(next.due) == -1);
    CHECK_TICK(longest.deliver(next.position, at(last - 2)), -1, last - 1, 0, 1);
    next = longest.next(at(last - 2), true);
    BOOST_TEST(count(next.due) == last - 1);
    CHECK_TICK(longest.deliver(next.position, at(last)), last - 1, 1, 0, 2);
    // The next one is beyond the end of time, which never comes.
    BOOST_TEST(count(longest.next(at(last), true).due) == last);
}

BOOST_AUTO_TEST_CASE(lateness_saturates)
{
    grid_of<clock_64> grid(at(first), span(1), repeat_mode::fixed_delay);
    const auto next = grid.next(at(first), true);
    CHECK_TICK(grid.deliver(next.position, at(last)), first + 1, last, 0, 1);
}

BOOST_AUTO_TEST_CASE(waits_for_the_same_tick_are_told_the_same)
{
    grid_of<clock_64> grid(at(0), span(10), repeat_mode::fixed_rate);
    const auto a = grid.next(at(0), true);
    const auto b = grid.next(at(5), false);
    BOOST_TEST(a.position == b.position);
    const auto early = grid.deliver(a.position, at(12));
    CHECK_TICK(early, 10, 2, 0, 1);
    CHECK_TICK(grid.deliver(b.position, at(15)), 10, 5, 0, 1);
    // A handler that is called much later is told of the latest tick.
    const auto c = grid.next(at(15), true);
    const auto d = grid.next(at(15), false);
    CHECK_TICK(grid.deliver(c.position, at(20)), 20, 0, 0, 2);
    CHECK_TICK(grid.deliver(d.position, at(45)), 40, 5, 1, 4);
}

BOOST_AUTO_TEST_CASE(a_fixed_delay_begins_with_the_wait)
{
    grid_of<clock_64> grid(at(0), span(10), repeat_mode::fixed_delay);
    auto next = grid.next(at(100), true);
    BOOST_TEST(count(next.due) == 110);
    // One that joins does not begin another.
    BOOST_TEST(count(grid.next(at(105), false).due) == 110);
    CHECK_TICK(grid.deliver(next.position, at(155)), 110, 45, 0, 1);
    next = grid.next(at(200), true);
    BOOST_TEST(count(next.due) == 210);
    // Cancelled: nothing is missed.
    next = grid.next(at(300), true);
    BOOST_TEST(count(next.due) == 310);
    CHECK_TICK(grid.deliver(next.position, at(310)), 310, 0, 0, 2);
    // One that only seemed to have somebody to join.
    BOOST_TEST(count(grid.next(at(320), false).due) == 330);
}

// A delay that is over, but whose handler has not been called, when the next one begins.
BOOST_AUTO_TEST_CASE(fixed_delays_may_overlap)
{
    grid_of<clock_64> grid(at(0), span(10), repeat_mode::fixed_delay);
    const auto a = grid.next(at(0), true);
    const auto b = grid.next(at(15), true);
    BOOST_TEST(count(b.due) == 25);
    CHECK_TICK(grid.deliver(a.position, at(16)), 10, 6, 0, 1);
    CHECK_TICK(grid.deliver(b.position, at(25)), 25, 0, 0, 2);

    const auto c = grid.next(at(30), true);
    const auto d = grid.next(at(45), true);
    CHECK_TICK(grid.deliver(d.position, at(55)), 55, 0, 0, 3);
    CHECK_TICK(grid.deliver(c.position, at(56)), 55, 1, 0, 3);
}

BOOST_AUTO_TEST_CASE(a_new_period_begins_now)
{
    for (const auto mode : {repeat_mode::fixed_rate, repeat_mode::skip_if_running}) {
        grid_of<clock_64> grid(at(0), span(10), mode);
        auto next = grid.next(at(0), true);
        CHECK_TICK(grid.deliver(next.position, at(10)), 10, 0, 0, 1);
        next = grid.next(at(11), true);
        BOOST_TEST(count(grid.change_period(span(100), at(17))) == 117);
        CHECK_TICK(grid.deliver(next.position, at(117)), 117, 0, 0, 2);
        BOOST_TEST(count(grid.next(at(117), true).due) == 217);
        // What has passed unseen is not forgotten, and due now.
        BOOST_TEST(count(grid.change_period(span(7), at(350))) == 350);
        next = grid.next(at(356), true);
        BOOST_TEST(count(next.due) == 317);
        CHECK_TICK(grid.deliver(next.position, at(356)), 317, 39, 1, 4);
        BOOST_TEST(count(grid.next(at(356), true).due) == 357);
        // Nor when the next one has passed as well.
        BOOST_TEST(count(grid.change_period(span(2), at(364))) == 364);
        next = grid.next(at(371), true);
        CHECK_TICK(grid.deliver(next.position, at(371)), 370, 1, 4, 9);
    }
}

BOOST_AUTO_TEST_CASE(a_new_delay_begins_now)
{
    grid_of<clock_64> grid(at(0), span(10), repeat_mode::fixed_delay);
    auto next = grid.next(at(50), true);
    BOOST_TEST(count(grid.change_period(span(5), at(58))) == 63);
    CHECK_TICK(grid.deliver(next.position, at(63)), 63, 0, 0, 1);
    next = grid.next(at(70), true);
    BOOST_TEST(count(grid.change_period(span(100), at(75))) == 75);
    CHECK_TICK(grid.deliver(next.position, at(76)), 75, 1, 0, 2);
    // A delay that was given up and has passed is no reason for the next one to end early.
    grid.next(at(100), true);
    grid.next(at(300), true);
    BOOST_TEST(count(grid.change_period(span(50), at(310))) == 360);
}

BOOST_AUTO_TEST_CASE(restart_forgets)
{
    grid_of<clock_64> grid(at(0), span(10), repeat_mode::fixed_rate);
    auto next = grid.next(at(0), true);
    CHECK_TICK(grid.deliver(next.position, at(35)), 30, 5, 2, 3);
    grid.restart(at(77), at(77));
    next = grid.next(at(80), true);
    BOOST_TEST(count(next.due) == 87);
    CHECK_TICK(grid.deliver(next.position, at(87)), 87, 0, 0, 1);

    // One that is still to be told of the old grid.
    next = grid.next(at(88), true);
    grid.restart(at(100), at(100));
    CHECK_TICK(grid.deliver(next.position, at(101)), 97, 4, 0, 2);
    next = grid.next(at(101), true);
    CHECK_TICK(grid.deliver(next.position, at(110)), 110, 0, 0, 1);

    // A start in the past, and in the future.
    grid.restart(at(60), at(120));
    next = grid.next(at(120), true);
    CHECK_TICK(grid.deliver(next.position, at(120)), 120, 0, 5, 6);
    grid.restart(at(200), at(130));
    next = grid.next(at(130), true);
    BOOST_TEST(count(next.due) == 210);
    CHECK_TICK(grid.deliver(next.position, at(210)), 210, 0, 0, 1);
}

// XE3: the next tick waits until the clock has got there again.
BOOST_AUTO_TEST_CASE(the_clock_goes_back)
{
    grid_of<clock_64> grid(at(0), span(10), repeat_mode::fixed_rate);
    auto next = grid.next(at(100), true);
    CHECK_TICK(grid.deliver(next.position, at(100)), 100, 0, 9, 10);
    next = grid.next(at(50), true);
    BOOST_TEST(count(next.due) == 110);
    // Back between becoming due and being told.
    CHECK_TICK(grid.deliver(next.position, at(3)), 110, 0, 0, 11);
    BOOST_TEST(count(grid.change_period(span(7), at(3))) == 10);
    next = grid.next(at(3), true);
    BOOST_TEST(count(next.due) == 10);
    CHECK_TICK(grid.deliver(next.position, at(10)), 10, 0, 0, 12);
    grid.restart(at(-20), at(-20));
    next = grid.next(at(-20), true);
    CHECK_TICK(grid.deliver(next.position, at(-13)), -13, 0, 0, 1);

    grid_of<clock_64> delays(at(0), span(10), repeat_mode::fixed_delay);
    next = delays.next(at(100), true);
    CHECK_TICK(delays.deliver(next.position, at(110)), 110, 0, 0, 1);
    next = delays.next(at(50), true);
    BOOST_TEST(count(next.due) == 60);
    CHECK_TICK(delays.deliver(next.position, at(60)), 60, 0, 0, 2);
}

BOOST_AUTO_TEST_CASE(other_clocks)
{
    using narrow = clock_type<std::int32_t, std::milli>;
    constexpr std::int32_t narrow_max = (std::numeric_limits<std::int32_t>::max)();
    grid_of<narrow> small(at<narrow>(-narrow_max), span<narrow>(3), repeat_mode::fixed_rate);
    auto next = small.next(at<narrow>(narrow_max - 1), true);
    CHECK_TICK(
        small.deliver(next.position, at<narrow>(narrow_max - 1)),
        narrow_max - 2, // 2 * narrow_max is one more than a multiple of 3
        1,
        (2LL * narrow_max - 2) / 3 - 1,
        (2LL * narrow_max - 2) / 3
    );

    using natural = clock_type<std::uint64_t>;
    constexpr auto natural_max = (std::numeric_limits<std::uint64_t>::max)();
    grid_of<natural> big(at<natural>(0), span<natural>(10), repeat_mode::fixed_rate);
    const auto far = big.next(at<natural>(natural_max), true);
    CHECK_TICK(
        big.deliver(far.position, at<natural>(natural_max)),
        natural_max - 5,
        5u,
        natural_max / 10 - 1,
        natural_max / 10
    );
    BOOST_TEST(count(big.next(at<natural>(natural_max), true).due) == natural_max);

    // A floating clock neither drifts, although a tenth is not exact, nor misses or repeats a tick.
    using real = clock_type<double, std::ratio<1>>;
    for (const double start : {0.0, 1.7e9, -1.7e9}) {
        grid_of<real> grid(at<real>(start), span<real>(0.1), repeat_mode::fixed_rate);
        auto now = at<real>(start);
        for (int n = 1; n <= 100'000; ++n) {
            const auto tenth = grid.next(now, true);
            BOOST_REQUIRE(count(tenth.due) == start + n * 0.1);
            now = tenth.due;
            const auto tick = grid.deliver(tenth.position, now);
            BOOST_REQUIRE(tick.scheduled_for == tenth.due);
            BOOST_REQUIRE(tick.missed == 0u);
        }
    }
}

namespace {

// What a grid must do, told in the simplest way: by the time of the next tick, in numbers that are
// too wide to overflow.
class reference
{
public:
    reference(wide start, wide period) : next_(start + period), period_(period) {}

    std::int64_t due(wide now) const
    {
        const wide time = passed(now) > 0 ? latest(now) : owed_ > 0 ? owed_at_ : next_;
        return time > last ? last : static_cast<std::int64_t>(time);
    }

    basic_tick_info<clock_64> deliver(wide now)
    {
        const wide n = passed(now);
        const wide at_time = n > 0 ? latest(now) : owed_at_;
        basic_tick_info<clock_64> tick;
        tick.scheduled_for = at(static_cast<std::int64_t>(at_time));
        tick.lateness = span(static_cast<std::int64_t>(now - at_time));
        tick.missed = static_cast<std::uint64_t>(n + owed_ - 1);
        tick.sequence = sequence_ += tick.missed + 1;
        next_ += n * period_;
        owed_ = 0;
        return tick;
    }

    void change_period(wide period, wide now)
    {
        if (const wide n = passed(now); n > 0) {
            owed_at_ = latest(now);
            owed_ += n;
        }
        period_ = period;
        next_ = now + period;
    }

    void restart(wide start)
    {
        next_ = start + period_;
        owed_ = 0;
        sequence_ = 0;
    }

private:
    wide passed(wide now) const { return now < next_ ? 0 : (now - next_) / period_ + 1; }
    wide latest(wide now) const { return next_ + (passed(now) - 1) * period_; }

    wide next_;
    wide period_;
    wide owed_ = 0;
    wide owed_at_ = 0;
    std::uint64_t sequence_ = 0;
};

std::int64_t later(std::int64_t now, std::uint64_t by)
{
    const wide then = wide{now} + by;
    return then > last ? last : static_cast<std::int64_t>(then);
}

std::int64_t random_period(random_source& random)
{
    return static_cast<std::int64_t>(random.any_magnitude() >> 1 | 1);
}

// A lateness that matters: about a period or two, exactly some, or anything.
std::uint64_t random_lateness(random_source& random, std::int64_t period)
{
    const auto length = static_cast<std::uint64_t>(period);
    switch (random.below(5)) {
    case 0: return 0;
    case 1: return random.below(length);
    case 2: return random.below(length) + random.below(length);
    case 3: return random.below(8) * (length >> 3);
    default: return random.any_magnitude() >> random.below(64);
    }
}

void check_against_reference(random_source& random, std::int64_t start)
{
    std::int64_t period = random_period(random);
    std::int64_t now = start;
    const auto mode = random.one_in(2) ? repeat_mode::fixed_rate : repeat_mode::skip_if_running;
    grid_of<clock_64> grid(at(start), span(period), mode);
    reference expected(start, period);
    for (int step = 0; step < 200; ++step) {
        if (random.one_in(16)) {
            period = random_period(random);
            grid.change_period(span(period), at(now));
            expected.change_period(period, now);
        } else if (random.one_in(32)) {
            const auto back = static_cast<std::int64_t>(random.any_magnitude() >> 2);
            const std::int64_t from = now < first + back ? now : now - back;
            grid.restart(at(from), at(now));
            expected.restart(from);
        }
        const auto next = grid.next(at(now), true);
        BOOST_REQUIRE_EQUAL(count(next.due), expected.due(now));
        if (next.due == at(last))
            return;
        now = later((std::max)(now, count(next.due)), random_lateness(random, period));
        const auto tick = grid.deliver(next.position, at(now));
        const auto wanted = expected.deliver(now);
        BOOST_REQUIRE(tick == wanted);
        if (random.one_in(2))
            now = later(now, random_lateness(random, period));
    }
}

}

BOOST_AUTO_TEST_CASE(agrees_with_the_reference)
{
    random_source random(test_seed("tick_grid/agrees_with_the_reference"));
    const std::uint64_t runs = number_from_environment("TIMEWHEEL_OPERATIONS", 1'000'000) / 200;
    for (std::uint64_t run = 0; run < runs; ++run) {
        const std::int64_t start =
            random.one_in(2) ? random.any_of(starts) : static_cast<std::int64_t>(random.bits());
        BOOST_TEST_CONTEXT("run " << run << " from " << start)
        {
            check_against_reference(random, start);
        }
    }
}

BOOST_AUTO_TEST_SUITE_END()

}
