// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

// A service that writes to its users: a welcome mail some time after they have signed up, and to every
// third of them a digest again and again, until they unsubscribe. Each of these is a timer of a
// `timewheel::wheel`, whose jobs run on a thread pool. It shows
//
//  - jobs that are coroutines: to send a mail is to wait for a mail server, which blocks no thread;
//  - jobs that fail, that throw, and that hang until their time is over;
//  - digests that skip a time while the one before is still on its way;
//  - timers that are removed, before their job, while it is running, or too late;
//  - a second wheel, without data, for the chores of the service itself: users that sign up or
//    unsubscribe, and the line that shows the progress. Its jobs run in the context that has the
//    timers, one at a time, so they need no locks.
//
// At the end it prints what became of the mails, and checks that none is missing and none was early.
//
// Try `welcome_mail`, `welcome_mail --users 50000 --threads 4`, and Ctrl-C.

#include "common/interruption.hpp"
#include "common/live_line.hpp"
#include "common/options.hpp"
#include "common/text.hpp"

#include <timewheel/sleep.hpp>
#include <timewheel/wheel.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/errc.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace asio = boost::asio;
using boost::system::error_code;
using example::grouped;
using namespace std::chrono_literals;
using clock_type = std::chrono::steady_clock;

namespace {

struct options
{
    std::int64_t users = 2000;
    std::chrono::milliseconds duration{8000};
    std::chrono::milliseconds delay{1000};
    std::chrono::milliseconds digest{400};
    std::chrono::milliseconds patience{500};
    std::int64_t threads = 2;
};

struct mail
{
    std::string address;
    bool is_digest = false;
};

using mail_wheel = timewheel::wheel<mail>;
using timewheel::job_outcome;
using timewheel::timer_id;

// The domain of a user, which says what the mail server will do.
const char* domain_of(std::size_t user)
{
    const std::size_t card = user * 37 % 100;
    return card < 3    ? "@garbled.example"
           : card < 8  ? "@full.example"
           : card < 10 ? "@silent.example"
                       : "@home.example";
}

// In the place of SMTP. Any thread may use it.
class mail_server
{
public:
    asio::awaitable<error_code> deliver(const mail& to)
    {
        const std::string_view domain = std::string_view(to.address).substr(to.address.find('@'));
        if (domain == "@garbled.example")
            throw std::invalid_argument("cannot read the address " + to.address);
        if (domain == "@silent.example")
            co_await timewheel::sleep_for(1h); // cancelled when the time of the run is over
        const auto part = std::hash<std::string>()(to.address) % 60;
        co_await timewheel::sleep_for(std::chrono::milliseconds(20 + part));
        if (domain == "@full.example")
            co_return make_error_code(boost::system::errc::no_space_on_device);
        ++accepted_;
        co_return error_code();
    }

    std::uint64_t accepted() const { return accepted_; }

private:
    std::atomic<std::uint64_t> accepted_ = 0;
};

// How runs of jobs have ended, as the observer of the wheel is told. Any thread may use it.
class tally
{
public:
    void count(const mail_wheel::options_type::event_type& event)
    {
        ++counts_[event.data.is_digest ? 1 : 0][static_cast<std::size_t>(event.outcome)];
        const bool has_begun = event.outcome <= job_outcome::timed_out;
        if (has_begun && event.started_at < event.scheduled_for)
            ++early_;
    }

    std::uint64_t of(bool is_digest, job_outcome outcome) const
    {
        return counts_[is_digest ? 1 : 0][static_cast<std::size_t>(outcome)];
    }

    std::uint64_t of(job_outcome outcome) const { return of(false, outcome) + of(true, outcome); }
    std::uint64_t early() const { return early_; }

private:
    std::array<std::array<std::atomic<std::uint64_t>, 7>, 2> counts_{};
    std::atomic<std::uint64_t> early_ = 0;
};

class mail_service
{
public:
    mail_service(asio::io_context& context, const options& chosen)
        : chosen_(chosen)
        , workers_(static_cast<std::size_t>(chosen.threads))
        , chores_(context, context)
        , mails_(
              context,
              workers_,
              {.max_queued = 256,
               .policy = timewheel::backpressure::block,
               .run_timeout = chosen.patience,
               .observer = [this](const auto& event) { seen_.count(event); }},
              [this](mail& to) { return server_.deliver(to); }
          )
    {}

