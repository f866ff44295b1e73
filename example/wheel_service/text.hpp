// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#ifndef TIMEWHEEL_EXAMPLE_WHEEL_SERVICE_TEXT_HPP
#define TIMEWHEEL_EXAMPLE_WHEEL_SERVICE_TEXT_HPP

#include <boost/json/value.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace wheel_service {

/// Whether this is UTF-8 without control characters.
[[nodiscard]] bool is_readable(std::string_view text);

/// What somebody sent, to be quoted in a message: its beginning if it is long, and U+FFFD for what is
/// not readable.
[[nodiscard]] std::string quotable(std::string_view text, std::size_t most = 60);

/// A number in as few digits as tell it from all others, without an exponent.
[[nodiscard]] std::string plain_number(double number);

/// JSON whose numbers are plain, which Boost.JSON's are not: it writes 1E2.
[[nodiscard]] std::string to_text(const boost::json::value& value);

}

#endif
