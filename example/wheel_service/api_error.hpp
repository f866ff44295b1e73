// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#ifndef TIMEWHEEL_EXAMPLE_WHEEL_SERVICE_API_ERROR_HPP
#define TIMEWHEEL_EXAMPLE_WHEEL_SERVICE_API_ERROR_HPP

#include <boost/beast/http/status.hpp>

#include <stdexcept>
#include <string>
#include <utility>

namespace wheel_service {

/// A request that is not done, and why. `field` names what is wrong in it, if anything does.
struct api_error : std::runtime_error
{
    api_error(
        boost::beast::http::status http_status,
        std::string error_code,
        const std::string& message,
        std::string wrong_field = {}
    )
        : std::runtime_error(message)
        , status(http_status)
        , code(std::move(error_code))
        , field(std::move(wrong_field))
    {}

    boost::beast::http::status status;
    std::string code;
    std::string field;
};

}

#endif
