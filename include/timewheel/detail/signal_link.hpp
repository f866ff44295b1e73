// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#ifndef TIMEWHEEL_DETAIL_SIGNAL_LINK_HPP
#define TIMEWHEEL_DETAIL_SIGNAL_LINK_HPP

#include <utility>

namespace timewheel::detail {

/*  The tie between an operation and what it has put into a cancellation slot. Each end unties itself
    when it goes, so that a signal that is emitted too late finds nothing, and one that is gone is
    not touched. Like the slot, for one thread at a time.
*/
class signal_link
{
public:
    class peer
    {
    public:
        explicit peer(signal_link& link) noexcept : link_(&link) { link.peer_ = this; }
        peer(const peer&) = delete;
        peer& operator=(const peer&) = delete;

        ~peer()
        {
            if (link_)
                link_->peer_ = nullptr;
        }

        bool is_linked() const noexcept { return link_ != nullptr; }

    private:
        friend class signal_link;

        signal_link* link_;
    };

    signal_link() = default;
    signal_link(const signal_link&) = delete;
    signal_link& operator=(const signal_link&) = delete;

    ~signal_link() { untie(); }

    void untie() noexcept
    {
        if (peer_)
            std::exchange(peer_, nullptr)->link_ = nullptr;
    }

private:
    peer* peer_ = nullptr;
};

}

#endif
