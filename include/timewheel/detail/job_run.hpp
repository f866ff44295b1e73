// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#ifndef TIMEWHEEL_DETAIL_JOB_RUN_HPP
#define TIMEWHEEL_DETAIL_JOB_RUN_HPP

#include <timewheel/detail/deadline_operation.hpp>
#include <timewheel/detail/job_sink.hpp>
#include <timewheel/job.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/strand.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <stop_token>
#include <utility>

namespace timewheel::detail {

// A coroutine job runs on a strand, and is cancelled there: so a signal meets it between two steps.
struct coroutine_control
{
    explicit coroutine_control(const asio::any_io_executor& executor)
        : strand(asio::make_strand(executor))
    {}

    asio::strand<asio::any_io_executor> strand;
    asio::cancellation_signal signal;
};

// What tells a running job to stop; used without the wheel's mutex, since it may run user code.
struct stop_signal
{
    std::stop_source source{std::nostopstate};
    std::shared_ptr<coroutine_control> coroutine;

    void emit()
    {
        source.request_stop();
        if (coroutine)
            asio::post(coroutine->strand, [control = coroutine] {
                control->signal.emit(asio::cancellation_type::terminal);
            });
    }
};

// The deadline of a run on the wheel.
template <class Clock>
class run_timeout : public deadline_operation
{
public:
    run_timeout(job_sink<Clock>& sink, job_run<Clock>& run) noexcept
        : deadline_operation(&finish_operation)
        , sink_(sink)
        , run_(run)
    {}

private:
    static void finish_operation(operation* op, bool call)
    {
        auto& timeout = static_cast<run_timeout&>(*static_cast<deadline_operation*>(op));
        timeout.sink_.on_timeout(timeout.run_, call);
    }

    job_sink<Clock>& sink_;
    job_run<Clock>& run_;
};

// Links the runs of a timer.
class run_link : public list_link
{};

// Links the runs that wait for the workers.
class queue_link : public list_link
{};

/*  A run of a job, from when it is handed to the workers until its end. Guarded by the wheel's mutex,
    but for what the job itself reads. It is referred to by its timer, and by its timeout while that
    is armed.
*/
template <class Clock>
class job_run final : public basic_job_context<Clock>, public run_link, public queue_link
{
public:
    using record_type = basic_job_record<Clock>;

    explicit job_run(job_sink<Clock>& owner) noexcept : sink(owner), timeout(owner, *this) {}

    enum class state : std::uint8_t
    {
        queued,
        running,
        ended
    };

    enum class stop_reason : std::uint8_t
    {
        none,
        told,
        timed_out
    };

    // Makes a used run as good as new.
    void reset(job_timer<Clock>& of)
    {
        timer = &of;
        record = of.record();
        phase = state::queued;
        stop.store(stop_reason::none, std::memory_order_relaxed);
        is_inline = false;
        references = 1;
    }

    // Frees what was the run's own.
    void clear() noexcept
    {
        record.exception = nullptr;
        signal = {};
        slot = {};
    }

    job_sink<Clock>& sink;
    job_timer<Clock>* timer = nullptr;
    record_type record;
    state phase = state::queued;
    std::atomic<stop_reason> stop{stop_reason::none}; // read by the job without the mutex
    bool has_timeout = false;                         // armed, or on its way from the driver
    bool timeout_pins_timer = false;                  // since it could not be disarmed
    std::uint32_t references = 0;                     // the timer, the timeout, a pin
    stop_signal signal;
    asio::cancellation_slot slot; // the coroutine's
    run_timeout<Clock> timeout;
    bool is_inline = false;       // does not run on the workers
    job_run* next_free = nullptr; // of those that may be used again
};

}

#endif
