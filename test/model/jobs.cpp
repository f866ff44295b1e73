// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

// Job wheels against their definition, in random operations. TIMEWHEEL_SEED repeats a run,
// TIMEWHEEL_OPERATIONS makes it longer.

#include <timewheel/manual_clock.hpp>
#include <timewheel/wheel.hpp>

#include "random_steps.hpp"

#include <test_common/random_source.hpp>
#include <test_common/run.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace timewheel::test {

namespace {

using clock = manual_clock<struct jobs_model>;
using time_point = clock::time_point;
using duration = clock::duration;
using wheel_type = basic_wheel<int, clock>;

/*  What a job wheel is meant to do, written down plainly: a list of timers, and each step goes
    through all of them. It knows nothing of ticks but that times are rounded up to milliseconds.
*/
class reference
{
public:
    struct timer
    {
        timer_id id{};
        time_point next{};
        duration period{};
        repeat_mode mode{};
        std::uint64_t left = 1;
        time_point until = time_point::max();
        std::uint64_t sequence = 1;
        std::uint64_t missed = 0;
        bool waits = true;       // in the wheel
        bool is_filed = false;   // among those that are looked at when due
        std::uint64_t order = 0; // of filing
        unsigned queued = 0;
        unsigned running = 0;
        bool is_over = false;

        bool repeats() const { return period != duration(); }
        bool ends() const { return left == 0 || next > until; }
    };

    struct run
    {
        timer_id id;
        std::uint64_t sequence;
        time_point due;

        auto operator<=>(const run&) const = default;
    };

    struct ending
    {
        run of;
        job_outcome outcome;

        auto operator<=>(const ending&) const = default;
    };

    reference(std::size_t max_queued, backpressure policy)
        : max_queued_(max_queued)
        , policy_(policy)
    {}

    void add(timer added)
    {
        ++stats.added;
        timer& filed = timers_[added.id] = added;
        file(filed);
        forget(filed);
    }

    remove_result remove(timer_id id, time_point now)
    {
        const auto found = timers_.find(id);
        if (found == timers_.end())
            return remove_result::unknown;
        timer& t = found->second;
        bool left = !t.is_over;
        if (t.waits && !t.is_over) {
            ++stats.withdrawn;
            --stats.pending;
        }
        for (unsigned i = 0; i != t.queued; ++i) {
            left = true;
            ++stats.withdrawn;
        }
        std::erase_if(queue_, [&](const run& r) { return r.id == id; });
        std::erase(blocked_, id);
        t.queued = 0;
        t.waits = t.is_filed = false;
        t.is_over = true;
        if (left)
            ++stats.removed;
        const auto result = t.running != 0 ? remove_result::running
                            : left         ? remove_result::removed
                                           : remove_result::unknown;
        unblock(now);
        forget(t);
        return result;
    }

    // All that is due, in the order of ticks and of filing.
    void look(time_point now)
    {
        for (;;) {
            timer* first = nullptr;
            for (auto& [id, t] : timers_)
                if (t.is_filed && tick(t.next) <= now && (!first || key(t) < key(*first)))
                    first = &t;
            if (!first)
                return;
            due(*first, now);
        }
    }

    bool skips(const timer& t) const
    {
        return t.mode == repeat_mode::skip_if_running && t.queued + t.running != 0;
    }

    // The first of the queue begins. Returns it.
    std::optional<run> begin(time_point now)
    {
        if (queue_.empty())
            return std::nullopt;
        const run first = queue_.front();
        queue_.pop_front();
        timer& t = timers_.at(first.id);
        --t.queued;
        ++t.running;
        ++stats.running;
        ++stats.executed;
        unblock(now);
        return first;
    }

    void end(const run& which, job_outcome outcome, time_point now)
    {
        timer& t = timers_.at(which.id);
        --t.running;
        --stats.running;
        count(outcome);
        endings.push_back({which, outcome});
        if (!t.is_over && t.mode == repeat_mode::fixed_delay && t.repeats())
            advance(t, now);
        forget(t);
    }

