// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

// A rate limit by a token bucket: each request takes a token, and is refused when there is none. A
// `timewheel::repeating_timer` refills the bucket every 10 ms.
//
// A timer that forgot what it missed would let through too little after a stall, and one that fired
// for every missed tick would do the work of all of them. Here each tick says how many were missed, and
// the bucket gets the tokens of all of them at once, as far as they fit. In the middle of the run the
// program stalls itself for a while to show that.
//
// Clients ask several times as often as is allowed. At the end the program checks that every second,
// wherever it begins, has let through no more than the limit, that no token was lost or made up, and
// that what was allowed was really used.
//
// Try `rate_limit`, `rate_limit --rate 50 --seconds 10`, and Ctrl-C.

#include "common/interruption.hpp"
#include "common/options.hpp"

#include <timewheel/repeating_timer.hpp>
#include <timewheel/sleep.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <random>
#include <thread>
#include <vector>

namespace asio = boost::asio;
using namespace std::chrono_literals;
using clock_type = std::chrono::steady_clock;

namespace {

constexpr auto refill_period = 10ms;
constexpr std::int64_t ticks_per_second = 1s / refill_period;
constexpr auto stall = 70ms;

// Counts in hundredths of a token, the share of one tick of a rate of one token per second.
class token_bucket
{
public:
    // Holds the tokens of a tenth of a second, and begins full.
    token_bucket(asio::io_context& context, std::int64_t rate)
        : timer_(context, refill_period)
        , rate_(rate)
        , capacity_((std::max)(rate / 10, std::int64_t{1}) * share)
        , level_(capacity_)
    {}

    asio::awaitable<void> keep_filled()
    {
        while (!closed_) { // a tick that is due when the timer is cancelled still comes
            const auto [ec, tick] = co_await timer_.async_wait(asio::as_tuple(asio::use_awaitable));
            if (ec)
                break;
            const auto ticks = static_cast<std::int64_t>(tick.missed + 1);
            ticks_ += ticks;
            missed_ += ticks - 1;
            const auto first_due = tick.scheduled_for - (ticks - 1) * refill_period;
            longest_delay_ = (std::max)(longest_delay_, clock_type::now() - first_due);
            level_ += ticks * rate_;
            spilled_ += (std::max)(level_ - capacity_, std::int64_t{0});
            level_ = (std::min)(level_, capacity_);
        }
    }

    bool try_take()
    {
        if (level_ < share)
            return false;
        level_ -= share;
        ++taken_;
        return true;
    }

    void close()
    {
        closed_ = true;
        timer_.cancel();
    }

    std::int64_t capacity() const { return capacity_ / share; }
    std::int64_t missed() const { return missed_; }
    clock_type::duration longest_delay() const { return longest_delay_; }
    std::int64_t taken() const { return taken_; }

    // Whether all that came in is still there, was taken, or did not fit.
    bool adds_up() const
    {
        return capacity_ + ticks_ * rate_ == level_ + taken_ * share + spilled_;
    }

    // How many tokens could have been taken.
    std::int64_t offered() const { return (capacity_ + ticks_ * rate_ - spilled_) / share; }

private:
    static constexpr std::int64_t share = ticks_per_second;

    timewheel::repeating_timer timer_;
    const std::int64_t rate_;
    const std::int64_t capacity_;
    std::int64_t level_;
    std::int64_t ticks_ = 0;
    std::int64_t missed_ = 0;
    clock_type::duration longest_delay_{};
    std::int64_t taken_ = 0;
    std::int64_t spilled_ = 0;
    bool closed_ = false;
};

class service
{
public:
    service(asio::io_context& context, std::int64_t rate, std::int64_t seconds)
        : bucket_(context, rate)
        , timer_(context, 1s)
        , rate_(rate)
        , seconds_(seconds)
        , start_(clock_type::now())
    {}

    asio::awaitable<void> fill() { return bucket_.keep_filled(); }

    // Asks again and again, all clients together about four times as often as is allowed.
    asio::awaitable<void> ask(unsigned client, std::int64_t clients)
    {
        std::minstd_rand random(client + 1);
        const double mean = static_cast<double>(clients) / (4.0 * static_cast<double>(rate_));
        std::exponential_distribution<double> pause(1 / mean);
        while (!closed_) {
            const std::chrono::duration<double> span(pause(random));
            co_await timewheel::sleep_for(std::chrono::ceil<clock_type::duration>(span));
            ++asked_;
            if (bucket_.try_take())
                let_through_.push_back(clock_type::now());
        }
    }

