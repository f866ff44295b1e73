// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#include <timewheel/keyed_scheduler.hpp>

#include "harness.hpp"

#include <timewheel/manual_clock.hpp>

#include <test_common/random_source.hpp>

#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_future.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <future>
#include <memory>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

// Many items, of which two threads change one in a hundred each virtual second, while others run them,
// look at them, and close the scheduler in the end. TIMEWHEEL_ITEMS says how many.

using namespace timewheel;
using namespace timewheel::test;
using namespace std::chrono_literals;

namespace {

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define TIMEWHEEL_TEST_IS_SLOW
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
#define TIMEWHEEL_TEST_IS_SLOW
#endif
#endif

#ifdef TIMEWHEEL_TEST_IS_SLOW
constexpr std::uint64_t usual_items = 20'000;
#else
constexpr std::uint64_t usual_items = 100'000;
#endif

// Counts by key, and whether a thread is in a function that must not be called twice at a time.
struct by_key
{
    std::atomic<std::uint64_t> decisions{0};
    std::atomic<std::uint64_t> runs{0};
    std::atomic<bool> is_deciding{false};
};

void wait_until(const std::function<bool()>& holds)
{
    while (!holds())
        std::this_thread::sleep_for(200us);
}

// One in ten items is never changed, so it is known how often it runs.
class storm
{
    using clock = manual_clock<struct storm_clock>;
    using scheduler_type = basic_keyed_scheduler<std::size_t, int, clock>;

public:
    explicit storm(std::size_t items) : items_(items), counts_(items)
    {
        for (std::size_t key = 0; key != items; ++key)
            present_.push_back(1);
    }

    void run()
    {
        crew runners(ctx_, 2);
        asio::thread_pool pool(2);
        scheduler_type s(ctx_, pool, options());
        std::vector<scheduler_type::item_type> all;
        for (std::size_t key = 0; key != items_; ++key)
            all.push_back({key, period(key)});
        check(s.replace_all(all).added.size() == items_, "all items are added");
        s.start();
        std::atomic<bool> over{false};
        std::thread observer([&] {
            while (!over) {
                const auto seen = s.snapshot();
                check(seen.size() <= items_, "no item is there twice");
                check(
                    std::is_sorted(
                        seen.begin(),
                        seen.end(),
                        [](const auto& a, const auto& b) { return a.key < b.key; }
                    ),
                    "a snapshot is sorted"
                );
                for (const auto& item : seen) {
                    check(item.running <= 1, "runs of an item do not overlap");
                    check(item.data > 0, "data are whole");
                }
                std::this_thread::sleep_for(50ms);
            }
        });
        for (unsigned second = 1; second != seconds + 1; ++second) {
            clock::advance(1s);
            in_threads(2, [&](unsigned number) { change(s, number, second); });
            wait_until([&] { return fixed_items_are_done(second); });
        }
        close(s);
        over = true;
        observer.join();
        compare(s);
        runners.finish();
        pool.join();
    }

private:
    static constexpr unsigned seconds = 20;

    static bool is_fixed(std::size_t key) { return key % 10 == 0; }
    static int period(std::size_t key) { return 1 + static_cast<int>(key / 10 % 20); }

    scheduler_type::options_type options()
    {
        return {
            .next =
                [this](clock::time_point now, std::size_t key, int data) {
                    check(!counts_[key].is_deciding.exchange(true), "one decision at a time");
                    ++counts_[key].decisions;
                    counts_[key].is_deciding = false;
                    if (data % 23 == 22)
                        throw data;
                    return data % 23 == 21 ? std::nullopt : std::optional(now + data * 1s);
                },
            .run = [this](std::size_t key, int) { ++counts_[key].runs; },
            .history = 1,
            .on_change = [this](std::size_t, item_state) { ++changes_; },
            .on_run =
                [this](std::size_t, const basic_job_record<clock>& record) {
                    check(record.outcome == job_outcome::completed, "each run completes");
                    ++ended_;
                }
        };
    }

