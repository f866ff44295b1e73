// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#ifndef TIMEWHEEL_DETAIL_DEADLINE_TOKEN_HPP
#define TIMEWHEEL_DETAIL_DEADLINE_TOKEN_HPP

#include <timewheel/config.hpp>
#include <timewheel/default_completion_token.hpp>
#include <timewheel/detail/executor_of.hpp>
#include <timewheel/detail/tick_math.hpp>
#include <timewheel/detail/timed_operation.hpp>
#include <timewheel/wheel_service.hpp>

#include <boost/asio/async_result.hpp>
#include <boost/asio/execution_context.hpp>

#include <concepts>
#include <type_traits>
#include <utility>

namespace timewheel::detail {

// Instead of an executor: the operation's own if it tells it, else the handler's.
struct operation_executor
{};

// When an operation's deadline is, what happens then, and on which executor's wheel.
template <class Clock, class WaitTraits, class When, class Executor>
struct deadline
{
    using clock_type = Clock;
    using traits_type = WaitTraits;
    using executor_type = Executor;

    When when; // a time point, or a duration from the start of the operation
    Executor executor;
    deadline_action action;

    tick_type tick(const tick_math<Clock>& math) const
    {
        if constexpr (std::same_as<When, typename Clock::time_point>) {
            return math.ceil(when);
        } else {
            const auto due = saturated_add<Clock>(Clock::now(), when);
            return when <= When::zero() ? math.floor(due) : math.ceil(due);
        }
    }
};

template <class Initiation>
concept has_executor = requires(const Initiation& initiation) {
    typename Initiation::executor_type;
    initiation.get_executor();
};

// An initiation that tells its executor if the one it holds does.
template <class Initiation>
class initiation_holder
{
public:
    explicit initiation_holder(const Initiation& initiation) : initiation_(initiation) {}
    explicit initiation_holder(Initiation&& initiation) : initiation_(std::move(initiation)) {}

protected:
    Initiation initiation_;
};

template <has_executor Initiation>
class initiation_holder<Initiation>
{
public:
    using executor_type = typename Initiation::executor_type;

    explicit initiation_holder(const Initiation& initiation) : initiation_(initiation) {}
    explicit initiation_holder(Initiation&& initiation) : initiation_(std::move(initiation)) {}

    executor_type get_executor() const noexcept { return initiation_.get_executor(); }

protected:
    Initiation initiation_;
};

// Starts an operation with a deadline.
template <class Initiation, class Deadline>
class deadline_initiation : public initiation_holder<Initiation>
{
public:
    template <class InitiationArgument>
    deadline_initiation(InitiationArgument&& initiation, const Deadline& deadline)
        : initiation_holder<Initiation>(std::forward<InitiationArgument>(initiation))
        , deadline_(deadline)
    {}

    template <class Handler, class... Arguments>
    void operator()(Handler&& handler, Arguments&&... arguments) &&
    {
        start(std::forward<Handler>(handler), std::forward<Arguments>(arguments)...);
    }

    template <class Handler, class... Arguments>
    void operator()(Handler&& handler, Arguments&&... arguments) const&
    {
        deadline_initiation copy(*this);
        copy.start(std::forward<Handler>(handler), std::forward<Arguments>(arguments)...);
    }

private:
    static constexpr bool names_executor =
        !std::same_as<typename Deadline::executor_type, operation_executor>;

    template <class Handler, class... Arguments>
    void start(Handler handler, Arguments&&... arguments)
    {
        using clock_type = typename Deadline::clock_type;
        const auto executor = io_executor(handler);
        auto& driver =
            use_driver<clock_type, typename Deadline::traits_type>(wheel_executor(executor));
        using io_executor_type = std::remove_const_t<decltype(executor)>;
        using driver_type = std::remove_reference_t<decltype(driver)>;
        timed_operation<Handler, io_executor_type, driver_type>::start(
            std::move(this->initiation_),
            handler,
            executor,
            driver,
            deadline_.tick(driver.math()),
            deadline_.action,
            std::forward<Arguments>(arguments)...
        );
    }

    // Where the signal is emitted unless the handler has an executor of its own.
    template <class Handler>
    auto io_executor(const Handler& handler) const
    {
        if constexpr (has_executor<Initiation>)
            return this->get_executor();
        else if constexpr (names_executor)
            return deadline_.executor;
        else
            return asio::get_associated_executor(handler);
    }

