// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#ifndef TIMEWHEEL_DETAIL_SERIAL_EXECUTOR_HPP
#define TIMEWHEEL_DETAIL_SERIAL_EXECUTOR_HPP

#include <timewheel/config.hpp>
#include <timewheel/detail/base_executor.hpp>

#include <boost/asio/execution/context.hpp>
#include <boost/asio/execution_context.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/query.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/system_executor.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/version.hpp>
#if BOOST_VERSION >= 108800
#include <boost/asio/config.hpp>
#endif

#include <concepts>

namespace timewheel::detail {

// A strand that tells its context.
template <class Executor>
inline constexpr bool is_strand = false;

template <class Inner>
inline constexpr bool is_strand<asio::strand<Inner>> =
    asio::can_query_v<const asio::strand<Inner>&, asio::execution::context_t>;

// An executor that may run one thing at a time, so that it is worth to ask.
template <class Executor>
concept maybe_serial_executor = is_strand<Executor> || erased_executor<Executor> ||
                                std::same_as<Executor, asio::io_context::executor_type>;

// Whether the caller runs in the strand that this is, or that is within, and of this context.
template <class Executor>
bool is_in_strand(const Executor& executor, const asio::execution_context& context)
{
    if constexpr (is_strand<Executor>) {
        const asio::execution_context& own = context_of(executor);
        return &own == &context && executor.running_in_this_thread();
    } else if constexpr (erased_executor<Executor>) {
        const auto is_in = [&]<class Strand>(const Strand* strand) {
            return strand && is_in_strand(*strand, context);
        };
        return is_in(executor.template target<asio::strand<asio::io_context::executor_type>>()) ||
               is_in(executor.template target<asio::strand<Executor>>()) ||
               is_in(executor.template target<asio::strand<asio::thread_pool::executor_type>>()) ||
               is_in(executor.template target<asio::strand<asio::system_executor>>());
    } else {
        return false;
    }
}

// Whether a context is said to be run by one thread. Asio tells what its constructor was told from
// Boost 1.88 on.
inline bool has_one_thread([[maybe_unused]] const asio::io_context::executor_type& executor)
{
#if BOOST_VERSION >= 108800
    return asio::config(executor.context()).get("scheduler", "concurrency_hint", 0) == 1;
#else
    return false;
#endif
}

// Other contexts may be run by more threads than they were told, as a thread_pool by attach().
template <class Executor>
bool has_one_thread(const Executor&)
{
    return false;
}

}

#endif
