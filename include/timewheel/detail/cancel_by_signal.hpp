// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#ifndef TIMEWHEEL_DETAIL_CANCEL_BY_SIGNAL_HPP
#define TIMEWHEEL_DETAIL_CANCEL_BY_SIGNAL_HPP

#include <timewheel/config.hpp>

#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/cancellation_type.hpp>

#include <memory>

namespace timewheel::detail {

// Lets a signal call `cancel(core)` while there is a core.
template <class Core, class Handler, class Cancel>
void cancel_by_signal(const Handler& handler, const std::shared_ptr<Core>& core, Cancel cancel)
{
    auto slot = asio::get_associated_cancellation_slot(handler);
    if (!slot.is_connected())
        return;
    slot.assign([weak = std::weak_ptr<Core>(core), cancel](asio::cancellation_type_t type) {
        constexpr auto understood = asio::cancellation_type::terminal |
                                    asio::cancellation_type::partial |
                                    asio::cancellation_type::total;
        if ((type & understood) == asio::cancellation_type::none)
            return;
        if (const auto alive = weak.lock())
            cancel(*alive);
    });
}

}

#endif
