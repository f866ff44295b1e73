// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#include <timewheel/keyed_scheduler.hpp>

#include <test_common/keyed_fixture.hpp>

#include <boost/asio/thread_pool.hpp>
#include <boost/system/system_error.hpp>
#include <boost/test/unit_test.hpp>

#include <chrono>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace timewheel::test {

namespace {

using fixture = keyed_fixture<struct keyed_scheduler_test>;
using clock = fixture::clock;

// What the constructor says of options that it refuses.
template <class Scheduler>
std::string refusal(asio::io_context& ctx, typename Scheduler::options_type options)
{
    try {
        const Scheduler made(ctx, ctx, std::move(options));
        return "none";
    } catch (const std::invalid_argument& e) {
        return e.what();
    }
}

struct no_equality
{
    int value = 0;
};

}

BOOST_FIXTURE_TEST_SUITE(keyed_scheduler, fixture)

using wall_clock_scheduler = timewheel::keyed_scheduler<std::string, int>;

static_assert(std::is_same_v<wall_clock_scheduler::clock_type, std::chrono::system_clock>);
static_assert(std::is_same_v<wall_clock_scheduler::executor_type, asio::any_io_executor>);
static_assert(!std::is_copy_constructible_v<wall_clock_scheduler>);
static_assert(std::is_nothrow_move_assignable_v<wall_clock_scheduler>);
static_assert(std::is_constructible_v<
              wall_clock_scheduler,
              asio::io_context&,
              asio::thread_pool&,
              wall_clock_scheduler::options_type>);
static_assert(std::is_same_v<
              wall_clock_scheduler::rebind_executor<
                  asio::io_context::executor_type>::other::executor_type,
              asio::io_context::executor_type>);

BOOST_AUTO_TEST_CASE(an_item_runs_again_and_again)
{
    auto& s = start();
    BOOST_CHECK(s.upsert("a", 5) == upsert_result::added);
    BOOST_TEST(decisions() == "a=5@0");
    BOOST_TEST(next_run("a") == "5");
    at(4ms);
    BOOST_TEST(runs() == "");
    at(5ms);
    BOOST_TEST(runs() == "a=5@5");
    BOOST_TEST(decisions() == "a=5@5");
    BOOST_TEST(next_run("a") == "10");
    at(23ms);
    BOOST_TEST(runs() == "a=5@23");
    BOOST_TEST(next_run("a") == "28");
    BOOST_CHECK(s.get_executor() == asio::any_io_executor(ctx.get_executor()));
}

BOOST_AUTO_TEST_CASE(items_can_be_added_before_the_start)
{
    auto& s = make();
    s.upsert("a", 5);
    s.upsert("b", 3);
    at(100ms);
    BOOST_TEST(decisions() == "");
    BOOST_TEST(state("a") == "pending");
    BOOST_TEST(next_run("a") == "never");
    s.start();
    BOOST_TEST(decisions() == "a=5@100, b=3@100");
    at(105ms);
    BOOST_TEST(runs() == "b=3@105, a=5@105");
}

BOOST_AUTO_TEST_CASE(equal_data_change_nothing)
{
    auto& s = start();
    s.upsert("a", 50);
    for (int i = 1; i != 50; ++i) {
        at(1ms * i);
        BOOST_CHECK(s.upsert("a", 50) == upsert_result::unchanged);
    }
    BOOST_TEST(decisions() == "a=50@0");
    at(50ms);
    BOOST_TEST(runs() == "a=50@50");
}

BOOST_AUTO_TEST_CASE(the_user_says_what_is_equal)
{
    options.equal = [](int a, int b) { return a / 10 == b / 10; };
    auto& s = start();
    s.upsert("a", 20);
    BOOST_CHECK(s.upsert("a", 29) == upsert_result::unchanged);
    BOOST_TEST(s.snapshot("a")->data == 20);
    BOOST_CHECK(s.upsert("a", 30) == upsert_result::updated);
    BOOST_TEST(s.replace_all({{"a", 31}}).unchanged == 1u);
    BOOST_TEST(s.replace_all({{"a", 41}}).updated.size() == 1u);
}

