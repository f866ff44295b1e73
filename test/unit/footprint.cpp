// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#include <timewheel/idle_timer.hpp>
#include <timewheel/steady_timer.hpp>
#include <timewheel/wheel.hpp>

#include <timewheel/detail/idle_node.hpp>

#include <test_common/allocation_counter.hpp>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/test/unit_test.hpp>

#include <chrono>
#include <cstddef>
#include <optional>
#include <vector>

#ifdef __GLIBC__
#include <malloc.h>
#endif

// How much memory timers take: what is measured here is the same on every run.

namespace timewheel {

namespace {

using namespace std::chrono_literals;

constexpr std::size_t cache_line = 64;

static_assert(sizeof(detail::driver_node) <= cache_line);
static_assert(sizeof(detail::timer_node) <= cache_line, "a timer's node touches one cache line");

using clock_type = std::chrono::steady_clock;
template <template <class, class, class> class Timer>
using on_io_context =
    Timer<clock_type, asio::wait_traits<clock_type>, asio::io_context::executor_type>;

static_assert(sizeof(on_io_context<basic_waitable_timer>) <= cache_line + 3 * sizeof(void*));
static_assert(sizeof(on_io_context<basic_idle_timer>) <= 2 * cache_line);
static_assert(sizeof(steady_timer) <= 2 * cache_line);
// With many timers, what a touch costs is to get at the memory.
static_assert(sizeof(detail::idle_node<clock_type>) <= cache_line + sizeof(void*));

// Bytes in use on the heap; always 0 where nobody tells, as with the sanitizers.
std::size_t heap_bytes()
{
#ifdef __GLIBC__
    const struct mallinfo2 info = ::mallinfo2();
    return info.uordblks + info.hblkhd;
#else
    return 0;
#endif
}

struct one_pointer
{
    std::size_t* ended;

    void operator()(const error_code&) const { ++*ended; }
};

// With one wait for each timer, the objects included.
template <class Timer>
double bytes_per_timer(std::size_t n)
{
    const std::size_t before = heap_bytes();
    std::size_t ended = 0;
    asio::io_context ctx;
    std::vector<Timer> timers;
    timers.reserve(n);
    for (std::size_t i = 0; i != n; ++i) {
        timers.emplace_back(ctx, 1h);
        timers.back().async_wait(one_pointer{&ended});
    }
    return static_cast<double>(heap_bytes() - before) / static_cast<double>(n);
}

}

BOOST_AUTO_TEST_SUITE(footprint)

BOOST_AUTO_TEST_CASE(an_armed_timer_takes_less_memory_than_asios)
{
    constexpr std::size_t n = 20'000;
    const double asios = bytes_per_timer<asio::steady_timer>(n);
    const double ours = bytes_per_timer<steady_timer>(n);
    BOOST_TEST_MESSAGE("bytes per timer: " << ours << ", Asio: " << asios);
    BOOST_TEST(ours <= 0.85 * asios);
    BOOST_TEST(ours <= 256);

    using asio_timer = asio::basic_waitable_timer<
        clock_type,
        asio::wait_traits<clock_type>,
        asio::io_context::executor_type>;
    const double asios_on_io = bytes_per_timer<asio_timer>(n);
    const double ours_on_io = bytes_per_timer<on_io_context<basic_waitable_timer>>(n);
    BOOST_TEST_MESSAGE("on an io_context: " << ours_on_io << ", Asio: " << asios_on_io);
    BOOST_TEST(ours_on_io <= asios_on_io);
    BOOST_TEST(ours_on_io <= 192);
}

// In one call of run(): Asio's own memory for what is posted is kept for its duration.
BOOST_AUTO_TEST_CASE(a_repeating_job_allocates_nothing)
{
    asio::io_context ctx;
    std::optional<test::allocation_counter> counter;
    int runs = 0;
    wheel<> jobs(ctx.get_executor(), ctx.get_executor(), {.tick = 1ms}, [&] {
        if (++runs == 20) // warm
            counter.emplace();
        if (runs == 120) {
            BOOST_TEST(counter->count() == 0u);
            jobs.stop();
        }
    });
    jobs.start();
    jobs.add_repeating(1ms);
    ctx.run();
    BOOST_TEST(runs == 120);
}

BOOST_AUTO_TEST_SUITE_END()

}
