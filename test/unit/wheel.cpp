// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

// The states of a job wheel, and what is misuse.

#include <timewheel/wheel.hpp>

#include <test_common/job_fixture.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/system_executor.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/system/system_error.hpp>
#include <boost/test/unit_test.hpp>

#include <chrono>
#include <functional>
#include <limits>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace timewheel::test {

namespace {

using fixture = job_fixture<struct wheel_test>;
using clock = fixture::clock;
using virtual_wheel = fixture::wheel_for<>;
using text_wheel = fixture::wheel_for<std::string>;

void nothing() {}

}

BOOST_FIXTURE_TEST_SUITE(wheel, fixture)

using timewheel::wheel;
using io_executor = asio::io_context::executor_type;
using io_wheel = wheel<>::rebind_executor<io_executor>::other;

static_assert(std::is_same_v<wheel<int>, basic_wheel<int, std::chrono::steady_clock>>);
static_assert(std::is_same_v<wheel<>::executor_type, asio::any_io_executor>);
static_assert(std::is_same_v<wheel<>::clock_type, std::chrono::steady_clock>);
static_assert(std::is_same_v<wheel<int>::event_type, job_event<int>>);
static_assert(std::is_same_v<wheel<int>::options_type, wheel_options<int>>);
static_assert(std::is_same_v<wheel<int>::repeat_options_type, repeat_options>);
static_assert(std::is_same_v<wheel<int>::timer_info_type, timer_info>);
static_assert(std::is_same_v<io_wheel::executor_type, io_executor>);
static_assert(std::is_constructible_v<wheel<>, asio::io_context&, asio::thread_pool&>);
static_assert(std::is_constructible_v<wheel<>, io_executor, asio::any_io_executor>);
static_assert(std::is_constructible_v<wheel<>, asio::strand<io_executor>, asio::system_executor>);
static_assert(std::is_constructible_v<
              wheel<int>,
              asio::io_context&,
              asio::io_context&,
              wheel_options<int>,
              void (*)(int&)>);
static_assert(!std::is_constructible_v<wheel<>, int, asio::io_context&>);
static_assert(!std::is_constructible_v<wheel<>, asio::io_context&, int>);
static_assert(!std::is_copy_constructible_v<wheel<>>);
static_assert(!std::is_copy_assignable_v<wheel<>>);
static_assert(std::is_nothrow_move_constructible_v<wheel<>>);
static_assert(std::is_nothrow_move_assignable_v<wheel<>>);
static_assert(noexcept(std::declval<const wheel<>&>().get_executor()));

template <class Job, class T>
inline constexpr bool is_job = detail::job_for<Job, T, std::chrono::steady_clock>;

static_assert(is_job<void (*)(), void>);
static_assert(is_job<error_code (*)(), void>);
static_assert(is_job<void (*)(job_context&), void>);
static_assert(is_job<error_code (*)(job_context&), void>);
static_assert(is_job<asio::awaitable<void> (*)(), void>);
static_assert(is_job<asio::awaitable<error_code> (*)(job_context&), void>);
static_assert(is_job<void (*)(), int>);
static_assert(is_job<void (*)(int), int>);
static_assert(is_job<void (*)(int&), int>);
static_assert(is_job<void (*)(const int&), int>);
static_assert(is_job<void (*)(job_context&, int&), int>);
static_assert(is_job<void (*)(job_context&), int>);
static_assert(is_job<asio::awaitable<void> (*)(int&), int>);
static_assert(is_job<asio::awaitable<error_code> (*)(job_context&, int), int>);
static_assert(is_job<std::function<void()>, void>);
static_assert(!is_job<void (*)(int), void>);
static_assert(!is_job<int (*)(), void>);
static_assert(!is_job<bool (*)(int&), int>);
static_assert(!is_job<asio::awaitable<int> (*)(), void>);
static_assert(!is_job<void (*)(int&, job_context&), int>);
static_assert(!is_job<void (*)(int&&), int>);
static_assert(!is_job<void (*)(std::string&), int>);
static_assert(!is_job<int, void>);

BOOST_AUTO_TEST_CASE(a_new_wheel_does_nothing)
{
    virtual_wheel w(ctx, workers, {}, nothing);
    watch(w);
    BOOST_TEST((w.get_executor() == asio::any_io_executor(ctx.get_executor())));
    BOOST_TEST(w.pending_timers().empty());
    BOOST_TEST((w.next_fire_time(timer_id(1)) == std::nullopt));
    BOOST_TEST(w.stats().scheduled == 0u);
    poll();
    BOOST_TEST(ctx.stopped());
}

