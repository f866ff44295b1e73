// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#include <timewheel/basic_waitable_timer.hpp>
#include <timewheel/manual_clock.hpp>

#include "harness.hpp"

#include <boost/asio/thread_pool.hpp>

#include <chrono>
#include <deque>
#include <memory>
#include <vector>

// Contexts that come and go while another thread moves their clock, a pool that is stopped with
// waits in every state, and a crowd that is handed out by several threads.

using namespace timewheel;
using namespace timewheel::test;
using namespace std::chrono_literals;

namespace {

struct tag;
using clock_type = timewheel::manual_clock<tag>;
using timer = basic_waitable_timer<clock_type>;

void contexts_come_and_go()
{
    std::atomic<bool> over{false};
    std::thread mover([&] {
        while (!over) {
            clock_type::advance(300us);
            clock_type::advance_to_next();
        }
    });
    in_threads(2, [](unsigned) {
        for (int round = 0; round != 200; ++round) {
            asio::io_context ctx;
            std::vector<std::shared_ptr<timer>> timers;
            for (int i = 0; i != 10; ++i) {
                timers.push_back(std::make_shared<timer>(ctx, std::chrono::milliseconds(i)));
                timers.back()->async_wait([t = timers.back()](error_code) {});
            }
            ctx.poll_one();
        }
    });
    over = true;
    mover.join();
}

void pools_come_and_go()
{
    for (int round = 0; round != 100; ++round) {
        asio::thread_pool pool(2);
        std::vector<std::shared_ptr<timer>> timers;
        for (int i = 0; i != 100; ++i) {
            timers.push_back(std::make_shared<timer>(pool, std::chrono::milliseconds(i)));
            timers.back()->async_wait([t = timers.back()](error_code) {});
        }
        clock_type::advance(50ms);
        timers.clear();
        pool.stop();
    }
}

void crowd_is_handed_out_once()
{
    asio::io_context ctx;
    tally waits;
    std::deque<timer> timers;
    for (int round = 0; round != 5; ++round) {
        for (int i = 0; i != 5000; ++i) {
            timers.emplace_back(ctx, std::chrono::milliseconds(i % 300));
            ++waits.started;
            timers.back().async_wait([&](error_code ec) { waits.count(ec); });
        }
        crew runners(ctx, 3);
        clock_type::advance(100ms);
        // Some are cancelled while they are handed out.
        for (std::size_t i = 0; i < timers.size(); i += 3)
            timers[i].cancel();
        clock_type::advance(200ms);
        runners.finish();
        ctx.restart();
        timers.clear();
    }
    waits.check_against(asio::use_service<basic_wheel_service<clock_type>>(ctx).stats());
}

}

int main()
{
    contexts_come_and_go();
    pools_come_and_go();
    crowd_is_handed_out_once();
}
