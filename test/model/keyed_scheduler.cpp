// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

// A keyed scheduler against a simple reference, in random operations. TIMEWHEEL_SEED repeats a run,
// TIMEWHEEL_OPERATIONS makes it longer.

#include <timewheel/keyed_scheduler.hpp>

#include "random_steps.hpp"

#include <test_common/keyed_fixture.hpp>
#include <test_common/random_source.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace timewheel::test {

namespace {

using fixture = keyed_fixture<struct keyed_model>;
using clock = fixture::clock;
using duration = clock::duration;
using time_point = fixture::time_point;
using scheduler_type = fixture::scheduler_type;
using options_type = fixture::options_type;
using policy = reschedule_policy;

constexpr duration tick = 1ms;

// What the data of an item say.
struct behaviour
{
    explicit behaviour(int data)
        : kind(data % 8)
        , period((data / 8 % 40 + 1) * 700us)
        , is_slow(data / 320 % 3 == 0)
        , outcome(static_cast<unsigned>(data) / 960 % 3)
    {}

    static int random(random_source& random) { return static_cast<int>(random.below(8 * 40 * 9)); }

    std::optional<time_point> next(time_point now) const
    {
        switch (kind) {
        case 0: return std::nullopt;
        case 1: throw std::runtime_error("invalid");
        case 2: return now - 1h;
        case 3: return now;
        case 4: return time_point((now.time_since_epoch() / period + 1) * period);
        default: return now + period;
        }
    }

    job_outcome ends() const { return outcome == 0 ? job_outcome::failed : job_outcome::completed; }

    int kind;
    duration period;
    bool is_slow;
    unsigned outcome;
};

struct reference_item
{
    std::string key;
    int data = 0;
    int generation = 0;
    bool is_present = true;
    bool is_paused = false;
    bool is_disabled = false;
    bool is_invalid = false;
    std::optional<time_point> next;
    time_point decided_at{};
    std::optional<time_point> last_turn;
    std::deque<int> active; // generations
    bool runs_again = false;
    bool is_triggered_again = false;
    std::uint64_t runs = 0;
    std::uint64_t skipped = 0;
    std::vector<job_outcome> history;

    item_state state() const
    {
        return !active.empty() ? item_state::running
               : is_paused     ? item_state::paused
               : is_invalid    ? item_state::invalid
               : is_disabled   ? item_state::disabled
                               : item_state::pending;
    }

    bool is_active_now() const
    {
        return std::find(active.begin(), active.end(), generation) != active.end();
    }
};

using item_pointer = std::shared_ptr<reference_item>;

// What a keyed scheduler does, in the order of a single thread that polls after each operation.
class reference
{
public:
    explicit reference(const options_type& options) : options_(options) {}

    struct held_run
    {
        item_pointer item;
        int generation;
        int data;
    };

    upsert_result upsert(const std::string& key, int data)
    {
        const auto found = items.find(key);
        if (found == items.end()) {
            const auto added = std::make_shared<reference_item>();
            added->key = key;
            added->data = data;
            items.emplace(key, added);
            decide(*added);
            return upsert_result::added;
        }
        reference_item& item = *found->second;
        if (item.data == data)
            return upsert_result::unchanged;
        item.data = data;
        ++item.generation;
        item.is_disabled = item.is_invalid = item.runs_again = false;
        item.next.reset();
        decide(item);
        if (options_.cancel_running_on_replace)
            to_cancel.emplace_back(found->second, item.active.size());
        return upsert_result::updated;
    }

    remove_result remove(const std::string& key)
    {
        const item_pointer item = items.at(key);
        items.erase(key);
        item->is_present = false;
        item->runs_again = item->is_triggered_again = false;
        if (options_.cancel_running_on_remove)
            to_cancel.emplace_back(item, item->active.size());
        return item->active.empty() ? remove_result::removed : remove_result::running;
    }

    void trigger(const std::string& key) { turn(items.at(key), true); }

    void pause(const std::string& key)
    {
        reference_item& item = *items.at(key);
        item.is_paused = true;
        item.runs_again = false;
        item.next.reset();
    }

    void resume(const std::string& key)
    {
        reference_item& item = *items.at(key);
        if (std::exchange(item.is_paused, false))
            decide(item);
    }

    void reschedule(const std::string& key)
    {
        reference_item& item = *items.at(key);
        item.runs_again = false;
        decide(item);
    }

    void set_back()
    {
        for (auto& [key, item] : items) {
            item->last_turn.reset();
            if (item->next && *item->next > clock::now() && item->decided_at > clock::now())
                decide(*item);
        }
    }

    void release(const std::string& key)
    {
        const auto found = std::find_if(held.begin(), held.end(), [&](const held_run& run) {
            return run.item->key == key;
        });
        const held_run run = *found;
        held.erase(found);
        end(run, behaviour(run.data).ends());
    }

