// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#ifndef TIMEWHEEL_DETAIL_PENDING_COMPLETION_HPP
#define TIMEWHEEL_DETAIL_PENDING_COMPLETION_HPP

#include <timewheel/config.hpp>
#include <timewheel/detail/tracked_executor.hpp>

#include <boost/asio/any_completion_executor.hpp>
#include <boost/asio/any_completion_handler.hpp>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/append.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/post.hpp>

#include <optional>
#include <utility>

namespace timewheel::detail {

// A handler that waits for its result, with outstanding work on both of its executors.
template <class Signature>
class pending_completion
{
public:
    using handler_type = asio::any_completion_handler<Signature>;

    template <class Handler>
    pending_completion(Handler&& handler, const asio::any_io_executor& io_executor)
        : io_work_(io_executor)
        , handler_work_(asio::get_associated_executor(handler, io_executor))
        , handler_(std::forward<Handler>(handler))
    {}

    const handler_type& handler() const noexcept { return handler_; }

    // Calls the handler on its executor, never from inside this function. Nothing is outstanding any
    // more then, even if this goes on to exist.
    template <class... Results>
    void post(Results... results)
    {
        asio::post(io_work_->get(), asio::append(std::move(handler_), std::move(results)...));
        handler_work_.reset();
        io_work_.reset();
    }

    // Destroys the handler instead.
    void destroy() noexcept
    {
        const handler_type last(std::move(handler_));
        handler_work_.reset();
        io_work_.reset();
    }

private:
    std::optional<tracked_executor<asio::any_io_executor>> io_work_;
    std::optional<tracked_executor<asio::any_completion_executor>> handler_work_;
    handler_type handler_;
};

}

#endif
