// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

// A shop cancels each order that is not paid within 30 minutes. A million orders come in during a day,
// most are paid within minutes, and the others have to be cancelled on time: not before the 30 minutes
// are over, and at most one tick after.
//
// The shop says so in one line: `asio::post(timewheel::after(context, deadline), ...)`. There is no
// timer to keep, and no timer of the operating system behind each order. What was submitted can't be
// taken back, so the function looks whether the order has been paid meanwhile.
//
// The day is virtual: with timewheel::manual_clock it takes a second or so, and what happens is the
// same in each run. A shop that is open would use std::chrono::steady_clock in its place.
//
// Try `order_timeout`, `order_timeout --orders 100000 --seed 7`, `order_timeout --help`.

#include "common/live_line.hpp"
#include "common/options.hpp"

#include <timewheel/after.hpp>
#include <timewheel/manual_clock.hpp>
#include <timewheel/wheel_service.hpp>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <random>
#include <ratio>
#include <vector>

namespace asio = boost::asio;
using namespace std::chrono_literals;

namespace {

using shop_clock = timewheel::manual_clock<struct virtual_day>;
using duration = shop_clock::duration;
using time_point = shop_clock::time_point;

constexpr duration time_to_pay = 30min;
constexpr duration tick = 1ms; // the wheel's default

enum class order_state : unsigned char
{
    placed,
    paid,
    cancelled
};

struct order
{
    time_point placed;
    time_point ended{};
    order_state state = order_state::placed;
};

// Takes orders and payments, and cancels what is not paid in time.
class shop
{
public:
    shop(asio::io_context& context, std::size_t expected) : context_(context)
    {
        orders_.reserve(expected);
    }

    std::size_t place()
    {
        const std::size_t number = orders_.size();
        const time_point now = shop_clock::now();
        orders_.push_back({.placed = now});
        asio::post(timewheel::after(context_, now + time_to_pay), [this, number] {
            if (orders_[number].state == order_state::placed)
                end(number, order_state::cancelled);
        });
        return number;
    }

    // Returns false if it is too late.
    bool pay(std::size_t number)
    {
        if (orders_[number].state != order_state::placed)
            return false;
        end(number, order_state::paid);
        return true;
    }

    const std::vector<order>& orders() const { return orders_; }
    std::size_t paid() const { return paid_; }
    std::size_t cancelled() const { return cancelled_; }

private:
    void end(std::size_t number, order_state how)
    {
        orders_[number].state = how;
        orders_[number].ended = shop_clock::now();
        ++(how == order_state::paid ? paid_ : cancelled_);
    }

    asio::io_context& context_;
    std::vector<order> orders_;
    std::size_t paid_ = 0;
    std::size_t cancelled_ = 0;
};

// Place an order each, and pay it or not.
class customers
{
public:
    customers(asio::io_context& context, shop& where, std::size_t expected, unsigned seed)
        : context_(context)
        , shop_(where)
        , random_(seed)
    {
        intended_.reserve(expected);
    }

    void next()
    {
        const std::size_t number = shop_.place();
        intended_.push_back(think());
        if (intended_.back()) {
            asio::post(timewheel::after(context_, *intended_.back()), [this, number] {
                if (!shop_.pay(number))
                    ++too_late_;
            });
        }
    }

    // When each order is to be paid, if ever.
    const std::vector<std::optional<time_point>>& intended() const { return intended_; }
    std::size_t too_late() const { return too_late_; }

private:
    std::optional<time_point> think()
    {
        const time_point now = shop_clock::now();
        const int kind = std::uniform_int_distribution(0, 99)(random_);
        if (kind < 10)
            return std::nullopt;
        if (kind < 11) // at the last moment, or just too late
            return now + time_to_pay + std::uniform_int_distribution(-3000, 3000)(random_) * 1us;
        const std::chrono::duration<double, std::ratio<60>> minutes(
            std::exponential_distribution(1.0 / 5)(random_)
        );
        return now + std::chrono::duration_cast<duration>(minutes);
    }

    asio::io_context& context_;
    shop& shop_;
    std::mt19937 random_;
    std::vector<std::optional<time_point>> intended_;
    std::size_t too_late_ = 0;
};

// How the day goes on.
class progress_line
{
public:
    progress_line() { std::puts(" time      placed      paid  cancelled   open"); }

    void update(const shop& where)
    {
        const duration now = shop_clock::now().time_since_epoch();
        if (now < next_)
            return;
        next_ += line_.on_terminal() ? duration(10min) : duration(4h);
        show(where);
    }

    void finish(const shop& where)
    {
        show(where);
        line_.finish();
        std::puts("");
    }

private:
    void show(const shop& where)
    {
        const auto now = std::chrono::floor<std::chrono::minutes>(shop_clock::now());
        const auto minutes = static_cast<int>(now.time_since_epoch().count());
        const std::size_t placed = where.orders().size();
        line_.show(
            "%02d:%02d %10zu%10zu %10zu %6zu",
            minutes / 60,
            minutes % 60,
            placed,
            where.paid(),
            where.cancelled(),
            placed - where.paid() - where.cancelled()
        );
    }