    // Whether they have run, and their next runs have been decided before the clock goes on.
    bool fixed_items_are_done(unsigned second) const
    {
        for (std::size_t key = 0; key < items_; key += 10) {
            const std::uint64_t runs = second / static_cast<unsigned>(period(key));
            if (counts_[key].runs != runs || counts_[key].decisions != runs + 1)
                return false;
        }
        return true;
    }

    // Each thread has its own half of the keys, so that it knows which of them are there.
    void change(scheduler_type& s, unsigned number, unsigned second)
    {
        random_source random(number + 2 * second);
        for (std::size_t n = items_ / 200; n != 0; --n) {
            std::size_t key = random.below(items_ / 2) * 2 + number;
            if (is_fixed(key))
                key += 2;
            if (key >= items_)
                continue;
            const int data = 1 + static_cast<int>(random.below(50));
            std::uint8_t& present = present_[key];
            switch (random.below(6)) {
            case 0:
                if (present)
                    s.remove(key);
                present = 0;
                break;
            case 1:
                if (present)
                    s.trigger_now(key);
                break;
            case 2:
                if (present) {
                    s.pause(key);
                    s.resume(key);
                }
                break;
            default:
                check(
                    (s.upsert(key, data) == upsert_result::added) == !present,
                    "an item is added once"
                );
                present = 1;
            }
        }
    }

    // While another thread triggers what it can.
    void close(scheduler_type& s)
    {
        std::thread late([&] {
            error_code ec;
            for (std::size_t key = 0; key != 2000; ++key)
                s.trigger_now(key % items_, ec);
            for (std::size_t key = 0; !ec || ec == error::unknown_key; ++key)
                s.trigger_now(key % items_, ec);
            check(ec == error::closed, "a closed scheduler says so");
        });
        auto closed = s.async_close(asio::use_future);
        s.close();
        closed.get();
        late.join();
    }

    void compare(const scheduler_type& s)
    {
        const auto all = s.snapshot();
        std::size_t n = 0;
        for (std::size_t key = 0; key != items_; ++key)
            n += present_[key];
        check(all.size() == n, "what was added and not removed is there");
        std::uint64_t begun = 0;
        for (const by_key& each : counts_)
            begun += each.runs;
        check(begun == ended_, "each run that has begun has ended");
        std::uint64_t known = 0;
        for (const auto& item : all) {
            check(item.running == 0, "nothing runs when it is closed");
            check(item.runs <= counts_[item.key].runs, "no run is counted that was none");
            known += item.runs;
            if (is_fixed(item.key))
                check(item.runs == counts_[item.key].runs, "each run is counted");
        }
        std::cout << begun << " runs, " << known << " of items that are still there, " << changes_
                  << " changes of state" << std::endl;
    }

