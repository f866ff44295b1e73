// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#include <timewheel/wheel.hpp>

#include <timewheel/manual_clock.hpp>
#include <timewheel/sleep.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/cancellation_type.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/system/errc.hpp>
#include <boost/test/unit_test.hpp>

#include <atomic>
#include <chrono>
#include <exception>
#include <future>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace {

namespace asio = boost::asio;
using boost::system::error_code;
using namespace std::chrono_literals;

struct counters
{
    std::atomic<int> greeted = 0;
    std::atomic<int> failed = 0;
    std::atomic<int> slow = 0;
};

counters seen;

void greet(std::string_view)
{
    ++seen.greeted;
}

error_code deliver(const std::string& address)
{
    if (address.find('@') == std::string::npos)
        return make_error_code(boost::system::errc::invalid_argument);
    return {};
}

struct fresh_counters
{
    fresh_counters()
    {
        seen.greeted = 0;
        seen.failed = 0;
        seen.slow = 0;
    }
};

struct with_workers : fresh_counters
{
    asio::io_context context;
    asio::thread_pool workers{2};
};

//! [coroutine] tag::coroutine[]
// Tries three times. The job is over when the coroutine is.
asio::awaitable<error_code> send(std::string& address)
{
    error_code ec = deliver(address);
    for (int attempt = 1; ec && attempt != 3; ++attempt) {
        co_await timewheel::sleep_for(1ms); // throws when the job is told to stop
        ec = deliver(address);
    }
    co_return ec;
}
//! [coroutine] end::coroutine[]

//! [operations] tag::operations[]
asio::awaitable<int> boil_eggs(timewheel::wheel<std::string>& wheel)
{
    const auto done = co_await wheel.async_run_after(
        5ms, "water", [](std::string& what) { what += " boils"; }, asio::use_awaitable
    );
    BOOST_TEST(done.data == "water boils");

    const auto looks = co_await wheel.async_repeat(
        2ms, "eggs", [](std::string& what) { greet(what); }, {.count = 3}, asio::use_awaitable
    );
    co_return static_cast<int>(looks);
}
//! [operations] end::operations[]

//! [failure] tag::failure[]
asio::awaitable<bool> is_delivered(timewheel::wheel<std::string>& wheel, std::string address)
{
    const auto [ec, event] = co_await wheel.async_run_after(
        1ms, std::move(address), &deliver, asio::as_tuple(asio::use_awaitable)
    );
    co_return !ec; // else `event` tells what the job has returned or thrown
}
//! [failure] end::failure[]

//! [async_close] tag::async_close[]
asio::awaitable<void> shut_down(timewheel::wheel<std::string>& wheel)
{
    co_await wheel.async_close(asio::use_awaitable); // no job and no observer is running now
}
//! [async_close] end::async_close[]

BOOST_AUTO_TEST_SUITE(wheel)

BOOST_FIXTURE_TEST_CASE(first_wheel, fresh_counters)
{
    //! [wheel] tag::wheel[]
    asio::io_context context;     // where the timers wait
    asio::thread_pool workers{2}; // where the jobs run

    // Each timer has a string. The last argument is the job of those that have none of their own.
    const auto job = [](std::string& name) { greet(name); };
    timewheel::wheel<std::string> wheel{context, workers, {.tick = 1ms}, job};
    wheel.start();

    wheel.add(20ms, "Ann");
    wheel.add_repeating(10ms, "Ben", {.count = 3});
    const timewheel::timer_id id = wheel.add(1h, "Cleo", [](std::string& name) { name.clear(); });
    wheel.remove(id);

    context.run(); // until no timer is left and no job is running
    //! [wheel] end::wheel[]
    BOOST_TEST(seen.greeted == 4);
}

