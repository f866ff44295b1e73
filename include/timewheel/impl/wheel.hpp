// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#ifndef TIMEWHEEL_IMPL_WHEEL_HPP
#define TIMEWHEEL_IMPL_WHEEL_HPP

#include <timewheel/detail/cancel_by_signal.hpp>
#include <timewheel/detail/initiate_on.hpp>
#include <timewheel/detail/rejected_option.hpp>
#include <timewheel/wheel.hpp>

namespace timewheel {

namespace detail {

template <class T, class Clock>
job_settings<Clock> checked_settings(basic_wheel_options<T, Clock>& options)
{
    constexpr const char* what = "wheel";
    if (options.max_queued == 0)
        throw rejected_option("max_queued", what, "0", "at least 1");
    if (options.max_pending == 0)
        throw rejected_option("max_pending", what, "0", "at least 1");
    check_positive("tick", what, options.tick);
    check_positive("run_timeout", what, options.run_timeout);
    return {
        options.tick,
        options.max_queued,
        options.policy,
        basic_wheel_options<T, Clock>::unlimited,
        options.max_pending,
        options.run_timeout,
        options.observer != nullptr,
        std::move(options.on_error),
        std::move(options.logger)
    };
}

}

template <class T, class Clock, class WaitTraits, class Executor>
template <detail::executor_or_context Io, detail::executor_or_context Workers>
basic_wheel<T, Clock, WaitTraits, Executor>::basic_wheel(
    Io&& io,
    Workers&& workers,
    options_type options
)
    : executor_(detail::executor_of(io))
{
    auto settings = detail::checked_settings(options);
    core_ = std::make_shared<core_type>(
        executor_,
        detail::executor_of(workers),
        std::move(settings),
        detail::job_traits<T, Clock>{std::move(options.observer), nullptr}
    );
}

template <class T, class Clock, class WaitTraits, class Executor>
template <
    detail::executor_or_context Io,
    detail::executor_or_context Workers,
    detail::job_for<T, Clock> Job>
basic_wheel<T, Clock, WaitTraits, Executor>::basic_wheel(
    Io&& io,
    Workers&& workers,
    options_type options,
    Job default_job
)
    : executor_(detail::executor_of(io))
{
    if (detail::is_empty_job(default_job))
        throw detail::rejected_option("default_job", "wheel", "empty", "callable");
    auto settings = detail::checked_settings(options);
    using job_type = detail::any_job_of<T, Clock, Job>;
    core_ = std::make_shared<core_type>(
        executor_,
        detail::executor_of(workers),
        std::move(settings),
        detail::job_traits<T, Clock>{
            std::move(options.observer), std::make_unique<job_type>(std::move(default_job))
        }
    );
}

template <class T, class Clock, class WaitTraits, class Executor>
void basic_wheel<T, Clock, WaitTraits, Executor>::start(
    asio::cancellation_slot slot,
    error_code& ec
)
{
    start(ec);
    if (!ec && slot.is_connected())
        slot.assign([weak = std::weak_ptr<core_type>(core_)](asio::cancellation_type_t) {
            error_code ignored;
            if (const auto core = weak.lock())
                core->stop(ignored);
        });
}

template <class T, class Clock, class WaitTraits, class Executor>
template <asio::completion_token_for<void(error_code)> CompletionToken>
auto basic_wheel<T, Clock, WaitTraits, Executor>::async_close(CompletionToken&& token)
{
    const auto start = [core = core_, io = asio::any_io_executor(executor_)](auto handler) {
        typename core_type::close_handler waiting(std::move(handler), io);
        const std::uint64_t key = core->new_key();
        detail::cancel_by_signal(waiting.handler(), core, [key](core_type& from) {
            from.cancel_wait(key);
        });
        core->async_stop_and_wait(key, std::move(waiting));
    };
    return asio::async_initiate<CompletionToken, void(error_code)>(
        detail::initiate_on(executor_, start), token
    );
}

template <class T, class Clock, class WaitTraits, class Executor>
auto basic_wheel<T, Clock, WaitTraits, Executor>::schedule(
    const duration& period,
    const repeat_options_type& options,
    error_code& ec
) -> schedule_type
{
    ec = !(period > duration::zero()) ? error_code(error::invalid_period) // also for a NaN
         : options.count == 0         ? error_code(error::invalid_count)
                                      : error_code();
    return schedule_type(when(options.initial_delay.value_or(period)).time(), period, options);
}

template <class T, class Clock, class WaitTraits, class Executor>
template <class... Job>
timer_id basic_wheel<T, Clock, WaitTraits, Executor>::insert(
    const schedule_type& schedule,
    data_type data,
    error_code& ec,
    Job... job
)
{
    if ((detail::is_empty_job(job) || ...))
        ec = error::empty_job;
    if (ec)
        return timer_id::none;
    using timer_type = typename detail::job_timer_for<T, Clock, Job...>::type;
    std::unique_ptr<detail::job_timer<Clock>> timer = std::make_unique<timer_type>(
        *core_, core_->traits, schedule, std::move(data), std::move(job)...
    );
    return core_->add(timer, ec);
}

template <class T, class Clock, class WaitTraits, class Executor>
template <class CompletionToken>
auto basic_wheel<T, Clock, WaitTraits, Executor>::remove_and_wait(
    timer_id id,
    bool cancels_running,
    CompletionToken& token
)
{
    const auto start = [core = core_, io = asio::any_io_executor(executor_)](
                           auto handler, timer_id timer, bool cancels
                       ) {
        typename core_type::removal_handler waiting(std::move(handler), io);
        const std::uint64_t key = core->new_key();
        detail::cancel_by_signal(waiting.handler(), core, [timer, key](core_type& from) {
            from.cancel_wait(timer, key);
        });
        core->async_remove(timer, cancels, key, std::move(waiting));
    };
    return asio::async_initiate<CompletionToken, void(error_code, remove_result)>(
        detail::initiate_on(executor_, start), token, id, cancels_running
    );
}

// Adds a timer whose end is the end of an operation.
template <class T, class Clock, class WaitTraits, class Executor>
template <class Timer, class Handler, class Job>
void basic_wheel<T, Clock, WaitTraits, Executor>::run_as_operation(
    const std::shared_ptr<core_type>& core,
    const asio::any_io_executor& io,
    const schedule_type& schedule,
    error_code ec,
    data_type data,
    Job job,
    Handler handler
)
{
    typename Timer::handler_type completion(std::move(handler), io);
    const timer_id id = detail::new_timer_id();
    // Before anything can complete: the slot is the handler's by then.
    detail::cancel_by_signal(completion.handler(), core, [id](core_type& from) {
        error_code ignored;
        from.remove(id, true, ignored);
    });
    if (detail::is_empty_job(job))
        ec = error::empty_job;
    std::unique_ptr<detail::job_timer<Clock>> timer = std::make_unique<Timer>(
        *core, core->traits, schedule, std::move(data), std::move(job), std::move(completion)
    );
    timer->id = id;
    if (!ec)
        core->add(timer, ec);
    if (ec)
        timer->on_end(ec);
}

template <class T, class Clock, class WaitTraits, class Executor>
template <class Job, class CompletionToken>
auto basic_wheel<T, Clock, WaitTraits, Executor>::run_after(
    const duration& delay,
    data_type data,
    Job job,
    CompletionToken& token
)
{
    static_assert(
        std::default_initializable<data_type>,
        "timewheel: the data of a wheel must be default-constructible for async_run_after"
    );
    using timer_type = detail::run_after_timer<T, Clock, Job>;
    const auto start = [core = core_, io = asio::any_io_executor(executor_)](
                           auto handler, duration after, data_type with, Job call
                       ) {
        error_code ec;
        const schedule_type planned = schedule(after, ec);
        run_as_operation<timer_type>(
            core, io, planned, ec, std::move(with), std::move(call), std::move(handler)
        );
    };
    return asio::async_initiate<CompletionToken, void(error_code, event_type)>(
        detail::initiate_on(executor_, start), token, delay, std::move(data), std::move(job)
    );
}

template <class T, class Clock, class WaitTraits, class Executor>
template <class Job, class CompletionToken>
auto basic_wheel<T, Clock, WaitTraits, Executor>::repeat(
    const duration& period,
    data_type data,
    Job job,
    const repeat_options_type& options,
    CompletionToken& token
)
{
    using timer_type = detail::repeat_timer<T, Clock, Job>;
    const auto start =
        [core = core_, io = asio::any_io_executor(executor_)](
            auto handler, duration every, data_type with, Job call, repeat_options_type how
        ) {
            error_code ec;
            const schedule_type planned = schedule(every, how, ec);
            run_as_operation<timer_type>(
                core, io, planned, ec, std::move(with), std::move(call), std::move(handler)
            );
        };
    return asio::async_initiate<CompletionToken, void(error_code, std::uint64_t)>(
        detail::initiate_on(executor_, start),
        token,
        period,
        std::move(data),
        std::move(job),
        options
    );
}

}

#endif