    // Prints a line each second, on the grid as well, and ends the run.
    asio::awaitable<void> watch()
    {
        std::printf("second     asked   let through   refused   limit   missed refills\n");
        std::int64_t asked = 0;
        std::int64_t taken = 0;
        std::int64_t missed = 0;
        for (std::int64_t second = 1; second <= seconds_ && !closed_; ++second) {
            const auto [ec, tick] = co_await timer_.async_wait(asio::as_tuple(asio::use_awaitable));
            if (ec)
                break;
            const std::int64_t let = bucket_.taken() - taken;
            std::printf(
                "%6lld %9lld %13lld %9lld %7lld %16lld\n",
                static_cast<long long>(tick.sequence),
                static_cast<long long>(asked_ - asked),
                static_cast<long long>(let),
                static_cast<long long>(asked_ - asked - let),
                static_cast<long long>(rate_),
                static_cast<long long>(bucket_.missed() - missed)
            );
            std::fflush(stdout);
            asked = asked_;
            taken += let;
            missed = bucket_.missed();
            if (second == (seconds_ + 1) / 2)
                std::this_thread::sleep_for(stall); // a handler that blocks: do not do this
        }
        close();
    }

    void close()
    {
        closed_ = true;
        timer_.cancel();
        bucket_.close();
    }

    // Whether everything was as it must be; says what was not.
    bool check() const
    {
        bool good = true;
        const auto expected = [&good](bool holds, const char* what) {
            if (!holds)
                std::printf("WRONG: %s\n", what);
            good = good && holds;
        };
        // A full bucket, a second's worth, what was due before it and came late, and the tick that
        // the second may cut in two.
        const auto delay = std::chrono::ceil<std::chrono::milliseconds>(bucket_.longest_delay());
        const std::int64_t limit = bucket_.capacity() + rate_ + rate_ * delay.count() / 1000 +
                                   rate_ / ticks_per_second + 2;
        std::int64_t most = 0;
        for (std::size_t first = 0, last = 0; last < let_through_.size(); ++last) {
            while (let_through_[last] - let_through_[first] >= 1s)
                ++first;
            most = (std::max)(most, static_cast<std::int64_t>(last - first + 1));
        }
        std::printf(
            "\nLet through: %lld of %lld; at most %lld in any second, %lld are allowed.\n",
            static_cast<long long>(bucket_.taken()),
            static_cast<long long>(asked_),
            static_cast<long long>(most),
            static_cast<long long>(limit)
        );
        expected(most <= limit, "a second has let through more than the limit");
        expected(bucket_.adds_up(), "tokens were lost or made up");
        expected(bucket_.taken() <= bucket_.offered(), "more was taken than there was");
        // What a busy machine is too slow to take spills.
        expected(bucket_.taken() * 2 >= bucket_.offered(), "much less was used than was offered");
        expected(bucket_.missed() > 0, "the stall was not noticed");
        const std::chrono::duration<double> elapsed = clock_type::now() - start_;
        expected(
            static_cast<double>(bucket_.taken()) <= static_cast<double>(rate_) * elapsed.count() +
                                                        static_cast<double>(bucket_.capacity()),
            "the rate was exceeded over the whole run"
        );
        return good;
    }

private:
    token_bucket bucket_;
    timewheel::repeating_timer timer_;
    const std::int64_t rate_;
    const std::int64_t seconds_;
    const clock_type::time_point start_;
    std::int64_t asked_ = 0;
    std::vector<clock_type::time_point> let_through_;
    bool closed_ = false;
};

struct options
{
    std::int64_t rate = 1000;
    std::int64_t seconds = 4;
};

int run(const options& chosen)
{
    asio::io_context context;
    service limited(context, chosen.rate, chosen.seconds);
    example::interruption interruption(context, [&] { limited.close(); });
    constexpr unsigned clients = 20;
    for (unsigned client = 0; client < clients; ++client)
        asio::co_spawn(context, limited.ask(client, clients), example::stop_at_error);
    asio::co_spawn(context, limited.fill(), example::stop_at_error);
    asio::co_spawn(context, limited.watch(), [&](std::exception_ptr error) {
        example::stop_at_error(error);
        interruption.forget();
    });
    context.run();
    if (interruption.signal() != 0)
        return interruption.exit_code();
    const bool good = limited.check();
    std::printf("%s\n", good ? "The limit was kept, and used." : "FAILED");
    return good ? 0 : 1;
}

}

int main(int argc, char* argv[])
{
    options chosen;
    example::command_line line(
        "rate_limit",
        "a token bucket refilled by a timer.",
        "Exit code: 0 all was right, 1 it was not, 2 a bad option;\n"
        "130 ended by SIGINT (Ctrl-C), 143 by SIGTERM."
    );
    line.add("rate", chosen.rate, 10, 5000, "requests a second");
    line.add("seconds", chosen.seconds, 2, 3600, "when to end");
    return example::run_example(line, argc, argv, [&] { return run(chosen); });
}
