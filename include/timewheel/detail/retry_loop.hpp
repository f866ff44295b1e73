// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#ifndef TIMEWHEEL_DETAIL_RETRY_LOOP_HPP
#define TIMEWHEEL_DETAIL_RETRY_LOOP_HPP

#include <timewheel/basic_waitable_timer.hpp>
#include <timewheel/detail/backoff_delays.hpp>

#include <boost/asio/associated_allocator.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/cancellation_state.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/compose.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/prepend.hpp>
#include <boost/system/system_error.hpp>

#include <exception>
#include <memory>
#include <optional>
#include <stdexcept>
#include <tuple>
#include <type_traits>
#include <utility>

namespace timewheel::detail {

template <class T>
inline constexpr bool is_awaitable = false;

template <class T, class Executor>
inline constexpr bool is_awaitable<asio::awaitable<T, Executor>> = true;

// One attempt, ready to be started by calling it with a handler: so `operation` is not running any
// more when the handler is called, and may be destroyed by it.
template <class Operation, class Executor>
auto make_attempt(Operation& operation, [[maybe_unused]] const Executor& executor)
{
    constexpr bool takes_token = std::is_invocable_v<Operation&, const asio::deferred_t&>;
    static_assert(
        takes_token || std::is_invocable_v<Operation&>,
        "timewheel: the operation of async_retry must be callable with a completion token or with "
        "no arguments"
    );
    if constexpr (takes_token) {
        static_assert(
            !std::is_void_v<std::invoke_result_t<Operation&, const asio::deferred_t&>>,
            "timewheel: the operation of async_retry must return what the function it starts "
            "returns"
        );
        return operation(asio::deferred);
    } else if constexpr (is_awaitable<std::invoke_result_t<Operation&>>) {
        return asio::co_spawn(executor, operation(), asio::deferred);
    } else {
        return operation();
    }
}

template <class Operation, class Executor>
using attempt_signature_t = asio::completion_signature_of_t<
    decltype(make_attempt(std::declval<Operation&>(), std::declval<const Executor&>()))>;

// A capture-less lambda converts to a function pointer and so can be compared, but is never empty.
template <class Operation>
concept nullable = !std::is_empty_v<Operation> && requires(const Operation& operation) {
    { operation == nullptr } -> std::convertible_to<bool>;
};

template <class Operation>
void check_attempt([[maybe_unused]] const Operation& operation)
{
    if constexpr (nullable<Operation>) {
        if (operation == nullptr)
            throw std::invalid_argument(
                "timewheel: the operation of async_retry is empty, but must be callable"
            );
    }
}

// The error in an attempt's result that another attempt may help against; none also for an exception
// that is no error code.
template <class... Results>
error_code error_of(const error_code& ec, const Results&...)
{
    return ec;
}

template <class... Results>
error_code error_of(const std::exception_ptr& exception, const Results&... results)
{
    if (exception) {
        try {
            std::rethrow_exception(exception);
        } catch (const boost::system::system_error& e) {
            return e.code();
        } catch (...) {
            return {};
        }
    }
    if constexpr (sizeof...(Results) == 1 && (std::is_same_v<Results, error_code> && ...))
        return error_of(results...);
    else
        return {};
}

// Makes a result say that the operation was cancelled.
template <class... Results>
void set_aborted(error_code& ec, Results&...)
{
    ec = asio::error::operation_aborted;
}

template <class... Results>
void set_aborted(std::exception_ptr& exception, Results&... results)
{
    if constexpr (sizeof...(Results) == 1 && (std::is_same_v<Results, error_code> && ...)) {
        exception = nullptr;
        set_aborted(results...);
    } else {
        exception = std::make_exception_ptr(
            boost::system::system_error(asio::error::operation_aborted, "async_retry")
        );
    }
}

template <class Signature, class Executor, class Operation, class Backoff>
class retry_loop;

/*  Attempts and delays in turn, as the implementation of an asio::async_compose. What must stay where
    it is while the handler moves from one operation into the next is in a block of memory of its own.
*/
template <class First, class... Rest, class Executor, class Operation, class Backoff>
class retry_loop<void(First, Rest...), Executor, Operation, Backoff>
{
public:
    using first_type = std::decay_t<First>;
    static_assert(
        std::is_same_v<first_type, error_code> || std::is_same_v<first_type, std::exception_ptr>,
        "timewheel: the results of the operation of async_retry must begin with an error_code or "
        "an "
        "exception_ptr"
    );