    // The whole life of the service. Ends when the last mail has ended, or after `interrupt()`.
    asio::awaitable<void> run()
    {
        std::puts("  time   users   pending  running      sent   failed  late ms p50   p99   max");
        chores_.start();
        mails_.start();
        show();
        chores_.add_repeating(line_.on_terminal() ? 200ms : 1000ms, [this] { show(); });

        // One operation for as long as users come. What it missed, as after a stall, it makes good.
        const auto step = 10ms;
        const auto steps = static_cast<std::uint64_t>(chosen_.duration / step);
        const auto all = static_cast<std::uint64_t>(chosen_.users);
        const auto sign_up_some = [this, steps, all](const timewheel::job_context& job) {
            const std::uint64_t due = all * job.sequence() / steps;
            while (users_.size() < (std::min)(due, all))
                sign_up();
        };
        co_await chores_.async_repeat(
            step,
            sign_up_some,
            {.until = clock_type::now() + chosen_.duration},
            asio::as_tuple(asio::use_awaitable)
        );
        while (!interrupted_ && users_.size() < all)
            sign_up();
        co_await pause(chosen_.delay * 2); // for those who unsubscribe late
        if (!interrupted_) {
            for (const user& each : users_)
                mails_.remove(each.digest);
        }
        while (!interrupted_ && is_busy())
            co_await pause(20ms);
        co_await mails_.async_close(asio::use_awaitable);
        show();
        line_.finish();
        error_code ignored;
        chores_.stop(ignored);
    }

    // Ends what is under way. To be called in the context.
    void interrupt()
    {
        interrupted_ = true;
        chores_.stop();
        mails_.stop();
    }

    // Prints what became of the mails.
    void report() const
    {
        const timewheel::wheel_stats stats = mails_.stats();
        std::puts("\nMails            welcome     digest");
        for (const auto outcome :
             {job_outcome::completed,
              job_outcome::failed,
              job_outcome::threw,
              job_outcome::timed_out,
              job_outcome::cancelled,
              job_outcome::skipped})
            std::printf(
                "  %-10s %11s %10s\n",
                std::string(to_string(outcome)).c_str(),
                grouped(seen_.of(false, outcome)).c_str(),
                grouped(seen_.of(true, outcome)).c_str()
            );
        std::printf(
            "\n%s users, of whom %s unsubscribed before their welcome mail, %s during it, and %s\n"
            "after it. %s timers were removed.\n\n"
            "Lateness of %s runs in ms: p50 %s, p99 %s, max %s\n\n",
            grouped(users_.size()).c_str(),
            grouped(in_time_).c_str(),
            grouped(during_).c_str(),
            grouped(too_late_).c_str(),
            grouped(stats.removed).c_str(),
            grouped(stats.executed).c_str(),
            example::milliseconds(stats.lateness.percentile(0.5)).c_str(),
            example::milliseconds(stats.lateness.percentile(0.99)).c_str(),
            example::milliseconds(stats.lateness.longest()).c_str()
        );
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
        const timewheel::wheel_stats stats = mails_.stats();
        expected(stats.pending + stats.queued + stats.running == 0, "something is left");
        expected(
            stats.scheduled == stats.completed + stats.failed + stats.threw + stats.timed_out +
                                   stats.cancelled + stats.dropped + stats.skipped +
                                   stats.withdrawn,
            "a run has ended in no way, or in two"
        );
        expected(
            stats.completed == seen_.of(job_outcome::completed) &&
                stats.failed == seen_.of(job_outcome::failed) &&
                stats.threw == seen_.of(job_outcome::threw) &&
                stats.timed_out == seen_.of(job_outcome::timed_out) &&
                stats.cancelled == seen_.of(job_outcome::cancelled) &&
                stats.dropped == seen_.of(job_outcome::dropped) &&
                stats.skipped == seen_.of(job_outcome::skipped),
            "the observer has seen something else than the statistics"
        );
        std::uint64_t welcomed = in_time_;
        for (std::size_t outcome = 0; outcome != 7; ++outcome)
            welcomed += seen_.of(false, static_cast<job_outcome>(outcome));
        expected(welcomed == users_.size(), "a welcome mail is missing, or was sent twice");
        expected(seen_.early() == 0, "a mail was early");
        // Who is told to stop may have been just done.
        expected(
            server_.accepted() >= stats.completed &&
                server_.accepted() <= stats.completed + stats.timed_out + stats.cancelled,
            "the mail server has got another number of mails"
        );
        if (!interrupted_) {
            expected(users_.size() == static_cast<std::size_t>(chosen_.users), "users are missing");
            expected(stats.completed > 0, "no mail was sent");
            expected(stats.cancelled <= told_to_stop_, "a mail was cancelled by nobody");
        }
        return good;
    }

private:
    struct user
    {
        timer_id welcome;
        timer_id digest = timer_id::none;
    };

