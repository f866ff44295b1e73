// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#ifndef TIMEWHEEL_DETAIL_DEADLINE_OPERATION_HPP
#define TIMEWHEEL_DETAIL_DEADLINE_OPERATION_HPP

#include <timewheel/detail/operation.hpp>
#include <timewheel/detail/timer_node.hpp>

namespace timewheel::detail {

// An operation that waits for one deadline by itself: armed and disarmed, not started.
class deadline_operation : public driver_node, public operation
{
protected:
    explicit deadline_operation(finish_function finish) noexcept
        : driver_node(&expire)
        , operation(finish)
    {}

    ~deadline_operation() = default;

private:
    static tick_type expire(driver_node& node, const due_moment& due)
    {
        node.set_armed(false);
        due.ready.push(static_cast<deadline_operation&>(node), state::expired);
        return due.now;
    }
};

}

#endif
