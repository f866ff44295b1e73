// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#ifndef TIMEWHEEL_TEST_COMMON_MOVE_ONLY_HANDLER_HPP
#define TIMEWHEEL_TEST_COMMON_MOVE_ONLY_HANDLER_HPP

/** @file
    The least a completion handler may offer: it can be moved, and called once as an rvalue with a
    constant error code. An implementation that copies, calls an lvalue, or wants a default
    constructor does not compile.
*/

#include <timewheel/config.hpp>

#include <functional>
#include <memory>
#include <utility>

namespace timewheel::test {

/// Calls `function(ec)` once; see the file comment.
template <class Function>
class move_only_handler
{
public:
    explicit move_only_handler(Function function)
        : function_{std::make_unique<Function>(std::move(function))}
    {}

    void operator()(const error_code& ec) &&
    {
        // Taking the function out makes a second call crash instead of passing unseen.
        const auto function = std::move(function_);
        std::invoke(*function, ec);
    }

    void operator()(error_code&) && = delete;

private:
    std::unique_ptr<Function> function_;
};

}

#endif
