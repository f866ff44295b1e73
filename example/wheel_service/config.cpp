// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#include "config.hpp"

#include <boost/asio/ip/address.hpp>
#include <boost/program_options.hpp>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <map>
#include <sstream>
#include <string_view>
#include <system_error>

namespace wheel_service {

namespace {

namespace po = boost::program_options;

struct setting
{
    std::string name;
    std::string initial;
    std::string meaning;
    std::string allowed;
    std::function<bool(config&, const std::string&)> set; // returns whether the value is allowed
};

template <class Number>
bool parse(std::string_view text, Number& number)
{
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    return error == std::errc() && end == text.data() + text.size();
}

std::string range_text(std::uint64_t low, std::uint64_t high, const char* unit)
{
    return "a whole number from " + std::to_string(low) + " to " + std::to_string(high) + unit;
}

template <class Number>
setting number(
    const char* name,
    Number config::* target,
    std::uint64_t low,
    std::uint64_t high,
    const char* meaning
)
{
    return {
        name,
        std::to_string(config().*target),
        meaning,
        range_text(low, high, ""),
        [=](config& chosen, const std::string& text) {
            std::uint64_t value = 0;
            if (!parse(text, value) || value < low || value > high)
                return false;
            chosen.*target = static_cast<Number>(value);
            return true;
        }
    };
}

setting span(
    const char* name,
    std::chrono::milliseconds config::* target,
    std::uint64_t low,
    std::uint64_t high,
    const char* meaning
)
{
    return {
        name,
        std::to_string((config().*target).count()),
        meaning,
        range_text(low, high, " ms"),
        [=](config& chosen, const std::string& text) {
            std::uint64_t value = 0;
            if (!parse(text, value) || value < low || value > high)
                return false;
            chosen.*target = std::chrono::milliseconds(value);
            return true;
        }
    };
}

bool set_metrics(config& chosen, const std::string& text)
{
    chosen.enable_metrics = text == "true";
    return text == "true" || text == "false";
}

bool set_policy(config& chosen, const std::string& text)
{
    using timewheel::backpressure;
    if (text == "block")
        chosen.queue_policy = backpressure::block;
    else if (text == "drop")
        chosen.queue_policy = backpressure::drop;
    else if (text == "run_inline")
        chosen.queue_policy = backpressure::run_inline;
    else
        return false;
    return true;
}

bool set_address(config& chosen, const std::string& text)
{
    boost::system::error_code ec;
    boost::asio::ip::make_address(text, ec);
    chosen.address = text;
    return !ec;
}

// Whether a browser could send this. It writes them in lower case and without a path.
bool is_origin(std::string_view text)
{
    const std::size_t colon = text.find("://");
    if (colon == text.npos || (text.substr(0, colon) != "http" && text.substr(0, colon) != "https"))
        return false;
    const std::string_view host = text.substr(colon + 3);
    return !host.empty() && std::all_of(host.begin(), host.end(), [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
               std::string_view("-._:[]").find(c) != std::string_view::npos;
    });
}

bool set_origins(config& chosen, const std::string& text)
{
    chosen.allowed_origins.clear();
    for (std::size_t from = 0; from < text.size();) {
        const std::size_t to = (std::min)(text.find(',', from), text.size());
        const std::string origin = text.substr(from, to - from);
        if (!is_origin(origin))
            return false;
        chosen.allowed_origins.push_back(origin);
        from = to + 1;
    }
    return true;
}

const std::vector<setting>& settings()
{
    constexpr std::uint64_t day = 86'400'000;
    static const std::vector<setting> all{
        {"address", config().address, "address to listen on", "an IP address", set_address},
        number("port", &config::port, 0, 65535, "port to listen on; 0: any that is free"),
        span("tick-duration", &config::tick_duration, 1, 60'000, "tick of the wheel"),
        number("worker-threads", &config::worker_threads, 1, 256, "threads that run tasks"),
        {"enable-metrics", "true", "whether there is /metrics", "true or false", set_metrics},
        span("task-timeout", &config::task_timeout, 1, day, "how long a task may run"),
        number("queue-size", &config::queue_size, 1, 10'000'000, "tasks queued for the workers"),
        {"queue-policy",
         "block",
         "what happens to more of them",
         "block, drop or run_inline",
         set_policy},
        number("max-tasks", &config::max_tasks, 1, 10'000'000, "tasks that may wait"),
        number("max-batch", &config::max_batch, 1, 1'000'000, "tasks added by one request"),
        number("history-size", &config::history_size, 0, 10'000'000, "finished tasks remembered"),
        number("max-schedules", &config::max_schedules, 1, 1'000'000, "keyed schedules"),
        number("body-limit", &config::body_limit, 16, 16'777'216, "bytes in a request's body"),
        number("header-limit", &config::header_limit, 256, 1'048'576, "bytes in its header"),
        number("max-connections", &config::max_connections, 1, 100'000, "connections at a time"),
        span("idle-timeout", &config::idle_timeout, 10, day, "silence that ends a connection"),
        span("request-timeout", &config::request_timeout, 10, day, "time to send a request in"),
        span("shutdown-timeout", &config::shutdown_timeout, 0, day, "time for tasks to end in"),
        {"allowed-origins",
         "",
         "origins that a browser may call from",
         "origins such as https://example.org, separated by commas",
         set_origins},
    };
    return all;
}

// TIMEWHEEL_TICK_DURATION for tick-duration.
std::string environment_name(std::string name)
{
    for (char& c : name)
        c = c == '-' ? '_' : static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
    return "TIMEWHEEL_" + name;
}

po::options_description describe()
{
    po::options_description all("Settings", 80, 48);
    for (const setting& each : settings()) {
        auto* text = po::value<std::string>()->value_name("X");
        all.add_options()(
            each.name.c_str(),
            text,
            (each.meaning + ": " + each.allowed + " (" +
             (each.initial.empty() ? "none" : each.initial) + ")")
                .c_str()
        );
    }
    return all;
}

const setting& find_setting(const std::string& name)
{
    return *std::find_if(settings().begin(), settings().end(), [&](const setting& each) {
        return each.name == name;
    });
}

// Checks the values from one source, so that the message can say which it is.
void check(const po::parsed_options& given, const std::string& source)
{
    config ignored;
    for (const auto& each : given.options) {
        if (each.string_key == "help" || each.string_key == "config")
            continue;
        const setting& known = find_setting(each.string_key);
        const std::string value = each.value.empty() ? "" : each.value.front();
        if (!known.set(ignored, value))
            throw bad_setting(
                source + known.name + ": '" + value + "' is not allowed; it takes " + known.allowed
            );
    }
}

po::parsed_options read_command_line(int argc, char* argv[], const po::options_description& all)
{
    const po::positional_options_description none;
    try {
        po::parsed_options given =
            po::command_line_parser(argc, argv).options(all).positional(none).run();
        check(given, "");
        return given;
    } catch (const po::invalid_command_line_syntax& error) {
        const std::string name = error.get_option_name().substr(
            (std::min)(error.get_option_name().find_first_not_of('-'), std::size_t{2})
        );
        for (const setting& each : settings()) {
            if (each.name == name)
                throw bad_setting(name + ": the value is missing; it takes " + each.allowed);
        }
        throw;
    }
}

po::parsed_options read_environment(const po::options_description& keys)
{
    // Other programs have variables that begin like ours, so that an unknown one is no mistake.
    po::parsed_options given = po::parse_environment(keys, [](const std::string& variable) {
        for (const setting& each : settings()) {
            if (variable == environment_name(each.name))
                return each.name;
        }
        return std::string();
    });
    check(given, "in the environment: ");
    return given;
}

// Line by line, since the parser does not say where a mistake is.
po::parsed_options read_file(const std::string& name, const po::options_description& keys)
{
    std::ifstream file(name);
    std::error_code ec;
    if (!file || std::filesystem::is_directory(name, ec))
        throw bad_setting("config: the file '" + name + "' can't be read");
    po::parsed_options given(&keys);
    std::map<std::string, int> lines;
    std::string line;
    for (int number = 1; std::getline(file, line); ++number) {
        const std::string source = name + ":" + std::to_string(number) + ": ";
        if (line.find_first_not_of(" \t\r") != line.npos &&
            line[line.find_first_not_of(" \t\r")] == '[')
            throw bad_setting(source + "there are no sections, only lines 'key = value'");
        try {
            std::istringstream one(line);
            po::parsed_options parsed = po::parse_config_file(one, keys);
            check(parsed, source);
            for (auto& each : parsed.options) {
                const auto [first, is_new] = lines.emplace(each.string_key, number);
                if (!is_new)
                    throw bad_setting(
                        source + each.string_key + ": it is in line " +
                        std::to_string(first->second) + " already"
                    );
                given.options.push_back(std::move(each));
            }
        } catch (const po::error& error) {
            throw bad_setting(source + error.what());
        }
    }
    return given;
}

void set_all(const po::variables_map& given, config& chosen)
{
    for (const setting& each : settings()) {
        const auto found = given.find(each.name);
        if (found != given.end())
            each.set(chosen, found->second.as<std::string>());
    }
}

}

std::optional<config> read_config(int argc, char* argv[])
{
    const po::options_description keys = describe();
    po::options_description all("Options", 80, 48);
    all.add_options()("help,h", "print this text")(
        "config,c", po::value<std::string>()->value_name("FILE"), "read settings from a file"
    );
    all.add(keys);

    po::variables_map given;
    try {
        // Nothing else matters to somebody who asks for help.
        po::store(read_command_line(argc, argv, all), given);
        if (given.count("help") == 0) {
            po::store(read_environment(keys), given);
            if (given.count("config") != 0)
                po::store(read_file(given["config"].as<std::string>(), keys), given);
        }
    } catch (const po::error& error) {
        throw bad_setting(error.what());
    }
    if (given.count("help") != 0) {
        std::cout << "wheel_service: a timing wheel as a service: HTTP API, metrics, live page.\n\n"
                  << all
                  << "\nThe file has lines 'key = value' and comments after '#'. In the "
                     "environment, a key is\nwritten like TIMEWHEEL_TICK_DURATION. The command "
                     "line wins over the environment,\nwhich wins over the file.\n\n"
                     "SIGTERM and SIGINT (Ctrl-C) stop it: waiting tasks are cancelled, running "
                     "ones may\nend within the shutdown-timeout. Exit code: 0; 2 a bad setting; 1 "
                     "it could not start.\n";
        return std::nullopt;
    }
    config chosen;
    set_all(given, chosen);
    return chosen;
}

}