// What each function reports in each state.
BOOST_AUTO_TEST_CASE(states_and_their_errors)
{
    struct row
    {
        const char* name;
        std::function<void(virtual_wheel&, error_code&)> call;
        error_code fresh;
        error_code running;
        error_code closed;
    };
    using enum timewheel::error;
    const error_code none;
    const row rows[] = {
        {"start", [](auto& w, auto& ec) { w.start(ec); }, none, already_running, closed},
        {"stop", [](auto& w, auto& ec) { w.stop(ec); }, not_started, none, none},
        {"close", [](auto& w, auto& ec) { w.close(ec); }, not_started, none, none},
        {"wait", [](auto& w, auto& ec) { w.stop(ec), w.wait(ec); }, not_started, none, none},
        {"add", [](auto& w, auto& ec) { w.add(1s, ec); }, not_started, none, closed},
        {"add job", [](auto& w, auto& ec) { w.add(1s, nothing, ec); }, not_started, none, closed},
        {"add at",
         [](auto& w, auto& ec) { w.add(clock::time_point(1s), ec); },
         not_started,
         none,
         closed},
        {"add_repeating",
         [](auto& w, auto& ec) { w.add_repeating(1s, fixture::repeat(), ec); },
         not_started,
         none,
         closed},
        {"add_repeating job",
         [](auto& w, auto& ec) { w.add_repeating(1s, nothing, fixture::repeat(), ec); },
         not_started,
         none,
         closed},
        {"remove", [](auto& w, auto& ec) { w.remove(timer_id(1), ec); }, not_started, none, closed},
        {"remove none",
         [](auto& w, auto& ec) { w.remove(timer_id::none, ec); },
         not_started,
         none,
         closed},
        {"remove cancel",
         [](auto& w, auto& ec) { w.remove(timer_id(1), cancel_running, ec); },
         not_started,
         none,
         closed},
    };
    for (const row& each : rows) {
        BOOST_TEST_CONTEXT(each.name)
        {
            virtual_wheel w(ctx, workers, {}, nothing);
            error_code ec = asio::error::eof;
            each.call(w, ec);
            BOOST_TEST(ec == each.fresh);
            if (std::string_view(each.name) != "start")
                w.start();
            ec = asio::error::eof;
            each.call(w, ec);
            BOOST_TEST(ec == each.running);
            w.stop();
            ec = asio::error::eof;
            each.call(w, ec);
            BOOST_TEST(ec == each.closed);
            checked(w);
            BOOST_TEST(w.pending_timers().empty());
            BOOST_TEST(w.stats().pending == 0u);
            poll();
        }
    }
}

BOOST_AUTO_TEST_CASE(the_asynchronous_forms_report_the_state_too)
{
    const auto codes = [&](text_wheel& w) {
        std::vector<error_code> all;
        w.async_remove(timer_id(1), [&](error_code ec, remove_result result) {
            all.push_back(ec);
            BOOST_TEST(result == remove_result::unknown);
        });
        w.async_run_after(
            1s,
            "x",
            nothing,
            [&](error_code ec, const text_wheel::event_type& event) {
                all.push_back(ec);
                BOOST_TEST(event.error == ec);
                BOOST_TEST(event.data == "x");
                BOOST_TEST(event.outcome == job_outcome::cancelled);
            }
        );
        w.async_repeat(1s, "x", nothing, fixture::repeat(), [&](error_code ec, std::uint64_t runs) {
            all.push_back(ec);
            BOOST_TEST(runs == 0u);
        });
        BOOST_TEST(all.empty());
        poll();
        return all;
    };
    text_wheel w(ctx, workers);
    const std::vector<error_code> fresh(3, error_code(timewheel::error::not_started));
    const std::vector<error_code> closed(3, error_code(timewheel::error::closed));
    BOOST_TEST((codes(w) == fresh));
    bool is_told = false;
    w.async_close([&](error_code ec) {
        BOOST_TEST((ec == timewheel::error::not_started));
        is_told = true;
    });
    BOOST_TEST(!is_told);
    poll();
    BOOST_TEST(is_told);
    w.start();
    w.stop();
    BOOST_TEST((codes(w) == closed));
    BOOST_TEST(checked(w).added == 0u);
}

