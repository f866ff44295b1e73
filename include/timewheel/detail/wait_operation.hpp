// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#ifndef TIMEWHEEL_DETAIL_WAIT_OPERATION_HPP
#define TIMEWHEEL_DETAIL_WAIT_OPERATION_HPP

#include <timewheel/config.hpp>
#include <timewheel/detail/allocated.hpp>
#include <timewheel/detail/block_cache.hpp>
#include <timewheel/detail/operation.hpp>
#include <timewheel/detail/signal_link.hpp>
#include <timewheel/detail/tracked_executor.hpp>

#include <boost/asio/associated_allocator.hpp>
#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/system_executor.hpp>
#include <boost/asio/thread_pool.hpp>

#include <concepts>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

namespace timewheel::detail {

// Whether a handler names an executor of its own, rather than to take the one it is offered.
template <class Handler>
inline constexpr bool has_own_executor =
    !(std::same_as<
          asio::associated_executor_t<Handler, asio::system_executor>,
          asio::system_executor> &&
      std::same_as<
          asio::associated_executor_t<Handler, asio::thread_pool::executor_type>,
          asio::thread_pool::executor_type>);

// The work of an operation whose handler runs in the driver's turn: the driver has work for it.
struct turn_work
{
    template <class Operation>
    void submit(Operation& op)
    {
        op.invoke();
    }
};

// Submits an operation to an executor, and destroys it if it is never run.
template <class Operation>
class submitted_operation
{
public:
    using allocator_type = typename Operation::handler_allocator;

    explicit submitted_operation(Operation& op) noexcept
        : op_(&op)
        , allocator_(op.get_handler_allocator())
    {}

    allocator_type get_allocator() const noexcept { return allocator_; }

    void operator()() { op_.release()->invoke(); }

private:
    struct destroyer
    {
        void operator()(Operation* op) const { op->destroy(); }
    };

    std::unique_ptr<Operation, destroyer> op_;
    allocator_type allocator_;
};

// The work of an operation whose handler runs on another executor than the driver's turns.
template <class Handler, class IoExecutor>
class executor_work
{
public:
    executor_work(const Handler& handler, const IoExecutor& io_executor)
        : io_work_(io_executor)
        , handler_work_(asio::get_associated_executor(handler, io_executor))
    {}

    template <class Operation>
    void submit(Operation& op)
    {
        const auto executor = handler_work_.get(); // `op` does not outlive the submission
        // The timer's context has done its part then, and may go away before the handler is called.
        [[maybe_unused]] const auto io_work = std::exchange(io_work_, std::nullopt);
        asio::dispatch(executor, submitted_operation<Operation>(op));
    }

private:
    std::optional<tracked_executor<IoExecutor>> io_work_;
    tracked_executor<asio::associated_executor_t<Handler, IoExecutor>> handler_work_;
};

template <class Handler, class IoExecutor>
    requires(!has_own_executor<Handler>)
class executor_work<Handler, IoExecutor>
{
public:
    executor_work(const Handler&, const IoExecutor& io_executor) : work_(io_executor) {}

    template <class Operation>
    void submit(Operation& op)
    {
        const auto executor = work_.get();
        asio::dispatch(executor, submitted_operation<Operation>(op));
    }

private:
    tracked_executor<IoExecutor> work_;
};

// A wait for a timer with its handler. Its memory is the handler's allocator's.
template <class Handler, class Work>
class wait_operation final : public operation
{
public:
    using handler_allocator = asio::associated_allocator_t<Handler, cached_allocator<void>>;

    template <class... WorkArguments>
    static wait_operation& create(Handler& handler, WorkArguments&&... work)
    {
        return memory::make(
            asio::get_associated_allocator(handler, cached_allocator<void>()),
            [&](void* at) -> wait_operation& {
                return *::new (at) wait_operation(handler, std::forward<WorkArguments>(work)...);
            }
        );
    }

    handler_allocator get_handler_allocator() const noexcept
    {
        return asio::get_associated_allocator(handler_, cached_allocator<void>());
    }

    Work& work() noexcept { return work_; }

    // Lets a signal on the handler's cancellation slot, if it has one, call `cancel(*this)` until the
    // handler runs.
    template <class Cancel>
    void connect(Cancel cancel)
    {
        auto slot = asio::get_associated_cancellation_slot(handler_);
        if (!slot.is_connected())
            return;
        slot.template emplace<cancel_on_signal<Cancel>>(signal_, *this, cancel);
        has_signal = true;
    }

    // Calls the handler. To be called on its executor, when the outcome is known.
    void invoke()
    {
        // The handler may own the memory that it was kept in.
        Handler handler(std::move(handler_));
        [[maybe_unused]] Work work(std::move(work_));
        error_code ec;
        if (outcome == state::cancelled)
            ec = asio::error::operation_aborted;
        free(*this, handler);
        std::move(handler)(std::as_const(ec));
    }

private:
    using memory = allocated<wait_operation, handler_allocator>;

    template <class Cancel>
    class cancel_on_signal : private signal_link::peer
    {
    public:
        cancel_on_signal(signal_link& link, wait_operation& op, Cancel cancel)
            : signal_link::peer(link)
            , op_(op)
            , cancel_(cancel)
        {}

        void operator()(asio::cancellation_type_t type)
        {
            constexpr auto understood = asio::cancellation_type::terminal |
                                        asio::cancellation_type::partial |
                                        asio::cancellation_type::total;
            if ((type & understood) != asio::cancellation_type::none)
                this->with_operation([this] { cancel_(op_); });
        }

    private:
        wait_operation& op_;
        Cancel cancel_;
    };

    template <class... WorkArguments>
    explicit wait_operation(Handler& handler, WorkArguments&&... work)
        : operation(&finish)
        , work_(std::forward<WorkArguments>(work)...)
        , handler_(std::move(handler))
    {}

    ~wait_operation() = default;

    static void free(wait_operation& op, const Handler& handler)
    {
        memory::free(
            asio::get_associated_allocator(handler, cached_allocator<void>()),
            op,
            [](wait_operation& dead) { dead.~wait_operation(); }
        );
    }

    static void finish(operation* base, bool run)
    {
        auto& op = *static_cast<wait_operation*>(base);
        op.signal_.untie(); // the driver need not be there for a signal that comes later
        if (run) {
            op.work_.submit(op);
        } else {
            Handler handler(std::move(op.handler_));
            [[maybe_unused]] Work work(std::move(op.work_));
            free(op, handler);
        }
    }

    signal_link signal_;
    [[no_unique_address]] Work work_;
    Handler handler_;
};

}

#endif
