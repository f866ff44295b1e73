// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#ifndef TIMEWHEEL_EXAMPLE_REPORT_SCHEDULER_TABLE_HPP
#define TIMEWHEEL_EXAMPLE_REPORT_SCHEDULER_TABLE_HPP

#include "../common/text.hpp"
#include "config.hpp"

#include <timewheel/keyed_scheduler.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <exception>
#include <string>
#include <vector>

namespace reports {

using scheduler_type = timewheel::keyed_scheduler<std::string, report>;

inline std::string what(const std::exception_ptr& thrown)
{
    try {
        std::rethrow_exception(thrown);
    } catch (const std::exception& e) {
        return e.what();
    } catch (...) {
        return "something else than an exception";
    }
}

/// The state of all reports, as a table.
class table
{
public:
    explicit table(const scheduler_type& scheduler)
    {
        rows_.push_back({"report", "state", "next in s", "runs", "last run", "ms", "how it ended"});
        for (const auto& item : scheduler.snapshot())
            add(item);
    }

    [[nodiscard]] std::string text() const
    {
        std::array<std::size_t, columns> widths{};
        for (const row& each : rows_) {
            for (std::size_t i = 0; i != columns; ++i)
                widths[i] = (std::max)(widths[i], each[i].size());
        }
        std::string all;
        for (const row& each : rows_) {
            std::string line;
            for (std::size_t i = 0; i != columns; ++i) {
                const std::string space(widths[i] - each[i].size(), ' ');
                line += is_number(i) ? space + each[i] : each[i] + space;
                line += "  ";
            }
            line.erase(line.find_last_not_of(' ') + 1);
            all += line + '\n';
        }
        return all;
    }

private:
    static constexpr std::size_t columns = 7;
    using row = std::array<std::string, columns>;

    static constexpr bool is_number(std::size_t column)
    {
        return column == 2 || column == 3 || column == 5;
    }

    void add(const scheduler_type::snapshot_type& item)
    {
        row cells;
        cells[0] = item.key;
        cells[1] = to_string(item.state);
        if (item.next_run)
            cells[2] = seconds(*item.next_run - clock_type::now());
        cells[3] = example::grouped(item.runs);
        if (const auto* last = item.last_run()) {
            cells[4] = to_string(last->outcome);
            cells[5] = example::milliseconds(last->duration);
            if (last->error)
                cells[6] = last->error.message();
        }
        if (item.invalid_reason)
            cells[6] = what(item.invalid_reason);
        rows_.push_back(cells);
    }

    static std::string seconds(clock_type::duration span)
    {
        using std::chrono::duration_cast;
        const clock_type::rep tenths = duration_cast<std::chrono::milliseconds>(span).count() / 100;
        const auto shown = (std::max)(tenths, clock_type::rep(0));
        return std::to_string(shown / 10) + '.' + std::to_string(shown % 10);
    }

    std::vector<row> rows_;
};

}

#endif