BOOST_FIXTURE_TEST_CASE(forms_of_jobs, with_workers)
{
    timewheel::wheel<std::string> wheel{context, workers};
    wheel.start();
    // tag::jobs[]
    wheel.add(1ms, "A", [] { greet("nobody"); });
    wheel.add(1ms, "B", [](std::string& data) { greet(data); }); // or by value, or const
    wheel.add(1ms, "C", [](timewheel::job_context& job) {
        if (job.lateness() > 1s)
            ++seen.slow;
    });
    wheel.add(1ms, "d@example.org", [](timewheel::job_context& job, std::string& data) {
        return job.stop_requested() ? asio::error::operation_aborted : deliver(data);
    });
    wheel.add(1ms, "e@example.org", send); // a coroutine, see below
    wheel.add(1ms, "F", [n = 2](std::string data) -> asio::awaitable<void> {
        co_await timewheel::sleep_for(n * 1ms); // captures live as long as the timer
        greet(data);
    });
    // end::jobs[]
    context.run();
    BOOST_TEST(seen.greeted == 3);
    BOOST_TEST(wheel.stats().completed == 6U);
}

BOOST_FIXTURE_TEST_CASE(no_data, with_workers)
{
    // tag::no_data[]
    timewheel::wheel<> wheel{context, workers};
    wheel.start();
    wheel.add(1ms, [] { greet("nobody"); });
    wheel.add(std::chrono::steady_clock::now() + 2ms, [] { greet("nobody"); });
    // end::no_data[]
    context.run();
    BOOST_TEST(seen.greeted == 2);
}

BOOST_FIXTURE_TEST_CASE(same_context, with_workers)
{
    int visits = 0;
    // tag::same_context[]
    timewheel::wheel<> wheel{context, context}; // one thread for all of it: no locks
    wheel.start();
    wheel.add_repeating(1ms, [&] { ++visits; }, {.count = 3});
    context.run();
    // end::same_context[]
    BOOST_TEST(visits == 3);
}

BOOST_FIXTURE_TEST_CASE(repeating, with_workers)
{
    timewheel::wheel<std::string> wheel{context, workers, {}, [](std::string& s) { greet(s); }};
    wheel.start();
    const auto now = std::chrono::steady_clock::now();
    // tag::repeat[]
    using enum timewheel::repeat_mode;
    wheel.add_repeating(2ms, "sample", {.count = 2});
    wheel.add_repeating(2ms, "poll", {.mode = fixed_delay, .initial_delay = 0ms, .count = 2});
    wheel.add_repeating(2ms, "report", {.mode = skip_if_running, .until = now + 50ms});
    // end::repeat[]
    context.run();
    BOOST_TEST(seen.greeted >= 4);
}

BOOST_FIXTURE_TEST_CASE(removal, with_workers)
{
    timewheel::wheel<std::string> wheel{context, workers, {}, [](std::string& s) { greet(s); }};
    wheel.start();
    std::promise<void> begun;
    const auto when_begun = begun.get_future();
    // tag::remove[]
    using timewheel::remove_result;
    const auto waiting = wheel.add(1h, "never");
    BOOST_CHECK((wheel.remove(waiting) == remove_result::removed));
    BOOST_CHECK((wheel.remove(waiting) == remove_result::unknown)); // nothing happens

    const auto running = wheel.add(1ms, "long", [&](timewheel::job_context& job) {
        begun.set_value();
        while (!job.stop_requested())
            std::this_thread::yield();
    });
    // end::remove[]
    std::thread other([&] { context.run(); });
    when_begun.wait();
    // tag::cancel_running[]
    BOOST_CHECK((wheel.remove(running, timewheel::cancel_running) == remove_result::running));
    // end::cancel_running[]
    other.join();
    BOOST_TEST(seen.greeted == 0);
}

BOOST_FIXTURE_TEST_CASE(operations, with_workers)
{
    timewheel::wheel<std::string> wheel{context, workers};
    wheel.start();
    auto looks = asio::co_spawn(context, boil_eggs(wheel), asio::use_future);
    auto right = asio::co_spawn(context, is_delivered(wheel, "ann@example.org"), asio::use_future);
    auto wrong = asio::co_spawn(context, is_delivered(wheel, "nowhere"), asio::use_future);
    context.run();
    BOOST_TEST(looks.get() == 3);
    BOOST_TEST(right.get());
    BOOST_TEST(!wrong.get());
}

BOOST_FIXTURE_TEST_CASE(bounded_queue, with_workers)
{
    // tag::backpressure[]
    timewheel::wheel<std::string> wheel{
        context,
        workers,
        {.max_queued = 1000,
         .policy = timewheel::backpressure::drop,
         .max_pending = 100'000,
         .run_timeout = 30s}
    };
    // end::backpressure[]
    wheel.start();
    wheel.add(1ms, "A", [](std::string& s) { greet(s); });
    context.run();
    BOOST_TEST(seen.greeted == 1);
}

