// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#ifndef TIMEWHEEL_EXAMPLE_IDLE_SERVER_REPORT_HPP
#define TIMEWHEEL_EXAMPLE_IDLE_SERVER_REPORT_HPP

#include "../common/text.hpp"
#include "clients.hpp"
#include "delay_probe.hpp"
#include "lateness.hpp"
#include "options.hpp"
#include "protocol.hpp"
#include "server.hpp"
#include "timer_field.hpp"

#include <timewheel.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

namespace example {

/// Prints one row of the table of latenesses.
inline void print_lateness(const char* name, const lateness_histogram& values)
{
    std::printf(
        "  %-32s %11s %9s %9s %9s\n",
        name,
        grouped(values.count()).c_str(),
        milliseconds(values.percentile(0.5)).c_str(),
        milliseconds(values.percentile(0.99)).c_str(),
        milliseconds(values.max()).c_str()
    );
}

/// Prints a histogram as bars; each range is twice as wide as the one before.
inline void print_bars(const lateness_histogram& values)
{
    using std::chrono::nanoseconds;
    constexpr std::uint64_t width = 50;

    std::vector<std::uint64_t> counts;
    std::uint64_t most = 1;
    nanoseconds low{0};
    nanoseconds high = std::chrono::microseconds(250);
    for (; low <= values.max(); low = high, high *= 2) {
        counts.push_back(values.count(low, high));
        most = (std::max)(most, counts.back());
    }
    low = nanoseconds(0);
    high = std::chrono::microseconds(250);
    for (const std::uint64_t count : counts) {
        const auto length = (count * width + most - 1) / most; // the smallest is seen as well
        std::printf(
            "  %7s - %-7s %9s %s\n",
            milliseconds(low).c_str(),
            milliseconds(high).c_str(),
            grouped(count).c_str(),
            std::string(length, '#').c_str()
        );
        low = high;
        high *= 2;
    }
}

/// Prints the result of each check and counts.
class verdict
{
public:
    void check(bool passed, const std::string& claim, const std::string& figures)
    {
        std::printf("  %-6s %s: %s\n", passed ? "ok" : "FAILED", claim.c_str(), figures.c_str());
        failed_ += passed ? 0 : 1;
        ++count_;
    }

    [[nodiscard]] int failed() const noexcept { return failed_; }
    [[nodiscard]] int count() const noexcept { return count_; }

private:
    int failed_ = 0;
    int count_ = 0;
};

/// Judges connections that the server closed for one reason, each against its own bound.
class closings
{
public:
    using clock = std::chrono::steady_clock;

    void judge(clock::time_point due, clock::time_point closed, clock::duration allowed)
    {
        const auto late = closed - due;
        lateness_.record(late);
        too_late_ += late > allowed ? 1U : 0U;
        least_room_ = (std::min)(least_room_, allowed - late);
    }

    [[nodiscard]] const lateness_histogram& lateness() const noexcept { return lateness_; }
    [[nodiscard]] bool good() const { return too_late_ == 0 && lateness_.early() == 0; }

