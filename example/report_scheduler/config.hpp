// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#ifndef TIMEWHEEL_EXAMPLE_REPORT_SCHEDULER_CONFIG_HPP
#define TIMEWHEEL_EXAMPLE_REPORT_SCHEDULER_CONFIG_HPP

#include "../common/options.hpp"

#include <timewheel/calendar.hpp>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <fstream>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <variant>
#include <vector>

namespace reports {

using clock_type = std::chrono::system_clock;

/// When a report is due: a period, or a cron expression.
using schedule = std::variant<timewheel::every<std::chrono::milliseconds>, timewheel::cron>;

/// What is known of a report but its name. It is equal to another one if the file says the same.
struct report
{
    schedule due;
    std::string command;

    friend bool operator==(const report&, const report&) = default;
};

struct named_report
{
    std::string name;
    report what;
};

/// Something that is wrong in the file, from 1.
struct complaint
{
    std::size_t line;
    std::size_t column;
    std::string what;
};

/// What a file says.
struct config
{
    std::vector<named_report> reports;
    std::vector<complaint> complaints;
    std::set<std::string> broken; // the names in lines that are wrong
};

/// A part of a line, and where it begins.
struct field
{
    std::string_view text;
    std::size_t column;
};

/// Reads one line: the name, the schedule and the command, with bars between them.
class line_reader
{
public:
    explicit line_reader(std::string_view line) : line_(line) {}

    /// The next field without the spaces around it; the last one is all that is left.
    field next(bool is_last = false)
    {
        const std::size_t begin = at_;
        const std::size_t bar = is_last ? std::string_view::npos : line_.find('|', begin);
        const std::size_t end = (std::min)(bar, line_.size());
        at_ = (std::min)(end + 1, line_.size());
        has_more_ = end != line_.size();
        std::string_view text = line_.substr(begin, end - begin);
        const std::size_t first = (std::min)(text.find_first_not_of(" \t"), text.size());
        text.remove_prefix(first);
        text = text.substr(0, text.find_last_not_of(" \t\r") + 1);
        return {text, begin + first + 1};
    }

    /// Whether there was a bar behind the last field.
    [[nodiscard]] bool has_more() const { return has_more_; }

    /// The column behind the line.
    [[nodiscard]] std::size_t end() const { return line_.size() + 1; }

private:
    std::string_view line_;
    std::size_t at_ = 0;
    bool has_more_ = true;
};

class config_reader
{
public:
    config read(std::istream& in)
    {
        std::string line;
        for (number_ = 1; std::getline(in, line); ++number_)
            read_line(line);
        return std::move(config_);
    }

private:
    static constexpr std::string_view every = "every";

    void read_line(std::string_view line)
    {
        const std::size_t first = line.find_first_not_of(" \t\r");
        if (first == std::string_view::npos || line[first] == '#')
            return;
        line_reader fields(line);
        const field name = fields.next();
        const std::size_t before = config_.complaints.size();
        if (const auto what = read_report(fields, name))
            config_.reports.push_back({std::string(name.text), *what});
        if (config_.complaints.size() != before)
            config_.broken.insert(std::string(name.text));
    }

    std::optional<report> read_report(line_reader& fields, const field& name)
    {
        if (name.text.empty())
            return complain(name.column, "the name is missing");
        if (!names_.insert(std::string(name.text)).second)
            return complain(name.column, "'" + std::string(name.text) + "' is there already");
        if (!fields.has_more())
            return complain(fields.end(), "'|' and the schedule are missing");
        const field due = fields.next();
        if (!fields.has_more())
            return complain(fields.end(), "'|' and the command are missing");
        const field command = fields.next(true);
        const std::optional<schedule> when = read_schedule(due);
        if (!when)
            return std::nullopt;
        if (command.text.empty())
            return complain(command.column, "the command is missing");
        return report{*when, std::string(command.text)};
    }

    std::optional<schedule> read_schedule(const field& due)
    {
        if (due.text.substr(0, due.text.find(' ')) == every) {
            std::string_view span = due.text.substr(every.size());
            const std::size_t spaces = (std::min)(span.find_first_not_of(' '), span.size());
            span.remove_prefix(spaces);
            std::chrono::milliseconds period{};
            if (example::parse(span, period) && period > std::chrono::milliseconds::zero())
                return timewheel::every(period);
            complain(
                due.column + every.size() + spaces,
                "'" + std::string(span) + "' is not a period such as 500ms, 12s or 1min"
            );
            return std::nullopt;
        }
        try {
            return timewheel::cron(due.text);
        } catch (const timewheel::cron_error& error) {
            // It names the column in the expression as well.
            const std::string what = error.what();
            complain(due.column + error.column() - 1, what.substr(what.find(": ") + 2));
            return std::nullopt;
        }
    }

    std::nullopt_t complain(std::size_t column, std::string what)
    {
        config_.complaints.push_back({number_, column, std::move(what)});
        return std::nullopt;
    }

    config config_;
    std::set<std::string> names_;
    std::size_t number_ = 0;
};

inline config read_config(const std::string& file)
{
    std::ifstream in(file);
    if (!in)
        throw std::system_error(errno, std::generic_category(), "cannot read " + file);
    return config_reader().read(in);
}

}

#endif