BOOST_AUTO_TEST_CASE(data_without_equality_need_a_function)
{
    using own_scheduler = basic_keyed_scheduler<int, no_equality, clock>;
    own_scheduler::options_type o{
        .next = [](auto now, int, const no_equality&) { return now; },
        .run = [] {},
    };
    BOOST_TEST(
        refusal<own_scheduler>(ctx, o) ==
        "timewheel: equal of a keyed scheduler is missing, but must be a function, since the data "
        "have no =="
    );
    o.equal = [](const no_equality& a, const no_equality& b) { return a.value == b.value; };
    own_scheduler s(ctx, ctx, o);
    s.upsert(1, {7});
    BOOST_CHECK(s.upsert(1, {7}) == upsert_result::unchanged);
    BOOST_CHECK(s.upsert(1, {8}) == upsert_result::updated);
}

BOOST_AUTO_TEST_CASE(bad_options_are_refused_by_name)
{
    const auto said = [&](auto change) {
        options_type o = options;
        change(o);
        return refusal<scheduler_type>(ctx, o);
    };
    BOOST_TEST(said([](options_type&) {}) == "none");
    BOOST_TEST(said([](options_type& o) {
                   o.next = nullptr;
               }) == "timewheel: next of a keyed scheduler is missing, but must be a function");
    BOOST_TEST(said([](options_type& o) {
                   o.run = {};
               }) == "timewheel: run of a keyed scheduler is missing, but must be a function");
    BOOST_TEST(said([](options_type& o) {
                   o.run = std::function<void()>();
               }) == "timewheel: run of a keyed scheduler is missing, but must be a function");
    BOOST_TEST(said([](options_type& o) {
                   o.run = static_cast<void (*)()>(nullptr);
               }) == "timewheel: run of a keyed scheduler is missing, but must be a function");
    BOOST_TEST(said([](options_type& o) {
                   o.max_concurrent = 0;
               }) == "timewheel: max_concurrent of a keyed scheduler is 0, but must be at least 1");
    BOOST_TEST(said([](options_type& o) {
                   o.tick = 0ms;
               }) == "timewheel: tick of a keyed scheduler is 0 ns, but must be positive");
    BOOST_TEST(
        said([](options_type& o) { o.run_timeout = -1ms; }) ==
        "timewheel: run_timeout of a keyed scheduler is -1000000 ns, but must be positive"
    );
    BOOST_TEST(said([](options_type& o) {
                   o.run_timeout = 0ms;
               }) == "timewheel: run_timeout of a keyed scheduler is 0 ns, but must be positive");
}

BOOST_AUTO_TEST_CASE(each_wrong_call_has_its_error)
{
    const auto said = [](auto call) {
        error_code ec;
        call(ec);
        return ec;
    };
    const auto of_key = [&](const std::string& key) {
        scheduler_type& s = scheduler();
        return std::vector<error_code>{
            said([&](error_code& ec) { s.trigger_now(key, ec); }),
            said([&](error_code& ec) { s.pause(key, ec); }),
            said([&](error_code& ec) { s.resume(key, ec); }),
            said([&](error_code& ec) { s.reschedule(key, ec); }),
            said([&](error_code& ec) { s.remove(key, ec); }),
        };
    };
    const error_code none;
    const error_code fresh = error::not_started;
    const error_code unknown = error::unknown_key;
    const error_code closed = error::closed;

    auto& s = make();
    BOOST_TEST(said([&](error_code& ec) { s.stop(ec); }) == fresh);
    BOOST_TEST(said([&](error_code& ec) { s.close(ec); }) == fresh);
    BOOST_CHECK(of_key("a") == (std::vector{fresh, unknown, unknown, unknown, unknown}));
    s.upsert("a", 5);
    BOOST_CHECK(of_key("a") == (std::vector{fresh, none, none, none, none}));
    BOOST_TEST(said([&](error_code& ec) { s.start(ec); }) == none);
    BOOST_TEST(said([&](error_code& ec) { s.start(ec); }) == error_code(error::already_running));
    BOOST_CHECK(of_key("a") == (std::vector{unknown, unknown, unknown, unknown, unknown}));
    s.upsert("a", 5);
    BOOST_CHECK(of_key("a") == (std::vector{none, none, none, none, none}));
    s.upsert("a", 5);
    s.stop();
    s.stop();
    s.close();
    BOOST_TEST(said([&](error_code& ec) { s.start(ec); }) == closed);
    BOOST_CHECK(of_key("a") == (std::vector{closed, closed, closed, closed, closed}));
    BOOST_CHECK(of_key("b") == (std::vector{closed, closed, closed, closed, closed}));
    BOOST_TEST(said([&](error_code& ec) { s.upsert("b", 5, ec); }) == closed);
    BOOST_TEST(said([&](error_code& ec) { s.replace_all({}, ec); }) == closed);
    BOOST_TEST(state("a") == "pending");
    BOOST_TEST(next_run("a") == "never");
}