    // What comes of it when both contexts are polled.
    void poll()
    {
        run_due(); // a job takes a turn to notice that it is to stop
        for (const auto& [item, count] : std::exchange(to_cancel, {})) {
            for (std::size_t n = count; n != 0; --n) {
                const auto found =
                    std::find_if(held.begin(), held.end(), [of = item](const auto& run) {
                        return run.item == of;
                    });
                const held_run run = *found;
                held.erase(found);
                end(run, job_outcome::cancelled);
            }
        }
        run_due();
    }

    std::map<std::string, item_pointer> items;
    std::vector<held_run> held;
    std::vector<std::pair<item_pointer, std::size_t>> to_cancel; // and how many of its runs

private:
    static time_point rounded_up(time_point when)
    {
        return time_point(std::chrono::ceil<std::chrono::milliseconds>(when.time_since_epoch()));
    }

    void run_due()
    {
        for (bool again = true; std::exchange(again, false);) {
            for (auto& [key, item] : items) {
                if (!item->next || rounded_up(*item->next) > clock::now())
                    continue;
                again = true;
                turn(item, false);
            }
        }
    }

    void decide(reference_item& item)
    {
        if (!item.is_present || item.is_paused ||
            (options_.reschedule == policy::after_finish && item.is_active_now()))
            return;
        const time_point now = clock::now();
        item.next.reset();
        item.is_invalid = item.is_disabled = false;
        try {
            item.next = behaviour(item.data).next(now);
        } catch (const std::runtime_error&) {
            item.is_invalid = true;
            return;
        }
        item.is_disabled = !item.next;
        item.decided_at = now;
        if (item.next && item.last_turn && *item.last_turn <= now)
            item.next = (std::max)(*item.next, *item.last_turn + tick);
    }

    void turn(const item_pointer& at, bool is_triggered)
    {
        reference_item& item = *at;
        if (!is_triggered) {
            item.next.reset();
            item.last_turn = clock::now();
        }
        const bool overlaps = !item.active.empty();
        const bool is_serial = options_.reschedule == policy::after_finish;
        const bool begins = !overlaps || (!is_serial && options_.overlap == overlap_policy::allow);
        if (begins) {
            ++item.runs;
            item.last_turn = clock::now();
            item.active.push_back(item.generation);
            if (is_serial)
                item.next.reset();
        } else if (is_serial || options_.overlap == overlap_policy::queue_one) {
            (is_triggered ? item.is_triggered_again : item.runs_again) = true;
        } else {
            ++item.skipped;
        }
        if (!is_triggered && options_.reschedule == policy::before_run)
            decide(item);
        if (!begins)
            return;
        const held_run run{at, item.generation, item.data};
        if (behaviour(item.data).is_slow)
            held.push_back(run);
        else
            end(run, behaviour(item.data).ends());
    }

    void end(const held_run& run, job_outcome outcome)
    {
        reference_item& item = *run.item;
        item.active.erase(std::find(item.active.begin(), item.active.end(), run.generation));
        const bool is_late = run.generation != item.generation;
        if (!is_late)
            remember(item, outcome);
        if (!item.active.empty())
            return;
        if (item.runs_again || item.is_triggered_again) {
            item.runs_again = item.is_triggered_again = false;
            turn(run.item, true);
        } else if (!is_late && options_.reschedule == policy::after_finish) {
            decide(item);
        } else if (options_.reschedule == policy::none) {
            item.is_disabled = !item.next;
        }
    }

    void remember(reference_item& item, job_outcome outcome)
    {
        item.history.push_back(outcome);
        if (item.history.size() > options_.history)
            item.history.erase(item.history.begin());
    }

    const options_type& options_;
};

class model_run : fixture
{
public:
    explicit model_run(std::uint64_t seed) : random_(seed), expected_(options)
    {
        const auto phase = static_cast<std::int64_t>(random_.below(1u << 31));
        clock::set(time_point(duration(phase - (1 << 30))));
        options.reschedule =
            random_.any_of(std::array{policy::after_finish, policy::before_run, policy::none});
        options.overlap = random_.any_of(
            std::array{overlap_policy::allow, overlap_policy::skip, overlap_policy::queue_one}
        );
        options.cancel_running_on_remove = random_.one_in(3);
        options.cancel_running_on_replace = random_.one_in(3);
        options.history = random_.below(4);
        next = [](time_point now, const std::string&, int data) {
            return behaviour(data).next(now);
        };
        holds_with = [](int data) { return behaviour(data).is_slow; };
        answers_with = [](int data) {
            return behaviour(data).outcome == 0 ? error_code(error::queue_full) : error_code();
        };
        start();
    }

    ~model_run()
    {
        destroy();
        poll();
    }

