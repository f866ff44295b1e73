// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#ifndef TIMEWHEEL_DETAIL_POSTERS_HPP
#define TIMEWHEEL_DETAIL_POSTERS_HPP

#include <atomic>
#include <cstdint>
#include <utility>

namespace timewheel::detail {

/*  Those who have taken handlers from an object that a mutex guards and post them when it is not locked
    any more. The shutdown of the context that they post to waits for them.
*/
class posters
{
public:
    class poster
    {
    public:
        explicit poster(posters& all) noexcept : all_(all) {}
        poster(const poster&) = delete;
        poster& operator=(const poster&) = delete;
        ~poster() { leave(); }

        // With the mutex locked.
        void enter() noexcept
        {
            if (!std::exchange(is_inside_, true))
                all_.count_.fetch_add(1, std::memory_order_relaxed);
        }

        void leave() noexcept
        {
            if (std::exchange(is_inside_, false) && all_.count_.fetch_sub(1) == 1)
                all_.count_.notify_all();
        }

    private:
        posters& all_;
        bool is_inside_ = false;
    };

    bool empty() const noexcept { return count_.load() == 0; }

    // When nobody can enter any more.
    void wait() const noexcept
    {
        for (std::uint32_t n = count_.load(); n != 0; n = count_.load())
            count_.wait(n);
    }

private:
    std::atomic<std::uint32_t> count_{0};
};

}

#endif
