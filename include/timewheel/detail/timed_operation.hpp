// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#ifndef TIMEWHEEL_DETAIL_TIMED_OPERATION_HPP
#define TIMEWHEEL_DETAIL_TIMED_OPERATION_HPP

#include <timewheel/config.hpp>
#include <timewheel/detail/allocated.hpp>
#include <timewheel/detail/block_cache.hpp>
#include <timewheel/detail/cancellation_gate.hpp>
#include <timewheel/detail/deadline_operation.hpp>
#include <timewheel/detail/executor_adapter.hpp>
#include <timewheel/detail/signal_link.hpp>
#include <timewheel/error.hpp>
#include <timewheel/wheel_service.hpp>

#include <boost/asio/associated_allocator.hpp>
#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/associator.hpp>
#include <boost/asio/cancellation_type.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/recycling_allocator.hpp>
#include <boost/system/system_error.hpp>

#include <concepts>
#include <cstddef>
#include <exception>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

namespace timewheel::detail {

// What is done to an operation at its deadline.
struct deadline_action
{
    asio::cancellation_type_t type = asio::cancellation_type::terminal;
    bool reports_timeout = false; // whether the result says timed_out instead of aborted
};

// What a failed operation says instead of its own error if its deadline has made it fail.
inline error_code as_timed_out(error_code ec)
{
    return ec ? error_code(error::timed_out) : ec;
}

inline std::exception_ptr as_timed_out(std::exception_ptr exception)
{
    if (!exception)
        return exception;
    return std::make_exception_ptr(boost::system::system_error(error_code(error::timed_out)));
}

template <class Argument>
concept error_argument = std::same_as<std::remove_cvref_t<Argument>, error_code> ||
                         std::same_as<std::remove_cvref_t<Argument>, std::exception_ptr>;

// What the operation gets as its handler. Owns a reference, which is there already.
template <class Operation>
class gated_handler
{
public:
    using handler_type = typename Operation::handler_type;
    using allocator_type =
        asio::associated_allocator_t<handler_type, asio::recycling_allocator<void>>;
    using cancellation_slot_type = asio::cancellation_slot;

    explicit gated_handler(Operation& op) noexcept : op_(&op) {}

    // Not called at all: the operation was destroyed.
    ~gated_handler()
    {
        if (!op_)
            return;
        const cancellation_gate::visit inside(*op_);
        [[maybe_unused]] const handler_type handler = end();
    }

    gated_handler(gated_handler&& other) noexcept : op_(std::exchange(other.op_, nullptr)) {}
    gated_handler& operator=(gated_handler&&) = delete;

    // What the operation is to be executed with, on whatever executor.
    gate_policy policy() const noexcept { return gate_policy(*op_); }

    allocator_type get_allocator() const noexcept
    {
        return asio::get_associated_allocator(inner(), asio::recycling_allocator<void>());
    }

    cancellation_slot_type get_cancellation_slot() const noexcept { return op_->slot(); }

    // The handler of the user.
    const handler_type& inner() const noexcept { return op_->handler(); }

    void operator()()
    {
        const cancellation_gate::visit inside(*op_);
        handler_type handler = end();
        std::move(handler)();
    }

    template <class First, class... Rest>
    void operator()(First&& first, Rest&&... rest)
    {
        const cancellation_gate::visit inside(*op_);
        [[maybe_unused]] const bool timed_out = op_->has_timed_out();
        handler_type handler = end();
        if constexpr (error_argument<First>) {
            if (timed_out)
                return std::move(handler)(as_timed_out(first), std::forward<Rest>(rest)...);
        }
        std::move(handler)(std::forward<First>(first), std::forward<Rest>(rest)...);
    }

private:
    handler_type end() { return std::exchange(op_, nullptr)->end(); }

    Operation* op_;
};

/*  An operation with a deadline: its handler, the gate for cancellation signals, and a node in the
    wheel. The deadline is taken off the wheel when the operation completes first, without a
    completion of its own, so the result arrives in the operation's own completion.

    References: one each of the operation's handler, of the deadline while it is on its way, of
    whoever is inside the gate, and of each copy of the executor.
*/
template <class Handler, class IoExecutor, class Driver>
class timed_operation final : public cancellation_gate, private deadline_operation
{
public:
    using handler_type = Handler;

    template <class Initiation, class... Arguments>
    static void start(
        Initiation&& initiation,
        Handler& handler,
        const IoExecutor& io_executor,
        Driver& driver,
        tick_type deadline,
        deadline_action action,
        Arguments&&... arguments
    )
    {
        timed_operation& self = create(handler, io_executor, driver, action);
        // No signal before the operation has begun.
        const cancellation_gate::visit inside(self, cancellation_gate::from_the_beginning());
        gated_handler<timed_operation> gated(self);
        driver.arm(self, deadline);
        self.follow_parent();
        std::forward<Initiation>(initiation)(
            std::move(gated), std::forward<Arguments>(arguments)...
        );
    }

    const Handler& handler() const noexcept { return *handler_; }

    // Whether the deadline has passed and the result is to say so. To be called inside.
    bool has_timed_out() const noexcept
    {
        return action_.reports_timeout && (this->emitted() & by_deadline) != 0;
    }

