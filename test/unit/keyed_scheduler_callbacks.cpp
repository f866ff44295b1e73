// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#include <timewheel/keyed_scheduler.hpp>

#include <test_common/keyed_fixture.hpp>

#include <boost/asio/post.hpp>
#include <boost/test/unit_test.hpp>

#include <array>
#include <chrono>
#include <exception>
#include <functional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

// Functions of the user's that throw, call the scheduler back, or destroy it.

namespace timewheel::test {

namespace {

using fixture = keyed_fixture<struct keyed_scheduler_callbacks_test>;
using clock = fixture::clock;
using time_point = fixture::time_point;

// From where the scheduler calls the user.
enum class place
{
    next,
    run,
    on_change,
    on_run,
    on_invalid,
    equal,
    end
};

constexpr std::array places{
    "next",
    "run",
    "on_change",
    "on_run",
    "on_invalid",
    "equal",
};

struct callback_fixture : fixture
{
    callback_fixture()
    {
        on_change = options.on_change;
        on_run = options.on_run;
        options.next = [this](time_point now, const std::string& key, const int& data) {
            call(place::next, key);
            if (data < 0)
                throw std::runtime_error("less than nothing");
            return now + data * 1ms;
        };
        inside = [this](const std::string& key) { call(place::run, key); };
        options.on_change = [this](const std::string& key, item_state state) {
            on_change(key, state);
            call(place::on_change, key);
        };
        options.on_run = [this](const std::string& key, const record_type& record) {
            on_run(key, record);
            call(place::on_run, key);
        };
        options.on_invalid = [this](const std::string& key, const std::exception_ptr& reason) {
            BOOST_TEST(!!reason);
            call(place::on_invalid, key);
        };
        options.equal = [this](int a, int b) {
            call(place::equal, std::string());
            return a == b;
        };
    }

    // Once.
    void call(place from, const std::string& key)
    {
        if (from != wanted)
            return;
        if (const auto function = std::exchange(reaction, {}))
            function(key);
    }

    // A scheduler and what happens to it, with a reaction in one place.
    void scene(place from, std::function<void(const std::string&)> reacts)
    {
        clock::set({});
        start();
        wanted = from;
        reaction = std::move(reacts);
        for (const auto& act : std::vector<std::function<void()>>{
                 [&] { scheduler().upsert("a", 5); },
                 [&] { scheduler().upsert("a", 5); },
                 [&] { scheduler().upsert("b", -1); },
                 [&] { at(5ms); },
                 [&] { scheduler().trigger_now("a"); },
                 [&] { poll(); },
             }) {
            if (!exists())
                break;
            try {
                act();
            } catch (const boost::system::system_error&) {
                // It was stopped, or the item removed.
            }
        }
        BOOST_TEST(!reaction, "it was called");
        reaction = nullptr;
    }

