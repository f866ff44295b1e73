// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#ifndef TIMEWHEEL_DETAIL_JOB_SINK_HPP
#define TIMEWHEEL_DETAIL_JOB_SINK_HPP

#include <stop_token>

namespace timewheel::detail {

template <class Clock>
class job_timer;

template <class Clock>
class job_run;

template <class Clock>
class run_ticket;

// What timers and runs tell the wheel that they belong to.
template <class Clock>
class job_sink
{
public:
    virtual void on_due(job_timer<Clock>& timer) = 0;
    virtual void on_destroyed(job_timer<Clock>& timer) noexcept = 0;
    virtual void on_timeout(job_run<Clock>& run, bool called) = 0;
    virtual void on_destroyed(job_run<Clock>& run) noexcept = 0;
    virtual std::stop_token stop_token(job_run<Clock>& run) = 0;

protected:
    ~job_sink() = default;
};

}

#endif
