// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#ifndef TIMEWHEEL_TEST_COMMON_CONTROLLED_OPERATION_HPP
#define TIMEWHEEL_TEST_COMMON_CONTROLLED_OPERATION_HPP

/** @file
    An asynchronous operation that does what the test says, when the test says it, and that writes
    down which cancellation signals reach it.
*/

#include <timewheel/config.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/append.hpp>
#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/cancellation_type.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace timewheel::test {

/// One operation at a time; see the file comment.
class controlled_operation
{
public:
    explicit controlled_operation(asio::any_io_executor executor) : executor_{std::move(executor)}
    {}

    controlled_operation(const controlled_operation&) = delete;
    controlled_operation& operator=(const controlled_operation&) = delete;

    /// Starts the operation, which completes with an error code.
    template <class CompletionToken>
    auto async_run(CompletionToken&& token)
    {
        return asio::async_initiate<CompletionToken, void(error_code)>(initiation{this}, token);
    }

    /// Ends the operation from the queue of its executor.
    void complete(error_code ec = {})
    {
        const auto work = std::exchange(work_, std::nullopt);
        std::exchange(handler_, nullptr)->post(executor_, ec);
    }

    /// Ends the operation in the calling function, which must be on the handler's executor.
    void complete_here(error_code ec = {})
    {
        const auto work = std::exchange(work_, std::nullopt);
        std::exchange(handler_, nullptr)->call(ec);
    }

    /// Destroys the handler without calling it.
    void drop()
    {
        const auto work = std::exchange(work_, std::nullopt);
        handler_.reset();
    }

    [[nodiscard]] bool running() const noexcept { return work_.has_value(); }

    /// What the next signals do besides being written down.
    std::function<void(asio::cancellation_type)> on_signal;

    /// A reaction to signals: the operation ends from the queue, as cancelled.
    void obey_signals()
    {
        on_signal = [this](asio::cancellation_type) {
            if (running())
                complete(asio::error::operation_aborted);
        };
    }

    /// Everything that was emitted to the operation.
    std::vector<asio::cancellation_type> signals;

private:
    // Asio's own any_completion_handler lets only some types of signals through.
    struct any_handler
    {
        virtual ~any_handler() = default;
        virtual void post(const asio::any_io_executor& executor, error_code ec) = 0;
        virtual void call(error_code ec) = 0;
    };

    template <class Handler>
    struct handler_of final : any_handler
    {
        explicit handler_of(Handler&& h) : handler{std::move(h)} {}

        void post(const asio::any_io_executor& executor, error_code ec) override
        {
            asio::post(executor, asio::append(std::move(handler), ec));
        }

        void call(error_code ec) override
        {
            Handler local(std::move(handler));
            std::move(local)(ec);
        }

        Handler handler;
    };

    struct initiation
    {
        using executor_type = asio::any_io_executor;

        executor_type get_executor() const noexcept { return self->executor_; }

        template <class Handler>
        void operator()(Handler&& handler) const
        {
            self->start(std::forward<Handler>(handler));
        }

        controlled_operation* self;
    };

    template <class Handler>
    void start(Handler handler)
    {
        work_.emplace(executor_);
        auto slot = asio::get_associated_cancellation_slot(handler);
        if (slot.is_connected())
            slot.assign([this](asio::cancellation_type type) {
                signals.push_back(type);
                if (on_signal)
                    on_signal(type);
            });
        handler_ = std::make_unique<handler_of<Handler>>(std::move(handler));
    }

    asio::any_io_executor executor_;
    std::optional<asio::executor_work_guard<asio::any_io_executor>> work_; // while it runs
    std::unique_ptr<any_handler> handler_;
};

}

#endif
