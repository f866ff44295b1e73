// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#include "request_fields.hpp"

#include "api_error.hpp"
#include "sample_jobs.hpp"
#include "text.hpp"

#include <boost/json/parse.hpp>

#include <algorithm>
#include <cmath>

namespace wheel_service {

namespace json = boost::json;
using boost::beast::http::status;

namespace {

[[noreturn]] void
reject(std::string_view name, const json::value& value, const std::string& allowed)
{
    throw api_error(
        status::bad_request,
        "invalid_field",
        std::string(name) + ": " + quotable(to_text(value)) + " is not allowed; it takes " +
            allowed,
        std::string(name)
    );
}

}

request_fields::request_fields(
    const std::string& body,
    std::initializer_list<std::string_view> known
)
{
    if (body.empty())
        return;
    boost::system::error_code ec;
    json::value parsed = json::parse(body, ec);
    if (ec)
        throw api_error(
            status::bad_request, "invalid_json", "the body is not JSON: " + ec.message()
        );
    if (!parsed.is_object())
        throw api_error(status::bad_request, "invalid_json", "the body is not a JSON object");
    fields_ = std::move(parsed.as_object());
    for (const auto& [name, value] : fields_) {
        if (std::find(known.begin(), known.end(), std::string_view(name)) == known.end()) {
            std::string names;
            for (const std::string_view each : known)
                names += (names.empty() ? "" : ", ") + std::string(each);
            throw api_error(
                status::bad_request,
                "unknown_field",
                "there is no field '" + quotable(name) + "'; there are " + names,
                quotable(name)
            );
        }
    }
}

std::int64_t request_fields::whole(
    std::string_view name,
    std::int64_t initial,
    std::int64_t low,
    std::int64_t high
) const
{
    return whole_if(name, low, high).value_or(initial);
}

std::optional<std::int64_t>
request_fields::whole_if(std::string_view name, std::int64_t low, std::int64_t high) const
{
    const json::value* const value = fields_.if_contains(name);
    if (!value || value->is_null())
        return std::nullopt;
    const std::string allowed =
        "a whole number from " + std::to_string(low) + " to " + std::to_string(high);
    // 1000.0 is a whole number, too.
    if (const double* const number = value->if_double()) {
        if (*number != std::floor(*number) || *number < static_cast<double>(low) ||
            *number > static_cast<double>(high))
            reject(name, *value, allowed);
        return static_cast<std::int64_t>(*number);
    }
    if (!value->is_int64() || value->as_int64() < low || value->as_int64() > high)
        reject(name, *value, allowed);
    return value->as_int64();
}

std::string request_fields::sample_type(std::string_view name) const
{
    const json::value* const value = fields_.if_contains(name);
    if (!value || value->is_null())
        return "simple";
    if (value->is_string()) {
        const std::string_view given = value->as_string();
        if (std::find(sample_types.begin(), sample_types.end(), given) != sample_types.end())
            return std::string(given);
    }
    std::string names;
    for (const std::string_view each : sample_types)
        names += (names.empty() ? "" : ", ") + std::string(each);
    reject(name, *value, "one of " + names);
}

std::optional<std::string> request_fields::text(std::string_view name) const
{
    const json::value* const value = fields_.if_contains(name);
    if (!value || value->is_null())
        return std::nullopt;
    if (!value->is_string())
        reject(name, *value, "a string");
    return std::string(value->as_string());
}

}