    [[nodiscard]] std::string figures() const
    {
        if (lateness_.count() + lateness_.early() == 0)
            return "there was none";
        return grouped(lateness_.early()) + " early, " + grouped(too_late_) + " late, least room " +
               milliseconds(least_room_) + " ms";
    }

private:
    lateness_histogram lateness_;
    std::uint64_t too_late_ = 0;
    clock::duration least_room_ = (clock::duration::max)();
};

/// Everything the report is made from.
struct evidence
{
    const options& chosen;
    const idle_server& server;
    const clients& load;
    const delay_probe& probe;
    const timer_counts& timers;
    const timewheel::wheel_service& wheel;
    bool returned;    ///< run() returned by itself when nothing was pending
    bool interrupted; ///< by a signal: what was under way then is not held against anybody
};

/// Prints the tables and the result of each check; returns how many checks failed.
inline int report(const evidence& seen)
{
    const auto tick = seen.wheel.tick();
    // With several threads one of them may lose its processor with a closing in its hands while the
    // others run the probe. Only one thread is measured to the end.
    const auto unmeasured =
        seen.chosen.allowance + std::chrono::milliseconds(seen.chosen.threads > 1 ? 50 : 0);
    std::string bound = "2 ticks + delay";
    if (unmeasured.count() != 0)
        bound += " + " + to_text(unmeasured);
    constexpr std::size_t endings = 3;
    std::array<std::array<std::uint64_t, endings>, all_roles.size()> ended{};
    closings idle;
    closings limit;
    for (const session_record& session : seen.server.records()) {
        ++ended[index(session.player)][static_cast<std::size_t>(session.how)];
        if (session.how == ending::by_client)
            continue;
        const bool by_idle = session.how == ending::idle;
        const auto due = by_idle ? session.last_byte + seen.chosen.idle_timeout
                                 : session.opened + seen.chosen.session_limit;
        const auto delay = seen.probe.worst_between(due, session.closed);
        (by_idle ? idle : limit).judge(due, session.closed, 2 * tick + delay + unmeasured);
    }
    const auto count = [&](role r, ending e) {
        return ended[index(r)][static_cast<std::size_t>(e)];
    };

    std::puts("\nConnections        made     ended by: client    idle timeout    session limit");
    constexpr std::array names{"silent at once", "fell silent", "active", "overstaying"};
    for (const role r : all_roles)
        std::printf(
            "  %-14s %7s %19s %15s %16s\n",
            names[index(r)],
            grouped(seen.load.tally(r).connected).c_str(),
            grouped(count(r, ending::by_client)).c_str(),
            grouped(count(r, ending::idle)).c_str(),
            grouped(count(r, ending::session_limit)).c_str()
        );

    std::puts("\nLateness in ms                           count       p50       p99       max");
    print_lateness("closed by idle timeout", idle.lateness());
    print_lateness("closed by session limit", limit.lateness());
    print_lateness("the further timers", seen.timers.lateness);
    print_lateness("scheduling delay (Asio's timer)", seen.probe.delays());
    std::puts("\nLateness of closings by idle timeout, ms");
    print_bars(idle.lateness());
    std::puts("\nLateness of the further timers, ms");
    print_bars(seen.timers.lateness);

    const auto wheel = seen.wheel.stats();
    std::printf(
        "\nThe wheel, tick %s ms: %s fired, %s cancelled, %s re-filed,\n"
        "%s arms of the system's timer, %s wake-ups.\n\n",
        milliseconds(tick).c_str(),
        grouped(wheel.fired).c_str(),
        grouped(wheel.cancelled).c_str(),
        grouped(wheel.refiled).c_str(),
        grouped(wheel.os_arms).c_str(),
        grouped(wheel.wakeups).c_str()
    );

    verdict checks;
    std::uint64_t made = 0;
    std::uint64_t early = 0;
    for (const role r : all_roles) {
        made += seen.load.tally(r).connected;
        early += seen.load.tally(r).closed_too_early;
    }
    checks.check(
        made > 0,
        "clients connected",
        grouped(made) + ", and " + grouped(seen.load.failed_connects()) + " attempts failed"
    );
    // By the server's records, and by what the clients saw unless they were interrupted.
    const auto all_ended = [&](std::initializer_list<role> roles, ending how, const char* claim) {
        std::uint64_t right = 0;
        std::uint64_t wrong = 0;
        std::uint64_t unseen = 0;
        for (const role r : roles) {
            for (const ending e : {ending::by_client, ending::idle, ending::session_limit})
                (e == how ? right : wrong) += count(r, e);
            if (seen.interrupted)
                wrong -= count(r, ending::by_client);
            else
                unseen += seen.load.tally(r).connected - seen.load.tally(r).closed_by_server;
        }
        checks.check(
            wrong + unseen == 0, claim, grouped(right) + " of " + grouped(right + wrong + unseen)
        );
    };
    all_ended(
        {role::silent_at_once, role::falls_silent},
        ending::idle,
        "every silent connection was closed as idle"
    );
    checks.check(idle.good(), "each in due + [0, " + bound + "]", idle.figures());
    const std::uint64_t active_closed =
        count(role::active, ending::idle) + count(role::active, ending::session_limit);
    checks.check(
        active_closed == 0,
        "no active connection was closed",
        grouped(active_closed) + " of " + grouped(seen.load.tally(role::active).connected)
    );
    all_ended(
        {role::overstays}, ending::session_limit, "every overstaying one was closed at its limit"
    );
    checks.check(limit.good(), "each in due + [0, " + bound + "]", limit.figures());
    checks.check(early == 0, "no client saw its connection end early", grouped(early));
    checks.check(
        seen.timers.lateness.early() == 0,
        "no further timer fired early",
        grouped(seen.timers.lateness.early()) + " of " + grouped(seen.timers.fired)
    );
    checks.check(
        seen.timers.armed == seen.timers.fired + seen.timers.cancelled,
        "their waits: armed = fired + cancelled",
        grouped(seen.timers.armed) + " = " + grouped(seen.timers.fired) + " + " +
            grouped(seen.timers.cancelled)
    );
    checks.check(
        seen.returned && wheel.pending == 0,
        "run() returned when nothing was pending",
        grouped(wheel.pending) + " pending"
    );
    if (checks.failed() == 0)
        std::printf("\nAll %d checks passed.\n", checks.count());
    else
        std::printf("\n%d of %d checks FAILED.\n", checks.failed(), checks.count());
    return checks.failed();
}

}

#endif
