// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#ifndef TIMEWHEEL_IMPL_JOB_HPP
#define TIMEWHEEL_IMPL_JOB_HPP

#include <timewheel/detail/job_run.hpp>
#include <timewheel/job.hpp>

namespace timewheel {

template <class Clock>
timer_id basic_job_context<Clock>::id() const noexcept
{
    return run().record.id;
}

template <class Clock>
auto basic_job_context<Clock>::scheduled_for() const noexcept -> time_point
{
    return run().record.scheduled_for;
}

template <class Clock>
std::uint64_t basic_job_context<Clock>::sequence() const noexcept
{
    return run().record.sequence;
}

template <class Clock>
std::uint64_t basic_job_context<Clock>::missed() const noexcept
{
    return run().record.missed;
}

template <class Clock>
typename Clock::duration basic_job_context<Clock>::lateness() const noexcept
{
    return run().record.lateness;
}

template <class Clock>
std::stop_token basic_job_context<Clock>::stop_token()
{
    return run().sink.stop_token(run());
}

template <class Clock>
bool basic_job_context<Clock>::stop_requested() const noexcept
{
    return run().stop.load(std::memory_order_relaxed) != detail::job_run<Clock>::stop_reason::none;
}

template <class Clock>
asio::cancellation_slot basic_job_context<Clock>::cancellation_slot() const noexcept
{
    return run().slot;
}

template <class Clock>
detail::job_run<Clock>& basic_job_context<Clock>::run() noexcept
{
    return static_cast<detail::job_run<Clock>&>(*this);
}

template <class Clock>
const detail::job_run<Clock>& basic_job_context<Clock>::run() const noexcept
{
    return static_cast<const detail::job_run<Clock>&>(*this);
}

}

#endif
