// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#ifndef TIMEWHEEL_DETAIL_TYPED_JOB_TIMER_HPP
#define TIMEWHEEL_DETAIL_TYPED_JOB_TIMER_HPP

#include <timewheel/config.hpp>
#include <timewheel/detail/job_call.hpp>
#include <timewheel/detail/job_core.hpp>
#include <timewheel/detail/job_timer.hpp>
#include <timewheel/detail/observed.hpp>

#include <boost/asio/error.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

namespace timewheel::detail {

template <class Event, class Clock, class Data>
Event make_event(const basic_job_record<Clock>& record, [[maybe_unused]] Data&& data)
{
    if constexpr (std::is_same_v<std::remove_cvref_t<Data>, no_data>)
        return Event{record};
    else
        return Event(record, std::forward<Data>(data));
}

// A job of any type.
template <class T, class Clock>
class any_job
{
public:
    virtual ~any_job() = default;
    virtual void start(data_of<T>& data, run_ticket<Clock> ticket) = 0;
};

template <class T, class Clock, class Job>
class any_job_of final : public any_job<T, Clock>
{
public:
    explicit any_job_of(Job job) : job_(std::move(job)) {}

    void start(data_of<T>& data, run_ticket<Clock> ticket) override
    {
        start_job(job_, data, std::move(ticket));
    }

private:
    Job job_;
};

// What all timers of a wheel share that depends on the type of their data.
template <class T, class Clock>
struct job_traits
{
    using observed_event = basic_job_event<observed_t<T>, Clock>;

    std::function<void(const observed_event&)> observer;
    std::unique_ptr<any_job<T, Clock>> default_job; // or none
};

template <class T, class Clock, class WaitTraits>
class typed_job_core final : public job_core<Clock, WaitTraits>
{
public:
    typed_job_core(
        const asio::any_io_executor& io_executor,
        const asio::any_io_executor& workers,
        job_settings<Clock> settings,
        job_traits<T, Clock> shared
    )
        : job_core<Clock, WaitTraits>(io_executor, workers, std::move(settings))
        , traits(std::move(shared))
    {}

    const job_traits<T, Clock> traits;
};

// A timer with its data, which has the default job if there is one.
template <class T, class Clock>
class data_timer : public job_timer<Clock>
{
public:
    data_timer(
        job_sink<Clock>& sink,
        const job_traits<T, Clock>& traits,
        const job_schedule<Clock>& planned,
        data_of<T>&& data
    )
        : job_timer<Clock>(sink, planned)
        , data_(std::move(data))
        , traits_(traits)
    {}

    bool has_job() const noexcept override { return traits_.default_job != nullptr; }

    void start(run_ticket<Clock> ticket) override
    {
        traits_.default_job->start(data_, std::move(ticket));
    }

    void report(const basic_job_record<Clock>& record) override
    {
        using event_type = typename job_traits<T, Clock>::observed_event;
        if (traits_.observer)
            traits_.observer(make_event<event_type>(record, std::as_const(data_)));
    }

protected:
    [[no_unique_address]] data_of<T> data_;

private:
    const job_traits<T, Clock>& traits_;
};

// A timer with a job of its own.
template <class T, class Clock, class Job>
class own_job_timer : public data_timer<T, Clock>
{
public:
    own_job_timer(
        job_sink<Clock>& sink,
        const job_traits<T, Clock>& traits,
        const job_schedule<Clock>& planned,
        data_of<T>&& data,
        Job&& job
    )
        : data_timer<T, Clock>(sink, traits, planned, std::move(data))
        , job_(std::move(job))
    {}

    bool has_job() const noexcept final { return true; }

    void start(run_ticket<Clock> ticket) final { start_job(job_, this->data_, std::move(ticket)); }

private:
    [[no_unique_address]] Job job_;
};

template <class T, class Clock, class... Job>
struct job_timer_for
{
    using type = data_timer<T, Clock>;
};

template <class T, class Clock, class Job>
struct job_timer_for<T, Clock, Job>
{
    using type = own_job_timer<T, Clock, Job>;
};

// A timer whose only run is an asynchronous operation.
template <class T, class Clock, class Job>
class run_after_timer final : public own_job_timer<T, Clock, Job>
{
public:
    using event_type = basic_job_event<T, Clock>;
    using handler_type = pending_completion<void(error_code, event_type)>;

    run_after_timer(
        job_sink<Clock>& sink,
        const job_traits<T, Clock>& traits,
        const job_schedule<Clock>& planned,
        data_of<T>&& data,
        Job&& job,
        handler_type&& handler
    )
        : own_job_timer<T, Clock, Job>(sink, traits, planned, std::move(data), std::move(job))
        , handler_(std::move(handler))
    {}

    bool reports_to_user() const noexcept override { return true; }

    void keep(const basic_job_record<Clock>& record) override { record_ = record; }

    void on_end(error_code ec) override
    {
        if (record_)
            return handler_.post(
                record_->error, make_event<event_type>(*record_, std::move(this->data_))
            );
        basic_job_record<Clock> record = this->record();
        record.started_at = record.finished_at = Clock::now();
        record.outcome = job_outcome::cancelled;
        record.error = ec ? ec : asio::error::operation_aborted; // an executor was destroyed
        // The wheel is gone and the job is running: the data is in use.
        if (this->begun != 0)
            handler_.post(record.error, make_event<event_type>(record, data_of<T>()));
        else
            handler_.post(record.error, make_event<event_type>(record, std::move(this->data_)));
    }

    void abandon() noexcept override { handler_.destroy(); }

private:
    handler_type handler_;
    std::optional<basic_job_record<Clock>> record_;
};

// A timer whose whole life is an asynchronous operation.
template <class T, class Clock, class Job>
class repeat_timer final : public own_job_timer<T, Clock, Job>
{
public:
    using handler_type = pending_completion<void(error_code, std::uint64_t)>;

    repeat_timer(
        job_sink<Clock>& sink,
        const job_traits<T, Clock>& traits,
        const job_schedule<Clock>& planned,
        data_of<T>&& data,
        Job&& job,
        handler_type&& handler
    )
        : own_job_timer<T, Clock, Job>(sink, traits, planned, std::move(data), std::move(job))
        , handler_(std::move(handler))
    {}

    void on_end(error_code ec) override { handler_.post(ec, this->begun); }
    void abandon() noexcept override { handler_.destroy(); }

private:
    handler_type handler_;
};

}

#endif
