// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#ifndef TIMEWHEEL_DETAIL_KEYED_JOB_HPP
#define TIMEWHEEL_DETAIL_KEYED_JOB_HPP

#include <timewheel/detail/job_call.hpp>
#include <timewheel/detail/run_ticket.hpp>
#include <timewheel/job.hpp>

#include <concepts>
#include <type_traits>
#include <utility>

namespace timewheel::detail {

// Calls a keyed job with as many of context, key and data as it can take.
template <class Run, class Context, class Key, class T>
decltype(auto) call_keyed_job(
    Run& run,
    [[maybe_unused]] Context& context,
    [[maybe_unused]] const Key& key,
    [[maybe_unused]] const T& data
)
{
    if constexpr (std::invocable<Run&, Context&, const Key&, const T&>)
        return run(context, key, data);
    else if constexpr (std::invocable<Run&, const Key&, const T&>)
        return run(key, data);
    else if constexpr (std::invocable<Run&, Context&, const Key&>)
        return run(context, key);
    else if constexpr (std::invocable<Run&, const Key&>)
        return run(key);
    else if constexpr (std::invocable<Run&, Context&>)
        return run(context);
    else
        return run();
}

template <class Run, class Context, class Key, class T>
concept callable_as_keyed_job =
    std::invocable<Run&, Context&, const Key&, const T&> ||
    std::invocable<Run&, const Key&, const T&> || std::invocable<Run&, Context&, const Key&> ||
    std::invocable<Run&, const Key&> || std::invocable<Run&, Context&> || std::invocable<Run&>;

template <class Run, class Key, class T, class Clock>
using keyed_job_result_t = std::remove_cvref_t<decltype(detail::call_keyed_job(
    std::declval<Run&>(),
    std::declval<basic_job_context<Clock>&>(),
    std::declval<const Key&>(),
    std::declval<const T&>()
))>;

// Something that a keyed scheduler can call as a job.
template <class Run, class Key, class T, class Clock>
concept keyed_job_for = callable_as_keyed_job<Run, basic_job_context<Clock>, Key, T> &&
                        job_result<keyed_job_result_t<Run, Key, T, Clock>>;

template <class Key, class T, class Clock>
class any_keyed_job
{
public:
    virtual ~any_keyed_job() = default;
    virtual void start(const Key& key, const T& data, run_ticket<Clock> ticket) = 0;
};

template <class Key, class T, class Clock, class Run>
class keyed_job_of final : public any_keyed_job<Key, T, Clock>
{
public:
    explicit keyed_job_of(Run run) : run_(std::move(run)) {}

    void start(const Key& key, const T& data, run_ticket<Clock> ticket) override
    {
        auto bound = [&](basic_job_context<Clock>& context) -> decltype(auto) {
            return call_keyed_job(run_, context, key, data);
        };
        no_data none;
        start_job(bound, none, std::move(ticket));
    }

private:
    Run run_;
};

}

#endif
