// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#ifndef TIMEWHEEL_DETAIL_WHEEL_OBJECT_HPP
#define TIMEWHEEL_DETAIL_WHEEL_OBJECT_HPP

#include <timewheel/detail/prefetch.hpp>
#include <timewheel/detail/timer_node.hpp>
#include <timewheel/detail/wait_operation.hpp>
#include <timewheel/wheel_service.hpp>

#include <boost/asio/associated_executor.hpp>

#include <memory>
#include <utility>

namespace timewheel::detail {

/*  What the I/O objects on a wheel have in common: a node with the waits for it, the driver of the
    context, and an executor. Movable with its waits, also to another executor type. A node is a
    timer_node; what it adds to that, it takes over in `take_state(other)`, while it is not filed and
    the other may be.
*/
template <class Clock, class WaitTraits, class Executor, class Node>
class wheel_object
{
public:
    using driver_type = wheel_driver<Clock, WaitTraits>;

    explicit wheel_object(const Executor& executor)
        : driver_(&use_driver<Clock, WaitTraits>(executor))
        , executor_(executor)
    {
        node_.runs_in_turns = driver_->runs_on(executor);
    }

    wheel_object(wheel_object&& other) : driver_(other.driver_), executor_(other.executor_)
    {
        take_over(other);
    }

    template <class OtherExecutor>
    explicit wheel_object(wheel_object<Clock, WaitTraits, OtherExecutor, Node>&& other)
        : driver_(other.driver_)
        , executor_(other.executor_)
    {
        take_over(other);
    }

    wheel_object& operator=(wheel_object&& other)
    {
        if (this == &other)
            return *this;
        driver_->release(node_);
        driver_ = other.driver_;
        // An executor need not be assignable.
        std::destroy_at(&executor_);
        std::construct_at(&executor_, other.executor_);
        take_over(other);
        return *this;
    }

    ~wheel_object() { driver_->release(node_); }

    Node& node() noexcept { return node_; }
    const Node& node() const noexcept { return node_; }
    driver_type& driver() const noexcept { return *driver_; }
    const Executor& get_executor() const noexcept { return executor_; }

    // Fetches what a wait is ended and started with.
    void prefetch() const noexcept
    {
        detail::prefetch_line(&node_);
        detail::prefetch_line(&driver_);
    }

    // Starts a wait for the node, which is due at `tick` if nothing else waits for it.
    template <class Handler>
    void start_wait(Handler& handler, tick_type tick)
    {
        driver_->start(node_, make_wait(handler), tick);
    }

private:
    template <class, class, class, class>
    friend class wheel_object;

    template <class Other>
    void take_over(Other& other)
    {
        // First what the node is due by: it may become due as soon as it is filed.
        node_.take_state(other.node_);
        driver_->move(other.node_, node_);
    }

    // Makes the operation: it completes within a turn if that runs on the handler's executor.
    template <class Handler>
    operation& make_wait(Handler& handler)
    {
        bool runs_in_turns = node_.runs_in_turns;
        if constexpr (has_own_executor<Handler>)
            runs_in_turns = runs_in_turns &&
                            driver_->runs_on(asio::get_associated_executor(handler, executor_));
        if (runs_in_turns)
            return connected(wait_operation<Handler, turn_work>::create(handler));
        using work_type = executor_work<Handler, Executor>;
        return connected(wait_operation<Handler, work_type>::create(handler, handler, executor_));
    }

    template <class Operation>
    operation& connected(Operation& op)
    {
        try {
            op.connect([driver = driver_](Operation& wait) { driver->cancel(wait); });
        } catch (...) {
            op.destroy();
            throw;
        }
        return op;
    }

    Node node_;
    driver_type* driver_;
    Executor executor_;
};

}

#endif
