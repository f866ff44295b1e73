// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#include "json_text.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cmath>
#include <string>

namespace wheel_service {

namespace json = boost::json;

namespace {

double milliseconds(std::chrono::nanoseconds span)
{
    return std::round(std::chrono::duration<double, std::milli>(span).count() * 1000) / 1000;
}

// People and other programs know the wall clock.
std::int64_t unix_milliseconds(clock::time_point time)
{
    const auto wall =
        std::chrono::system_clock::now() +
        std::chrono::duration_cast<std::chrono::system_clock::duration>(time - clock::now());
    return std::chrono::duration_cast<std::chrono::milliseconds>(wall.time_since_epoch()).count();
}

std::int64_t unix_milliseconds(std::chrono::system_clock::time_point time)
{
    return std::chrono::duration_cast<std::chrono::milliseconds>(time.time_since_epoch()).count();
}

json::object percentiles(const timewheel::duration_histogram& of)
{
    return {
        {"count", of.count()},
        {"p50", milliseconds(of.percentile(0.5))},
        {"p90", milliseconds(of.percentile(0.9))},
        {"p99", milliseconds(of.percentile(0.99))},
        {"max", milliseconds(of.longest())}
    };
}

// The share of the time until the next run, up to the end if the task did not come to it.
double progress_of(const task& shown, clock::time_point now)
{
    if (shown.state == task_state::cancelled && shown.finished)
        now = *shown.finished;
    else if (shown.state != task_state::waiting)
        return 1;
    const auto whole = shown.repeat && shown.runs != 0 ? *shown.repeat : shown.delay;
    if (whole.count() <= 0)
        return 1;
    const double left = std::chrono::duration<double, std::milli>(shown.due - now).count();
    const double share = 1 - left / static_cast<double>(whole.count());
    return std::round(std::clamp(share, 0.0, 1.0) * 1000) / 1000;
}

}

json::object to_json(const task& shown, clock::time_point now)
{
    json::object text{
        {"id", std::to_string(shown.id)},
        {"type", shown.type},
        {"state", to_string(shown.state)},
        {"delay", shown.delay.count()},
        {"runs", shown.runs},
        {"createdAt", unix_milliseconds(shown.created)},
        {"dueAt", unix_milliseconds(shown.due)},
        {"progress", progress_of(shown, now)},
        {"remaining",
         shown.state == task_state::waiting ? (std::max)(milliseconds(shown.due - now), 0.0) : 0.0}
    };
    if (shown.repeat)
        text["repeat"] = shown.repeat->count();
    if (!shown.schedule.empty())
        text["schedule"] = shown.schedule;
    if (shown.started)
        text["startedAt"] = unix_milliseconds(*shown.started);
    if (shown.duration)
        text["duration"] = milliseconds(*shown.duration);
    if (shown.finished)
        text["finishedAt"] = unix_milliseconds(*shown.finished);
    if (!shown.error.empty())
        text["error"] = shown.error;
    return text;
}

json::object to_json(const task_service::schedule_snapshot& shown)
{
    json::object text{
        {"key", shown.key},
        {"type", shown.data.type},
        {"state", to_string(shown.state)},
        {"runs", shown.runs}
    };
    if (shown.data.cron.empty())
        text["period"] = shown.data.period.count();
    else
        text["cron"] = shown.data.cron;
    if (shown.next_run)
        text["nextRun"] = unix_milliseconds(*shown.next_run);
    json::array history;
    for (const auto& run : shown.history) {
        history.push_back(json::object{
            {"outcome", to_string(run.outcome)},
            {"startedAt", unix_milliseconds(run.started_at)},
            {"duration", milliseconds(run.duration)},
            {"lateness", milliseconds(run.lateness)}
        });
    }
    text["history"] = std::move(history);
    return text;
}

json::object stats_to_json(const task_service& tasks)
{
    const auto counts = tasks.store().counts(clock::now());
    const auto wheel = tasks.wheel_stats();
    json::object states;
    for (std::size_t i = 0; i != state_names.size(); ++i)
        states[state_names[i]] = counts.now[i];
    return {
        {"tickDuration", milliseconds(tasks.tick())},
        {"pending", wheel.pending},
        {"queued", wheel.queued},
        {"running", wheel.running},
        {"added", wheel.added},
        {"executed", wheel.executed},
        {"removed", wheel.removed},
        {"dropped", wheel.dropped},
        {"skipped", wheel.skipped},
        {"tasks", std::move(states)}
    };
}

json::object execution_stats_to_json(const task_service& tasks)
{
    const auto counts = tasks.store().counts(clock::now());
    json::object outcomes;
    std::uint64_t total = 0;
    for (std::size_t i = 0; i != state_names.size(); ++i) {
        if (is_final(static_cast<task_state>(i))) {
            outcomes[state_names[i]] = counts.outcomes[i];
            total += counts.outcomes[i];
        }
    }
    return {
        {"total", total},
        {"outcomes", std::move(outcomes)},
        {"throughput", counts.per_second},
        {"duration", percentiles(counts.durations)},
        {"lateness", percentiles(tasks.wheel_stats().lateness)}
    };
}

// A slot is named by one byte of the tick; the level by the highest byte in which it differs from now.
json::object rings_to_json(const task_service& tasks, clock::time_point now)
{
    constexpr std::size_t levels = 3;
    constexpr std::size_t slots = 256;
    std::array<std::array<std::uint64_t, slots>, levels> rings{};
    std::uint64_t beyond = 0;
    const auto current = static_cast<std::uint64_t>(now.time_since_epoch() / tasks.tick());
    for (const auto& [due, count] : tasks.store().due_ticks()) {
        const auto tick = (std::max)(static_cast<std::uint64_t>(due), current);
        const auto level = static_cast<std::size_t>(std::bit_width((tick ^ current) | 1) - 1) / 8;
        if (level < levels)
            rings[level][(tick >> (8 * level)) % slots] += count;
        else
            beyond += count;
    }
    json::array counts;
    json::array hands;
    for (std::size_t level = 0; level != levels; ++level) {
        counts.emplace_back(json::array(rings[level].begin(), rings[level].end()));
        hands.push_back((current >> (8 * level)) % slots);
    }
    return {{"slots", std::move(counts)}, {"hands", std::move(hands)}, {"beyond", beyond}};
}

}
