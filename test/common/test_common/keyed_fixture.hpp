// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#ifndef TIMEWHEEL_TEST_COMMON_KEYED_FIXTURE_HPP
#define TIMEWHEEL_TEST_COMMON_KEYED_FIXTURE_HPP

/** @file
    A keyed scheduler on a clock that the test moves, whose workers are a context that the test polls,
    and a record of what the scheduler calls.
*/

#include <timewheel/keyed_scheduler.hpp>
#include <timewheel/manual_clock.hpp>

#include <test_common/io_fixture.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/test/unit_test.hpp>

#include <chrono>
#include <cstddef>
#include <exception>
#include <functional>
#include <list>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace timewheel::test {

using namespace std::chrono_literals;

/** The items are numbers by name: how many milliseconds pass until an item runs next. That can be
    changed by `next`. Runs end at once, or when they are released if `holds` is set.

    Each record is a list such as "a=5@10, b=7@12": key, data, and the time in milliseconds.
*/
template <class Tag>
class keyed_fixture : public io_fixture
{
    struct held_run
    {
        std::string key;
        asio::steady_timer* gate;
        bool is_released = false;
    };

    std::list<held_run> held_; // outlives the workers, whose jobs refer to it

public:
    using clock = manual_clock<Tag>;
    using time_point = typename clock::time_point;
    using scheduler_type = basic_keyed_scheduler<std::string, int, clock>;
    using options_type = typename scheduler_type::options_type;
    using item_type = typename scheduler_type::item_type;
    using record_type = basic_job_record<clock>;
    using context_type = basic_job_context<clock>;

    keyed_fixture()
    {
        clock::set({});
        options.next = [this](time_point now, const std::string& key, const int& data) {
            decisions_.push_back(text(key, data));
            return next(now, key, data);
        };
        options.run = [this](context_type& job, const std::string& key, const int& data) {
            return run(job, key, data);
        };
        options.on_change = [this](const std::string& key, item_state state) {
            changes_.push_back(key + ' ' + std::string(to_string(state)));
        };
        options.on_run = [this](const std::string& key, const record_type& record) {
            ends_.push_back(key + ' ' + std::string(to_string(record.outcome)));
        };
    }

    scheduler_type& make() { return made_.emplace(ctx, workers, options); }

    scheduler_type& start()
    {
        make().start();
        return *made_;
    }

    scheduler_type& scheduler() { return *made_; }
    void destroy() { made_.reset(); }
    bool exists() const { return made_.has_value(); }

    /// Turns the cranks of both contexts until there is nothing left to do.
    void poll()
    {
        for (int turns = 0; turns != 1000; ++turns) {
            ctx.restart();
            workers.restart();
            if (ctx.poll() + workers.poll() == 0)
                return;
        }
        BOOST_ERROR("the scheduler does not come to rest");
    }

    void at(std::chrono::nanoseconds time)
    {
        clock::set(time_point(time));
        poll();
    }

    /// Ends the oldest run of an item that is held.
    void release(const std::string& key)
    {
        for (held_run& each : held_) {
            if (each.key != key || each.is_released)
                continue;
            each.is_released = true;
            each.gate->cancel();
            return poll();
        }
        BOOST_ERROR("no run of " << key << " is held");
    }

    std::size_t held() const { return held_.size(); }

    // What happened since the last look.
    std::string decisions() { return joined(decisions_); }
    std::string runs() { return joined(runs_); }
    std::string changes() { return joined(changes_); }
    std::string ends() { return joined(ends_); }

    std::string state(const std::string& key)
    {
        const auto item = scheduler().snapshot(key);
        return item ? std::string(to_string(item->state)) : "none";
    }

    /// When an item runs next, in milliseconds; or "never".
    std::string next_run(const std::string& key)
    {
        const auto item = scheduler().snapshot(key);
        return item && item->next_run ? milliseconds(*item->next_run) : "never";
    }

    static std::string milliseconds(time_point when)
    {
        using std::chrono::duration_cast;
        return std::to_string(
            duration_cast<std::chrono::milliseconds>(when.time_since_epoch()).count()
        );
    }

    asio::io_context workers;
    options_type options;
    bool holds = false;
    error_code answer; // of the runs

    /// The same for runs with some data only.
    std::function<bool(int)> holds_with = [](int) { return false; };
    std::function<error_code(int)> answers_with;

    std::function<std::optional<time_point>(time_point, const std::string&, int)> next =
        [](time_point now, const std::string&, int data) { return now + data * 1ms; };

    /// Called at the begin of each run, inside of it.
    std::function<void(const std::string&)> inside;

private:
    static std::string text(const std::string& key, int data)
    {
        return key + '=' + std::to_string(data) + '@' + milliseconds(clock::now());
    }

    static std::string joined(std::vector<std::string>& parts)
    {
        std::string all;
        for (const std::string& part : std::exchange(parts, {}))
            all += (all.empty() ? "" : ", ") + part;
        return all;
    }

    asio::awaitable<error_code> run(context_type&, const std::string& key, const int& data)
    {
        runs_.push_back(text(key, data));
        if (inside)
            inside(key);
        const error_code answer_now = answers_with ? answers_with(data) : answer;
        if (!holds && !holds_with(data))
            co_return answer_now;
        asio::steady_timer gate(co_await asio::this_coro::executor);
        gate.expires_at((asio::steady_timer::time_point::max)());
        struct held
        {
            std::list<held_run>& all;
            typename std::list<held_run>::iterator me;

            ~held() { all.erase(me); }
        };
        const held me{held_, held_.insert(held_.end(), held_run{key, &gate})};
        error_code ec;
        co_await gate.async_wait(asio::redirect_error(asio::use_awaitable, ec));
        co_return me.me->is_released ? answers_with ? answer_now : answer : ec;
    }

    std::vector<std::string> decisions_;
    std::vector<std::string> runs_;
    std::vector<std::string> changes_;
    std::vector<std::string> ends_;
    std::optional<scheduler_type> made_;
};

}

#endif
