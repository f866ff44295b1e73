// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#ifndef TIMEWHEEL_EXAMPLE_WHEEL_SERVICE_REQUEST_FIELDS_HPP
#define TIMEWHEEL_EXAMPLE_WHEEL_SERVICE_REQUEST_FIELDS_HPP

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <chrono>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

namespace wheel_service {

/// The longest delay or period: some three years.
inline constexpr std::int64_t longest_delay = 100'000'000'000;

/** The fields of a request's body. Throws an api_error that names the field, the value and what is
    allowed; also for a field that is not among those that are known.
*/
class request_fields
{
public:
    request_fields(const std::string& body, std::initializer_list<std::string_view> known);

    [[nodiscard]] std::int64_t
    whole(std::string_view name, std::int64_t initial, std::int64_t low, std::int64_t high) const;
    [[nodiscard]] std::optional<std::int64_t>
    whole_if(std::string_view name, std::int64_t low, std::int64_t high) const;
    [[nodiscard]] std::chrono::milliseconds
    delay(std::string_view name, std::int64_t initial, std::int64_t low = 0) const
    {
        return std::chrono::milliseconds(whole(name, initial, low, longest_delay));
    }

    [[nodiscard]] std::string sample_type(std::string_view name) const;
    [[nodiscard]] std::optional<std::string> text(std::string_view name) const;

private:
    boost::json::object fields_;
};

}

#endif
