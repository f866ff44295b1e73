// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#include "metrics.hpp"

#include "text.hpp"

#include <array>
#include <chrono>

namespace wheel_service {

namespace {

class text_format
{
public:
    void describe(const char* name, const char* type, const char* meaning)
    {
        text_ +=
            std::string("# HELP ") + name + ' ' + meaning + "\n# TYPE " + name + ' ' + type + '\n';
    }

    void sample(const std::string& name, double value)
    {
        text_ += name + ' ' + plain_number(value) + '\n';
    }

    void single(const char* name, const char* type, const char* meaning, double value)
    {
        describe(name, type, meaning);
        sample(name, value);
    }

    // A duration_histogram has finer parts than anybody wants to see.
    void histogram(const char* name, const char* meaning, const timewheel::duration_histogram& of)
    {
        using namespace std::chrono_literals;
        describe(name, "histogram", meaning);
        const std::string bucket = std::string(name) + "_bucket{le=\"";
        constexpr std::array<std::pair<const char*, std::chrono::nanoseconds>, 10> bounds{{
            {"0.001", 1ms},
            {"0.005", 5ms},
            {"0.01", 10ms},
            {"0.05", 50ms},
            {"0.1", 100ms},
            {"0.25", 250ms},
            {"0.5", 500ms},
            {"1", 1s},
            {"5", 5s},
            {"30", 30s},
        }};
        for (const auto& [label, bound] : bounds)
            sample(bucket + label + "\"}", static_cast<double>(of.count_up_to(bound)));
        sample(bucket + "+Inf\"}", static_cast<double>(of.count()));
        sample(std::string(name) + "_sum", std::chrono::duration<double>(of.sum()).count());
        sample(std::string(name) + "_count", static_cast<double>(of.count()));
    }

    [[nodiscard]] const std::string& text() const { return text_; }

private:
    std::string text_;
};

}

std::string metrics_text(const task_service& tasks, std::size_t connections, std::uint64_t requests)
{
    const auto counts = tasks.store().counts(clock::now());
    const auto wheel = tasks.wheel_stats();
    text_format text;
    text.describe("timewheel_tasks", "gauge", "Tasks by state.");
    for (std::size_t i = 0; i != state_names.size(); ++i)
        text.sample(
            "timewheel_tasks{state=\"" + std::string(state_names[i]) + "\"}",
            static_cast<double>(counts.now[i])
        );
    text.describe("timewheel_runs_total", "counter", "Runs that have ended, by outcome.");
    for (std::size_t i = 0; i != state_names.size(); ++i) {
        if (is_final(static_cast<task_state>(i)))
            text.sample(
                "timewheel_runs_total{outcome=\"" + std::string(state_names[i]) + "\"}",
                static_cast<double>(counts.outcomes[i])
            );
    }
    const auto number = [](auto n) { return static_cast<double>(n); };
    text.single("timewheel_pending", "gauge", "Timers in the wheel.", number(wheel.pending));
    text.single("timewheel_queued", "gauge", "Jobs queued for the workers.", number(wheel.queued));
    text.single("timewheel_running", "gauge", "Jobs that are running.", number(wheel.running));
    text.single("timewheel_added_total", "counter", "Timers added.", number(wheel.added));
    text.single("timewheel_executed_total", "counter", "Jobs begun.", number(wheel.executed));
    text.histogram("timewheel_lateness_seconds", "How late jobs began.", wheel.lateness);
    text.histogram("timewheel_duration_seconds", "How long runs took.", counts.durations);
    text.single("timewheel_http_connections", "gauge", "Open connections.", number(connections));
    text.single("timewheel_http_requests_total", "counter", "Requests.", number(requests));
    return text.text();
}

}