BOOST_AUTO_TEST_CASE(the_throwing_forms_name_the_function)
{
    const auto message_of = [](auto call) {
        try {
            call();
        } catch (const boost::system::system_error& e) {
            return std::string(e.what());
        }
        return std::string("nothing was thrown");
    };
    virtual_wheel w(ctx, workers);
    const auto says = [&](auto call, std::string_view name, timewheel::error e) {
        const std::string message = message_of(call);
        BOOST_TEST_CONTEXT(message)
        {
            BOOST_TEST(message.find("timewheel::wheel::" + std::string(name)) == 0u);
            BOOST_TEST(message.find(error_code(e).message()) != std::string::npos);
        }
    };
    using enum timewheel::error;
    says([&] { w.stop(); }, "stop", not_started);
    says([&] { w.close(); }, "close", not_started);
    says([&] { w.wait(); }, "wait", not_started);
    says([&] { w.add(1s); }, "add", not_started);
    says([&] { w.add(1s, nothing); }, "add", not_started);
    says([&] { w.add_repeating(1s); }, "add_repeating", not_started);
    says([&] { w.add_repeating(1s, nothing); }, "add_repeating", not_started);
    says([&] { w.remove(timer_id(1)); }, "remove", not_started);
    says([&] { w.remove(timer_id(1), cancel_running); }, "remove", not_started);
    w.start();
    says([&] { w.start(); }, "start", already_running);
    says([&] { w.add_repeating(0s, nothing); }, "add_repeating", invalid_period);
    w.stop();
    says([&] { w.start(); }, "start", closed);
    w.stop();
    w.close();
}

BOOST_AUTO_TEST_CASE(options_that_make_no_sense)
{
    const auto rejected = [&](fixture::options_for<> options) {
        try {
            virtual_wheel(ctx, workers, std::move(options));
        } catch (const std::invalid_argument& e) {
            return std::string(e.what());
        }
        return std::string("accepted");
    };
    const auto names = [](const std::string& message, const char* option) {
        BOOST_TEST_CONTEXT(message)
        {
            BOOST_TEST(message.find("timewheel: ") == 0u);
            BOOST_TEST(message.find(option) != std::string::npos);
            BOOST_TEST(message.find("must be") != std::string::npos);
        }
    };
    names(rejected({.tick = 0ns}), "tick");
    names(rejected({.tick = -1ns}), "tick");
    names(rejected({.tick = nanoseconds::min()}), "tick");
    names(rejected({.max_queued = 0}), "max_queued");
    names(rejected({.max_pending = 0}), "max_pending");
    names(rejected({.run_timeout = 0ns}), "run_timeout");
    names(rejected({.run_timeout = -1s}), "run_timeout");
    BOOST_TEST(
        rejected({.tick = 1ns, .max_queued = 1, .max_pending = 1, .run_timeout = 1ns}) == "accepted"
    );
    BOOST_TEST(rejected({.tick = nanoseconds::max()}) == "accepted");

    std::function<void()> empty;
    BOOST_CHECK_THROW(virtual_wheel(ctx, workers, {}, empty), std::invalid_argument);
    void (*no_function)() = nullptr;
    BOOST_CHECK_THROW(virtual_wheel(ctx, workers, {}, no_function), std::invalid_argument);
}

BOOST_AUTO_TEST_CASE(arguments_that_make_no_sense)
{
    auto w = make_wheel();
    watch(w);
    const auto error_of = [](auto call) {
        error_code ec;
        BOOST_TEST(call(ec) == timer_id::none);
        return ec;
    };
    const error_code empty_job = timewheel::error::empty_job;
    const error_code invalid_period = timewheel::error::invalid_period;
    const error_code invalid_count = timewheel::error::invalid_count;
    for (const auto period : {0ns, -1ns, nanoseconds::min()}) {
        BOOST_TEST(error_of([&](auto& ec) {
                       return w.add_repeating(period, nothing, repeat(), ec);
                   }) == invalid_period);
        BOOST_TEST(error_of([&](auto& ec) {
                       return w.add_repeating(period, repeat(), ec);
                   }) == invalid_period);
    }
    BOOST_TEST(error_of([&](auto& ec) {
                   return w.add_repeating(1s, nothing, repeat{.count = 0}, ec);
               }) == invalid_count);
    const std::function<void()> empty;
    BOOST_TEST(error_of([&](auto& ec) { return w.add(1s, empty, ec); }) == empty_job);
    BOOST_TEST(error_of([&](auto& ec) {
                   return w.add_repeating(1s, empty, repeat(), ec);
               }) == empty_job);
    void (*no_function)() = nullptr;
    BOOST_TEST(error_of([&](auto& ec) { return w.add(1s, no_function, ec); }) == empty_job);

    std::vector<error_code> told_codes;
    const auto tell = [&](error_code ec, auto&&) { told_codes.push_back(ec); };
    w.async_run_after(1s, empty, tell);
    w.async_repeat(0s, nothing, repeat(), tell);
    w.async_repeat(1s, nothing, repeat{.count = 0}, tell);
    w.async_repeat(1s, empty, repeat(), tell);
    poll();
    const std::vector<error_code> expected{empty_job, invalid_period, invalid_count, empty_job};
    BOOST_TEST((told_codes == expected));
    BOOST_TEST(w.stats().added == 0u);
    BOOST_TEST(w.stats().scheduled == 0u);
}

