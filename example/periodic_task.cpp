// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

// A cache that is made anew again and again while others read it: the best customers of a shop, summed
// up from all orders by a worker thread. Every sixth time the archive is read as well, which takes
// longer than the period on purpose.
//
// The refresh is a loop around `timewheel::repeating_timer`. The table shows what that gives:
//
//  - refreshes stay on the grid `start + n * period`, no matter how late one was or how long it took;
//  - after a slow one there is no burst of refreshes to catch up: one comes at once, is told how many
//    were missed, and the next one is on the grid again;
//  - readers, which are coroutines that sleep in between, are never held up.
//
// At the end the program checks the grid, the numbers, and that nothing came early.
//
// Try `periodic_task`, `periodic_task --period 50ms --refreshes 40`, and Ctrl-C.

#include "common/interruption.hpp"
#include "common/options.hpp"

#include <timewheel/repeating_timer.hpp>
#include <timewheel/sleep.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace asio = boost::asio;
using namespace std::chrono_literals;
using clock_type = std::chrono::steady_clock;

namespace {

constexpr std::size_t customers = 5000;
constexpr std::size_t orders_in_archive = 2'000'000;
constexpr std::uint64_t archive_every = 6;

struct order
{
    std::uint32_t customer;
    std::uint32_t cents;
};

struct report
{
    std::vector<std::pair<std::uint64_t, std::uint32_t>> best; // cents and customer
    std::size_t orders = 0;
    clock_type::time_point made_at;
};

// What one refresh was like, for the table.
struct refresh
{
    timewheel::tick_info tick;
    clock_type::time_point began;
    clock_type::duration took;
    std::size_t orders;
};

std::vector<order> make_orders(std::size_t n, unsigned seed)
{
    std::mt19937 random(seed);
    std::vector<order> orders(n);
    for (order& each : orders)
        each = {
            static_cast<std::uint32_t>(random() % customers),
            static_cast<std::uint32_t>(100 + random() % 10'000)
        };
    return orders;
}

void add_up(const std::vector<order>& orders, std::vector<std::uint64_t>& cents)
{
    for (const order& each : orders)
        cents[each.customer] += each.cents;
}

// The work: runs on a thread of the pool. The archive is read until `at_least` has passed.
asio::awaitable<report>
make_report(const std::vector<order>& recent, bool archive, clock_type::duration at_least)
{
    const auto begin = clock_type::now();
    std::vector<std::uint64_t> cents(customers);
    std::size_t orders = recent.size();
    add_up(recent, cents);
    for (unsigned part = 1; archive && clock_type::now() - begin < at_least; ++part) {
        const auto old = make_orders(orders_in_archive / 20, part);
        add_up(old, cents);
        orders += old.size();
    }
    report made;
    for (std::uint32_t customer = 0; customer < customers; ++customer)
        made.best.emplace_back(cents[customer], customer);
    std::partial_sort(made.best.begin(), made.best.begin() + 3, made.best.end(), std::greater<>());
    made.best.resize(3);
    made.orders = orders;
    made.made_at = clock_type::now();
    co_return made;
}

class shop
{
public:
    shop(asio::io_context& context, std::chrono::milliseconds period, std::uint64_t refreshes)
        : recent_(make_orders(100'000, 0))
        , timer_(context, period)
        , left_(refreshes)
    {}

    // The loop around the timer. Ends after the last refresh, or when the timer is cancelled.
    asio::awaitable<void> keep_fresh()
    {
        while (left_ != 0) {
            const auto [ec, tick] = co_await timer_.async_wait(asio::as_tuple(asio::use_awaitable));
            if (ec || left_ == 0) // a tick that is due when the timer is cancelled still comes
                break;
            --left_;
            const auto began = clock_type::now();
            const bool archive = (done_.size() + 1) % archive_every == 0;
            cache_ = co_await asio::co_spawn(
                pool_, make_report(recent_, archive, timer_.period() * 5 / 2), asio::use_awaitable
            );
            done_.push_back({tick, began, clock_type::now() - began, cache_.orders});
            print(done_.back());
        }
        closed_ = true;
        if (on_end)
            on_end();
    }

    // One of those who read the cache meanwhile.
    asio::awaitable<void> read()
    {
        while (!closed_) {
            co_await timewheel::sleep_for(1ms);
            if (cache_.best.empty())
                continue;
            ++reads_;
            oldest_ = (std::max)(oldest_, clock_type::now() - cache_.made_at);
        }
    }

    // Ends the loop at its next wait.
    void close()
    {
        left_ = 0;
        timer_.cancel();
    }

    // Whether everything was as it must be; says what was not.
    bool check() const
    {
        bool good = !done_.empty();
        std::uint64_t number = 0;
        for (const refresh& each : done_) {
            const auto expected = [&](bool holds, const char* what) {
                if (!holds)
                    std::printf(
                        "WRONG: refresh %llu %s\n",
                        static_cast<unsigned long long>(each.tick.sequence),
                        what
                    );
                good = good && holds;
            };
            number += each.tick.missed + 1;
            const auto on_grid = start() + each.tick.sequence * timer_.period();
            expected(each.tick.sequence == number, "has the wrong number");
            expected(each.tick.scheduled_for == on_grid, "is not on the grid");
            expected(each.began >= each.tick.scheduled_for, "came early");
            expected(each.tick.lateness < timer_.period(), "is not the latest that was due");
        }
        return good;
    }

    void summarize() const
    {
        if (done_.empty())
            return;
        std::printf("\nBest customers, of %zu orders:", cache_.orders);
        for (const auto& [cents, customer] : cache_.best)
            std::printf("  #%u", customer);
        std::printf(
            "\n%zu refreshes, %llu missed; %llu reads, the oldest answer was %.0f ms old.\n",
            done_.size(),
            static_cast<unsigned long long>(done_.back().tick.sequence - done_.size()),
            static_cast<unsigned long long>(reads_),
            in_ms(oldest_)
        );
    }

    std::function<void()> on_end;

private:
    static double in_ms(clock_type::duration span)
    {
        return std::chrono::duration<double, std::milli>(span).count();
    }

    // Where the grid begins.
    clock_type::time_point start() const
    {
        const timewheel::tick_info& first = done_.front().tick;
        return first.scheduled_for - first.sequence * timer_.period();
    }

    void print(const refresh& each) const
    {
        if (done_.size() == 1)
            std::printf("number   due at ms   late ms   missed   took ms      orders\n");
        std::printf(
            "%6llu %11.1f %9.2f %8llu %9.1f %11zu\n",
            static_cast<unsigned long long>(each.tick.sequence),
            in_ms(each.tick.scheduled_for - start()),
            in_ms(each.tick.lateness),
            static_cast<unsigned long long>(each.tick.missed),
            in_ms(each.took),
            each.orders
        );
        std::fflush(stdout);
    }

    const std::vector<order> recent_;
    timewheel::repeating_timer timer_;
    asio::thread_pool pool_{1};
    std::uint64_t left_;
    report cache_;
    std::vector<refresh> done_;
    bool closed_ = false;
    std::uint64_t reads_ = 0;
    clock_type::duration oldest_{};
};

struct options
{
    std::chrono::milliseconds period{150};
    std::int64_t refreshes = 15;
};

int run(const options& chosen)
{
    asio::io_context context;
    shop cached(context, chosen.period, static_cast<std::uint64_t>(chosen.refreshes));
    example::interruption interruption(context, [&] { cached.close(); });
    cached.on_end = [&] { interruption.forget(); };
    for (int i = 0; i < 10; ++i)
        asio::co_spawn(context, cached.read(), example::stop_at_error);
    asio::co_spawn(context, cached.keep_fresh(), example::stop_at_error);
    context.run();
    cached.summarize();
    if (interruption.signal() != 0)
        return interruption.exit_code();
    const bool good = cached.check();
    std::printf("%s\n", good ? "Every refresh was on the grid." : "FAILED");
    return good ? 0 : 1;
}

}

int main(int argc, char* argv[])
{
    options chosen;
    example::command_line line(
        "periodic_task",
        "refreshes a cache on a fixed grid.",
        "Exit code: 0 all was right, 1 it was not, 2 a bad option;\n"
        "130 ended by SIGINT (Ctrl-C), 143 by SIGTERM."
    );
    line.add("period", chosen.period, 10ms, 10s, "from one refresh to the next");
    line.add("refreshes", chosen.refreshes, 1, 10'000, "when to end");
    return example::run_example(line, argc, argv, [&] { return run(chosen); });
}
