// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#ifndef TIMEWHEEL_EXAMPLE_COMMON_LIVE_LINE_HPP
#define TIMEWHEEL_EXAMPLE_COMMON_LIVE_LINE_HPP

#include <cstdarg>
#include <cstdio>

#include <unistd.h>

namespace example {

/// On a terminal one line that changes in place, elsewhere one line after the other.
class live_line
{
public:
    live_line() = default;
    live_line(const live_line&) = delete;
    live_line& operator=(const live_line&) = delete;

    ~live_line() { finish(); }

    [[nodiscard]] bool on_terminal() const noexcept { return terminal_; }

    /// Shows a text, which is given as for `printf`.
    [[gnu::format(printf, 2, 3)]] void show(const char* format, ...)
    {
        if (terminal_)
            std::fputs("\r", stdout);
        std::va_list values;
        va_start(values, format);
        std::vprintf(format, values);
        va_end(values);
        std::fputs(terminal_ ? "\x1b[K" : "\n", stdout);
        std::fflush(stdout);
        shown_ = true;
    }

    /// Leaves the last text where it is and goes on below.
    void finish()
    {
        if (terminal_ && shown_)
            std::puts("");
        shown_ = false;
    }

private:
    const bool terminal_ = ::isatty(STDOUT_FILENO) == 1;
    bool shown_ = false;
};

}

#endif
