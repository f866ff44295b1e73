// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

// Never early and at most one tick late, for every clock, offset and phase. XA5 and XA13 are faults
// that other timers had.

#include <timewheel/detail/tick_math.hpp>

#include <boost/mpl/list.hpp>
#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <test_common/random_source.hpp>

#include <algorithm>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <ratio>
#include <vector>

namespace {

using namespace timewheel::test;
namespace detail = timewheel::detail;
namespace data = boost::unit_test::data;
using namespace std::chrono_literals;
using detail::tick_type;
using std::chrono::nanoseconds;

constexpr tick_type never = detail::hierarchical_wheel::never;

template <class Rep, class Period>
struct clock_of
{
    using rep = Rep;
    using period = Period;
    using duration = std::chrono::duration<Rep, Period>;
    using time_point = std::chrono::time_point<clock_of>;

    static time_point at(Rep count) { return time_point(duration(count)); }
};

using nano_clock = clock_of<std::int64_t, std::nano>;
using unsigned_clock = clock_of<std::uint64_t, std::nano>;
using milli_clock = clock_of<std::int64_t, std::milli>;
using small_clock = clock_of<std::int32_t, std::ratio<1>>;
using small_unsigned_clock = clock_of<std::uint32_t, std::milli>;
using short_clock = clock_of<std::int16_t, std::milli>;
using ntsc_clock = clock_of<std::int64_t, std::ratio<1001, 30000>>;
using double_clock = clock_of<double, std::ratio<1>>;
using float_clock = clock_of<float, std::milli>;

using integer_clocks = boost::mpl::list<
    nano_clock,
    unsigned_clock,
    milli_clock,
    small_clock,
    small_unsigned_clock,
    short_clock,
    ntsc_clock>;

// Some are finer than some of the clocks, some do not divide anything.
constexpr nanoseconds ticks[] =
    {1ns, 2ns, 7ns, 1000ns, 999999ns, 1ms, 10ms, 16666667ns, 1s, 60s, 3h};

template <class Rep>
struct limit_of
{
    static constexpr Rep low = std::numeric_limits<Rep>::lowest();
    static constexpr Rep high = (std::numeric_limits<Rep>::max)();
};

// Counts where something may go wrong for a tick of `size`: multiples of it around interesting
// offsets, with each phase near to a boundary, and the ends of the range.
template <class Rep>
std::vector<Rep> interesting_counts(Rep size)
{
    using limit = limit_of<Rep>;
    std::vector<Rep> counts;
    const auto add_around = [&](Rep centre) {
        for (int by = -3; by <= 3; ++by)
            counts.push_back(detail::saturated_add(centre, static_cast<Rep>(by)));
        counts.push_back(detail::saturated_add(centre, static_cast<Rep>(size / 2)));
    };
    std::vector<Rep> offsets{0, limit::low, limit::high};
    for (int bit = 1; bit < std::numeric_limits<Rep>::digits; bit += 3) {
        offsets.push_back(static_cast<Rep>(Rep{1} << bit));
        offsets.push_back(static_cast<Rep>(limit::high - (Rep{1} << bit)));
        offsets.push_back(static_cast<Rep>(limit::low + (Rep{1} << bit)));
        if constexpr (std::signed_integral<Rep>)
            offsets.push_back(static_cast<Rep>(-(Rep{1} << bit)));
    }
    for (const Rep offset : offsets) {
        add_around(offset);
        const Rep boundary = static_cast<Rep>(offset / size * size);
        add_around(boundary);
        add_around(detail::saturated_add(boundary, size));
    }
    if constexpr (std::unsigned_integral<Rep>)
        std::erase_if(counts, [](Rep count) { return count > limit::high - 4; });
    std::sort(counts.begin(), counts.end());
    counts.erase(std::unique(counts.begin(), counts.end()), counts.end());
    return counts;
}

// What holds for one time as a deadline and as the present.
template <class Clock>
void check_time(const detail::tick_math<Clock>& math, typename Clock::rep count)
{
    const auto time = Clock::at(count);
    const tick_type floor = math.floor(time);
    const tick_type ceil = math.ceil(time);
    BOOST_REQUIRE(floor != never);
    // The tick has begun, and the next one has not.
    if (math.begin(floor) != (Clock::time_point::min)())
        BOOST_REQUIRE(math.begin(floor) <= time);
    BOOST_REQUIRE(
        (floor + 1 == never || math.begin(floor + 1) > time ||
         math.begin(floor + 1) == (Clock::time_point::max)())
    );
    if (time == (Clock::time_point::max)()) {
        BOOST_REQUIRE(ceil == never);
        return;
    }
    BOOST_REQUIRE(ceil != never);
    // Never early: when the tick of the deadline begins, the deadline has come.
    BOOST_REQUIRE(math.begin(ceil) >= time);
    // At most one tick late: the tick before it begins before the deadline.
    BOOST_REQUIRE((ceil == floor || ceil == floor + 1));
    if (ceil == floor)
        BOOST_REQUIRE((math.begin(ceil) == time));
}

// A deadline is due when and only when its tick has begun.
template <class Clock>
void check_pair(
    const detail::tick_math<Clock>& math,
    typename Clock::rep deadline,
    typename Clock::rep now
)
{
    const bool due = math.ceil(Clock::at(deadline)) <= math.floor(Clock::at(now));
    if (now < deadline)
        BOOST_REQUIRE(!due); // never early
    else if (deadline != limit_of<typename Clock::rep>::high) {
        const auto late = static_cast<tick_type>(now) - static_cast<tick_type>(deadline);
        const auto tick = static_cast<tick_type>(math.tick().count());
        if (late >= tick)
            BOOST_REQUIRE(due); // at most one tick late
    }
}

BOOST_AUTO_TEST_SUITE(tick_math)

// XA5: at every offset and phase.
BOOST_AUTO_TEST_CASE_TEMPLATE(rounds_never_early_at_most_one_tick_late, Clock, integer_clocks)
{
    for (const nanoseconds tick : ticks) {
        if (tick == 3h && sizeof(typename Clock::rep) == 2)
            continue; // more than the whole range of that clock
        BOOST_TEST_CONTEXT("tick " << tick.count())
        {
            const detail::tick_math<Clock> math(tick);
            const auto counts = interesting_counts(math.tick().count());
            tick_type last = 0;
            for (const auto count : counts) {
                BOOST_TEST_CONTEXT("count " << count)
                {
                    check_time(math, count);
                    BOOST_REQUIRE(math.floor(Clock::at(count)) >= last);
                    last = math.floor(Clock::at(count));
                }
            }
            for (std::size_t i = 0; i + 1 < counts.size(); ++i) {
                for (std::size_t j = i < 10 ? 0 : i - 10; j != (std::min)(i + 10, counts.size());
                     ++j)
                    check_pair(math, counts[i], counts[j]);
            }
        }
    }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(random_times, Clock, integer_clocks)
{
    using rep = typename Clock::rep;
    random_source random(test_seed("tick_math/random_times"));
    for (int i = 0; i != 20000; ++i) {
        nanoseconds tick(1 + random.any_magnitude() % (std::uint64_t{1} << 43));
        tick = (std::min)(tick, nanoseconds(30s)); // a short clock's range
        const detail::tick_math<Clock> math(tick);
        const auto deadline = static_cast<rep>(random.bits() >> random.below(64));
        const auto by = static_cast<rep>(random.any_magnitude() % 100000);
        BOOST_TEST_CONTEXT("tick " << tick.count() << " deadline " << deadline << " by " << by)
        {
            check_time(math, deadline);
            check_pair(math, deadline, detail::saturated_add(deadline, by));
            if (deadline > limit_of<rep>::low + by)
                check_pair(math, deadline, static_cast<rep>(deadline - by));
            const tick_type number = math.ceil(Clock::at(deadline));
            const auto begin = math.begin(number);
            if (number != never && begin != (Clock::time_point::max)())
                BOOST_REQUIRE(math.floor(begin) == number); // and back
        }
    }
}

// Every phase inside a tick: due exactly from the boundary on.
BOOST_DATA_TEST_CASE(
    every_phase,
    data::make<std::int64_t>(
        {0,
         1,
         -1,
         5,
         -7000,
         (std::int64_t{1} << 32) - 3,
         -(std::int64_t{1} << 62),
         limit_of<std::int64_t>::low + 40,
         limit_of<std::int64_t>::high - 40}
    ),
    offset
)
{
    const detail::tick_math<nano_clock> math(10ns);
    for (std::int64_t phase = 0; phase != 12; ++phase) {
        const auto deadline = offset + phase;
        auto boundary = deadline / 10 * 10;
        boundary += boundary < deadline ? 10 : 0;
        const tick_type tick = math.ceil(nano_clock::at(deadline));
        for (auto now = deadline - 15; now != deadline + 15; ++now)
            BOOST_TEST((tick <= math.floor(nano_clock::at(now))) == (now >= boundary));
    }
}

BOOST_AUTO_TEST_CASE(ticks_are_numbered_in_the_order_of_time)
{
    const detail::tick_math<nano_clock> math(1ms);
    const auto epoch = math.floor(nano_clock::at(0));
    BOOST_TEST(epoch == tick_type{1} << 63);
    BOOST_TEST(math.floor(nano_clock::at(-1)) == epoch - 1);
    BOOST_TEST(math.floor(nano_clock::at(-1'000'000)) == epoch - 1);
    BOOST_TEST(math.floor(nano_clock::at(-1'000'001)) == epoch - 2);
    BOOST_TEST(math.floor(nano_clock::at(999'999)) == epoch);
    BOOST_TEST(math.ceil(nano_clock::at(1)) == epoch + 1);
    BOOST_TEST(math.ceil(nano_clock::at(-999'999)) == epoch);

    const detail::tick_math<unsigned_clock> from_zero(1ms);
    BOOST_TEST(from_zero.floor(unsigned_clock::at(0)) == 0u);
    BOOST_TEST(from_zero.ceil(unsigned_clock::at(1)) == 1u);
}

BOOST_AUTO_TEST_CASE(nanosecond_tick_uses_the_whole_range)
{
    const detail::tick_math<nano_clock> math(1ns);
    using limit = limit_of<std::int64_t>;
    BOOST_TEST(math.floor(nano_clock::at(limit::low)) == 0u);
    BOOST_TEST(math.floor(nano_clock::at(limit::high - 1)) == never - 1);
    BOOST_TEST(math.floor(nano_clock::at(limit::high)) == never - 1); // and not never
    BOOST_TEST(math.ceil(nano_clock::at(limit::high - 1)) == never - 1);
    BOOST_TEST(math.ceil(nano_clock::at(limit::high)) == never);
    BOOST_TEST((math.begin(0) == nano_clock::at(limit::low)));
    BOOST_TEST((math.begin(never - 1) == nano_clock::at(limit::high - 1)));
    BOOST_TEST((math.begin(never) == nano_clock::at(limit::high)));

    const detail::tick_math<unsigned_clock> unsigned_math(1ns);
    using unsigned_limit = limit_of<std::uint64_t>;
    BOOST_TEST(unsigned_math.floor(unsigned_clock::at(unsigned_limit::high)) == never - 1);
    BOOST_TEST(unsigned_math.ceil(unsigned_clock::at(unsigned_limit::high)) == never);
    BOOST_TEST(unsigned_math.ceil(unsigned_clock::at(unsigned_limit::high - 1)) == never - 1);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(end_of_time_is_never, Clock, integer_clocks)
{
    for (const nanoseconds tick : ticks) {
        if (tick == 3h && sizeof(typename Clock::rep) == 2)
            continue;
        const detail::tick_math<Clock> math(tick);
        BOOST_TEST(math.ceil((Clock::time_point::max)()) == never);
        BOOST_TEST((math.begin(never) == (Clock::time_point::max)()));
        BOOST_TEST(math.floor((Clock::time_point::max)()) < never);
        // What never comes is not due even at the end.
        BOOST_TEST(
            !(math.ceil((Clock::time_point::max)()) <= math.floor((Clock::time_point::max)()))
        );
        BOOST_TEST(math.ceil((Clock::time_point::min)()) <= math.floor((Clock::time_point::max)()));
    }
}

BOOST_AUTO_TEST_CASE(begin_saturates)
{
    const detail::tick_math<nano_clock> math(1s);
    BOOST_TEST((math.begin(never - 1) == (nano_clock::time_point::max)()));
    BOOST_TEST((math.begin(0) == (nano_clock::time_point::min)()));
    BOOST_TEST((math.begin(tick_type{1} << 63) == nano_clock::at(0)));
    const detail::tick_math<small_clock> small(7s);
    BOOST_TEST((small.begin(never - 1) == (small_clock::time_point::max)()));
    BOOST_TEST((small.begin(0) == (small_clock::time_point::min)()));
    const detail::tick_math<unsigned_clock> from_zero(7ns);
    BOOST_TEST((from_zero.begin(never - 1) == (unsigned_clock::time_point::max)()));
    BOOST_TEST((from_zero.begin(0) == unsigned_clock::at(0)));
}

BOOST_AUTO_TEST_CASE(coarse_clock_ticks_in_its_own_units)
{
    BOOST_TEST(detail::tick_math<small_clock>(1ms).tick().count() == 1);
    BOOST_TEST(detail::tick_math<small_clock>(1s).tick().count() == 1);
    BOOST_TEST(detail::tick_math<small_clock>(1001ms).tick().count() == 2); // rounded up
    BOOST_TEST(detail::tick_math<small_unsigned_clock>(1ns).tick().count() == 1u);
    BOOST_TEST(detail::tick_math<milli_clock>(10ms).tick().count() == 10);
    BOOST_TEST(detail::tick_math<ntsc_clock>(1ms).tick().count() == 1);
    BOOST_TEST(detail::tick_math<nano_clock>(1ms).tick().count() == 1'000'000);
    BOOST_TEST(detail::tick_math<double_clock>(250ms).tick().count() == 0.25);
}

// What the wheel does with it: the first delay of an idle clock (XA13), at any phase.
BOOST_DATA_TEST_CASE(delay_is_kept_at_any_phase, data::xrange(0, 10'000'000, 333'333), phase)
{
    const detail::tick_math<nano_clock> math(1ms);
    for (const std::int64_t start :
         {std::int64_t{0}, -(std::int64_t{1} << 60), std::int64_t{1} << 62}) {
        for (const std::int64_t delay : {0, 1, 999'999, 1'000'000, 1'000'001, 255'999'999}) {
            const auto deadline = start + phase + delay;
            const auto due = math.begin(math.ceil(nano_clock::at(deadline)));
            BOOST_TEST((due >= nano_clock::at(deadline)));
            BOOST_TEST((due - nano_clock::at(deadline) < 1ms));
        }
    }
}

// Products and quotients of floating-point numbers are rounded; ticks must still fit together.
BOOST_DATA_TEST_CASE(
    floating_ticks_fit_together,
    data::make({1e-9, 1e-3, 0.01, 1. / 3, 0.1, 0.25, 1., 7.3}),
    size
)
{
    const nanoseconds tick(static_cast<std::int64_t>(size * 1e9));
    const detail::tick_math<double_clock> math(tick);
    const tick_type epoch = tick_type{1} << 63;
    random_source random(test_seed("tick_math/floating_ticks_fit_together"));
    for (int i = 0; i != 100000; ++i) {
        const tick_type by = i < 10000 ? static_cast<tick_type>(i) : random.bits() >> (13 + i % 50);
        for (const tick_type number : {epoch + by, epoch - by}) {
            const auto begin = math.begin(number);
            BOOST_REQUIRE(math.floor(begin) == number);
            BOOST_REQUIRE(math.ceil(begin) == number);
        }
    }
}

BOOST_AUTO_TEST_CASE(floating_times_never_early_at_most_one_tick_late)
{
    random_source random(test_seed("tick_math/floating_times"));
    for (int i = 0; i != 100000; ++i) {
        const nanoseconds tick(1 + random.any_magnitude() % 10'000'000'000u);
        const detail::tick_math<double_clock> math(tick);
        const double size = math.tick().count();
        // Up to 2^50 ticks from the epoch, where a tick is still well above the rounding.
        double count = static_cast<double>(random.any_magnitude() >> 14) * size;
        count += size * static_cast<double>(random.below(1000)) / 1000;
        if (random.one_in(2))
            count = -count;
        const auto time = double_clock::at(count);
        const tick_type floor = math.floor(time);
        const tick_type ceil = math.ceil(time);
        BOOST_TEST_CONTEXT("tick " << tick.count() << " count " << count)
        {
            BOOST_REQUIRE((math.begin(floor) <= time));
            BOOST_REQUIRE((math.begin(floor + 1) > time));
            BOOST_REQUIRE((math.begin(ceil) >= time));
            BOOST_REQUIRE((math.begin(ceil - 1) < time));
        }
    }
}

BOOST_AUTO_TEST_CASE(floating_extremes)
{
    using limits = std::numeric_limits<double>;
    const detail::tick_math<double_clock> math(1ms);
    const auto at = [](double count) { return double_clock::at(count); };
    BOOST_TEST(math.ceil((double_clock::time_point::max)()) == never);
    BOOST_TEST((math.begin(never) == (double_clock::time_point::max)()));
    BOOST_TEST(math.floor(at((limits::max)())) < never);
    BOOST_TEST(math.floor(at(limits::infinity())) < never);
    BOOST_TEST(math.floor(at(-limits::infinity())) <= math.floor(at(limits::lowest())));
    BOOST_TEST(math.floor(at(limits::lowest())) < math.floor(at(-1)));
    BOOST_TEST(math.floor(at(limits::quiet_NaN())) < never);
    // Far past deadlines are due, far future ones not.
    const tick_type now = math.floor(at(1e9));
    for (const double count : {-limits::infinity(), limits::lowest(), -1e300, -1e18, -1.0, 1e9})
        BOOST_TEST(math.ceil(at(count)) <= now);
    for (const double count : {limits::infinity(), (limits::max)(), 1e300, 1e18, 1e9 + 0.0001})
        BOOST_TEST(math.ceil(at(count)) > now);
    const detail::tick_math<float_clock> single(1ms);
    BOOST_TEST(single.ceil(float_clock::at(0.5f)) == single.floor(float_clock::at(1.f)));
    BOOST_TEST(single.ceil((float_clock::time_point::max)()) == never);
}

using integers = boost::mpl::list<
    std::int8_t,
    std::int16_t,
    std::int32_t,
    std::int64_t,
    std::uint8_t,
    std::uint32_t,
    std::uint64_t>;

BOOST_AUTO_TEST_CASE_TEMPLATE(saturated_add_of_integers, Rep, integers)
{
    using limit = limit_of<Rep>;
    const Rep one = 1;
    BOOST_TEST(detail::saturated_add(Rep{3}, Rep{4}) == Rep{7});
    BOOST_TEST(detail::saturated_add(limit::high, one) == limit::high);
    BOOST_TEST(detail::saturated_add(one, limit::high) == limit::high);
    BOOST_TEST(detail::saturated_add(limit::high, limit::high) == limit::high);
    BOOST_TEST(detail::saturated_add(static_cast<Rep>(limit::high - 1), one) == limit::high);
    BOOST_TEST(detail::saturated_add(limit::high, Rep{0}) == limit::high);
    BOOST_TEST(detail::saturated_add(limit::low, Rep{0}) == limit::low);
    BOOST_TEST(detail::saturated_add(Rep{0}, limit::low) == limit::low);
    if constexpr (std::signed_integral<Rep>) {
        BOOST_TEST(detail::saturated_add(limit::low, Rep{-1}) == limit::low);
        BOOST_TEST(detail::saturated_add(Rep{-1}, limit::low) == limit::low);
        BOOST_TEST(detail::saturated_add(limit::low, limit::low) == limit::low);
        BOOST_TEST(detail::saturated_add(limit::low, limit::high) == Rep{-1});
        BOOST_TEST(detail::saturated_add(limit::high, limit::low) == Rep{-1});
        BOOST_TEST(detail::saturated_add(Rep{3}, Rep{-4}) == Rep{-1});
    }
}

// All pairs of the smallest type, against a wider one.
BOOST_AUTO_TEST_CASE(saturated_add_is_the_clamped_sum)
{
    for (int a = -128; a != 128; ++a) {
        for (int b = -128; b != 128; ++b) {
            const int sum =
                detail::saturated_add(static_cast<std::int8_t>(a), static_cast<std::int8_t>(b));
            BOOST_REQUIRE(sum == std::clamp(a + b, -128, 127));
        }
    }
}

BOOST_AUTO_TEST_CASE(saturated_add_of_floating_point)
{
    using limits = std::numeric_limits<double>;
    BOOST_TEST(detail::saturated_add(1.5, -2.0) == -0.5);
    BOOST_TEST(detail::saturated_add((limits::max)(), (limits::max)()) == (limits::max)());
    BOOST_TEST(detail::saturated_add(limits::lowest(), limits::lowest()) == limits::lowest());
    BOOST_TEST(detail::saturated_add(1.0, limits::infinity()) == (limits::max)());
}

BOOST_AUTO_TEST_CASE_TEMPLATE(saturated_add_of_times, Clock, integer_clocks)
{
    using duration = typename Clock::duration;
    constexpr auto max = (Clock::time_point::max)();
    constexpr auto min = (Clock::time_point::min)();
    static_assert(detail::saturated_add<Clock>(max, duration(1)) == max);
    static_assert(detail::saturated_add<Clock>(max, (duration::max)()) == max);
    static_assert(detail::saturated_add<Clock>(min, (duration::min)()) == min);
    BOOST_TEST((detail::saturated_add<Clock>(Clock::at(5), duration(7)) == Clock::at(12)));
    BOOST_TEST((detail::saturated_add<Clock>(Clock::at(1), (duration::max)()) == max));
}

BOOST_AUTO_TEST_CASE(durations_round_up_to_whole_units_of_integers)
{
    using detail::saturated_ceil;
    BOOST_CHECK(saturated_ceil<std::chrono::seconds>(1ms) == 1s);
    BOOST_CHECK(saturated_ceil<std::chrono::seconds>(-1ms) == 0s);
    BOOST_CHECK(saturated_ceil<std::chrono::seconds>(2000ms) == 2s);
    BOOST_CHECK(saturated_ceil<nanoseconds>((std::chrono::hours::max)()) == (nanoseconds::max)());
    BOOST_CHECK(saturated_ceil<nanoseconds>((std::chrono::hours::min)()) == (nanoseconds::min)());
    // The nearest double is a little less than 0.3, which is no reason to add a second.
    using seconds = std::chrono::duration<double>;
    for (const auto ms : {1ms, 7ms, 300ms, 1300ms, -300ms})
        BOOST_TEST(saturated_ceil<seconds>(ms).count() == static_cast<double>(ms.count()) / 1000);
}

BOOST_AUTO_TEST_SUITE_END()

}