    template <class IoExecutor>
    const auto& wheel_executor(const IoExecutor& io_executor) const
    {
        if constexpr (names_executor)
            return deadline_.executor;
        else
            return io_executor;
    }

    Deadline deadline_;
};

// A completion token with a deadline.
template <class CompletionToken, class Deadline>
struct deadline_token
{
    CompletionToken token;
    Deadline deadline;
};

// A deadline that has no completion token yet. As a token, it stands for the default one.
template <class Deadline>
struct partial_deadline
{
    Deadline deadline;

    template <class CompletionToken>
    auto operator()(CompletionToken&& token) const
    {
        return deadline_token<std::decay_t<CompletionToken>, Deadline>{
            std::forward<CompletionToken>(token), deadline
        };
    }
};

// Makes a completion token of a deadline and of what the user has given besides: optionally the
// type of the signal, then optionally a token.
template <class Clock, class WaitTraits, class When, class Executor>
auto with_deadline(
    const When& when,
    const Executor& executor,
    bool reports_timeout,
    asio::cancellation_type_t type = asio::cancellation_type::terminal
)
{
    using deadline_type = deadline<Clock, WaitTraits, When, Executor>;
    return partial_deadline<deadline_type>{{when, executor, {type, reports_timeout}}};
}

template <class Clock, class WaitTraits, class When, class Executor, class CompletionToken>
    requires(!std::convertible_to<CompletionToken, asio::cancellation_type_t>)
auto with_deadline(
    const When& when,
    const Executor& executor,
    bool reports_timeout,
    CompletionToken&& token
)
{
    return with_deadline<Clock, WaitTraits>(when, executor, reports_timeout)(
        std::forward<CompletionToken>(token)
    );
}

template <class Clock, class WaitTraits, class When, class Executor, class CompletionToken>
auto with_deadline(
    const When& when,
    const Executor& executor,
    bool reports_timeout,
    asio::cancellation_type_t type,
    CompletionToken&& token
)
{
    return with_deadline<Clock, WaitTraits>(when, executor, reports_timeout, type)(
        std::forward<CompletionToken>(token)
    );
}

template <class Initiation>
struct default_token_of
{
    using type = asio::deferred_t;
};

template <has_executor Initiation>
struct default_token_of<Initiation>
{
    using type = default_completion_token_t<typename Initiation::executor_type>;
};

}

template <class CompletionToken, class Deadline, class... Signatures>
class timewheel::asio::
    async_result<timewheel::detail::deadline_token<CompletionToken, Deadline>, Signatures...>
{
    template <class Initiation>
    using timed = timewheel::detail::deadline_initiation<std::decay_t<Initiation>, Deadline>;

    // A token that is kept may be used again, so it is not moved from.
    template <class Token>
    using inner = std::
        conditional_t<std::is_lvalue_reference_v<Token>, const CompletionToken&, CompletionToken>;

public:
    template <class Initiation, class Token, class... Arguments>
    static auto initiate(Initiation&& initiation, Token&& token, Arguments&&... arguments)
        -> decltype(async_initiate<inner<Token>, Signatures...>(
            std::declval<timed<Initiation>>(),
            token.token,
            std::forward<Arguments>(arguments)...
        ))
    {
        return async_initiate<inner<Token>, Signatures...>(
            timed<Initiation>(std::forward<Initiation>(initiation), token.deadline),
            token.token,
            std::forward<Arguments>(arguments)...
        );
    }
};

template <class Deadline, class... Signatures>
class timewheel::asio::async_result<timewheel::detail::partial_deadline<Deadline>, Signatures...>
{
    template <class Initiation>
    using with_default = timewheel::detail::deadline_token<
        typename timewheel::detail::default_token_of<std::decay_t<Initiation>>::type,
        Deadline>;

public:
    template <class Initiation, class Token, class... Arguments>
    static auto initiate(Initiation&& initiation, Token&& token, Arguments&&... arguments)
        -> decltype(async_initiate<with_default<Initiation>, Signatures...>(
            std::forward<Initiation>(initiation),
            std::declval<with_default<Initiation>&>(),
            std::forward<Arguments>(arguments)...
        ))
    {
        with_default<Initiation> whole{{}, token.deadline};
        return async_initiate<with_default<Initiation>, Signatures...>(
            std::forward<Initiation>(initiation), whole, std::forward<Arguments>(arguments)...
        );
    }
};

#endif