    template <class Allocator>
    retry_loop(
        const Allocator& allocator,
        const Executor& executor,
        Operation&& operation,
        Backoff&& backoff
    )
        : state_(std::allocate_shared<state>(
              allocator,
              executor,
              std::move(operation),
              std::move(backoff)
          ))
    {}

    // The beginning.
    template <class Self>
    void operator()(Self& self)
    {
        self.reset_cancellation_state(asio::enable_total_cancellation());
        start_attempt(self);
    }

    // The end of an attempt.
    template <class Self>
    void operator()(Self& self, first_type first, std::decay_t<Rest>... rest)
    {
        const error_code error = error_of(first, rest...);
        const bool cancelled = self.cancelled() != asio::cancellation_type::none;
        if (error && cancelled)
            set_aborted(first, rest...);
        if (!error || cancelled || !state_->wants_another_attempt(error))
            return finish(self, std::move(first), std::move(rest)...);
        state_->last_results.emplace(std::move(rest)...);
        const auto delay = state_->delays.next(state_->backoff);
        if (state_->backoff.on_retry)
            state_->backoff.on_retry(error, state_->attempts, delay);
        auto& timer = state_->timer;
        timer.expires_after(delay);
        timer.async_wait(asio::prepend(std::move(self), delay_over()));
    }

private:
    struct delay_over
    {};

    struct state
    {
        using clock = typename Backoff::clock_type;
        using traits = typename Backoff::traits_type;

        state(const Executor& io_executor, Operation&& op, Backoff&& options)
            : executor(io_executor)
            , operation(std::move(op))
            , backoff(std::move(options))
            , delays(backoff)
            , timer(io_executor)
        {}

        bool wants_another_attempt(const error_code& error) const
        {
            if (backoff.max_attempts != Backoff::unlimited && attempts >= backoff.max_attempts)
                return false;
            return backoff.retry_if ? backoff.retry_if(error)
                                    : error != asio::error::operation_aborted;
        }

        Executor executor;
        Operation operation;
        Backoff backoff;
        backoff_delays<typename Backoff::duration> delays;
        basic_waitable_timer<clock, traits, Executor> timer;
        std::optional<std::tuple<std::decay_t<Rest>...>> last_results;
        unsigned attempts = 0;
    };

public:
    // The end of a delay: only a signal ends one early.
    template <class Self>
    void operator()(Self& self, delay_over, const error_code&)
    {
        if (self.cancelled() == asio::cancellation_type::none)
            return start_attempt(self);
        auto results = std::move(*state_->last_results);
        std::apply(
            [&](auto&... rest) {
                first_type first{};
                set_aborted(first, rest...);
                finish(self, std::move(first), std::move(rest)...);
            },
            results
        );
    }

private:
    template <class Self>
    void start_attempt(Self& self)
    {
        if (state_->attempts != Backoff::unlimited)
            ++state_->attempts;
        auto attempt = make_attempt(state_->operation, state_->executor);
        std::move(attempt)(std::move(self));
    }

    template <class Self, class... Results>
    void finish(Self& self, Results... results)
    {
        state_.reset(); // before the handler runs
        self.complete(std::move(results)...);
    }

    std::shared_ptr<state> state_;
};

// Starts the loop; it tells adapters the executor that the operation runs on.
template <class Executor>
class initiate_retry
{
public:
    using executor_type = Executor;

    explicit initiate_retry(const Executor& executor) : executor_(executor) {}

    const executor_type& get_executor() const noexcept { return executor_; }

    template <class Handler, class Operation, class Backoff>
    void operator()(Handler handler, Operation operation, Backoff backoff) const
    {
        using signature = attempt_signature_t<Operation, Executor>;
        retry_loop<signature, Executor, Operation, Backoff> loop(
            asio::get_associated_allocator(handler, cached_allocator<void>()),
            executor_,
            std::move(operation),
            std::move(backoff)
        );
        asio::async_compose<Handler, signature>(std::move(loop), handler, executor_);
    }

private:
    Executor executor_;
};

}

#endif
