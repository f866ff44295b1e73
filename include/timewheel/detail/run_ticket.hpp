// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#ifndef TIMEWHEEL_DETAIL_RUN_TICKET_HPP
#define TIMEWHEEL_DETAIL_RUN_TICKET_HPP

#include <timewheel/config.hpp>
#include <timewheel/detail/job_run.hpp>

#include <boost/asio/any_io_executor.hpp>

#include <exception>
#include <memory>
#include <utility>

namespace timewheel::detail {

// What can be done with a run by whoever holds the ticket to it.
template <class Clock>
class run_owner : public job_sink<Clock>
{
public:
    using job_sink<Clock>::on_destroyed;

    // The job is over.
    virtual void end(job_run<Clock>& run, error_code ec, std::exception_ptr exception) = 0;

    // The ticket was dropped.
    virtual void on_destroyed(job_run<Clock>& run) noexcept = 0;

    // The executor that the job runs on.
    virtual asio::any_io_executor executor_of(const job_run<Clock>& run) const noexcept = 0;

    // Lets the run be told to stop by a signal. To be called when its coroutine has been started,
    // between two calls of pin(): the coroutine may be over by then.
    virtual void
    set_coroutine(job_run<Clock>& run, std::shared_ptr<coroutine_control> coroutine) = 0;

    virtual void pin(job_run<Clock>& run, bool on) noexcept = 0;

protected:
    ~run_owner() = default;
};

// The right to end a run that has begun, which happens exactly once, if only when the ticket is dropped
// because the executor of its coroutine was destroyed.
template <class Clock>
class run_ticket
{
public:
    using owner_type = run_owner<Clock>;

    run_ticket(std::shared_ptr<owner_type> owner, job_run<Clock>& run) noexcept
        : owner_(std::move(owner))
        , run_(&run)
    {}

    run_ticket(run_ticket&& other) noexcept
        : owner_(std::move(other.owner_))
        , run_(std::exchange(other.run_, nullptr))
    {}

    run_ticket& operator=(run_ticket&&) = delete;

    ~run_ticket()
    {
        if (run_)
            owner_->on_destroyed(*run_);
    }

    job_run<Clock>& run() const noexcept { return *run_; }
    const std::shared_ptr<owner_type>& owner() const noexcept { return owner_; }

    void end(error_code ec, std::exception_ptr exception) &&
    {
        const std::shared_ptr<owner_type> owner = std::move(owner_);
        owner->end(*std::exchange(run_, nullptr), ec, std::move(exception));
    }

private:
    std::shared_ptr<owner_type> owner_;
    job_run<Clock>* run_;
};

}

#endif
