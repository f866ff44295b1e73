// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#ifndef TIMEWHEEL_DETAIL_JOB_CORE_HPP
#define TIMEWHEEL_DETAIL_JOB_CORE_HPP

#include <timewheel/detail/clock_watch.hpp>
#include <timewheel/detail/job_timer.hpp>
#include <timewheel/detail/pending_completion.hpp>
#include <timewheel/detail/posters.hpp>
#include <timewheel/detail/run_ticket.hpp>
#include <timewheel/detail/tick_math.hpp>
#include <timewheel/detail/tracked_executor.hpp>
#include <timewheel/error.hpp>
#include <timewheel/job.hpp>
#include <timewheel/stats.hpp>
#include <timewheel/wheel_service.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/unordered/unordered_flat_map.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string_view>
#include <utility>
#include <vector>

namespace timewheel::detail {

template <class Clock>
struct job_settings
{
    std::chrono::nanoseconds tick;
    std::size_t max_queued;
    backpressure policy;
    std::size_t max_begun_or_queued;
    std::size_t max_pending;
    typename Clock::duration run_timeout;
    bool is_observed;
    std::function<void(timer_id, std::exception_ptr)> on_error;
    std::function<void(std::string_view)> logger;
};

/*  The timers of a job wheel and their runs, but for their data and jobs.

    A timer that comes due has a turn in the context of the driver, where its job is handed to the
    workers, or waits for room. All state is guarded by `mutex_`, which is never held while a job, an
    observer or a handler is called, nor while something is posted; the driver's mutex may be locked
    while it is held. What a critical section leaves to be done outside is collected in an `aftermath`.

    What is posted to the workers is a slot: when its turn comes, it begins the run that is queued
    first. So a run that is removed leaves a slot for the next one, and nothing piles up.

    Slots and tickets keep the core alive when the wheel or its context is gone. It does not touch the
    driver or the executor of the wheel any more then.
*/
template <class Clock, class WaitTraits>
class job_core : public run_owner<Clock>,
                 public std::enable_shared_from_this<job_core<Clock, WaitTraits>>
{
public:
    using time_point = typename Clock::time_point;
    using duration = typename Clock::duration;
    using timer_type = job_timer<Clock>;
    using run_type = job_run<Clock>;
    using record_type = basic_job_record<Clock>;
    using removal_handler = typename timer_type::removal_handler;
    using close_handler = pending_completion<void(error_code)>;

    using info_type = basic_timer_info<Clock>;

    job_core(
        const asio::any_io_executor& io_executor,
        const asio::any_io_executor& workers,
        job_settings<Clock> settings
    );

    job_core(const job_core&) = delete;
    job_core& operator=(const job_core&) = delete;

    virtual ~job_core();

    void start(error_code& ec);

    // Ends all timers, tells running jobs to stop. Nothing begins any more.
    void stop(error_code& ec);

    // Waits until the wheel was stopped and no run or observer is under way.
    void wait(error_code& ec);
    void stop_and_wait(error_code& ec);
    void async_stop_and_wait(std::uint64_t key, close_handler handler);
    void cancel_wait(std::uint64_t key);

    // Whether to wait for the end would be to wait for the caller.
    bool is_called_from_job() const;

    // The wheel is destroyed. Who waits for anything is told so.
    void detach() noexcept;

    // Files a timer. If that fails, it is not touched.
    timer_id add(std::unique_ptr<timer_type>& timer, error_code& ec);

    remove_result remove(timer_id id, bool cancel_running, error_code& ec);
    void async_remove(timer_id id, bool cancel_running, std::uint64_t key, removal_handler handler);
    void cancel_wait(timer_id id, std::uint64_t key);

    // Names an operation that waits, so that it can be cancelled.
    std::uint64_t new_key() noexcept
    {
        return last_key_.fetch_add(1, std::memory_order_relaxed) + 1;
    }

    std::optional<time_point> next_fire_time(timer_id id) const;
    std::vector<info_type> pending_timers() const;
    wheel_stats stats() const;

private:
    using lock_type = std::unique_lock<std::mutex>;
    using place = typename timer_type::place;
    using run_state = typename run_type::state;
    using stop_reason = typename run_type::stop_reason;

    enum class lifecycle : std::uint8_t
    {
        fresh,
        running,
        closed
    };

    // Somebody who waits for the end of everything.
    struct closer
    {
        std::uint64_t key;
        close_handler handler;
    };

    // What is to be done when the mutex is not locked any more.
    class aftermath;

    // Marks that this thread is inside a job or an observer of the wheel.
    class inside_mark;

    // The time, which most jobs need once: it is read when somebody asks for it.
    class moment
    {
    public:
        explicit moment(bool is_needed = false)
        {
            if (is_needed)
                get();
        }

        time_point get()
        {
            if (!time_)
                time_ = Clock::now();
            return *time_;
        }

    private:
        std::optional<time_point> time_;
    };

    // What is posted to the workers.
    class worker_slot;

    // Pins a timer of whose run somebody is told; made with the mutex locked, and destroyed without.
    class telling;

    void on_due(timer_type& timer) override;
    void on_destroyed(timer_type& timer) noexcept override;
    void on_timeout(run_type& run, bool called) override;
    std::stop_token stop_token(run_type& run) override;
    void end(run_type& run, error_code ec, std::exception_ptr exception) override;
    void on_destroyed(run_type& run) noexcept override;
    asio::any_io_executor executor_of(const run_type& run) const noexcept override;
    void set_coroutine(run_type& run, std::shared_ptr<coroutine_control> coroutine) override;
    void pin(run_type& run, bool on) noexcept override;

    void on_shutdown() noexcept;
    template <class Leave>
    bool leave_context(lock_type& lock, aftermath& after, Leave leave) noexcept;
    error_code state_error() const;
    timer_type* find(timer_id id) const noexcept;
    tick_type tick_of(time_point when) const;
    bool has_room() const noexcept
    {
        return stats_.queued < settings_.max_queued &&
               stats_.queued + stats_.running < settings_.max_begun_or_queued;
    }

    void file_or_end(timer_type& timer);
    void schedule_next(timer_type& timer, moment& now);
    bool take_out(timer_type& timer);
    void bury_if_dead(timer_type& timer, aftermath& after);
    void unpin(timer_type& timer, aftermath& after);

    void on_slot();
    void on_slot_destroyed() noexcept;
    run_type* make_run(timer_type& timer, moment& now);
    void hand_over(timer_type& timer, moment& now, aftermath& after);
    void hand_over_waiting(moment& now, aftermath& after);
    void take_from_queue(run_type& run);
    void begin_run(run_type& run, time_point now);
    void start_job_of(timer_type& timer, run_ticket<Clock> ticket);
    void withdraw(run_type& run, aftermath& after);
    void leave(timer_type& timer, run_type& run);
    void disarm_timeout(run_type& run, timer_type& timer);
    void enter_flight();
    void leave_flight(aftermath& after);
    run_type* take_run() noexcept;
    void release(run_type& run) noexcept;

    void count(job_outcome outcome) noexcept;
    static void
    set_unbegun(record_type&, time_point now, job_outcome outcome, error_code ec) noexcept;
    void set_ended(run_type&, time_point now, error_code ec, const std::exception_ptr&)
        const noexcept;
    record_type give_up(const timer_type&, time_point now, job_outcome outcome, error_code ec);
    bool tells(const timer_type& timer) const noexcept;
    bool catches(const timer_type& timer) const noexcept;
    bool needs_end(const timer_type& timer) const noexcept;
    template <class Predicate>
    static run_type* find_run(const timer_type& timer, Predicate wanted);
    static run_type* find_queued(const timer_type& timer);
    static run_type* find_untold(const timer_type& timer);
    void tell(timer_type& timer, const record_type& record);
    void end_telling(timer_type& timer, lock_type& lock);
    void emit(stop_signal& signal) const;

    remove_result remove(timer_type& timer, bool cancel_running, lock_type& lock, aftermath& after);
    void tell_to_stop(timer_type& timer, lock_type& lock);
    std::exception_ptr stop_all(lock_type& lock, bool is_told, aftermath& after);
    template <class Told>
    void stop_timer(timer_type& timer, aftermath& after, const Told& told);

    static constexpr std::size_t most_free_runs = 256;
    static constexpr std::size_t large_index = 4096; // gives its memory back when it is empty

    asio::any_io_executor io_executor_; // none after detach
    const asio::any_io_executor workers_;
    const job_settings<Clock> settings_;
    const tick_math<Clock> math_;
    wheel_driver<Clock, WaitTraits>& driver_;
    clock_watch<Clock, WaitTraits> watch_;
    posters posters_;

    mutable std::mutex mutex_;
    std::condition_variable quiet_; // closed and nothing in flight
    lifecycle phase_ = lifecycle::fresh;
    bool is_detached_ = false;
    std::atomic<bool> is_shut_down_{false}; // the context is: nobody is told; set under the lock
    boost::unordered_flat_map<std::uint64_t, timer_type*> index_;
    list_anchor live_;      // all timers, until stop() has come to them
    list_anchor stopped_;   // the others
    list_anchor waiting_;   // timers that are due and wait for room
    list_anchor queue_;     // runs that the workers will begin
    std::size_t slots_ = 0; // posted, or about to be
    wheel_stats stats_;
    std::size_t in_flight_ = 0; // runs that are queued, running or being told of
    std::optional<tracked_executor<asio::any_io_executor>> work_; // while something is in flight
    std::vector<closer> closers_;
    std::atomic<std::uint64_t> last_key_{0};
    run_type* free_runs_ = nullptr;
    std::size_t free_run_count_ = 0;
    std::shared_ptr<job_core> self_; // after detach, while a timer is left
};

}

#include <timewheel/impl/job_core.hpp>

#endif
