// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#ifndef TIMEWHEEL_DEFAULT_COMPLETION_TOKEN_HPP
#define TIMEWHEEL_DEFAULT_COMPLETION_TOKEN_HPP

#include <timewheel/config.hpp>

#include <boost/asio/async_result.hpp>
#include <boost/asio/deferred.hpp>

#include <type_traits>

namespace timewheel {

/** @brief The default completion token of the operations of an I/O object.

    The executor's own, as set by `as_default_on_t` for example, else `deferred` on every version of
    Asio, so that `co_await timer.async_wait()` works.

    @tparam Executor The executor type of the I/O object.
*/
template <class Executor>
using default_completion_token_t = std::conditional_t<
    std::is_void_v<asio::default_completion_token_t<Executor>>,
    asio::deferred_t,
    asio::default_completion_token_t<Executor>>;

}

#endif
