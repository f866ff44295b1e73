// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#ifndef TIMEWHEEL_EXAMPLE_COMMON_OPTIONS_HPP
#define TIMEWHEEL_EXAMPLE_COMMON_OPTIONS_HPP

#include <boost/program_options.hpp>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <exception>
#include <iostream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>

namespace example {

/// Something in the command line is wrong; the message says what, and what would be right.
struct bad_option : std::runtime_error
{
    using std::runtime_error::runtime_error;
};

[[noreturn]] inline void
reject(const std::string& name, const std::string& value, const std::string& allowed)
{
    throw bad_option("--" + name + ": '" + value + "' is not allowed; it takes " + allowed);
}

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
    // Nine digits cannot overflow, and every range that is allowed ends long before.
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

/// The command line of a program: options that take a whole number, a span of time or a text, and
/// `--help`.
class command_line
{
public:
    /// `purpose` comes before the options in the text for `--help`, `ending` after them.
    command_line(std::string program, std::string purpose, std::string ending)
        : program_(std::move(program))
        , purpose_(std::move(purpose))
        , ending_(std::move(ending))
    {
        all_.add_options()("help,h", "print this text");
    }

    [[nodiscard]] const std::string& program() const noexcept { return program_; }

    /// Adds an option that takes a value from `low` to `high` and stores it in `target`, which has
    /// the default; zero is none.
    template <class Value>
    void add(
        const std::string& name,
        Value& target,
        std::type_identity_t<Value> low,
        std::type_identity_t<Value> high,
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
        all_.add_options()(name.c_str(), text, (meaning + " (" + allowed + ")").c_str());
        has_spans_ = has_spans_ || std::is_same_v<Value, std::chrono::milliseconds>;
    }

    /// Adds an option that takes any text.
    void add(const std::string& name, std::string& target, const std::string& meaning)
    {
        auto* text = boost::program_options::value<std::string>()->value_name("X");
        text->notifier([&target, name](const std::string& given) {
            if (given.empty())
                reject(name, given, "a text that is not empty");
            target = given;
        });
        all_.add_options()(name.c_str(), text, meaning.c_str());
    }

    /// Reads the options; returns false if the user asked for help and got it.
    [[nodiscard]] bool read(int argc, char* argv[]) const
    {
        namespace po = boost::program_options;
        po::variables_map given;
        try {
            const po::positional_options_description none;
            const auto found =
                po::command_line_parser(argc, argv).options(all_).positional(none).run();
            po::store(found, given);
        } catch (const po::error& error) {
            throw bad_option(error.what());
        }
        if (given.count("help") == 0) {
            po::notify(given);
            return true;
        }
        std::cout << program_ << ": " << purpose_ << "\n\n" << all_ << '\n';
        if (has_spans_)
            std::cout << "Durations are whole numbers with a unit: 500ms, 12s, 1min.\n\n";
        std::cout << ending_ << '\n';
        return false;
    }

private:
    std::string program_;
    std::string purpose_;
    std::string ending_;
    boost::program_options::options_description all_{"Options", 80, 50};
    bool has_spans_ = false;
};

/// Reads the options and calls `run()`, unless the user asked for help. Returns the exit code: that of
/// `run`, 1 if it throws, 2 for a bad option.
template <class Run>
int run_example(const command_line& line, int argc, char* argv[], Run run)
{
    try {
        return line.read(argc, argv) ? run() : 0;
    } catch (const bad_option& error) {
        std::cerr << line.program() << ": " << error.what() << "\nTry " << line.program()
                  << " --help.\n";
        return 2;
    } catch (const std::exception& error) {
        std::cerr << line.program() << ": " << error.what() << '\n';
        return 1;
    }
}

}

#endif
