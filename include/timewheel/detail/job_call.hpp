// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#ifndef TIMEWHEEL_DETAIL_JOB_CALL_HPP
#define TIMEWHEEL_DETAIL_JOB_CALL_HPP

#include <timewheel/config.hpp>
#include <timewheel/detail/run_ticket.hpp>
#include <timewheel/job.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/co_spawn.hpp>

#include <concepts>
#include <exception>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

namespace timewheel::detail {

// The data of a timer whose wheel has none.
struct no_data
{};

template <class T>
using data_of = std::conditional_t<std::is_void_v<T>, no_data, T>;

// Something that can be called with at least one of the lists of arguments that a job may take. They
// are tried in the order of call_job(): the body of a generic lambda may fit only what it gets there.
template <class Job, class Context, class Data>
concept callable_as_job = (!std::same_as<Data, no_data> && (std::invocable<Job&, Context&, Data&> ||
                                                            std::invocable<Job&, Data&>)) ||
                          std::invocable<Job&, Context&> || std::invocable<Job&>;

// Calls a job with what it takes: as much as it can take, and rather the data than the context.
template <class Job, class Context, class Data>
    requires callable_as_job<Job, Context, Data>
decltype(auto) call_job(Job& job, [[maybe_unused]] Context& context, [[maybe_unused]] Data& data)
{
    constexpr bool has_data = !std::same_as<Data, no_data>;
    if constexpr (has_data && std::invocable<Job&, Context&, Data&>)
        return job(context, data);
    else if constexpr (has_data && std::invocable<Job&, Data&>)
        return job(data);
    else if constexpr (std::invocable<Job&, Context&>)
        return job(context);
    else
        return job();
}

template <class Job, class T, class Clock>
using job_result_t = std::remove_cvref_t<decltype(detail::call_job(
    std::declval<Job&>(),
    std::declval<basic_job_context<Clock>&>(),
    std::declval<data_of<T>&>()
))>;

template <class Result>
inline constexpr bool is_job_awaitable = false;

template <class Result, class Executor>
inline constexpr bool is_job_awaitable<asio::awaitable<Result, Executor>> =
    (std::is_void_v<Result> || std::is_same_v<Result, error_code>) &&
    std::convertible_to<asio::strand<asio::any_io_executor>, Executor>;

template <class Result>
concept job_result =
    std::is_void_v<Result> || std::is_same_v<Result, error_code> || is_job_awaitable<Result>;

// Something that a wheel on the clock, with timers that have data of type T, can call as a job.
template <class Job, class T, class Clock>
concept job_for = callable_as_job<Job, basic_job_context<Clock>, data_of<T>> &&
                  job_result<job_result_t<Job, T, Clock>>;

// The same for one kind of wheels only. For the other, the job is not looked at: what stands in its
// place may be a completion token, and some can't even be asked whether they could be called.
template <class Job, class T, class Clock>
concept data_job_for = !std::is_void_v<T> && job_for<Job, T, Clock>;

template <class Job, class T, class Clock>
concept bare_job_for = std::is_void_v<T> && job_for<Job, T, Clock>;

// A job that can be empty, and is. A capture-less lambda converts to a pointer, but never is.
template <class Job>
bool is_empty_job([[maybe_unused]] const Job& job)
{
    if constexpr (!std::is_empty_v<Job> && requires {
                      { job == nullptr } -> std::convertible_to<bool>;
                  })
        return job == nullptr;
    else
        return false;
}

// Ends a run when its coroutine does.
template <class Clock>
struct coroutine_end
{
    run_ticket<Clock> ticket;

    void operator()(std::exception_ptr exception, error_code ec = {})
    {
        std::move(ticket).end(ec, std::move(exception));
    }
};

template <class Clock, class Awaitable>
void start_coroutine(
    Awaitable awaitable,
    std::shared_ptr<coroutine_control> control,
    run_ticket<Clock> ticket
)
{
    job_run<Clock>& run = ticket.run();
    const auto owner = ticket.owner();
    struct pin
    {
        run_owner<Clock>& owner;
        job_run<Clock>& run;

        ~pin() { owner.pin(run, false); }
    };
    owner->pin(run, true);
    const pin pinned{*owner, run};
    asio::co_spawn(
        control->strand,
        std::move(awaitable),
        asio::bind_cancellation_slot(
            control->signal.slot(), coroutine_end<Clock>{std::move(ticket)}
        )
    );
    owner->set_coroutine(run, std::move(control));
}

// Begins a job; it ends by the ticket, at once or when its coroutine is over.
template <class Job, class Clock, class Data>
void start_job(Job& job, Data& data, run_ticket<Clock> ticket)
{
    basic_job_context<Clock>& context = ticket.run();
    using result = std::remove_cvref_t<decltype(call_job(job, context, data))>;
    error_code ec;
    std::exception_ptr exception;
    if constexpr (is_job_awaitable<result>) {
        auto control =
            std::make_shared<coroutine_control>(ticket.owner()->executor_of(ticket.run()));
        ticket.run().slot = control->signal.slot();
        std::optional<result> awaitable;
        try {
            awaitable.emplace(call_job(job, context, data));
        } catch (...) {
            exception = std::current_exception();
        }
        if (awaitable)
            return start_coroutine(std::move(*awaitable), std::move(control), std::move(ticket));
    } else {
        try {
            if constexpr (std::is_void_v<result>)
                call_job(job, context, data);
            else
                ec = call_job(job, context, data);
        } catch (...) {
            exception = std::current_exception();
        }
    }
    std::move(ticket).end(ec, std::move(exception));
}

}

#endif