    // Ends the operation and returns its handler. To be called inside; takes the handler's reference.
    Handler end()
    {
        // Not armed: the context of the driver may be gone, if it is not the operation's.
        const bool in_time = this->is_armed() && driver_.disarm(*this);
        parent_.untie();
        Handler handler(std::move(*handler_));
        handler_.reset();
        this->close(in_time ? 2 : 1);
        return handler;
    }

private:
    // Not the handler's own allocator: a deadline that is on its way when the operation completes,
    // an executor, or another thread that is about to leave the gate keep the memory for longer.
    using allocator_type = cached_allocator<std::byte>;
    using memory = allocated<timed_operation, allocator_type>;
    using handler_executor = asio::associated_executor_t<Handler, IoExecutor>;

    static constexpr std::uint64_t by_deadline = std::uint64_t{1} << 32;

    static timed_operation&
    create(Handler& handler, const IoExecutor& io_executor, Driver& driver, deadline_action action)
    {
        return memory::make(allocator_type(), [&](void* at) -> timed_operation& {
            return *::new (at) timed_operation(handler, io_executor, driver, action);
        });
    }

    timed_operation(
        Handler& handler,
        const IoExecutor& io_executor,
        Driver& driver,
        deadline_action action
    )
        : cancellation_gate(2) // of the handler, and of the deadline
        , deadline_operation(&finish_deadline)
        , executor_(asio::get_associated_executor(handler, io_executor))
        , driver_(driver)
        , action_(action)
        , runs_in_turns_(driver.runs_on(executor_))
        , handler_(std::in_place, std::move(handler))
    {}

    ~timed_operation() = default;

    void free() noexcept override
    {
        memory::free(allocator_type(), *this, [](timed_operation& dead) {
            dead.~timed_operation();
        });
    }

    // Passes on what is emitted to the handler's own slot.
    void follow_parent()
    {
        auto slot = asio::get_associated_cancellation_slot(*handler_);
        if (slot.is_connected())
            slot.template emplace<parent_signal>(parent_, *this);
    }

    class parent_signal : private signal_link::peer
    {
    public:
        parent_signal(signal_link& link, timed_operation& op) : signal_link::peer(link), op_(op) {}

        void operator()(asio::cancellation_type_t type)
        {
            if (type == asio::cancellation_type::none)
                return;
            timed_operation& op = op_; // what is emitted may end both the operation and this
            if (!this->with_operation([&] { op.add_reference(); }))
                return;
            op.request(static_cast<std::uint32_t>(type));
            op.release();
        }

    private:
        timed_operation& op_;
    };

    // The deadline's turn.
    static void finish_deadline(operation* base, bool run)
    {
        auto& self = *static_cast<timed_operation*>(base);
        if (!run)
            self.release();
        else if (self.runs_in_turns_)
            self.emit_deadline();
        else
            asio::dispatch(self.executor_, deadline_handler(self));
    }

    void emit_deadline() noexcept
    {
        request(by_deadline | static_cast<std::uint32_t>(action_.type));
        release();
    }

    // Owns the deadline's reference on its way to the executor.
    class deadline_handler
    {
    public:
        explicit deadline_handler(timed_operation& op) noexcept : op_(&op) {}
        void operator()() { op_.release()->emit_deadline(); }

    private:
        struct releaser
        {
            void operator()(timed_operation* op) const noexcept { op->release(); }
        };

        std::unique_ptr<timed_operation, releaser> op_;
    };

    const handler_executor executor_;
    Driver& driver_;
    const deadline_action action_;
    const bool runs_in_turns_;
    signal_link parent_;
    std::optional<Handler> handler_;
};

}

// The executor of the user's handler, or the operation's own, within the gate.
template <class Operation, class Candidate>
struct timewheel::asio::associated_executor<timewheel::detail::gated_handler<Operation>, Candidate>
{
    using gated_handler = timewheel::detail::gated_handler<Operation>;
    using inner = associated_executor<typename Operation::handler_type, Candidate>;
    using type = timewheel::detail::
        executor_adapter<std::remove_cvref_t<typename inner::type>, timewheel::detail::gate_policy>;

    static type get(const gated_handler& handler) noexcept
    {
        return type(inner::get(handler.inner()), handler.policy());
    }

    static type get(const gated_handler& handler, const Candidate& candidate) noexcept
    {
        return type(inner::get(handler.inner(), candidate), handler.policy());
    }
};

// Whatever else is associated with the user's handler.
template <template <class, class> class Associator, class Operation, class Default>
struct timewheel::asio::associator<Associator, timewheel::detail::gated_handler<Operation>, Default>
    : Associator<typename Operation::handler_type, Default>
{
    using gated_handler = timewheel::detail::gated_handler<Operation>;
    using inner_associator = Associator<typename Operation::handler_type, Default>;

    static decltype(auto) get(const gated_handler& handler) noexcept
    {
        return inner_associator::get(handler.inner());
    }

    static decltype(auto) get(const gated_handler& handler, const Default& candidate) noexcept
    {
        return inner_associator::get(handler.inner(), candidate);
    }
};

#endif
