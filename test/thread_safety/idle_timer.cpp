// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

// Three threads touch idle timers while two run the context, with waits that end, start again, are
// cancelled and get another timeout on the strand of each timer. Says what went wrong and returns 1,
// else 0; meant to be run with a thread sanitizer as well.

#include <timewheel/idle_timer.hpp>

#include <boost/asio/dispatch.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/strand.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <memory>
#include <random>
#include <thread>
#include <vector>

namespace {

namespace asio = boost::asio;
using namespace std::chrono_literals;
using clock_type = std::chrono::steady_clock;

std::atomic<int> failures{0};

void check(bool good, const char* what)
{
    if (!good && failures++ < 10)
        std::printf("failed: %s\n", what);
}

// A timer that waits again whenever a wait ends, until it is closed.
class session
{
public:
    explicit session(asio::io_context& context)
        : strand_(asio::make_strand(context))
        , idle_(strand_, 2ms)
    {}

    void start()
    {
        asio::dispatch(strand_, [this] { wait(); });
    }

    // From any thread.
    void touch(bool with_time)
    {
        if (with_time)
            idle_.touch(clock_type::now() - 1us);
        else
            idle_.touch();
    }

    void disturb(unsigned how)
    {
        asio::post(strand_, [this, how] {
            if (how % 3 == 0)
                idle_.cancel();
            else
                idle_.timeout(1ms * (1 + how % 4));
        });
    }

    void close()
    {
        asio::post(strand_, [this] {
            closed_ = true;
            idle_.cancel();
        });
    }

    int ended() const { return ended_; }
    int started() const { return started_; }

private:
    void wait()
    {
        ++started_;
        idle_.async_wait([this](boost::system::error_code ec) {
            ++ended_;
            check(strand_.running_in_this_thread(), "the handler runs on the strand");
            check(!ec || ec == asio::error::operation_aborted, "success or cancelled");
            if (!closed_)
                wait();
        });
    }

    asio::strand<asio::io_context::executor_type> strand_;
    timewheel::idle_timer idle_;
    bool closed_ = false;
    int started_ = 0;
    int ended_ = 0;
};

// A wait that another thread keeps up does not end early. Says nothing if that thread was held up for
// so long that the timer was idle.
void check_never_early()
{
    constexpr auto timeout = 20ms;
    asio::io_context context;
    timewheel::idle_timer idle{context, timeout};
    clock_type::time_point ended;
    idle.async_wait([&](boost::system::error_code ec) {
        ended = clock_type::now();
        check(!ec, "an idle timer expires");
    });
    clock_type::time_point last = clock_type::now(); // not after the last touch
    clock_type::duration longest_gap{};
    std::thread toucher([&] {
        for (const auto until = last + 200ms; last < until;) {
            const auto now = clock_type::now();
            idle.touch();
            longest_gap = (std::max)(longest_gap, clock_type::now() - last);
            last = now;
        }
    });
    context.run(); // returns: the wait is not lost
    toucher.join();
    if (longest_gap < timeout)
        check(ended >= last + timeout, "never early");
}

}

int main()
{
    asio::io_context context;
    std::vector<std::unique_ptr<session>> sessions;
    for (int i = 0; i != 8; ++i)
        sessions.push_back(std::make_unique<session>(context));
    for (auto& session : sessions)
        session->start();

    std::atomic<bool> stop{false};
    std::vector<std::thread> touching;
    for (unsigned seed = 1; seed != 4; ++seed) {
        touching.emplace_back([&, seed] {
            std::minstd_rand random{seed};
            while (!stop) {
                // Sometimes a pause, in which the waits end.
                for (int i = 0; i != 500; ++i)
                    sessions[random() % sessions.size()]->touch(i % 3 == 0);
                sessions[random() % sessions.size()]->disturb(static_cast<unsigned>(random()));
                std::this_thread::sleep_for(std::chrono::microseconds(random() % 4000));
            }
        });
    }
    std::vector<std::thread> running;
    for (int i = 0; i != 2; ++i)
        running.emplace_back([&] { context.run(); });

    std::this_thread::sleep_for(1s);
    stop = true;
    for (auto& thread : touching)
        thread.join();
    for (auto& session : sessions)
        session->close();
    for (auto& thread : running)
        thread.join(); // run() returns: no wait was lost

    int ended = 0;
    for (auto& session : sessions) {
        check(session->started() == session->ended(), "each wait ends once");
        ended += session->ended();
    }
    check(ended > 100, "waits end while others touch");
    sessions.clear();
    check_never_early();
    std::printf("%d waits, %d failures\n", ended, failures.load());
    return failures == 0 ? 0 : 1;
}
