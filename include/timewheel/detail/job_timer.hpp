// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#ifndef TIMEWHEEL_DETAIL_JOB_TIMER_HPP
#define TIMEWHEEL_DETAIL_JOB_TIMER_HPP

#include <timewheel/detail/deadline_operation.hpp>
#include <timewheel/detail/job_sink.hpp>
#include <timewheel/detail/pending_completion.hpp>
#include <timewheel/detail/tick_grid.hpp>
#include <timewheel/job.hpp>
#include <timewheel/repeat.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

namespace timewheel::detail {

inline timer_id new_timer_id() noexcept
{
    static constinit std::atomic<std::uint64_t> last{0};
    return timer_id(last.fetch_add(1, std::memory_order_relaxed) + 1);
}

// How a timer repeats, and where on its grid it is. Knows no clock.
template <class Clock>
class job_schedule
{
public:
    using duration = typename Clock::duration;
    using time_point = typename Clock::time_point;

    explicit job_schedule(time_point first) noexcept : next_(first) {}

    job_schedule(time_point first, duration period, const basic_repeat_options<Clock>& options)
        : next_(first)
        , period_(period)
        , until_(options.until.value_or((time_point::max)()))
        , runs_left_(options.count)
        , mode_(options.mode)
    {}

    bool repeats() const noexcept { return period_ != duration::zero(); }
    bool has_fixed_delay() const noexcept { return mode_ == repeat_mode::fixed_delay; }
    bool skips_overlap() const noexcept { return mode_ == repeat_mode::skip_if_running; }
    duration period() const noexcept { return period_; }

    // The next run.
    time_point next() const noexcept { return next_; }
    std::uint64_t sequence() const noexcept { return sequence_; }
    std::uint64_t missed() const noexcept { return missed_; }

    // A run has been handed over.
    void count_run() noexcept
    {
        if (runs_left_ != basic_repeat_options<Clock>::unlimited)
            --runs_left_;
    }

    // Whether there is a next run at all.
    bool is_over() const noexcept { return runs_left_ == 0 || next_ > until_; }

    // Goes on to the next point of the grid that is in the future, or to a period from now.
    void advance(time_point now) noexcept
    {
        ++sequence_;
        missed_ = 0;
        if (has_fixed_delay()) {
            next_ = saturated_add<Clock>(now, period_);
            return;
        }
        const std::uint64_t passed = period_math<Clock>::count(next_, now, period_);
        next_ = period_math<Clock>::end(next_, passed + 1, period_);
        missed_ = passed;
        sequence_ += passed;
    }

private:
    time_point next_;
    duration period_{};
    time_point until_ = (time_point::max)();
    std::uint64_t runs_left_ = 1;
    std::uint64_t sequence_ = 1;
    std::uint64_t missed_ = 0;
    repeat_mode mode_ = repeat_mode::fixed_rate;
};

// Links the timers of a wheel that may still run.
class live_link : public list_link
{};

/*  A timer of a job wheel. Everything but the first virtual functions is guarded by the wheel's mutex.
    It lives as long as it has a place where it waits, a run, or a pin.
*/
template <class Clock>
class job_timer : public deadline_operation, public live_link
{
public:
    using record_type = basic_job_record<Clock>;
    using removal_handler = pending_completion<void(error_code, remove_result)>;

    job_timer(job_sink<Clock>& sink, const job_schedule<Clock>& planned) noexcept
        : deadline_operation(&finish_operation)
        , schedule(planned)
        , sink_(sink)
    {}

    virtual ~job_timer() { drop(std::move(waiters)); }

    // Begins the job; it ends by the ticket. Called without the mutex, as the next three.
    virtual void start(run_ticket<Clock> ticket) = 0;

    // Keeps for on_end() how a run ended; before anybody is told.
    virtual void keep([[maybe_unused]] const record_type& record) {}

    // Tells who wants to know how a run ended. May throw what an observer throws.
    virtual void report(const record_type& record) = 0;

    // The last call: the timer has had its last run, or was removed or stopped before.
    virtual void on_end([[maybe_unused]] error_code ec) {}

    // Instead of the last call, when the context is destroyed: drops the handler, if there is one.
    virtual void abandon() noexcept {}

    virtual bool has_job() const noexcept { return true; }

    // Whether its user is told of exceptions by report().
    virtual bool reports_to_user() const noexcept { return false; }

    enum class place : std::uint8_t
    {
        none,
        wheel, // or on its way from there
        queue  // for room in the workers' queue
    };

    // Somebody who waits for the end of all runs.
    struct waiter
    {
        std::uint64_t key;
        removal_handler handler;
        remove_result result;
        std::unique_ptr<waiter> next;
    };

    // One by one, since there may be many.
    static void drop(std::unique_ptr<waiter> first) noexcept
    {
        while (first)
            first = std::move(first->next);
    }

    static job_timer& of(operation& op) noexcept
    {
        return static_cast<job_timer&>(static_cast<deadline_operation&>(op));
    }

    // What is known of the next run.
    record_type record() const
    {
        record_type record;
        record.id = id;
        record.sequence = schedule.sequence();
        record.missed = schedule.missed();
        record.scheduled_for = schedule.next();
        return record;
    }

    bool is_waiting() const noexcept { return where != place::none && !is_over; }

    bool is_dead() const noexcept
    {
        return is_over && where == place::none && runs.empty() && pins == 0;
    }

    timer_id id = new_timer_id();
    place where = place::none;
    bool is_over = false;    // it will not be filed again
    bool is_removed = false; // or stopped: not over by itself
    bool is_told = false;    // on_end() was called, or will not be
    std::uint32_t pins = 0;
    std::uint32_t telling = 0; // the pins that are for somebody who is told of a run
    std::uint32_t running = 0;
    std::uint64_t begun = 0;
    list_anchor runs; // queued and running
    std::unique_ptr<waiter> waiters;
    job_schedule<Clock> schedule;

private:
    static void finish_operation(operation* op, bool call)
    {
        job_timer& timer = of(*op);
        if (call)
            timer.sink_.on_due(timer);
        else
            timer.sink_.on_destroyed(timer);
    }

    job_sink<Clock>& sink_;
};

}

#endif
