// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#ifndef TIMEWHEEL_RETRY_HPP
#define TIMEWHEEL_RETRY_HPP

#include <timewheel/config.hpp>
#include <timewheel/default_completion_token.hpp>
#include <timewheel/detail/executor_of.hpp>
#include <timewheel/detail/retry_loop.hpp>

#include <boost/asio/async_result.hpp>
#include <boost/asio/wait_traits.hpp>

#include <chrono>
#include <functional>
#include <limits>
#include <utility>

namespace timewheel {

/** @brief How often `async_retry` tries, and how long it waits in between.

    Before retry n it waits `initial * multiplier^(n-1)`, at most `maximum`, less a random part:
    `jitter` says how large that can be. 1 is "full jitter", any time from zero to the delay, which
    keeps clients that failed together from coming back together; 0 is the delay itself.

    @snippet retry.cpp backoff

    @tparam Clock The clock to wait by; @ref manual_clock is one for tests.
    @tparam WaitTraits The wait traits for the clock.
*/
template <class Clock, class WaitTraits = asio::wait_traits<Clock>>
struct basic_exponential_backoff
{
    /// The clock.
    using clock_type = Clock;

    /// The clock's duration.
    using duration = typename Clock::duration;

    /// The wait traits.
    using traits_type = WaitTraits;

    /// For `max_attempts`: no limit.
    static constexpr unsigned unlimited = (std::numeric_limits<unsigned>::max)();

    /// The first delay, before jitter. Positive.
    duration initial = std::chrono::duration_cast<duration>(std::chrono::milliseconds(100));

    /// What each delay is multiplied by to get the next one. At least 1.
    double multiplier = 2;

    /// No delay is longer than this. At least `initial`.
    duration maximum = std::chrono::duration_cast<duration>(std::chrono::seconds(30));

    /// The part of a delay that is random, from 0 to 1.
    double jitter = 1;

    /// How many attempts are made, the first one included; at least 1, or `unlimited`.
    unsigned max_attempts = 5;

    /** @brief Which errors are worth another attempt; by default all but
        `asio::error::operation_aborted`.
    */
    std::function<bool(const error_code&)> retry_if = nullptr;

    /** @brief Returns a random number from 0, for the shortest delay, to 1, for the longest; by default
        evenly distributed, from a generator of each operation's own.
    */
    std::function<double()> random = nullptr;

    /** @brief Called before each wait, with the error, the number of the attempt that failed, from 1,
        and the delay; for logs.
    */
    std::function<void(const error_code&, unsigned, duration)> on_retry = nullptr;
};

/// The delays of `async_retry` by the steady clock.
using exponential_backoff = basic_exponential_backoff<std::chrono::steady_clock>;

/** @brief The completion signature of `async_retry`: that of the operation.

    For a function that returns an `asio::awaitable<T>`, that of `asio::co_spawn`.

    @tparam Operation The function object that makes an attempt.
    @tparam Executor The executor.
*/
template <class Operation, class Executor>
using retry_signature_t = detail::attempt_signature_t<Operation, Executor>;

/** @brief Makes attempts of an operation asynchronously until one succeeds.

    `operation` is called for each attempt, and is one of
    - a function object that takes a completion token, starts an asynchronous operation with it and
      returns what that returns; it is called with `asio::deferred`,
    - a function object without parameters that returns such an operation, as with `asio::deferred`,
    - a function object without parameters that returns an `asio::awaitable`, which is run on the
      executor; it fails with an exception, or by returning an `error_code`.

    Completes with the result of the attempt that succeeds, and with that of an attempt that fails if
    it was the last one allowed or its error is not worth a retry. Exceptions other than
    `boost::system::system_error` never are.

    @par Completion signature
    @ref timewheel::retry_signature_t, that of the operation, which begins with an `error_code`, or for
    an `awaitable` with an `std::exception_ptr`. If a delay is cancelled, the error is followed by
    what the last attempt has delivered.

    @par Per-operation cancellation
    `terminal`, `partial` and `total` end a delay at once. They are passed on to a running attempt, and
    whatever that makes of them, there is no further one: success is reported as such, every error as
    `operation_aborted`.

    @par Errors
    `asio::error::operation_aborted`: cancelled, in an attempt or in between. All others are those of
    the last attempt.

    @par Executor and memory
    Delays are waited for on the wheel of the executor's context. The handler runs on its associated
    executor, by default `target`; it, its allocator and its cancellation slot are those that the
    attempts see. Besides what attempts and waits take, one block of memory comes from the allocator,
    which is returned before the handler runs.

    @par Exception safety
    What `operation` throws when it is called, instead of having the attempt fail, leaves this function
    or the context's `run()`, and ends the operation; so does what the functions of `backoff` throw.

    @snippet retry.cpp retry

    @param target An executor, or a context whose executor is meant.
    @param operation Makes an attempt.
    @param backoff When to make the next one.
    @param token The completion token.
    @return What the token makes of the signature.
    @throws std::invalid_argument A number in `backoff` is out of its range, or `operation` is an empty
    `std::function` or a null pointer. Nothing has been started.
*/
template <
    detail::executor_or_context Target,
    class Operation,
    class Clock,
    class WaitTraits,
    asio::completion_token_for<retry_signature_t<Operation, detail::executor_of_t<Target>>>
        RetryToken = default_completion_token_t<detail::executor_of_t<Target>>>
auto async_retry(
    Target&& target,
    Operation operation,
    basic_exponential_backoff<Clock, WaitTraits> backoff,
    RetryToken&& token = default_completion_token_t<detail::executor_of_t<Target>>()
)
{
    using executor_type = detail::executor_of_t<Target>;
    detail::check_backoff(backoff);
    detail::check_attempt(operation);
    return asio::async_initiate<RetryToken, retry_signature_t<Operation, executor_type>>(
        detail::initiate_retry<executor_type>(detail::executor_of(target)),
        token,
        std::move(operation),
        std::move(backoff)
    );
}

}

#endif
