// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#ifndef TIMEWHEEL_IMPL_JOB_CORE_PARTS_HPP
#define TIMEWHEEL_IMPL_JOB_CORE_PARTS_HPP

#include <timewheel/detail/job_core.hpp>

#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>

#include <memory>
#include <utility>
#include <vector>

// What the functions of the core of a job wheel have in their frames, or post.

namespace timewheel::detail {

template <class Clock, class WaitTraits>
class job_core<Clock, WaitTraits>::worker_slot
{
public:
    explicit worker_slot(std::shared_ptr<job_core> core) noexcept : core_(std::move(core)) {}

    worker_slot(worker_slot&& other) noexcept = default;
    worker_slot& operator=(worker_slot&&) = delete;

    ~worker_slot()
    {
        if (core_)
            core_->on_slot_destroyed();
    }

    void operator()()
    {
        const std::shared_ptr<job_core> core = std::move(core_);
        core->on_slot();
    }

private:
    std::shared_ptr<job_core> core_;
};

template <class Clock, class WaitTraits>
class job_core<Clock, WaitTraits>::aftermath
{
public:
    explicit aftermath(job_core& core) noexcept : core_(core), posting_(core.posters_) {}

    aftermath(const aftermath&) = delete;
    aftermath& operator=(const aftermath&) = delete;

    // If something could not be posted, the rest ends here.
    ~aftermath()
    {
        for (; slots_ != 0; --slots_)
            core_.on_slot_destroyed();
        while (!dead_.empty())
            delete pop_dead();
    }

    void post_slot() noexcept { ++slots_; }

    void bury(timer_type& timer) noexcept
    {
        dead_.push_back(static_cast<operation&>(timer));
        if (!timer.is_told)
            posting_.enter();
    }

    void close(std::vector<closer>& closers) noexcept
    {
        closers_.swap(closers);
        if (!closers_.empty())
            posting_.enter();
    }

    void keep(std::shared_ptr<job_core> core) noexcept { kept_ = std::move(core); }

    // `ec`: what those are told that waited for something else to end.
    void perform(error_code ec = {})
    {
        while (slots_ != 0) {
            --slots_;
            asio::post(core_.workers_, worker_slot(core_.shared_from_this()));
        }
        for (list_link* each = dead_.front(); each != &dead_; each = each->next()) {
            timer_type& timer = timer_type::of(static_cast<operation&>(*each));
            if (std::exchange(timer.is_told, true))
                continue;
            if (core_.is_shut_down_)
                abandon(timer, std::move(timer.waiters));
            else
                finish(
                    timer,
                    std::move(timer.waiters),
                    ec,
                    timer.is_removed ? error_code(asio::error::operation_aborted) : ec
                );
        }
        for (closer& each : std::exchange(closers_, {}))
            each.handler.post(ec);
        posting_.leave();
        while (!dead_.empty())
            delete pop_dead();
    }

    // Tells who waits for the end of a timer, which nobody else refers to, or whose waiters were taken
    // while the mutex was locked.
    static void finish(
        timer_type& timer,
        std::unique_ptr<typename timer_type::waiter> waiters,
        error_code waiters_ec,
        error_code ec
    )
    {
        for (; waiters; waiters = std::move(waiters->next))
            waiters->handler.post(waiters_ec, waiters->result);
        timer.on_end(ec);
    }

    // Destroys their handlers instead.
    static void
    abandon(timer_type& timer, std::unique_ptr<typename timer_type::waiter> waiters) noexcept
    {
        timer_type::drop(std::move(waiters));
        timer.abandon();
    }

private:
    timer_type* pop_dead() noexcept
    {
        return &timer_type::of(static_cast<operation&>(dead_.pop_front()));
    }

    job_core& core_;
    posters::poster posting_;
    std::size_t slots_ = 0;
    list_anchor dead_;
    std::vector<closer> closers_;
    std::shared_ptr<job_core> kept_;
};

template <class Clock, class WaitTraits>
class job_core<Clock, WaitTraits>::inside_mark
{
public:
    explicit inside_mark(const job_core& core) noexcept
        : core_(core)
        , below_(std::exchange(top, this))
    {}

    inside_mark(const inside_mark&) = delete;
    inside_mark& operator=(const inside_mark&) = delete;

    ~inside_mark() { top = below_; }

    static bool is_on_stack(const job_core& core) noexcept
    {
        for (const inside_mark* each = top; each; each = each->below_) {
            if (&each->core_ == &core)
                return true;
        }
        return false;
    }

private:
    static inline constinit thread_local inside_mark* top = nullptr; // this thread's innermost one

    const job_core& core_;
    inside_mark* const below_;
};

template <class Clock, class WaitTraits>
class job_core<Clock, WaitTraits>::telling
{
public:
    telling(job_core& core, timer_type& timer) : core_(core), timer_(timer)
    {
        core_.enter_flight();
        ++timer_.pins;
        ++timer_.telling;
    }

    telling(const telling&) = delete;
    telling& operator=(const telling&) = delete;

    ~telling()
    {
        aftermath after(core_);
        lock_type lock(core_.mutex_);
        core_.leave_flight(after);
        core_.end_telling(timer_, lock);
        core_.unpin(timer_, after);
        lock.unlock();
        after.perform();
    }

    void tell(const record_type& record) const { core_.tell(timer_, record); }

private:
    job_core& core_;
    timer_type& timer_;
};

}

#endif
