// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#ifndef TIMEWHEEL_DETAIL_EXECUTOR_OF_HPP
#define TIMEWHEEL_DETAIL_EXECUTOR_OF_HPP

#include <timewheel/config.hpp>
#include <timewheel/detail/base_executor.hpp>

#include <boost/asio/execution_context.hpp>
#include <boost/asio/wait_traits.hpp>

#include <concepts>
#include <type_traits>
#include <utility>

namespace timewheel::detail {

template <class Context>
concept context_with_executor = std::convertible_to<Context&, asio::execution_context&> &&
                                requires(Context& context) { context.get_executor(); };

template <class T>
concept executor_or_context =
    context_with_executor<std::remove_reference_t<T>> ||
    requires(const std::remove_cvref_t<T>& executor) { context_of(executor); };

template <class T>
auto executor_of(T& executor_or_context)
{
    if constexpr (context_with_executor<T>)
        return executor_or_context.get_executor();
    else
        return executor_or_context;
}

template <class T>
using executor_of_t = decltype(executor_of(std::declval<std::remove_reference_t<T>&>()));

template <class WaitTraits, class Clock>
using wait_traits_or =
    std::conditional_t<std::is_void_v<WaitTraits>, asio::wait_traits<Clock>, WaitTraits>;

}

#endif
