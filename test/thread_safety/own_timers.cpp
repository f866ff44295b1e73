// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#include <timewheel/steady_timer.hpp>

#include "harness.hpp"

#include <test_common/random_source.hpp>

#include <boost/asio/strand.hpp>

#include <chrono>
#include <utility>
#include <vector>

// Several threads run one context, while others use timers of their own on it: arm, re-arm, cancel,
// move and destroy, so that expiry and cancellation meet (faults XC6, XC9, XB5), and still others
// look at the service.

using namespace timewheel;
using namespace timewheel::test;
using namespace std::chrono_literals;

int main()
{
    asio::io_context ctx;
    auto& service = asio::make_service<wheel_service>(ctx, wheel_service_options{.tick = 10us});
    tally waits;
    {
        crew runners(ctx, 3);
        std::atomic<bool> over{false};
        std::thread observer([&] {
            while (!over) {
                const auto stats = service.stats();
                check(stats.pending <= waits.started, "what is pending was started");
                static_cast<void>(service.next_expiry());
                std::this_thread::sleep_for(100us);
            }
        });
        in_threads(4, [&](unsigned number) {
            random_source random(number);
            const bool on_strand = number % 2 == 1;
            std::vector<steady_timer> timers;
            for (int i = 0; i != 20; ++i) {
                if (on_strand)
                    timers.emplace_back(asio::make_strand(ctx));
                else
                    timers.emplace_back(ctx);
            }
            for (int step = 0; step != 5000; ++step) {
                steady_timer& t = timers[random.below(timers.size())];
                switch (random.below(12)) {
                case 0: t.cancel(); break;
                case 1: t.cancel_one(); break;
                case 2: t = std::move(timers[random.below(timers.size())]); break;
                case 3: t = steady_timer(ctx, 1ms); break;
                case 4: t.expires_at(std::chrono::steady_clock::now()); break;
                case 5: t.expires_after(std::chrono::microseconds(random.below(100'000))); break;
                default:
                    t.expires_after(std::chrono::microseconds(random.below(300)));
                    ++waits.started;
                    t.async_wait([&](error_code ec) { waits.count(ec); });
                }
                if (random.one_in(100))
                    std::this_thread::sleep_for(200us);
            }
        });
        runners.finish();
        over = true;
        observer.join();
    }
    waits.check_against(service.stats());
}