BOOST_FIXTURE_TEST_CASE(observer, with_workers)
{
    // tag::observer[]
    timewheel::wheel<std::string> wheel{
        context,
        workers,
        {.observer =
             [](const auto& event) { // on the thread where the run has ended
                 if (event.error)
                     ++seen.failed; // event.data, event.error.message()
                 if (event.lateness > 1min || event.duration > 1min)
                     ++seen.slow;
             },
         .on_error = [](timewheel::timer_id, std::exception_ptr) { greet("whoever debugs it"); }}
    };
    // end::observer[]
    wheel.start();
    wheel.add(1ms, "nowhere", [](const std::string& address) { return deliver(address); });
    wheel.add(1ms, "ann@example.org", [](const std::string& address) { return deliver(address); });
    wheel.add(1ms, "Ben", [](std::string&) { throw std::runtime_error("a mistake"); });
    context.run();
    BOOST_TEST(seen.failed == 2);
    BOOST_TEST(seen.greeted == 1);
    BOOST_TEST(seen.slow == 0);
}

BOOST_FIXTURE_TEST_CASE(figures, with_workers)
{
    timewheel::wheel<std::string> wheel{context, workers, {}, [](std::string& s) { greet(s); }};
    wheel.start();
    const auto id = wheel.add(1h, "late");
    // tag::inspect[]
    if (const auto due = wheel.next_fire_time(id))
        BOOST_TEST((*due > std::chrono::steady_clock::now() + 59min));

    for (const timewheel::timer_info& timer : wheel.pending_timers()) // soonest first
        BOOST_CHECK((timer.id == id));
    // end::inspect[]
    wheel.remove(id);
    wheel.add(1ms, "soon");
    context.run();
    // tag::stats[]
    const timewheel::wheel_stats stats = wheel.stats();
    BOOST_TEST(stats.added == 2U);
    BOOST_TEST(stats.completed == 1U);
    BOOST_TEST((stats.lateness.percentile(0.99) <= stats.lateness.longest()));
    // end::stats[]
}

BOOST_FIXTURE_TEST_CASE(shutdown, with_workers)
{
    timewheel::wheel<std::string> wheel{context, workers, {}, [](std::string& s) { greet(s); }};
    // tag::close[]
    asio::cancellation_signal quit;
    wheel.start(quit.slot());
    wheel.add(1h, "never");

    quit.emit(asio::cancellation_type::terminal); // the same as wheel.stop()
    wheel.close();                                // blocks until no job is running
    // end::close[]
    context.run();
    error_code ec;
    wheel.add(1ms, "too late", ec);
    BOOST_CHECK(ec == timewheel::error::closed);
    BOOST_TEST(seen.greeted == 0);
}

BOOST_FIXTURE_TEST_CASE(asynchronous_shutdown, with_workers)
{
    timewheel::wheel<std::string> wheel{context, workers};
    wheel.start();
    wheel.add(1h, "never");
    auto done = asio::co_spawn(context, shut_down(wheel), asio::use_future);
    context.run();
    BOOST_CHECK_NO_THROW(done.get());
}

BOOST_AUTO_TEST_CASE(virtual_time)
{
    // tag::virtual_time[]
    using clock = timewheel::manual_clock<struct virtual_day>;
    std::vector<std::string> log;
    asio::io_context context;
    timewheel::basic_wheel<std::string, clock> wheel{context, context, {}, [&](std::string& what) {
                                                         log.push_back(what);
                                                     }};
    wheel.start();
    wheel.add(30min, "tea");
    wheel.add_repeating(24h, "backup", {.count = 2});

    clock::advance(30min);
    context.poll(); // the turn of the timer, and that of its job
    BOOST_TEST(log == std::vector<std::string>{"tea"}, boost::test_tools::per_element());

    while (clock::advance_to_next()) // while anything waits
        context.poll();
    BOOST_TEST(log.size() == 3U);
    BOOST_TEST((clock::now().time_since_epoch() == 48h));
    // end::virtual_time[]
}

BOOST_AUTO_TEST_SUITE_END()

}
