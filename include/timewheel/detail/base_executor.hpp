// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#ifndef TIMEWHEEL_DETAIL_BASE_EXECUTOR_HPP
#define TIMEWHEEL_DETAIL_BASE_EXECUTOR_HPP

#include <timewheel/config.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/execution/context.hpp>
#include <boost/asio/execution/outstanding_work.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/prefer.hpp>
#include <boost/asio/query.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/system_context.hpp>
#include <boost/asio/system_executor.hpp>
#include <boost/asio/thread_pool.hpp>

#include <concepts>
#include <type_traits>

namespace timewheel::detail {

// The context of an executor, with the type that the executor gives away.
template <class Executor>
    requires(
        asio::can_query_v<const Executor&, asio::execution::context_t> ||
        requires(const Executor& executor) { executor.context(); }
    )
decltype(auto) context_of(const Executor& executor)
{
    if constexpr (asio::can_query_v<const Executor&, asio::execution::context_t>)
        return asio::query(executor, asio::execution::context);
    else
        return executor.context();
}

template <class Context>
concept known_context =
    std::same_as<Context, asio::io_context> || std::same_as<Context, asio::thread_pool> ||
    std::same_as<Context, asio::system_context>;

template <class Executor>
concept erased_executor =
    requires(const Executor& executor) { executor.template target<asio::system_executor>(); };

template <class Executor>
concept wrapping_executor = requires(const Executor& executor) { executor.get_inner_executor(); };

template <class Executor, class Visitor>
void visit_base_executor(const Executor& executor, Visitor&& visit);

// Visits the base of the target of a type-erased executor, if that is one of the named types.
template <class... Targets, class Executor, class Visitor>
bool visit_target(const Executor& executor, Visitor& visit)
{
    const auto try_type = [&]<class Target>(const Target* target) {
        if (target)
            visit_base_executor(*target, visit);
        return target != nullptr;
    };
    return (try_type(executor.template target<Targets>()) || ...);
}

/*  Calls `visit` with the executor that `executor` runs on in the end: the context's own, without
    strands, type erasure, properties and whatever else is wrapped around it. The tick source and
    the runners of a context use that one, so that a strand of one connection does not carry
    everybody's ticks. What can't be unwrapped is visited as it is, without outstanding work.
*/
template <class Executor, class Visitor>
void visit_base_executor(const Executor& executor, Visitor&& visit)
{
    using context_type = std::remove_cvref_t<decltype(context_of(executor))>;
    using io_executor = asio::io_context::executor_type;
    using pool_executor = asio::thread_pool::executor_type;

    if constexpr (known_context<context_type>) {
        visit(context_of(executor).get_executor());
    } else if constexpr (wrapping_executor<Executor>) {
        visit_base_executor(executor.get_inner_executor(), visit);
    } else {
        const auto untracked = asio::prefer(executor, asio::execution::outstanding_work.untracked);
        if constexpr (erased_executor<Executor>) {
            if (visit_target<
                    io_executor,
                    asio::strand<io_executor>,
                    pool_executor,
                    asio::strand<pool_executor>,
                    asio::system_executor,
                    asio::strand<asio::system_executor>,
                    asio::strand<Executor>>(untracked, visit))
                return;
        }
        visit(untracked);
    }
}

// Calls `visit` with the target of a type-erased executor, if that is a context's own, else with
// `executor` itself.
template <class Executor, class Visitor>
decltype(auto) visit_plain_executor(const Executor& executor, Visitor&& visit)
{
    if constexpr (erased_executor<Executor>) {
        if (const auto* io = executor.template target<asio::io_context::executor_type>())
            return visit(*io);
        if (const auto* pool = executor.template target<asio::thread_pool::executor_type>())
            return visit(*pool);
        if (const auto* system = executor.template target<asio::system_executor>())
            return visit(*system);
    }
    return visit(executor);
}

}

#endif
