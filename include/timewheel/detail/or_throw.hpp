// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#ifndef TIMEWHEEL_DETAIL_OR_THROW_HPP
#define TIMEWHEEL_DETAIL_OR_THROW_HPP

#include <timewheel/config.hpp>

#include <boost/system/system_error.hpp>

#include <string>
#include <type_traits>
#include <utility>

namespace timewheel::detail {

// Calls a function that reports an error, and throws that in the name of `caller`.
template <class Function>
auto or_throw(const char* caller, Function&& function)
{
    const auto check = [caller](const error_code& ec) {
        if (ec)
            throw boost::system::system_error(ec, std::string("timewheel::") + caller);
    };
    error_code ec;
    if constexpr (std::is_void_v<std::invoke_result_t<Function&, error_code&>>) {
        function(ec);
        check(ec);
    } else {
        auto result = function(ec);
        check(ec);
        return result;
    }
}

}

#endif