    // Returns what is wrong, or nothing.
    std::string step()
    {
        std::ostringstream wrong;
        const std::string key(1, static_cast<char>('a' + random_.below(5)));
        const bool is_there = expected_.items.contains(key);
        scheduler_type& s = scheduler();
        switch (random_.below(14)) {
        case 0:
        case 1: {
            const int data =
                is_there && random_.one_in(4) ? expected_.items[key]->data : any_data();
            if (s.upsert(key, data) != expected_.upsert(key, data))
                wrong << "upsert differs";
            break;
        }
        case 2:
            if (is_there && s.remove(key) != expected_.remove(key))
                wrong << "remove differs";
            break;
        case 3: replace_all(wrong); break;
        case 4:
        case 5:
            if (is_there) {
                s.trigger_now(key);
                expected_.trigger(key);
            }
            break;
        case 6:
            if (is_there) {
                s.pause(key);
                expected_.pause(key);
            }
            break;
        case 7:
        case 8:
            if (is_there) {
                s.resume(key);
                expected_.resume(key);
            }
            break;
        case 9:
            if (is_there) {
                s.reschedule(key);
                expected_.reschedule(key);
            }
            break;
        case 10:
            if (!expected_.held.empty()) {
                const auto& run = random_.any_of(expected_.held);
                const std::string of = run.item->key;
                expected_.release(of);
                release(of);
            }
            break;
        case 11:
            if (random_.one_in(4)) {
                clock::set(clock::now() - duration(random_.below(50'000'000)));
                expected_.set_back();
            }
            break;
        default: clock::advance(duration(random_.any_magnitude() % 30'000'000));
        }
        poll();
        expected_.poll();
        compare(wrong);
        return wrong.str();
    }

private:
    int any_data() { return behaviour::random(random_); }

    void replace_all(std::ostringstream& wrong)
    {
        std::vector<item_type> items;
        replace_report<std::string> report;
        for (char name = 'a'; name != 'f'; ++name) {
            const std::string key(1, name);
            const auto found = expected_.items.find(key);
            if (random_.one_in(4)) {
                if (found == expected_.items.end())
                    continue;
                expected_.remove(key);
                report.removed.push_back(key);
                continue;
            }
            const bool keeps = found != expected_.items.end() && random_.one_in(2);
            const int data = keeps ? found->second->data : any_data();
            items.push_back({key, data});
            switch (expected_.upsert(key, data)) {
            case upsert_result::added: report.added.push_back(key); break;
            case upsert_result::updated: report.updated.push_back(key); break;
            case upsert_result::unchanged: ++report.unchanged; break;
            }
        }
        for (std::size_t i = items.size(); i > 1; --i)
            std::swap(items[i - 1], items[random_.below(i)]);
        const auto told = scheduler().replace_all(std::move(items));
        if (told.added != report.added || told.updated != report.updated ||
            told.removed != report.removed || told.unchanged != report.unchanged)
            wrong << "replace_all differs";
    }

    void compare(std::ostringstream& wrong)
    {
        const auto all = scheduler().snapshot();
        if (all.size() != expected_.items.size())
            wrong << " the number of items differs";
        for (const auto& item : all) {
            const auto found = expected_.items.find(item.key);
            if (found == expected_.items.end()) {
                wrong << " unexpected " << item.key;
                continue;
            }
            const reference_item& want = *found->second;
            std::vector<job_outcome> history;
            for (const auto& record : item.history)
                history.push_back(record.outcome);
            if (item.data == want.data && item.state == want.state() &&
                item.next_run == want.next && item.running == want.active.size() &&
                item.runs == want.runs && item.skipped == want.skipped && history == want.history)
                continue;
            const auto time = [](const std::optional<time_point>& when) {
                return when ? std::to_string(when->time_since_epoch().count()) : "never";
            };
            wrong << "\n  " << item.key << " at " << time(clock::now()) << ": "
                  << to_string(item.state) << ", next " << time(item.next_run) << ", running "
                  << item.running << ", runs " << item.runs << ", skipped " << item.skipped
                  << ", history " << history.size() << "\n    instead of "
                  << to_string(want.state()) << ", next " << time(want.next) << ", running "
                  << want.active.size() << ", runs " << want.runs << ", skipped " << want.skipped
                  << ", history " << want.history.size();
        }
        if (held() != expected_.held.size())
            wrong << " held " << held() << " instead of " << expected_.held.size();
        static_cast<void>(changes() + ends() + decisions() + runs());
    }

    random_source random_;
    reference expected_;
};

}

BOOST_AUTO_TEST_SUITE(keyed_scheduler_model)

BOOST_AUTO_TEST_CASE(random_operations_agree_with_the_reference)
{
    take_random_steps<model_run>("keyed_scheduler_model", 100'000);
}

BOOST_AUTO_TEST_SUITE_END()

}