    place wanted = place::end;
    std::function<void(const std::string&)> reaction;
    std::function<void(const std::string&, item_state)> on_change;
    std::function<void(const std::string&, const record_type&)> on_run;
};

}

BOOST_FIXTURE_TEST_SUITE(keyed_scheduler_callbacks, callback_fixture)

BOOST_AUTO_TEST_CASE(states_are_told_in_order)
{
    auto& s = start();
    s.upsert("a", 5);
    at(5ms);
    s.pause("a");
    s.resume("a");
    s.upsert("a", -1);
    s.upsert("a", 6);
    s.remove("a");
    s.upsert("a", 7);
    s.replace_all({{"b", 1}});
    s.stop();
    BOOST_TEST(
        changes() ==
        "a pending, a running, a pending, a paused, a pending, a invalid, a pending, a removed, "
        "a pending, a removed, b pending"
    );
    BOOST_TEST(ends() == "a completed");
}

// What an observer changes is told after what it is being told.
BOOST_AUTO_TEST_CASE(states_that_an_observer_changes_are_told_in_order)
{
    auto& s = start();
    options.on_change = nullptr;
    wanted = place::on_change;
    reaction = [&](const std::string&) {
        s.pause("a");
        s.upsert("b", 5);
        s.remove("a");
        BOOST_TEST(changes() == "a pending");
    };
    s.upsert("a", 5);
    BOOST_TEST(changes() == "a paused, b pending, a removed");
}

BOOST_AUTO_TEST_CASE(every_function_may_call_every_member)
{
    using call = std::function<void(scheduler_type&, const std::string&)>;
    const std::vector<std::pair<const char*, call>> calls{
        {"upsert", [](auto& s, auto& key) { s.upsert(key, 7); }},
        {"upsert another", [](auto& s, auto&) { s.upsert("c", 7); }},
        {"upsert an invalid one", [](auto& s, auto&) { s.upsert("c", -1); }},
        {"replace_all", [](auto& s, auto&) { s.replace_all({{"a", 8}, {"d", 1}}); }},
        {"replace all by none", [](auto& s, auto&) { s.replace_all({}); }},
        {"remove", [](auto& s, auto& key) { s.remove(key); }},
        {"remove and add",
         [](auto& s, auto& key) {
             s.remove(key);
             s.upsert(key, 3);
         }},
        {"async_remove",
         [](auto& s, auto& key) { s.async_remove(key, [](error_code, remove_result) {}); }},
        {"trigger_now", [](auto& s, auto& key) { s.trigger_now(key); }},
        {"async_trigger",
         [](auto& s, auto& key) { s.async_trigger(key, [](error_code, const record_type&) {}); }},
        {"pause", [](auto& s, auto& key) { s.pause(key); }},
        {"pause and resume",
         [](auto& s, auto& key) {
             s.pause(key);
             s.resume(key);
         }},
        {"reschedule", [](auto& s, auto& key) { s.reschedule(key); }},
        {"snapshot",
         [](auto& s, auto& key) {
             BOOST_TEST(!s.snapshot().empty());
             static_cast<void>(s.snapshot(key));
         }},
        {"start",
         [](auto& s, auto&) {
             error_code ec;
             s.start(ec);
             BOOST_TEST(ec == error_code(error::already_running));
         }},
        {"stop", [](auto& s, auto&) { s.stop(); }},
        {"async_close", [](auto& s, auto&) { s.async_close([](error_code) {}); }},
        {"set the clock", [](auto&, auto&) { clock::advance(1h); }},
        {"set the clock back", [](auto&, auto&) { clock::set(clock::now() - 1h); }},
    };
    for (std::size_t i = 0; i != places.size(); ++i) {
        for (const auto& [name, function] : calls) {
            for (const auto policy :
                 {reschedule_policy::after_finish,
                  reschedule_policy::before_run,
                  reschedule_policy::none}) {
                BOOST_TEST_CONTEXT(name << " from " << places[i])
                {
                    options.reschedule = policy;
                    scene(place(i), [&, call = function](const std::string& key) {
                        call(scheduler(), key.empty() ? "a" : key);
                    });
                    scheduler().async_close([](error_code ec) { BOOST_TEST(!ec); });
                    poll();
                    for (const auto& item : scheduler().snapshot()) {
                        BOOST_TEST(item.running == 0u);
                        BOOST_CHECK(item.state != item_state::running);
                    }
                    BOOST_TEST(held() == 0u);
                }
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(every_function_may_destroy_the_scheduler)
{
    for (std::size_t i = 0; i != places.size(); ++i) {
        BOOST_TEST_CONTEXT("in " << places[i])
        {
            int calls = 0;
            scene(place(i), [&](const std::string&) {
                destroy();
                calls = 0;
            });
            BOOST_TEST(!exists());
            // Nobody is told of anything any more.
            static_cast<void>(changes() + ends() + decisions() + runs());
            clock::set(time_point(1h));
            poll();
            BOOST_TEST(changes() + ends() + decisions() + runs() == "");
        }
    }
}

BOOST_AUTO_TEST_CASE(a_scheduler_is_destroyed_while_a_run_is_under_way)
{
    holds = true;
    for (const bool with_triggers : {false, true}) {
        clock::set({});
        auto& s = start();
        s.upsert("a", 5);
        s.upsert("b", 5);
        at(5ms);
        if (with_triggers) {
            s.trigger_now("a");
            poll();
        }
        changes();
        ends();
        destroy(); // tells the jobs to stop
        poll();
        BOOST_TEST(held() == 0u);
        BOOST_TEST(changes() + ends() == "");
    }
}

// It leaves the run() of the workers, and nothing else is disturbed.
BOOST_AUTO_TEST_CASE(what_an_observer_throws)
{
    options.max_concurrent = 1;
    for (const place from : {place::on_change, place::on_run, place::on_invalid}) {
        BOOST_TEST_CONTEXT("in " << places[static_cast<std::size_t>(from)])
        {
            int thrown = 0;
            const auto poll_all = [&] {
                for (int turns = 0; turns != 100; ++turns) {
                    try {
                        poll();
                        return;
                    } catch (const std::domain_error&) {
                        ++thrown;
                        reaction = [](const std::string&) { throw std::domain_error("always"); };
                    }
                }
            };
            clock::set({});
            auto& s = start();
            wanted = from;
            reaction = [](const std::string&) { throw std::domain_error("first"); };
            s.upsert("a", 5);
            s.upsert("b", 5);
            s.upsert("c", -1);
            for (const auto time : {5ms, 10ms, 15ms}) {
                clock::set(time_point(time));
                poll_all();
            }
            BOOST_TEST(thrown >= 1);
            BOOST_TEST(s.snapshot("a")->runs == 3u);
            BOOST_TEST(s.snapshot("b")->runs == 3u);
            BOOST_TEST(next_run("a") == "20");
            BOOST_TEST(next_run("b") == "20");
            BOOST_TEST(state("c") == "invalid");
            wanted = place::end;
            s.trigger_now("c");
            poll();
            BOOST_TEST(s.snapshot("c")->runs == 1u);
        }
    }
}

BOOST_AUTO_TEST_CASE(what_next_throws_need_not_be_an_exception)
{
    struct anything
    {};
    options.next = [](auto, auto&&...) -> std::optional<time_point> { throw anything(); };
    auto& s = start();
    s.upsert("a", 1);
    BOOST_TEST(state("a") == "invalid");
    BOOST_CHECK_THROW(std::rethrow_exception(s.snapshot("a")->invalid_reason), anything);
}

BOOST_AUTO_TEST_SUITE_END()

}
