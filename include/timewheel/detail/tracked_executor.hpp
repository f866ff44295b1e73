// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#ifndef TIMEWHEEL_DETAIL_TRACKED_EXECUTOR_HPP
#define TIMEWHEEL_DETAIL_TRACKED_EXECUTOR_HPP

#include <timewheel/config.hpp>

#include <boost/asio/execution/executor.hpp>
#include <boost/asio/execution/outstanding_work.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/prefer.hpp>

#include <type_traits>
#include <utility>

namespace timewheel::detail {

// An executor that has outstanding work as long as this exists. (The work guard of Asio 1.26 takes a
// strand of any_io_executor for an executor of the old kind and does not compile.)
template <class Executor>
class tracked_executor
{
public:
    explicit tracked_executor(const Executor& executor)
        : executor_(asio::prefer(executor, asio::execution::outstanding_work.tracked))
    {}

    auto get() const noexcept { return executor_; }

private:
    // Of an executor that is tracked already, prefer() returns the reference that it was given.
    std::remove_cvref_t<decltype(asio::prefer(
        std::declval<const Executor&>(),
        asio::execution::outstanding_work.tracked
    ))>
        executor_;
};

// An executor of the Networking TS, which counts its work by calls.
template <class Executor>
    requires(!asio::execution::is_executor<Executor>::value)
class tracked_executor<Executor>
{
public:
    explicit tracked_executor(const Executor& executor) : work_(executor) {}

    auto get() const noexcept { return work_.get_executor(); }

private:
    asio::executor_work_guard<Executor> work_;
};

}

#endif
