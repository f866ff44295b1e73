// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#ifndef TIMEWHEEL_CRON_ERROR_HPP
#define TIMEWHEEL_CRON_ERROR_HPP

#include <cstddef>
#include <stdexcept>
#include <string>

namespace timewheel {

/** @brief What is wrong with the text of a @ref cron expression, and where.

    The message is for whoever wrote the expression: it names the column, quotes the text and says what
    is allowed there, as in `column 3: "60" is not a minute: 0 to 59`.

    @snippet calendar.cpp cron_error
*/
class cron_error : public std::invalid_argument
{
public:
    /** @brief Makes the error.
        @param column Where in the text, from 1.
        @param what What is wrong there.
    */
    cron_error(std::size_t column, const std::string& what)
        : std::invalid_argument("column " + std::to_string(column) + ": " + what)
        , column_(column)
    {}

    /** @brief Returns where the error is.
        @return The column of the first wrong character, from 1; behind the text if something is missing.
    */
    std::size_t column() const noexcept { return column_; }

private:
    std::size_t column_;
};

}

#endif
