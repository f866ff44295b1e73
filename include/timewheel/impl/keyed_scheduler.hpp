// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#ifndef TIMEWHEEL_IMPL_KEYED_SCHEDULER_HPP
#define TIMEWHEEL_IMPL_KEYED_SCHEDULER_HPP

#include <timewheel/detail/cancel_by_signal.hpp>
#include <timewheel/detail/initiate_on.hpp>
#include <timewheel/detail/rejected_option.hpp>
#include <timewheel/keyed_scheduler.hpp>

namespace timewheel {

namespace detail {

template <class Key, class T, class Clock>
void check_options(const basic_keyed_scheduler_options<Key, T, Clock>& options)
{
    constexpr const char* what = "keyed scheduler";
    if (!options.next)
        throw rejected_option("next", what, "missing", "a function");
    if (!options.run)
        throw rejected_option("run", what, "missing", "a function");
    if (!std::equality_comparable<T> && !options.equal)
        throw rejected_option("equal", what, "missing", "a function, since the data have no ==");
    if (options.max_concurrent == 0)
        throw rejected_option("max_concurrent", what, "0", "at least 1");
    check_positive("tick", what, options.tick);
    check_positive("run_timeout", what, options.run_timeout);
}

}

template <class Key, class T, class Clock, class WaitTraits, class Executor>
template <detail::executor_or_context Io, detail::executor_or_context Workers>
basic_keyed_scheduler<Key, T, Clock, WaitTraits, Executor>::basic_keyed_scheduler(
    Io&& io,
    Workers&& workers,
    options_type options
)
    : executor_(detail::executor_of(io))
{
    detail::check_options(options);
    core_ =
        std::make_shared<core_type>(executor_, detail::executor_of(workers), std::move(options));
    core_->init();
}

template <class Key, class T, class Clock, class WaitTraits, class Executor>
template <asio::completion_token_for<void(error_code)> CompletionToken>
auto basic_keyed_scheduler<Key, T, Clock, WaitTraits, Executor>::async_close(CompletionToken&& token
)
{
    const auto start = [core = core_](auto handler) {
        typename core_type::close_handler waiting(std::move(handler), core->io_executor());
        const std::uint64_t operation = core->new_operation();
        detail::cancel_by_signal(waiting.handler(), core, [operation](core_type& from) {
            from.cancel_close(operation);
        });
        core->async_close(operation, std::move(waiting));
    };
    return asio::async_initiate<CompletionToken, void(error_code)>(
        detail::initiate_on(executor_, start), token
    );
}

template <class Key, class T, class Clock, class WaitTraits, class Executor>
template <asio::completion_token_for<void(error_code, remove_result)> CompletionToken>
auto basic_keyed_scheduler<Key, T, Clock, WaitTraits, Executor>::async_remove(
    const Key& key,
    CompletionToken&& token
)
{
    const auto start = [core = core_](auto handler, const Key& name) {
        typename core_type::removal_handler waiting(std::move(handler), core->io_executor());
        const std::uint64_t operation = core->new_operation();
        detail::cancel_by_signal(waiting.handler(), core, [operation](core_type& from) {
            from.cancel(operation);
        });
        core->async_remove(name, operation, std::move(waiting));
    };
    return asio::async_initiate<CompletionToken, void(error_code, remove_result)>(
        detail::initiate_on(executor_, start), token, key
    );
}

template <class Key, class T, class Clock, class WaitTraits, class Executor>
template <asio::completion_token_for<void(error_code, basic_job_record<Clock>)> CompletionToken>
auto basic_keyed_scheduler<Key, T, Clock, WaitTraits, Executor>::async_trigger(
    const Key& key,
    CompletionToken&& token
)
{
    const auto start = [core = core_](auto handler, const Key& name) {
        typename core_type::trigger_handler waiting(std::move(handler), core->io_executor());
        const std::uint64_t operation = core->new_operation();
        detail::cancel_by_signal(waiting.handler(), core, [operation](core_type& from) {
            from.cancel(operation);
        });
        core->async_trigger(name, operation, std::move(waiting));
    };
    return asio::async_initiate<CompletionToken, void(error_code, basic_job_record<Clock>)>(
        detail::initiate_on(executor_, start), token, key
    );
}

}

#endif
