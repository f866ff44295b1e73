// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#ifndef TIMEWHEEL_DETAIL_BOUND_DEADLINE_HPP
#define TIMEWHEEL_DETAIL_BOUND_DEADLINE_HPP

#include <timewheel/config.hpp>
#include <timewheel/detail/deadline_token.hpp>

#include <boost/asio/async_result.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>

#include <type_traits>
#include <utility>

// What is bound to an adapter belongs to the handler, so it is bound to the token within instead.
// Around the adapter, an executor would keep the operation out of the gate, where signals meet what
// it does itself; a cancellation slot would take the place of the one that the deadline signals to.

namespace timewheel::detail {

template <class Token>
inline constexpr bool has_deadline = false;

template <class CompletionToken, class Deadline>
inline constexpr bool has_deadline<deadline_token<CompletionToken, Deadline>> = true;

template <class Deadline>
inline constexpr bool has_deadline<partial_deadline<Deadline>> = true;

template <class Token, class Executor>
inline constexpr bool has_deadline<asio::executor_binder<Token, Executor>> = has_deadline<Token>;

template <class Token, class Slot>
inline constexpr bool has_deadline<asio::cancellation_slot_binder<Token, Slot>> =
    has_deadline<Token>;

template <class Token>
concept token_with_deadline = has_deadline<Token>;

// An adapter of `bind(token)` instead of `token`. Takes the token.
template <class Initiation, class CompletionToken, class Deadline, class Bind>
auto bind_within(deadline_token<CompletionToken, Deadline>& adapter, Bind bind)
{
    auto bound = bind(std::move(adapter.token));
    return deadline_token<decltype(bound), Deadline>{std::move(bound), adapter.deadline};
}

template <class Initiation, class Deadline, class Bind>
auto bind_within(partial_deadline<Deadline>& adapter, Bind bind)
{
    using token_type = typename default_token_of<std::decay_t<Initiation>>::type;
    deadline_token<token_type, Deadline> whole{{}, adapter.deadline};
    return bind_within<Initiation>(whole, bind);
}

template <class Initiation, class Binder, class Bind>
auto bind_within(Binder& binder, Bind bind)
{
    auto inside_out = bind_within<Initiation>(binder);
    return bind_within<Initiation>(inside_out, bind);
}

// Bind what is bound around everything, which is what counts. An inner binder of the kind is taken off:
// that of Boost 1.81 can't be built around another one.
template <class Executor, class Token>
auto bind_outer_executor(const Executor& executor, Token token)
{
    return asio::bind_executor(executor, std::move(token));
}

template <class Executor, class Token, class Inner>
auto bind_outer_executor(const Executor& executor, asio::executor_binder<Token, Inner> token)
{
    return bind_outer_executor(executor, std::move(token.get()));
}

template <class Slot, class Token>
auto bind_outer_slot(const Slot& slot, Token token)
{
    return asio::bind_cancellation_slot(slot, std::move(token));
}

template <class Slot, class Token, class Inner>
auto bind_outer_slot(const Slot& slot, asio::cancellation_slot_binder<Token, Inner> token)
{
    return bind_outer_slot(slot, std::move(token.get()));
}

// An adapter of the bound token instead of the bound adapter. Takes the token.
template <class Initiation, token_with_deadline Token, class Executor>
auto bind_within(asio::executor_binder<Token, Executor>& binder)
{
    return bind_within<Initiation>(binder.get(), [&](auto token) {
        return bind_outer_executor(binder.get_executor(), std::move(token));
    });
}

template <class Initiation, token_with_deadline Token, class Slot>
auto bind_within(asio::cancellation_slot_binder<Token, Slot>& binder)
{
    return bind_within<Initiation>(binder.get(), [&](auto token) {
        return bind_outer_slot(binder.get_cancellation_slot(), std::move(token));
    });
}

template <class Initiation, class Binder>
using bound_within =
    decltype(bind_within<Initiation>(std::declval<std::remove_cvref_t<Binder>&>()));

// The async_result of such a binder.
template <class Signature>
struct initiate_bound_within
{
    template <class Initiation, class Binder, class... Arguments>
    static auto initiate(Initiation&& initiation, Binder&& binder, Arguments&&... arguments)
        -> decltype(asio::async_initiate<bound_within<Initiation, Binder>, Signature>(
            std::forward<Initiation>(initiation),
            std::declval<bound_within<Initiation, Binder>&>(),
            std::forward<Arguments>(arguments)...
        ))
    {
        auto taken = std::forward<Binder>(binder); // a token that is kept may be used again
        auto token = bind_within<Initiation>(taken);
        return asio::async_initiate<decltype(token), Signature>(
            std::forward<Initiation>(initiation), token, std::forward<Arguments>(arguments)...
        );
    }
};

}

template <timewheel::detail::token_with_deadline Token, class Executor, class Signature>
class timewheel::asio::async_result<timewheel::asio::executor_binder<Token, Executor>, Signature>
    : public timewheel::detail::initiate_bound_within<Signature>
{};

template <timewheel::detail::token_with_deadline Token, class Slot, class Signature>
class timewheel::asio::
    async_result<timewheel::asio::cancellation_slot_binder<Token, Slot>, Signature>
    : public timewheel::detail::initiate_bound_within<Signature>
{};

#endif
