// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#ifndef TIMEWHEEL_EXAMPLE_IDLE_SERVER_OPTIONS_HPP
#define TIMEWHEEL_EXAMPLE_IDLE_SERVER_OPTIONS_HPP

#include <boost/program_options.hpp>

#include <charconv>
#include <chrono>
#include <cstdint>
#include <iostream>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>

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

/// Something in the command line is wrong; the message says what, and what would be right.
struct bad_option : std::runtime_error
{
    using std::runtime_error::runtime_error;
};

/// Reads "500", a whole number.
inline bool parse(std::string_view text, std::int64_t& value)
{
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc() && end == text.data() + text.size();
}

/// Reads "500ms", "12s", or "1min", a whole number and its unit.
inline bool parse(std::string_view text, std::chrono::milliseconds& value)
{
    const auto unit_at = (std::min)(text.find_first_not_of("0123456789"), text.size());
    const std::string_view unit = text.substr(unit_at);
    const std::int64_t factor = unit == "ms" ? 1 : unit == "s" ? 1000 : unit == "min" ? 60'000 : 0;
    std::int64_t number = 0;
    // Nine digits cannot overflow, and every range allowed below ends long before.
    if (factor == 0 || unit_at > 9 || !parse(text.substr(0, unit_at), number))
        return false;
    value = std::chrono::milliseconds(number * factor);
    return true;
}

inline std::string to_text(std::int64_t value)
{
    return std::to_string(value);
}

inline std::string to_text(std::chrono::milliseconds value)
{
    const bool whole = value.count() % 1000 == 0;
    return std::to_string(whole ? value.count() / 1000 : value.count()) + (whole ? "s" : "ms");
}

[[noreturn]] inline void
reject(const std::string& name, const std::string& value, const std::string& allowed)
{
    throw bad_option("--" + name + ": '" + value + "' is not allowed; it takes " + allowed);
}

/// Adds one option that takes a value from `low` to `high` and stores it in `target`.
template <class Value>
void add_option(
    boost::program_options::options_description& all,
    const std::string& name,
    Value& target,
    Value low,
    Value high,
    const std::string& meaning
)
{
    const std::string allowed = to_text(low) + " to " + to_text(high);
    auto* text = boost::program_options::value<std::string>()->value_name("X");
    if (target != Value(0))
        text->default_value(to_text(target));
    text->notifier([&target, name, low, high, allowed](const std::string& given) {
        Value value{};
        if (!parse(given, value) || value < low || value > high)
            reject(name, given, allowed);
        target = value;
    });
    all.add_options()(name.c_str(), text, (meaning + " (" + allowed + ")").c_str());
}

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

/// The options of this run, or nothing when the user asked for help and got it.
inline std::optional<options> read_options(int argc, char* argv[])
{
    using namespace std::chrono_literals;
    namespace po = boost::program_options;

    options chosen;
    po::options_description all("Options", 80, 50);
    const auto add = [&](const char* name, auto& target, auto low, auto high, const char* meaning) {
        using value = std::remove_reference_t<decltype(target)>;
        add_option<value>(all, name, target, value(low), value(high), meaning);
    };
    all.add_options()("help,h", "print this text");
    add("connections", chosen.connections, 1, 25'000, "clients connected at a time");
    add("silent",
        chosen.silent,
        0,
        100,
        "percent of them that fall silent: half at once, half later");
    add("overstay", chosen.overstay, 0, 100, "percent that stay until the session limit");
    add("duration", chosen.duration, 1s, 5min, "how long the clients go on");
    add("idle-timeout",
        chosen.idle_timeout,
        100ms,
        1min,
        "silence that ends a connection; a fifth of the duration");
    add("session-limit",
        chosen.session_limit,
        200ms,
        2min,
        "age that ends a connection; 2/5 of the duration");
    add("timers", chosen.timers, 0, 5'000'000, "further timers of 1 to 60 s in the same context");
    add("rearms", chosen.rearms, 0, 1'000'000, "how many of them are re-armed a second");
    add("tick", chosen.tick, 1ms, 100ms, "tick of the wheel");
    add("threads", chosen.threads, 1, 16, "threads that run the server");
    add("allowance",
        chosen.allowance,
        0ms,
        1min,
        "lateness forgiven beyond the measured delay, for a machine that is busy otherwise; 0");
    add("seed", chosen.seed, 0, 1'000'000'000, "seed of the random numbers");

    po::variables_map given;
    try {
        const po::positional_options_description none;
        po::store(po::command_line_parser(argc, argv).options(all).positional(none).run(), given);
    } catch (const po::error& error) {
        throw bad_option(error.what());
    }
    if (given.count("help") != 0) {
        std::cout
            << "idle_server: a TCP server that keeps an idle timeout and a session limit for\n"
               "each connection on one timing wheel, and the clients that test it.\n\n"
            << all
            << "\nDurations are whole numbers with a unit: 500ms, 12s, 1min.\n\n"
               "Exit code: 0 every check passed; 1 a check failed or the run could not start;\n"
               "2 a bad option; 130 ended by SIGINT (Ctrl-C), 143 by SIGTERM, with the table so\n"
               "far. A second Ctrl-C ends it at once.\n";
        return std::nullopt;
    }
    po::notify(given);
    settle_spans(chosen);
    return chosen;
}

}

#endif