BOOST_AUTO_TEST_CASE(errors_are_thrown_in_the_name_of_the_function)
{
    const auto thrown = [](auto call) {
        try {
            call();
            return std::string("nothing");
        } catch (const boost::system::system_error& e) {
            return std::string(e.what());
        }
    };
    auto& s = make();
    const auto begins = [&](std::string_view with, auto call) {
        const std::string said = thrown(call);
        BOOST_TEST(said.starts_with(with), said);
    };
    begins("timewheel::keyed_scheduler::stop: not started", [&] { s.stop(); });
    begins("timewheel::keyed_scheduler::close: not started", [&] { s.close(); });
    begins("timewheel::keyed_scheduler::trigger_now: not started", [&] { s.trigger_now("a"); });
    s.start();
    begins("timewheel::keyed_scheduler::start: already running", [&] { s.start(); });
    const std::string unknown = ": the scheduler has no item with that key: upsert it first";
    begins("timewheel::keyed_scheduler::remove" + unknown, [&] { s.remove("a"); });
    begins("timewheel::keyed_scheduler::pause" + unknown, [&] { s.pause("a"); });
    begins("timewheel::keyed_scheduler::resume" + unknown, [&] { s.resume("a"); });
    begins("timewheel::keyed_scheduler::reschedule" + unknown, [&] { s.reschedule("a"); });
    begins("timewheel::keyed_scheduler::trigger_now" + unknown, [&] { s.trigger_now("a"); });
    s.stop();
    begins("timewheel::keyed_scheduler::upsert: stopped or closed", [&] { s.upsert("a", 1); });
    begins("timewheel::keyed_scheduler::replace_all: stopped or", [&] { s.replace_all({}); });
}

BOOST_AUTO_TEST_CASE(a_snapshot_says_everything)
{
    auto& s = start();
    s.upsert("b", 7);
    s.upsert("a", 5);
    s.upsert("c", 1000);
    s.pause("c");
    answer = make_error_code(error::queue_full); // any error
    at(5ms);
    answer = {};
    at(12ms);
    const auto all = s.snapshot();
    BOOST_TEST_REQUIRE(all.size() == 3u);
    BOOST_TEST(all[0].key == "a");
    BOOST_TEST(all[0].data == 5);
    BOOST_CHECK(all[0].state == item_state::pending);
    BOOST_CHECK(all[0].next_run == clock::time_point(17ms));
    BOOST_TEST(all[0].running == 0u);
    BOOST_TEST(all[0].runs == 2u);
    BOOST_TEST(all[0].skipped == 0u);
    BOOST_TEST_REQUIRE(all[0].history.size() == 2u);
    const record_type& first = all[0].history[0];
    BOOST_CHECK(first.scheduled_for == clock::time_point(5ms));
    BOOST_CHECK(first.outcome == job_outcome::failed);
    BOOST_TEST(first.error == error_code(error::queue_full));
    BOOST_TEST(first.sequence == 1u);
    const record_type& last = *all[0].last_run();
    BOOST_TEST(&last == &all[0].history[1]);
    BOOST_CHECK(last.scheduled_for == clock::time_point(10ms));
    BOOST_CHECK(last.started_at == clock::time_point(12ms));
    BOOST_CHECK(last.lateness == 2ms);
    BOOST_CHECK(last.outcome == job_outcome::completed);
    BOOST_TEST(last.sequence == 2u);
    BOOST_TEST(all[1].key == "b");
    BOOST_TEST(all[2].key == "c");
    BOOST_CHECK(all[2].state == item_state::paused);
    BOOST_CHECK(!all[2].next_run);
    BOOST_TEST(all[2].last_run() == nullptr);
    BOOST_CHECK(!s.snapshot("d"));
}

