// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#ifndef TIMEWHEEL_DETAIL_TICK_HANDLER_HPP
#define TIMEWHEEL_DETAIL_TICK_HANDLER_HPP

#include <timewheel/config.hpp>
#include <timewheel/detail/tick_grid.hpp>
#include <timewheel/repeat.hpp>

#include <boost/asio/associator.hpp>

#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>

namespace timewheel::detail {

// The grid of a repeating timer. Its waits keep it, so that they may complete without the timer, and
// on other threads than those that use the timer.
template <class Clock>
class shared_grid
{
public:
    using grid_type = tick_grid<Clock>;

    template <class... Arguments>
    explicit shared_grid(Arguments... arguments) noexcept : grid_(arguments...)
    {}

    template <class Function>
    auto locked(Function function)
    {
        const std::lock_guard lock(mutex_);
        return function(grid_);
    }

private:
    std::mutex mutex_;
    grid_type grid_;
};

// Tells the user's handler of the tick that is the latest one when it is called.
template <class Clock, class Handler>
class tick_handler
{
public:
    using grid_pointer = std::shared_ptr<shared_grid<Clock>>;

    tick_handler(Handler&& handler, grid_pointer grid, std::uint64_t position)
        : handler_(std::move(handler))
        , grid_(std::move(grid))
        , position_(position)
    {}

    const Handler& inner() const noexcept { return handler_; }

    void operator()(const error_code& ec) &&
    {
        const basic_tick_info<Clock> info = take_info(ec);
        std::move(handler_)(ec, info);
    }

private:
    basic_tick_info<Clock> take_info(const error_code& ec)
    {
        const grid_pointer grid = std::move(grid_);
        if (ec)
            return {};
        const auto now = Clock::now();
        return grid->locked([&](auto& ticks) { return ticks.deliver(position_, now); });
    }

    Handler handler_;
    grid_pointer grid_;
    std::uint64_t position_;
};

}

/// What is associated with the user's handler, also goes for the one that completes the wait.
template <template <class, class> class Associator, class Clock, class Handler, class Default>
struct timewheel::asio::
    associator<Associator, timewheel::detail::tick_handler<Clock, Handler>, Default>
    : Associator<Handler, Default>
{
    using tick_handler = timewheel::detail::tick_handler<Clock, Handler>;

    // Asio 1.26 has an ambiguous get() with one argument for a std::reference_wrapper.
    static typename Associator<Handler, Default>::type get(const tick_handler& handler) noexcept
    {
        return Associator<Handler, Default>::get(handler.inner(), Default());
    }

    static decltype(auto) get(const tick_handler& handler, const Default& candidate) noexcept
    {
        return Associator<Handler, Default>::get(handler.inner(), candidate);
    }
};

#endif
