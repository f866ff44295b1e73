// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#ifndef TIMEWHEEL_DETAIL_SIGNAL_LINK_HPP
#define TIMEWHEEL_DETAIL_SIGNAL_LINK_HPP

#include <atomic>
#include <thread>

namespace timewheel::detail {

/*  The tie between an operation and what it has put into a cancellation slot. Each end unties itself
    when it goes, so that a signal that is emitted too late finds nothing, and one that is gone is
    not touched.

    A slot is for one thread at a time, but the operation may end on another one meanwhile: the first
    operation of a group to end signals to the others from wherever it is. So an end that looks at
    the other one holds the tie for as long as that takes, and who unties waits for it.
*/
class signal_link
{
public:
    // What is in the slot.
    class peer
    {
    public:
        explicit peer(signal_link& link) noexcept : link_(&link)
        {
            link.peer_.store(this, std::memory_order_relaxed);
        }
        peer(const peer&) = delete;
        peer& operator=(const peer&) = delete;

        ~peer()
        {
            if (!hold() || link_->peer_.exchange(nullptr))
                return; // untied by the operation, or now by this end
            // The operation has seen this end, and is about to untie it.
            let_go();
            while (state_.load() != state::untied)
                std::this_thread::yield();
        }

        // Calls `function` if the operation is there, which stays until that returns. Returns whether.
        template <class Function>
        bool with_operation(Function function)
        {
            if (!hold())
                return false;
            const holder held{*this};
            function();
            return true;
        }

    private:
        friend class signal_link;

        enum class state
        {
            tied,
            held,
            untied
        };

        struct holder
        {
            peer& held;

            ~holder() { held.let_go(); }
        };

        bool hold() noexcept
        {
            state expected = state::tied;
            return state_.compare_exchange_strong(expected, state::held);
        }

        void let_go() noexcept
        {
            state_.store(state::tied);
            state_.notify_one();
        }

        // Afterwards this may be gone.
        void untie() noexcept
        {
            state expected = state::tied;
            while (!state_.compare_exchange_strong(expected, state::untied)) {
                state_.wait(state::held);
                expected = state::tied;
            }
        }

        signal_link* const link_;
        std::atomic<state> state_{state::tied};
    };

    signal_link() = default;
    signal_link(const signal_link&) = delete;
    signal_link& operator=(const signal_link&) = delete;

    ~signal_link() { untie(); }

    void untie() noexcept
    {
        if (!peer_.load())
            return;
        if (peer* const other = peer_.exchange(nullptr))
            other->untie();
    }

private:
    std::atomic<peer*> peer_{nullptr};
};

}

#endif
