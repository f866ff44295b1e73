// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#ifndef TIMEWHEEL_ERROR_HPP
#define TIMEWHEEL_ERROR_HPP

#include <timewheel/config.hpp>

#include <boost/system/error_category.hpp>
#include <boost/system/error_code.hpp>
#include <boost/system/error_condition.hpp>

#include <cstddef>
#include <string>
#include <type_traits>

namespace timewheel {

/** @brief The conditions that this library reports itself.

    What Asio already has a code for is reported with Asio's code: a cancelled wait ends with
    `asio::error::operation_aborted`. Some codes equal a portable condition, which lets callers
    compare them without naming this library, with `boost::system::errc` and `std::errc` alike.
*/
enum class error
{
    /// The object has not been started yet: call `start()` first.
    not_started = 1,

    /// The object was stopped or closed, which is final: make a new one.
    closed,

    /// `start()` was called a second time; the object goes on running unchanged.
    already_running,

    /** A blocking call was made from inside one of the jobs that it would wait for: use the
        asynchronous form. Equals `errc::resource_deadlock_would_occur`.
    */
    would_deadlock,

    /** As many timers are pending as the options allow: try again when some have fired, or raise
        the limit. Equals `errc::resource_unavailable_try_again`.
    */
    too_many_timers,

    /// A timer came due that has no job of its own, on a wheel without a default job; it was removed.
    no_job,

    /** The deadline ended the operation. Equals `errc::timed_out`; a cancellation by anybody else
        is reported as such, not with this code.
    */
    timed_out,

    /** The queue of the workers was full, and the policy is to drop. Equals
        `errc::resource_unavailable_try_again`.
    */
    queue_full,

    /// The job threw an exception; the event has it.
    job_threw,

    /// A job that can be empty, such as a `std::function`, is: nothing was added. Equals
    /// `errc::invalid_argument`.
    empty_job,

    /// The period of a repeating job is not positive: nothing was added. Equals
    /// `errc::invalid_argument`.
    invalid_period,

    /// The number of runs of a repeating job is zero: nothing was added. Equals
    /// `errc::invalid_argument`.
    invalid_count,

    /// The scheduler has no item with that key: `upsert` it first.
    unknown_key
};

/// The category of @ref timewheel::error, named `"timewheel"`; the same object on every call.
/// @return A reference that stays valid for the whole program, static destruction included.
[[nodiscard]] const boost::system::error_category& error_category() noexcept;

/// Makes an error code of an @ref timewheel::error; found by the implicit conversion.
/// @param e The error.
/// @return The code with the value of `e` in @ref timewheel::error_category.
[[nodiscard]] error_code make_error_code(error e) noexcept;

}

/// @cond
template <>
struct boost::system::is_error_code_enum<timewheel::error> : std::true_type
{};
/// @endcond

#include <timewheel/impl/error.hpp>

#endif
