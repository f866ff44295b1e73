// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

// A TCP server that closes a connection when nothing was heard from it for some time, and at the
// latest when it reaches an age, for thousands of connections at once. Both limits are ordinary
// `timewheel::steady_timer`s, which share one timing wheel in the server's io_context with a million
// more, so this program shows that
//
//  - a connection is never closed early, and at most a tick late (idle_server/server.hpp: what a
//    session with two timeouts looks like as a coroutine);
//  - a million pending timers cost the connections nothing (idle_server/timer_field.hpp);
//  - few timers of the operating system are armed for all of that: see the status line.
//
// The clients that test the server run in a second thread (idle_server/clients.hpp). Some talk until
// they leave, some fall silent, some stay until they are thrown out. At the end every connection is
// judged by its times on the server: closed within two ticks of its limit, plus the delay that the
// context really had just then, which a timer of Asio's own measures (idle_server/delay_probe.hpp).
//
// Try `idle_server`, `idle_server --tick 10ms`, `idle_server --help`, and Ctrl-C.

#include "common/text.hpp"
#include "idle_server/clients.hpp"
#include "idle_server/delay_probe.hpp"
#include "idle_server/options.hpp"
#include "idle_server/report.hpp"
#include "idle_server/server.hpp"
#include "idle_server/status_line.hpp"
#include "idle_server/timer_field.hpp"

#include <timewheel.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/strand.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <thread>
#include <vector>

#include <sys/resource.h>

namespace asio = boost::asio;
using namespace example;
using namespace std::chrono_literals;

namespace {

/// How many connections the process may have: two descriptors each, as both ends are here.
std::size_t fit_to_descriptors(std::size_t wanted)
{
    rlimit limit{};
    ::getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &limit);
    ::getrlimit(RLIMIT_NOFILE, &limit);
    // Kept free: 64 for everything else, and 2 % for ends whose other end is closed already.
    const std::size_t free = limit.rlim_cur > 64 ? limit.rlim_cur - 64 : 0;
    const std::size_t possible = (std::max)(std::size_t(1), free / 2 - free / 100);
    const std::size_t chosen = (std::min)(wanted, possible);
    std::printf(
        "%s connections: the hard limit of %s descriptors allows %s.\n",
        grouped(chosen).c_str(),
        grouped(limit.rlim_cur).c_str(),
        chosen < wanted ? "no more" : grouped(possible).c_str()
    );
    return chosen;
}

int run(const options& chosen)
{
    using clock = std::chrono::steady_clock;
    const auto number = [](std::int64_t value) { return static_cast<std::size_t>(value); };
    const std::size_t connections = fit_to_descriptors(number(chosen.connections));
    const std::size_t thread_count = number(chosen.threads);
    std::printf(
        "Idle timeout %s, session limit %s, %s further timers, for %s.\n\n",
        to_text(chosen.idle_timeout).c_str(),
        to_text(chosen.session_limit).c_str(),
        grouped(number(chosen.timers)).c_str(),
        to_text(chosen.duration).c_str()
    );

    asio::io_context context(static_cast<int>(thread_count));
    auto& wheel = asio::make_service<timewheel::wheel_service>(
        context, timewheel::wheel_service_options{.tick = chosen.tick}
    );
    idle_server server(context, thread_count > 1, chosen.idle_timeout, chosen.session_limit);
    delay_probe probe(context);

    // A field of timers per thread, each with a strand of its own, so that the threads share them.
    timer_counts counts;
    std::deque<timer_field> fields;
    for (std::size_t n = 0; n < thread_count; ++n) {
        asio::any_io_executor executor = context.get_executor();
        if (thread_count > 1)
            executor = asio::make_strand(context);
        fields.emplace_back(
            executor,
            (number(chosen.timers) + n) / thread_count,
            number(chosen.rearms) / thread_count,
            number(chosen.seed) + n,
            counts
        );
    }

    clients load(
        server.endpoint(),
        {.connections = connections,
         .silent_percent = number(chosen.silent),
         .overstay_percent = number(chosen.overstay),
         .duration = chosen.duration,
         .idle_timeout = chosen.idle_timeout,
         .session_limit = chosen.session_limit,
         .seed = number(chosen.seed)}
    );
    std::atomic<std::size_t> running = thread_count;
    std::vector<std::jthread> threads;
    for (std::size_t n = 0; n < thread_count; ++n)
        threads.emplace_back([&] {
            context.run();
            --running;
        });

    // This thread only looks on, in a context of its own: a slow terminal delays nobody.
    asio::io_context onlooker;
    const auto stay = asio::make_work_guard(onlooker);
    int signal = 0;
    asio::signal_set signals(onlooker, SIGINT, SIGTERM);
    signals.async_wait([&](const timewheel::error_code& error, int caught) {
        if (!error)
            signal = caught;
    });
    status_line line;
    // The longest times are for a run that does not end by itself, on however slow a machine.
    const auto look_on_until = [&](const char* phase, auto reached, clock::duration longest) {
        const auto end = clock::now() + longest;
        while (!reached() && clock::now() < end) {
            onlooker.run_for(50ms);
            const auto seen = wheel.stats();
            line.update(
                {server.open(), seen.pending, counts.fired, counts.lateness, seen.os_arms}, phase
            );
        }
    };

    look_on_until(
        "running",
        [&] { return load.finished() || signal != 0; },
        chosen.duration + chosen.idle_timeout + 30s
    );
    const bool interrupted = signal != 0;
    signals.clear(); // from now on, a signal ends the program at once
    load.stop();
    server.stop();
    look_on_until("closing", [&] { return server.open() == 0; }, 30s);
    probe.stop();
    for (timer_field& field : fields)
        field.cancel_all();
    look_on_until("ending", [&] { return running == 0; }, 30s);
    const bool returned = running == 0;
    context.stop();
    threads.clear();
    line.finish();

    const int failed = report({chosen, server, load, probe, counts, wheel, returned, interrupted});
    if (interrupted) {
        std::printf("Interrupted by signal %d; the figures are those up to then.\n", signal);
        return 128 + signal;
    }
    return failed == 0 ? 0 : 1;
}

}

int main(int argc, char* argv[])
{
    options chosen;
    return run_example(options_of(chosen), argc, argv, [&] {
        settle_spans(chosen);
        return run(chosen);
    });
}