    const std::size_t items_;
    std::vector<by_key> counts_;
    std::vector<std::uint8_t> present_;
    std::atomic<std::uint64_t> ended_{0};
    std::atomic<std::uint64_t> changes_{0};
    asio::io_context ctx_;
};

// Schedulers that come and go while several threads use them: whatever they do with the same few keys,
// each operation ends once, and what is not allowed at the same time does not happen.
void comings_and_goings()
{
    using scheduler_type = timewheel::keyed_scheduler<int, int>;
    asio::io_context ctx;
    asio::thread_pool pool(2);
    crew runners(ctx, 1);
    for (int round = 0; round != 60; ++round) {
        std::atomic<int> started{0};
        std::atomic<int> ended{0};
        const auto running = std::make_shared<std::atomic<int>>(0); // runs may outlive the round
        const auto count = [&](auto&&...) { ++ended; };
        auto policy = reschedule_policy::after_finish;
        if (round % 3 == 1)
            policy = reschedule_policy::before_run;
        auto s = std::make_unique<scheduler_type>(
            ctx,
            pool,
            scheduler_type::options_type{
                .next = [](std::chrono::system_clock::time_point now, int, int data
                        ) { return now + data * 100us; },
                .run =
                    [running] {
                        check(++*running <= 2, "not more than two run");
                        --*running;
                    },
                .reschedule = policy,
                .overlap = round % 2 == 0 ? overlap_policy::queue_one : overlap_policy::allow,
                .cancel_running_on_remove = round % 5 == 0,
                .max_concurrent = 2,
                .tick = 100us,
                .on_change = [](int, item_state) {}
            }
        );
        s->start();
        std::atomic<bool> closed{false};
        in_threads(3, [&](unsigned number) {
            random_source random(number + 100u * static_cast<unsigned>(round));
            for (int step = 0; step != 300; ++step) {
                const int key = static_cast<int>(random.below(4));
                const int data = static_cast<int>(random.below(4));
                error_code ec;
                switch (random.below(10)) {
                case 0: s->remove(key, ec); break;
                case 1: s->pause(key, ec); break;
                case 2: s->resume(key, ec); break;
                case 3: s->reschedule(key, ec); break;
                case 4: s->replace_all({{0, data}, {1, 1}, {2, 2}}, ec); break;
                case 5:
                    ++started;
                    s->async_remove(key, count);
                    break;
                case 6:
                    ++started;
                    s->async_trigger(key, count);
                    break;
                case 7: static_cast<void>(s->snapshot()); break;
                case 8:
                    if (step > 250 && random.one_in(5) && !closed.exchange(true)) {
                        ++started;
                        s->async_close(count);
                        if (number == 1)
                            s->close(ec);
                    }
                    break;
                default: s->upsert(key, data, ec);
                }
            }
        });
        if (round % 4 == 0)
            s->close();
        s.reset();
        wait_until([&] { return ended == started; });
    }
    runners.finish();
    pool.join();
}

// Contexts that are destroyed while runs end in a pool: by then each operation has ended once. Some of
// the schedulers are destroyed before, the others belong to their operations.
void contexts_that_are_destroyed()
{
    using scheduler_type = keyed_scheduler<int, int>;
    asio::thread_pool pool(2);
    std::atomic<int> ended{0};
    int started = 0;
    for (int round = 0; round != 400; ++round) {
        random_source random(static_cast<unsigned>(round));
        asio::io_context io;
        auto s = std::make_shared<scheduler_type>(
            io,
            pool,
            scheduler_type::options_type{
                .next = [](std::chrono::system_clock::time_point now, int, int data
                        ) { return now + data * 50us; },
                .run = [] { std::this_thread::yield(); },
                .tick = 50us,
                .on_change = [](int, item_state) { std::this_thread::yield(); },
                .on_run = [](int, const auto&) { std::this_thread::yield(); }
            }
        );
        s->start();
        const bool is_owned = random.one_in(2);
        const auto handler = [&] {
            ++started;
            return ending(ended, is_owned ? s : nullptr);
        };
        for (int key = 0; key != 6; ++key) {
            s->upsert(key, 1 + static_cast<int>(random.below(4)));
            if (random.one_in(2))
                s->async_trigger(key, handler());
        }
        io.run_for(std::chrono::microseconds(random.below(400)));
        for (int key = 0; key != 6; ++key) {
            if (random.one_in(2))
                s->async_remove(key, handler());
        }
        if (random.one_in(2))
            s->async_close(handler());
        io.run_for(std::chrono::microseconds(random.below(200)));
        s.reset();
    }
    check(ended == started, "each operation ends once, at the latest with its context");
    pool.join();
    std::cout << started << " operations of contexts that were destroyed" << std::endl;
}

}

int main()
{
    storm(number_from_environment("TIMEWHEEL_ITEMS", usual_items)).run();
    comings_and_goings();
    contexts_that_are_destroyed();
}
