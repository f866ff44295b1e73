// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#ifndef TIMEWHEEL_KEYED_JOB_HPP
#define TIMEWHEEL_KEYED_JOB_HPP

#include <timewheel/detail/access.hpp>
#include <timewheel/detail/keyed_job.hpp>
#include <timewheel/job.hpp>

#include <chrono>
#include <concepts>
#include <memory>
#include <type_traits>
#include <utility>

namespace timewheel {

/** @brief What a keyed scheduler runs: any function in one of the forms of a job.

    It is called with as many of a `basic_job_context<Clock>&`, the key and the data as it can take, in
    this order; key and data are constant. It returns `void`, an `error_code`, or an
    `asio::awaitable` of one of these. Copies share the function.

    @tparam Key The key of the items.
    @tparam T The data of the items.
    @tparam Clock The scheduler's clock.
*/
template <class Key, class T, class Clock = std::chrono::system_clock>
class basic_keyed_job
{
public:
    /// Makes an empty one, which no scheduler accepts.
    basic_keyed_job() = default;

    /** @brief Takes a function over.
        @param run The function; an empty one makes an empty job.
    */
    template <class Run>
        requires(!std::same_as<std::remove_cvref_t<Run>, basic_keyed_job> && detail::keyed_job_for<std::remove_cvref_t<Run>, Key, T, Clock>)
    basic_keyed_job(Run&& run)
    {
        if (!detail::is_empty_job(run))
            job_ = std::make_shared<detail::keyed_job_of<Key, T, Clock, std::remove_cvref_t<Run>>>(
                std::forward<Run>(run)
            );
    }

    /** @brief Returns whether there is a function.
        @return False for an empty one.
    */
    explicit operator bool() const noexcept { return job_ != nullptr; }

private:
    friend struct detail::access;

    std::shared_ptr<detail::any_keyed_job<Key, T, Clock>> job_;
};

}

#endif
