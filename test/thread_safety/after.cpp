// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

// Threads submit functions to delayed executors, on strands, on the context and type-erased, while two
// others run the context; then contexts are destroyed while functions wait. Says what went wrong and
// returns 1, else 0; meant to be run with a thread sanitizer as well.

#include <timewheel/after.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/strand.hpp>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <random>
#include <thread>
#include <utility>
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

// Counts its instances.
class counted
{
public:
    explicit counted(std::atomic<int>& alive) : alive_(&alive) { ++*alive_; }
    counted(counted&& other) noexcept : alive_(std::exchange(other.alive_, nullptr)) {}

    ~counted()
    {
        if (alive_)
            --*alive_;
    }

private:
    std::atomic<int>* alive_;
};

constexpr int submitters = 3;
constexpr int each = 6000;

void check_submissions()
{
    asio::io_context context;
    const auto strand = asio::make_strand(context);
    int on_strand = 0; // guarded by the strand
    std::atomic<int> elsewhere{0};
    std::atomic<int> alive{0};

    std::vector<std::thread> threads;
    auto busy = asio::make_work_guard(context);
    for (int n = 0; n != 2; ++n)
        threads.emplace_back([&] { context.run(); });
    std::vector<std::thread> submitting;
    for (unsigned seed = 1; seed <= submitters; ++seed) {
        submitting.emplace_back([&, seed] {
            std::minstd_rand random{seed};
            for (int n = 0; n != each; ++n) {
                const auto when = clock_type::now() + std::chrono::microseconds(random() % 8000);
                const auto early = [when] { check(clock_type::now() >= when, "never early"); };
                if (n % 3 == 0) {
                    asio::post(timewheel::after(strand, when), [&, early, c = counted(alive)] {
                        early();
                        ++on_strand;
                    });
                } else if (n % 3 == 1) {
                    asio::post(
                        asio::any_io_executor(timewheel::after(context, when)),
                        [&, early, c = counted(alive)] {
                            early();
                            ++elsewhere;
                        }
                    );
                } else {
                    // One that submits another one.
                    asio::post(
                        timewheel::after(context, when),
                        [&, early, c = counted(alive)]() mutable {
                            early();
                            asio::post(
                                timewheel::after(strand, 1ms),
                                [&on_strand, c = std::move(c)] { ++on_strand; }
                            );
                        }
                    );
                }
            }
        });
    }
    for (auto& thread : submitting)
        thread.join();
    busy.reset();
    for (auto& thread : threads)
        thread.join(); // run() returns, and when all have run
    check(on_strand == submitters * each * 2 / 3, "all functions on the strand ran");
    check(elsewhere == submitters * each / 3, "all functions on the context ran");
    check(alive == 0, "all functions were destroyed");
}

// The context is stopped and destroyed, by one thread, while functions wait or are due.
void check_destruction()
{
    for (unsigned round = 0; round != 50; ++round) {
        std::atomic<int> alive{0};
        std::atomic<int> ran{0};
        {
            asio::io_context context;
            const auto busy = asio::make_work_guard(context);
            std::thread running([&] { context.run(); });
            std::thread submitting([&] {
                for (unsigned n = 0; n != 200; ++n) {
                    asio::post(
                        timewheel::after(context, std::chrono::microseconds(n * 20)),
                        [&ran, c = counted(alive)] { ++ran; }
                    );
                }
            });
            submitting.join();
            std::this_thread::sleep_for(std::chrono::microseconds(round * 50));
            context.stop();
            running.join();
            check(ran + alive == 200, "each function runs or waits");
        }
        check(alive == 0, "all functions are destroyed with the context");
    }
}

}

int main()
{
    check_submissions();
    check_destruction();
    std::printf("%d functions, %d failures\n", submitters * each, failures.load());
    return failures == 0 ? 0 : 1;
}