BOOST_AUTO_TEST_CASE(too_many_timers)
{
    auto w = make_wheel({.max_pending = 2});
    watch(w);
    int ran = 0;
    const auto job = [&] { ++ran; };
    const timer_id first = w.add(1s, job);
    w.add(2s, job);
    error_code ec;
    BOOST_TEST(w.add(3s, job, ec) == timer_id::none);
    BOOST_TEST((ec == timewheel::error::too_many_timers));
    BOOST_TEST(w.remove(first) == remove_result::removed);
    BOOST_TEST(w.add(3s, job, ec) != timer_id::none);
    BOOST_TEST(!ec);
    BOOST_CHECK_THROW(w.add(3s, job), boost::system::system_error);
    at(2s);
    BOOST_TEST(ran == 1);
    w.add(4s, job);
    BOOST_CHECK_THROW(w.add(4s, job), boost::system::system_error);
    at(10s);
    BOOST_TEST(ran == 3);
    BOOST_TEST(w.stats().added == 4u);
}

BOOST_AUTO_TEST_CASE(ids_are_never_used_again)
{
    std::set<timer_id> seen{timer_id::none};
    for (int i = 0; i != 3; ++i) {
        auto a = make_wheel();
        auto b = make_wheel();
        for (int j = 0; j != 10; ++j) {
            const timer_id id = a.add(1s, nothing);
            BOOST_TEST(seen.insert(id).second);
            BOOST_TEST(b.remove(id) == remove_result::unknown);
            BOOST_TEST(a.remove(id) == remove_result::removed);
            BOOST_TEST(a.remove(id) == remove_result::unknown);
            BOOST_TEST(seen.insert(b.add_repeating(1s, nothing)).second);
        }
    }
}

BOOST_AUTO_TEST_CASE(a_signal_stops_the_wheel)
{
    asio::cancellation_signal signal;
    virtual_wheel w(ctx, workers, {.observer = observer()});
    watch(w);
    w.start(signal.slot());
    const timer_id id = w.add(1s, nothing);
    signal.emit(asio::cancellation_type::none); // whatever it is
    BOOST_TEST(take_one().outcome == job_outcome::cancelled);
    BOOST_TEST((w.next_fire_time(id) == std::nullopt));
    error_code ec;
    w.add(1s, nothing, ec);
    BOOST_TEST((ec == timewheel::error::closed));
    signal.emit(asio::cancellation_type::all);
    poll();
}

BOOST_AUTO_TEST_CASE(a_signal_may_come_after_the_wheel)
{
    asio::cancellation_signal signal;
    {
        virtual_wheel w(ctx, workers);
        w.start(signal.slot());
        virtual_wheel moved(std::move(w));
        signal.emit(asio::cancellation_type::all);
        error_code ec;
        moved.add(1s, nothing, ec);
        BOOST_TEST((ec == timewheel::error::closed));
    }
    signal.emit(asio::cancellation_type::all);
    virtual_wheel w(ctx, workers);
    w.start();
    BOOST_CHECK_THROW(w.start(signal.slot()), boost::system::system_error);
    error_code ec;
    asio::cancellation_signal unused;
    w.start(unused.slot(), ec);
    BOOST_TEST((ec == timewheel::error::already_running));
    BOOST_TEST(!unused.slot().has_handler());
}

BOOST_AUTO_TEST_SUITE_END()

}