    example::live_line line_;
    duration next_{};
};

// Lets the time pass until `when`, and everything happen that is due on the way.
void let_pass_until(asio::io_context& context, time_point when)
{
    using service_type = timewheel::basic_wheel_service<shop_clock>;
    auto& wheel = asio::use_service<service_type>(context);
    for (auto due = wheel.next_expiry(); due && *due <= when; due = wheel.next_expiry()) {
        shop_clock::advance_to(*due);
        context.poll();
    }
    shop_clock::advance_to(when);
}

struct findings
{
    duration earliest = (duration::max)();
    duration latest = (duration::min)();
    std::size_t wrong = 0;
};

// Compares what became of each order with what had to.
findings judge(const shop& where, const customers& who)
{
    findings found;
    for (std::size_t n = 0; n != where.orders().size(); ++n) {
        const order& what = where.orders()[n];
        const time_point deadline = what.placed + time_to_pay;
        const time_point end =
            time_point(std::chrono::ceil<std::chrono::milliseconds>(deadline.time_since_epoch()));
        const auto intended = who.intended()[n];
        // In the same tick the cancellation comes first: it has been submitted first.
        const bool in_time = intended && *intended <= end - tick;
        bool right = false;
        if (what.state == order_state::cancelled) {
            found.earliest = (std::min)(found.earliest, what.ended - deadline);
            found.latest = (std::max)(found.latest, what.ended - deadline);
            right = !in_time && what.ended == end;
        } else if (what.state == order_state::paid) {
            right = in_time && what.ended < end;
        }
        if (!right)
            ++found.wrong;
    }
    return found;
}

double milliseconds(duration span)
{
    return std::chrono::duration<double, std::milli>(span).count();
}

int run(std::size_t count, unsigned seed)
{
    const auto begin = std::chrono::steady_clock::now();
    asio::io_context context;
    const auto open = asio::make_work_guard(context);
    shop where(context, count);
    customers who(context, where, count, seed);
    progress_line progress;

    std::mt19937_64 random(seed);
    const duration gap = duration(24h) / static_cast<duration::rep>(count);
    for (std::size_t n = 0; n != count; ++n) {
        std::uniform_int_distribution<duration::rep> within(0, gap.count());
        const duration opening = gap * static_cast<duration::rep>(n);
        let_pass_until(context, time_point(opening + duration(within(random))));
        who.next();
        progress.update(where);
    }
    while (shop_clock::advance_to_next())
        context.poll();
    progress.finish(where);

    const findings found = judge(where, who);
    const std::chrono::duration<double> real = std::chrono::steady_clock::now() - begin;
    const bool any = where.cancelled() != 0;
    std::printf("orders placed       %10zu\n", where.orders().size());
    std::printf("paid                %10zu\n", where.paid());
    std::printf("cancelled           %10zu\n", where.cancelled());
    std::printf("  paid too late     %10zu\n", who.too_late());
    std::printf("  earliest          %10.6f ms late\n", any ? milliseconds(found.earliest) : 0);
    std::printf("  latest            %10.6f ms late\n", any ? milliseconds(found.latest) : 0);
    std::printf("not as they must be %10zu\n", found.wrong);
    std::printf("real time           %10.3f s\n\n", real.count());

    bool good = true;
    const auto check = [&](bool holds, const char* what) {
        if (!holds)
            std::printf("FAILED: %s\n", what);
        good = good && holds;
    };
    check(where.orders().size() == count, "all orders were placed");
    check(where.paid() + where.cancelled() == count, "each order ended once");
    check(!any || found.earliest >= 0ms, "no order was cancelled early");
    check(!any || found.latest < tick, "none was cancelled more than a tick late");
    check(found.wrong == 0, "exactly those were cancelled that had not been paid in time");
    if (good)
        std::puts("Each order was paid in time, or cancelled in the very tick.");
    return good ? 0 : 1;
}

struct options
{
    std::int64_t orders = 1'000'000;
    std::int64_t seed = 1;
};

}

int main(int argc, char* argv[])
{
    options chosen;
    example::command_line line(
        "order_timeout",
        "a day of orders that are paid or cancelled.",
        "Exit code: 0 all was right, 1 it was not, 2 a bad option."
    );
    line.add("orders", chosen.orders, 1, 5'000'000, "how many there are");
    line.add("seed", chosen.seed, 0, 1'000'000'000, "seed of the random numbers");
    return example::run_example(line, argc, argv, [&] {
        return run(static_cast<std::size_t>(chosen.orders), static_cast<unsigned>(chosen.seed));
    });
}
