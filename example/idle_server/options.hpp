// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#ifndef TIMEWHEEL_EXAMPLE_IDLE_SERVER_OPTIONS_HPP
#define TIMEWHEEL_EXAMPLE_IDLE_SERVER_OPTIONS_HPP

#include "../common/options.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace example {

/// What the user may choose. Spans of zero mean: take the share of `duration` that --help names.
struct options
{
    std::int64_t connections = 10'000;
    std::int64_t silent = 40;
    std::int64_t overstay = 5;
    std::chrono::milliseconds duration{15'000};
    std::chrono::milliseconds idle_timeout{0};
    std::chrono::milliseconds session_limit{0};
    std::int64_t timers = 1'000'000;
    std::int64_t rearms = 20'000;
    std::chrono::milliseconds tick{1};
    std::int64_t threads = 1;
    std::chrono::milliseconds allowance{0};
    std::int64_t seed = 1;
};

/// Fills in the spans that were left open and refuses those that do not fit together.
inline void settle_spans(options& chosen)
{
    using namespace std::chrono_literals;
    if (chosen.idle_timeout == 0ms)
        chosen.idle_timeout = chosen.duration / 5;
    if (chosen.session_limit == 0ms)
        chosen.session_limit = (std::max)(chosen.duration * 2 / 5, chosen.idle_timeout * 2);
    if (chosen.session_limit < chosen.idle_timeout * 2)
        reject(
            "session-limit",
            to_text(chosen.session_limit),
            "at least twice the idle timeout of " + to_text(chosen.idle_timeout)
        );
    if (chosen.duration < chosen.session_limit * 2)
        reject(
            "duration",
            to_text(chosen.duration),
            "at least twice the session limit of " + to_text(chosen.session_limit)
        );
    if (chosen.silent + chosen.overstay > 100)
        reject(
            "overstay",
            to_text(chosen.overstay),
            "at most what --silent " + to_text(chosen.silent) + " leaves of 100"
        );
}

/// The command line, which stores into `chosen`.
inline command_line options_of(options& chosen)
{
    using namespace std::chrono_literals;

    command_line line(
        "idle_server",
        "a TCP server that keeps an idle timeout and a session limit for\n"
        "each connection on one timing wheel, and the clients that test it.",
        "Exit code: 0 every check passed; 1 a check failed or the run could not start;\n"
        "2 a bad option; 130 ended by SIGINT (Ctrl-C), 143 by SIGTERM, with the table so\n"
        "far. A second Ctrl-C ends it at once."
    );
    line.add("connections", chosen.connections, 1, 25'000, "clients connected at a time");
    line.add(
        "silent",
        chosen.silent,
        0,
        100,
        "percent of them that fall silent: half at once, half later"
    );
    line.add("overstay", chosen.overstay, 0, 100, "percent that stay until the session limit");
    line.add("duration", chosen.duration, 1s, 5min, "how long the clients go on");
    line.add(
        "idle-timeout",
        chosen.idle_timeout,
        100ms,
        1min,
        "silence that ends a connection; a fifth of the duration"
    );
    line.add(
        "session-limit",
        chosen.session_limit,
        200ms,
        2min,
        "age that ends a connection; 2/5 of the duration"
    );
    line.add(
        "timers", chosen.timers, 0, 5'000'000, "further timers of 1 to 60 s in the same context"
    );
    line.add("rearms", chosen.rearms, 0, 1'000'000, "how many of them are re-armed a second");
    line.add("tick", chosen.tick, 1ms, 100ms, "tick of the wheel");
    line.add("threads", chosen.threads, 1, 16, "threads that run the server");
    line.add(
        "allowance",
        chosen.allowance,
        0ms,
        1min,
        "lateness forgiven beyond the measured delay, for a machine that is busy otherwise; 0"
    );
    line.add("seed", chosen.seed, 0, 1'000'000'000, "seed of the random numbers");
    return line;
}

}

#endif