BOOST_AUTO_TEST_CASE(the_history_is_bounded)
{
    for (const std::size_t most : {0u, 1u, 3u}) {
        clock::set({});
        options.history = most;
        auto& s = start();
        s.upsert("a", 1);
        for (int i = 1; i != 10; ++i)
            at(1ms * i);
        const auto item = s.snapshot("a");
        BOOST_TEST(item->runs == 9u);
        BOOST_TEST_REQUIRE(item->history.size() == most);
        for (std::size_t i = 0; i != most; ++i)
            BOOST_TEST(item->history[i].sequence == 10 - most + i);
        BOOST_TEST((item->last_run() == nullptr) == (most == 0));
    }
}

BOOST_AUTO_TEST_CASE(jobs_take_what_they_want)
{
    std::vector<std::string> called;
    const auto run_with = [&](basic_keyed_job<std::string, int, clock> job) {
        clock::set({});
        options.run = std::move(job);
        start().upsert("a", 5);
        at(5ms);
    };
    using context = context_type;
    run_with([&] { called.push_back("nothing"); });
    run_with([&](const std::string& key) { called.push_back(key); });
    run_with([&](const std::string& key, int data) { called.push_back(key + std::to_string(data)); }
    );
    run_with([&](context& job) { called.push_back(std::to_string(job.sequence())); });
    run_with([&](context& job, const std::string& key) {
        called.push_back(key + milliseconds(job.scheduled_for()));
        return error_code();
    });
    run_with([&](context&, const std::string& key, const int&) -> asio::awaitable<void> {
        called.push_back("coroutine " + key);
        co_return;
    });
    run_with([&](auto&&... all) { called.push_back(std::to_string(sizeof...(all))); });
    BOOST_TEST(
        called == (std::vector<std::string>{"nothing", "a", "a5", "1", "a5", "coroutine a", "3"}),
        boost::test_tools::per_element()
    );
}

BOOST_AUTO_TEST_CASE(times_beyond_the_clock_are_never)
{
    auto& s = start();
    next = [](auto, const std::string& key, int) {
        return key == "a" ? (clock::time_point::max)() : (clock::time_point::min)();
    };
    s.upsert("a", 1);
    s.upsert("b", 1);
    at(1h);
    BOOST_TEST(runs() == "b=1@3600000");
    BOOST_TEST(state("a") == "pending");
}

BOOST_AUTO_TEST_CASE(ends_as_jobs_do)
{
    auto& s = start();
    s.upsert("a", 5);
    inside = [](const std::string&) { throw std::runtime_error("no"); };
    at(5ms);
    BOOST_TEST(ends() == "a threw");
    BOOST_TEST(s.snapshot("a")->last_run()->error == error_code(error::job_threw));
    BOOST_CHECK(s.snapshot("a")->last_run()->exception);
    inside = nullptr;
    answer = make_error_code(error::closed);
    at(10ms);
    BOOST_TEST(ends() == "a failed");
    answer = {};
    at(15ms);
    BOOST_TEST(ends() == "a completed");
    BOOST_TEST(state("a") == "pending");
}

BOOST_AUTO_TEST_SUITE_END()

}