    void stop()
    {
        for (auto& [id, t] : timers_) {
            if (t.waits && !t.is_over)
                give_up(t, job_outcome::cancelled);
            t.waits = t.is_filed = false;
            t.queued = 0;
            t.is_over = true;
        }
        for (const run& each : queue_) {
            count(job_outcome::cancelled);
            endings.push_back({each, job_outcome::cancelled});
        }
        queue_.clear();
        blocked_.clear();
        std::erase_if(timers_, [](const auto& each) { return each.second.running == 0; });
    }

    wheel_stats counters() const
    {
        wheel_stats all = stats;
        all.queued = queue_.size();
        return all;
    }

    std::vector<wheel_type::timer_info_type> pending() const
    {
        std::vector<wheel_type::timer_info_type> all;
        for (const auto& [id, t] : timers_)
            if (t.waits && !t.is_over)
                all.push_back({id, t.next});
        std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) {
            return std::pair(a.next, a.id) < std::pair(b.next, b.id);
        });
        return all;
    }

    std::vector<ending> endings;
    std::vector<run> begun_inline;
    wheel_stats stats;

private:
    static time_point tick(time_point when)
    {
        return time_point(std::chrono::ceil<std::chrono::milliseconds>(when.time_since_epoch()));
    }

    std::pair<time_point, std::uint64_t> key(const timer& t) const
    {
        return {tick(t.next), t.order};
    }

    void file(timer& t)
    {
        if (t.ends()) {
            t.is_over = true;
            t.waits = t.is_filed = false;
            return;
        }
        ++stats.scheduled;
        ++stats.pending;
        t.waits = t.is_filed = true;
        t.order = ++last_order_;
    }

    void advance(timer& t, time_point now)
    {
        t.missed = 0;
        ++t.sequence;
        if (t.mode == repeat_mode::fixed_delay) {
            t.next = now + t.period;
        } else {
            t.missed = t.next > now ? 0 : static_cast<std::uint64_t>((now - t.next) / t.period);
            t.sequence += t.missed;
            t.next += static_cast<std::int64_t>(t.missed + 1) * t.period;
        }
        file(t);
    }

    void next(timer& t, time_point now)
    {
        if (t.repeats()) {
            advance(t, now);
        } else {
            t.is_over = true;
        }
    }

    void give_up(timer& t, job_outcome outcome)
    {
        --stats.pending;
        count(outcome);
        endings.push_back({{t.id, t.sequence, t.next}, outcome});
    }

    void due(timer& t, time_point now)
    {
        t.waits = t.is_filed = false;
        if (skips(t)) {
            give_up(t, job_outcome::skipped);
            next(t, now);
        } else if (queue_.size() < max_queued_ && blocked_.empty()) {
            hand_over(t, now);
        } else if (policy_ == backpressure::block) {
            t.waits = true;
            blocked_.push_back(t.id);
        } else if (policy_ == backpressure::drop) {
            give_up(t, job_outcome::dropped);
            next(t, now);
        } else {
            const run made = make(t);
            begun_inline.push_back(made);
            ++t.running;
            ++stats.executed;
            // Ends in the same turn, by success.
            reschedule(t, now);
            --t.running;
            count(job_outcome::completed);
            endings.push_back({made, job_outcome::completed});
            if (!t.is_over && t.mode == repeat_mode::fixed_delay && t.repeats())
                advance(t, now);
        }
        forget(t);
    }

    run make(timer& t)
    {
        --stats.pending;
        if (t.left != wheel_type::repeat_options_type::unlimited)
            --t.left;
        return {t.id, t.sequence, t.next};
    }

    void reschedule(timer& t, time_point now)
    {
        if (t.ends())
            t.is_over = true;
        else if (t.mode != repeat_mode::fixed_delay)
            next(t, now);
    }

    void hand_over(timer& t, time_point now)
    {
        queue_.push_back(make(t));
        ++t.queued;
        reschedule(t, now);
    }

    void unblock(time_point now)
    {
        while (!blocked_.empty() && queue_.size() < max_queued_) {
            timer& t = timers_.at(blocked_.front());
            blocked_.pop_front();
            t.waits = false;
            hand_over(t, now);
        }
    }

    // The last thing that is done with a timer.
    void forget(timer& t)
    {
        if (t.is_over && !t.waits && t.queued + t.running == 0)
            timers_.erase(timer_id(t.id));
    }

    void count(job_outcome outcome)
    {
        switch (outcome) {
        case job_outcome::completed: ++stats.completed; break;
        case job_outcome::failed: ++stats.failed; break;
        case job_outcome::threw: ++stats.threw; break;
        case job_outcome::timed_out: ++stats.timed_out; break;
        case job_outcome::cancelled: ++stats.cancelled; break;
        case job_outcome::dropped: ++stats.dropped; break;
        case job_outcome::skipped: ++stats.skipped; break;
        }
    }

    const std::size_t max_queued_;
    const backpressure policy_;
    std::map<timer_id, timer> timers_;
    std::deque<run> queue_;
    std::deque<timer_id> blocked_;
    std::uint64_t last_order_ = 0;
};