    // A chore: one more user.
    void sign_up()
    {
        const std::size_t number = users_.size();
        const std::string address = "user" + std::to_string(number) + domain_of(number);
        user added{mails_.add(chosen_.delay, {.address = address})};
        if (number % 3 == 0)
            added.digest = mails_.add_repeating(
                chosen_.digest,
                {.address = address, .is_digest = true},
                {.mode = timewheel::repeat_mode::skip_if_running}
            );
        users_.push_back(added);
        // Every fifth user unsubscribes: before the mail, when it is being sent, or after it.
        if (number % 5 == 0)
            chores_.add(
                number % 15 == 0   ? chosen_.delay / 2
                : number % 15 == 5 ? chosen_.delay + 10ms
                                   : chosen_.delay * 2,
                [this, added] { unsubscribe(added); }
            );
    }

    // A chore: one user less.
    void unsubscribe(const user& who)
    {
        using timewheel::cancel_running;
        using timewheel::remove_result;
        const remove_result digest = mails_.remove(who.digest, cancel_running);
        const remove_result welcome = mails_.remove(who.welcome, cancel_running);
        told_to_stop_ += (digest == remove_result::running ? 1U : 0U) +
                         (welcome == remove_result::running ? 1U : 0U);
        switch (welcome) {
        case remove_result::removed: ++in_time_; break;
        case remove_result::running: ++during_; break;
        case remove_result::unknown: ++too_late_; break;
        }
    }

    bool is_busy() const
    {
        const timewheel::wheel_stats stats = mails_.stats();
        return stats.pending + stats.queued + stats.running != 0;
    }

    // Ends early when the chores are stopped.
    asio::awaitable<void> pause(clock_type::duration span)
    {
        co_await chores_.async_run_after(span, [] {}, asio::as_tuple(asio::use_awaitable));
    }

    // A chore: the line on the screen.
    void show()
    {
        const timewheel::wheel_stats stats = mails_.stats();
        const std::chrono::duration<double> elapsed = clock_type::now() - start_;
        line_.show(
            "%5.1fs %7s %9s %8s %9s %8s %12s %5s %5s",
            elapsed.count(),
            grouped(users_.size()).c_str(),
            grouped(stats.pending).c_str(),
            grouped(stats.running).c_str(),
            grouped(stats.completed).c_str(),
            grouped(stats.failed + stats.threw + stats.timed_out).c_str(),
            example::milliseconds(stats.lateness.percentile(0.5)).c_str(),
            example::milliseconds(stats.lateness.percentile(0.99)).c_str(),
            example::milliseconds(stats.lateness.longest()).c_str()
        );
    }

    const options chosen_;
    const clock_type::time_point start_ = clock_type::now();
    mail_server server_;
    tally seen_;
    example::live_line line_;
    std::vector<user> users_;
    std::uint64_t in_time_ = 0;
    std::uint64_t during_ = 0;
    std::uint64_t too_late_ = 0;
    std::uint64_t told_to_stop_ = 0;
    bool interrupted_ = false;
    asio::thread_pool workers_;
    timewheel::wheel<> chores_;
    mail_wheel mails_;
};

int run(const options& chosen)
{
    asio::io_context context(1);
    mail_service service(context, chosen);
    example::interruption interruption(context, [&] { service.interrupt(); });
    asio::co_spawn(context, service.run(), [&](std::exception_ptr error) {
        interruption.forget();
        example::stop_at_error(error);
    });
    context.run();
    service.report();
    const bool good = service.check();
    if (const int signal = interruption.signal(); signal != 0) {
        std::printf("Interrupted by signal %d; the figures are those up to then.\n", signal);
        return interruption.exit_code();
    }
    std::puts(good ? "Every mail is accounted for." : "FAILED");
    return good ? 0 : 1;
}

}

int main(int argc, char* argv[])
{
    options chosen;
    example::command_line line(
        "welcome_mail",
        "a service that sends mails to its users at their time.",
        "Exit code: 0 all was right, 1 it was not, 2 a bad option; 130 ended by SIGINT\n"
        "(Ctrl-C), 143 by SIGTERM, with the table so far. A second Ctrl-C ends it at once."
    );
    line.add("users", chosen.users, 1, 1'000'000, "how many sign up");
    line.add("duration", chosen.duration, 100ms, 10min, "how long that takes");
    line.add("delay", chosen.delay, 10ms, 1min, "from signing up to the welcome mail");
    line.add("digest", chosen.digest, 10ms, 1min, "from one digest to the next");
    line.add("patience", chosen.patience, 10ms, 1min, "how long it may take to send a mail");
    line.add("threads", chosen.threads, 1, 16, "threads that send mails");
    return example::run_example(line, argc, argv, [&] { return run(chosen); });
}
