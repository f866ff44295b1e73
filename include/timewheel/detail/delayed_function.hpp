// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#ifndef TIMEWHEEL_DETAIL_DELAYED_FUNCTION_HPP
#define TIMEWHEEL_DETAIL_DELAYED_FUNCTION_HPP

#include <timewheel/config.hpp>
#include <timewheel/detail/allocated.hpp>
#include <timewheel/detail/block_cache.hpp>
#include <timewheel/detail/deadline_operation.hpp>
#include <timewheel/wheel_service.hpp>

#include <boost/asio/execution/allocator.hpp>
#include <boost/asio/execution/blocking.hpp>
#include <boost/asio/execution/outstanding_work.hpp>
#include <boost/asio/prefer.hpp>
#include <boost/asio/query.hpp>

#include <memory>
#include <type_traits>
#include <utility>

namespace timewheel::detail {

// The allocator that an executor would use itself.
template <class Executor>
auto allocator_of(const Executor& executor)
{
    if constexpr (asio::can_query_v<const Executor&, asio::execution::allocator_t<void>>) {
        const auto allocator = asio::query(executor, asio::execution::allocator);
        if constexpr (!std::is_same_v<decltype(allocator), const std::allocator<void>>)
            return allocator;
        else
            return cached_allocator<void>();
    } else {
        return cached_allocator<void>();
    }
}

// A function on its way to an executor, which has work for it meanwhile.
template <class Executor, class Function>
class delayed_function final : public deadline_operation
{
public:
    template <class Argument>
    static delayed_function& create(const Executor& executor, Argument&& function)
    {
        return memory::make(allocator_of(executor), [&](void* at) -> delayed_function& {
            return *::new (at) delayed_function(executor, std::forward<Argument>(function));
        });
    }

private:
    using allocator_type = decltype(allocator_of(std::declval<const Executor&>()));
    using memory = allocated<delayed_function, allocator_type>;

    // A turn may execute the function itself: nobody who has submitted it is waiting for that.
    static auto working_executor(const Executor& executor)
    {
        return asio::prefer(
            executor, asio::execution::blocking.possibly, asio::execution::outstanding_work.tracked
        );
    }

    template <class Argument>
    delayed_function(const Executor& executor, Argument&& function)
        : deadline_operation(&finish)
        , allocator_(allocator_of(executor))
        , executor_(working_executor(executor))
        , function_(std::forward<Argument>(function))
    {}

    ~delayed_function() = default;

    static void finish(operation* base, bool run)
    {
        auto& self = *static_cast<delayed_function*>(base);
        const allocator_type allocator(self.allocator_);
        const auto executor = std::move(self.executor_);
        Function function(std::move(self.function_));
        memory::free(allocator, self, [](delayed_function& dead) { dead.~delayed_function(); });
        if (run)
            executor.execute(std::move(function));
    }

    const allocator_type allocator_;
    decltype(working_executor(std::declval<const Executor&>())) executor_;
    Function function_;
};

/*  Executes at a time, or at once if that has come.

    The driver is looked up with the executor that is to be delayed. By the delayed one, which may be
    type-erased, a driver would run its own turns, and nothing on the wheel would move before the time.
*/
template <class Clock, class WaitTraits>
struct delay_policy
{
    using driver_type = wheel_driver<Clock, WaitTraits>;

    // When execute() returns, the function has not been executed.
    using broken_promise = std::remove_cvref_t<decltype(asio::execution::blocking.always)>;

    template <class Executor>
    delay_policy(const Executor& executor, typename Clock::time_point time)
        : when(time)
        , driver(&use_driver<Clock, WaitTraits>(executor))
    {}

    typename Clock::time_point when;
    driver_type* driver;

    template <class Executor, class Function>
    void execute(const Executor& executor, Function&& function) const
    {
        if (Clock::now() >= when) {
            executor.execute(std::forward<Function>(function));
            return;
        }
        using function_type = delayed_function<Executor, std::decay_t<Function>>;
        driver->arm(
            function_type::create(executor, std::forward<Function>(function)),
            driver->math().ceil(when)
        );
    }

    bool operator==(const delay_policy&) const = default;
};

}

#endif