// A wheel and its reference, in random operations. Jobs end at once, by success, error or exception,
// or stay running until a later step when they are coroutines.
class model
{
public:
    explicit model(std::uint64_t seed)
        : random_(seed)
        , max_queued_(random_.one_in(2) ? 1000 : 1 + random_.below(3))
        , policy_(static_cast<backpressure>(random_.below(3)))
        , expected_(max_queued_, policy_)
    {
        clock::set(time_point(duration(static_cast<std::int64_t>(random_.below(1u << 31))) - 1s));
        wheel_.emplace(
            ctx_,
            workers_,
            wheel_type::options_type{
                .max_queued = max_queued_,
                .policy = policy_,
                .observer =
                    [this](const auto& event) {
                        endings_.push_back(
                            {{event.id, event.sequence, event.scheduled_for}, event.outcome}
                        );
                    },
            }
        );
        wheel_->start();
    }

    ~model()
    {
        wheel_.reset();
        workers_.restart();
        workers_.poll();
    }

    // Returns what is wrong, or nothing.
    std::string step()
    {
        switch (random_.below(10)) {
        case 0:
        case 1:
        case 2: add(); break;
        case 3: remove(); break;
        case 4: clock::advance_to_next(); break;
        case 5: clock::advance(duration(random_.any_magnitude() % 30'000'000)); break;
        case 6: // a stall
            if (random_.one_in(5))
                clock::advance(duration(random_.any_magnitude() % 10'000'000'000));
            break;
        case 7:
            for (auto n = random_.below(8); n != 0; --n)
                turn();
            break;
        case 8: end_one(); break;
        default:
            if (random_.one_in(100))
                stop();
        }
        if (random_.one_in(4)) // often several changes before the wheel looks
            return compare();
        look();
        return compare();
    }

private:
    using run = reference::run;

    // Before the wheel looks, times are of what has been filed at the clock's time.
    void look()
    {
        ctx_.restart();
        poll_until_quiet(ctx_);
        expected_.look(clock::now());
    }

    job_outcome any_end()
    {
        return std::array{
            job_outcome::completed, job_outcome::completed, job_outcome::failed, job_outcome::threw
        }[random_.below(4)];
    }

    void add()
    {
        reference::timer t;
        const duration delay(
            random_.one_in(8) ? -static_cast<std::int64_t>(random_.below(5'000'000))
                              : static_cast<std::int64_t>(random_.any_magnitude() % 50'000'000)
        );
        // What is late already comes after what the wheel has come to, which nobody can see: so at
        // such a time there is nothing else.
        if (delay <= duration())
            look();
        t.next = clock::now() + delay;
        const bool is_long = random_.one_in(3);
        error_code ec;
        if (random_.one_in(2)) {
            t.id = add_once(delay, is_long, ec);
        } else {
            t.period = duration(1 + random_.any_magnitude() % 20'000'000);
            t.mode = static_cast<repeat_mode>(random_.below(3));
            wheel_type::repeat_options_type options{.mode = t.mode, .initial_delay = delay};
            t.left = options.count = random_.one_in(2) ? 1 + random_.below(5) : options.unlimited;
            if (random_.one_in(3)) {
                t.until = clock::now() + duration(random_.below(50'000'000));
                options.until = t.until;
            }
            // A coroutine that runs inline ends some turns later, and what is filed then.
            const bool is_late =
                policy_ == backpressure::run_inline && t.mode == repeat_mode::fixed_delay;
            t.id = add_repeating(t.period, options, is_long && !is_late, ec);
        }
        if (is_stopped_) {
            BOOST_TEST((ec == error::closed));
            return;
        }
        BOOST_TEST(!ec);
        ids_.push_back(t.id);
        expected_.add(t);
        if (delay <= duration())
            look();
    }

    auto short_job()
    {
        return [this](basic_job_context<clock>& job) -> error_code {
            const run self{job.id(), job.sequence(), job.scheduled_for()};
            if (!is_working_) {
                inline_.push_back(self);
                return {};
            }
            begun_ = self;
            outcome_ = any_end();
            if (outcome_ == job_outcome::threw)
                throw std::runtime_error("a job");
            return outcome_ == job_outcome::failed ? asio::error::eof : error_code();
        };
    }

    // Goes on until it is told to end, but not where it runs inline.
    struct long_job
    {
        model* of;

        asio::awaitable<error_code> operator()(basic_job_context<clock>& job)
        {
            const run self{job.id(), job.sequence(), job.scheduled_for()};
            if (!of->is_working_) {
                of->inline_.push_back(self);
                co_return error_code();
            }
            of->begun_ = self;
            asio::steady_timer gate(
                co_await asio::this_coro::executor, asio::steady_timer::time_point::max()
            );
            auto outcome = job_outcome::completed;
            of->running_[self] = {&gate, &outcome};
            error_code ignored;
            co_await gate.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
            of->running_.erase(self);
            if (outcome == job_outcome::threw)
                throw std::runtime_error("a job");
            co_return outcome == job_outcome::completed ? error_code()
                                                        : error_code(asio::error::eof);
        }
    };

    timer_id add_once(duration delay, bool is_long, error_code& ec)
    {
        return is_long ? wheel_->add(delay, 1, long_job{this}, ec)
                       : wheel_->add(delay, 1, short_job(), ec);
    }

    timer_id add_repeating(
        duration period,
        const wheel_type::repeat_options_type& options,
        bool is_long,
        error_code& ec
    )
    {
        return is_long ? wheel_->add_repeating(period, 1, long_job{this}, options, ec)
                       : wheel_->add_repeating(period, 1, short_job(), options, ec);
    }

    void remove()
    {
        if (ids_.empty())
            return;
        // Mostly of the newer ones; the others are over.
        const std::size_t back = random_.below((std::min)(ids_.size(), std::size_t{20}));
        const timer_id id = ids_[ids_.size() - 1 - back];
        error_code ec;
        const remove_result result = wheel_->remove(id, ec);
        if (is_stopped_)
            BOOST_TEST((ec == error::closed));
        else
            BOOST_TEST((result == expected_.remove(id, clock::now())));
    }

    static std::string name(const std::optional<run>& which)
    {
        return which ? std::to_string(static_cast<std::uint64_t>(which->id)) + '/' +
                           std::to_string(which->sequence)
                     : "nothing";
    }

    static std::string names(const std::vector<run>& all)
    {
        std::string text;
        for (const run& each : all)
            text += ' ' + name(each);
        return text;
    }

    // One turn of the workers, which may begin a job. Returns whether there was one.
    bool turn()
    {
        begun_.reset();
        const std::uint64_t executed = wheel_->stats().executed;
        is_working_ = true;
        workers_.restart();
        const bool found = workers_.poll_one() != 0;
        is_working_ = false;
        if (wheel_->stats().executed == executed)
            return found;
        const auto expected = expected_.begin(clock::now());
        if (begun_ != expected)
            wrong_ << " begun " << name(begun_) << " instead of " << name(expected);
        else if (!running_.contains(*expected))
            expected_.end(*expected, outcome_, clock::now());
        return true;
    }

    void end_one()
    {
        if (running_.empty())
            return;
        auto which = running_.begin();
        std::advance(which, static_cast<std::ptrdiff_t>(random_.below(running_.size())));
        const run ended = which->first;
        const job_outcome outcome =
            is_stopped_ && random_.one_in(2) ? job_outcome::cancelled : any_end();
        *which->second.second = outcome;
        which->second.first->cancel();
        while (running_.contains(ended))
            turn();
        // What fails after it was told to stop is cancelled.
        const bool is_cancelled = is_stopped_ && outcome != job_outcome::completed;
        expected_.end(ended, is_cancelled ? job_outcome::cancelled : outcome, clock::now());
    }

    void stop()
    {
        if (std::exchange(is_stopped_, true))
            return;
        for (auto& [which, job] : running_)
            wheel_stops_.push_back(which);
        wheel_->stop();
        expected_.stop();
        // The running coroutines are cancelled: their waits end.
        for (const run& each : wheel_stops_)
            expected_.end(each, job_outcome::completed, clock::now());
        workers_.restart();
        workers_.poll();
    }

    std::string compare()
    {
        std::ostringstream wrong;
        wrong << std::exchange(wrong_, std::ostringstream()).str();
        const wheel_stats s = wheel_->stats();
        const wheel_stats e = expected_.counters();
        const auto same = [&](const char* name, std::uint64_t is, std::uint64_t should_be) {
            if (is != should_be)
                wrong << ' ' << name << " is " << is << " instead of " << should_be;
        };
        same("added", s.added, e.added);
        same("removed", s.removed, e.removed);
        same("scheduled", s.scheduled, e.scheduled);
        same("pending", s.pending, e.pending);
        same("queued", s.queued, e.queued);
        same("running", s.running, e.running);
        same("executed", s.executed, e.executed);
        same("completed", s.completed, e.completed);
        same("failed", s.failed, e.failed);
        same("threw", s.threw, e.threw);
        same("timed_out", s.timed_out, e.timed_out);
        same("cancelled", s.cancelled, e.cancelled);
        same("dropped", s.dropped, e.dropped);
        same("skipped", s.skipped, e.skipped);
        same("withdrawn", s.withdrawn, e.withdrawn);
        same(
            "the sum",
            s.pending + s.queued + s.running + s.completed + s.failed + s.threw + s.timed_out +
                s.cancelled + s.dropped + s.skipped + s.withdrawn,
            s.scheduled
        );
        if (wheel_->pending_timers() != expected_.pending())
            wrong << " wrong pending timers";
        if (inline_ != expected_.begun_inline)
            wrong << " ran" << names(inline_) << " inline instead of"
                  << names(expected_.begun_inline);
        std::sort(endings_.begin(), endings_.end());
        std::sort(expected_.endings.begin(), expected_.endings.end());
        if (endings_ != expected_.endings)
            wrong << " told " << endings_.size() << " ends instead of " << expected_.endings.size();
        endings_.clear();
        expected_.endings.clear();
        inline_.clear();
        expected_.begun_inline.clear();
        return wrong.str();
    }

    random_source random_;
    const std::size_t max_queued_;
    const backpressure policy_;
    reference expected_;
    asio::io_context ctx_;
    asio::io_context workers_;
    bool is_stopped_ = false;
    bool is_working_ = false;
    std::vector<timer_id> ids_;
    std::optional<run> begun_;
    job_outcome outcome_{};
    std::map<run, std::pair<asio::steady_timer*, job_outcome*>> running_;
    std::vector<run> wheel_stops_;
    std::vector<run> inline_;
    std::vector<reference::ending> endings_;
    std::ostringstream wrong_;
    std::optional<wheel_type> wheel_;
};

}

BOOST_AUTO_TEST_SUITE(jobs_model)

BOOST_AUTO_TEST_CASE(random_operations_agree_with_the_definition)
{
    take_random_steps<model>("jobs_model", 200'000);
}

BOOST_AUTO_TEST_SUITE_END()

}
