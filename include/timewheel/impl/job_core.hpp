// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#ifndef TIMEWHEEL_IMPL_JOB_CORE_HPP
#define TIMEWHEEL_IMPL_JOB_CORE_HPP

#include <timewheel/detail/job_core.hpp>

#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>

#include <new>
#include <string>

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
    explicit aftermath(job_core& core) noexcept : core_(core) {}

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
    void bury(timer_type& timer) noexcept { dead_.push_back(static_cast<operation&>(timer)); }
    void close(std::vector<closer>& closers) noexcept { closers_.swap(closers); }
    void keep(std::shared_ptr<job_core> core) noexcept { kept_ = std::move(core); }

    // `ec`: what those are told that waited for something else to end.
    void perform(error_code ec = {})
    {
        while (slots_ != 0) {
            --slots_;
            asio::post(core_.workers_, worker_slot(core_.shared_from_this()));
        }
        while (!dead_.empty()) {
            const std::unique_ptr<timer_type> timer(pop_dead());
            if (!std::exchange(timer->is_told, true))
                finish(*timer, ec);
        }
        for (closer& each : std::exchange(closers_, {}))
            each.handler.post(ec);
    }

    // Tells who waits for the end of a timer.
    static void finish(timer_type& timer, error_code ec)
    {
        for (auto waiter = std::move(timer.waiters); waiter; waiter = std::move(waiter->next))
            waiter->handler.post(ec, waiter->result);
        timer.on_end(timer.is_removed ? error_code(asio::error::operation_aborted) : ec);
    }

private:
    timer_type* pop_dead() noexcept
    {
        return &static_cast<timer_type&>(
            static_cast<deadline_operation&>(static_cast<operation&>(dead_.pop_front()))
        );
    }

    job_core& core_;
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

template <class Clock, class WaitTraits>
job_core<Clock, WaitTraits>::job_core(
    const asio::any_io_executor& io_executor,
    const asio::any_io_executor& workers,
    job_settings<Clock> settings
)
    : io_executor_(io_executor)
    , workers_(workers)
    , settings_(std::move(settings))
    , math_(settings_.tick)
    , driver_(use_driver<Clock, WaitTraits>(io_executor))
{}

template <class Clock, class WaitTraits>
job_core<Clock, WaitTraits>::~job_core()
{
    while (free_runs_)
        delete std::exchange(free_runs_, free_runs_->next_free);
}

template <class Clock, class WaitTraits>
void job_core<Clock, WaitTraits>::start(error_code& ec)
{
    const lock_type lock(mutex_);
    ec = phase_ == lifecycle::running  ? error_code(error::already_running)
         : phase_ == lifecycle::closed ? error_code(error::closed)
                                       : error_code();
    if (!ec)
        phase_ = lifecycle::running;
}

template <class Clock, class WaitTraits>
void job_core<Clock, WaitTraits>::stop(error_code& ec)
{
    aftermath after(*this);
    lock_type lock(mutex_);
    ec = phase_ == lifecycle::fresh ? error_code(error::not_started) : error_code();
    if (ec)
        return;
    phase_ = lifecycle::closed;
    enter_flight(); // who waits for the end waits for this, too
    const std::exception_ptr thrown = stop_all(lock, true, after);
    leave_flight(after);
    lock.unlock();
    after.perform();
    if (thrown)
        std::rethrow_exception(thrown);
}

template <class Clock, class WaitTraits>
void job_core<Clock, WaitTraits>::wait(error_code& ec)
{
    if (is_called_from_job()) {
        ec = error::would_deadlock;
        return;
    }
    lock_type lock(mutex_);
    ec = phase_ == lifecycle::fresh ? error_code(error::not_started) : error_code();
    if (ec)
        return;
    quiet_.wait(lock, [this] { return phase_ == lifecycle::closed && in_flight_ == 0; });
}

template <class Clock, class WaitTraits>
void job_core<Clock, WaitTraits>::stop_and_wait(error_code& ec)
{
    if (is_called_from_job()) {
        ec = error::would_deadlock;
        return;
    }
    stop(ec);
    if (!ec)
        wait(ec);
}

template <class Clock, class WaitTraits>
void job_core<Clock, WaitTraits>::async_stop_and_wait(std::uint64_t key, close_handler handler)
{
    error_code ec;
    stop(ec);
    if (!ec) {
        const lock_type lock(mutex_);
        if (in_flight_ != 0) {
            closers_.push_back({key, std::move(handler)});
            return;
        }
    }
    handler.post(ec);
}

template <class Clock, class WaitTraits>
void job_core<Clock, WaitTraits>::cancel_wait(std::uint64_t key)
{
    lock_type lock(mutex_);
    const auto found = std::find_if(closers_.begin(), closers_.end(), [key](const closer& each) {
        return each.key == key;
    });
    if (found == closers_.end())
        return;
    close_handler handler = std::move(found->handler);
    closers_.erase(found);
    lock.unlock();
    handler.post(error_code(asio::error::operation_aborted));
}

template <class Clock, class WaitTraits>
void job_core<Clock, WaitTraits>::cancel_wait(timer_id id, std::uint64_t key)
{
    lock_type lock(mutex_);
    timer_type* const timer = find(id);
    if (!timer)
        return;
    auto* link = &timer->waiters;
    while (*link && (*link)->key != key)
        link = &(*link)->next;
    if (!*link)
        return;
    const auto found = std::move(*link);
    *link = std::move(found->next);
    lock.unlock();
    found->handler.post(error_code(asio::error::operation_aborted), found->result);
}

template <class Clock, class WaitTraits>
void job_core<Clock, WaitTraits>::detach() noexcept
{
    asio::any_io_executor executor;
    aftermath after(*this);
    lock_type lock(mutex_);
    phase_ = lifecycle::closed;
    stop_all(lock, false, after);
    // What is left has a running job, or is on its way from the driver. Nobody is told of it later,
    // but who is being told goes on.
    while (!stopped_.empty()) {
        auto& timer = static_cast<timer_type&>(static_cast<live_link&>(stopped_.pop_front()));
        live_.push_back(static_cast<live_link&>(timer));
        for (list_link* each = timer.runs.front(); each != &timer.runs; each = each->next())
            disarm_timeout(static_cast<run_type&>(static_cast<run_link&>(*each)), timer);
        if (timer.telling != 0 || std::exchange(timer.is_told, true))
            continue;
        ++timer.pins;
        lock.unlock();
        aftermath::finish(timer, asio::error::operation_aborted);
        lock.lock();
        unpin(timer, after);
    }
    is_detached_ = true;
    executor.swap(io_executor_);
    work_.reset();
    after.close(closers_);
    if (!index_.empty())
        self_ = this->shared_from_this();
    lock.unlock();
    after.perform(asio::error::operation_aborted);
}

template <class Clock, class WaitTraits>
timer_id job_core<Clock, WaitTraits>::add(std::unique_ptr<timer_type>& timer, error_code& ec)
{
    aftermath after(*this);
    lock_type lock(mutex_);
    ec = state_error();
    if (!ec && stats_.pending >= settings_.max_pending)
        ec = error::too_many_timers;
    if (ec)
        return timer_id::none;
    index_.emplace(static_cast<std::uint64_t>(timer->id), timer.get());
    timer_type& added = *timer.release();
    const timer_id id = added.id;
    live_.push_back(static_cast<live_link&>(added));
    ++stats_.added;
    file_or_end(added);
    bury_if_dead(added, after);
    lock.unlock();
    after.perform();
    return id;
}

template <class Clock, class WaitTraits>
remove_result job_core<Clock, WaitTraits>::remove(timer_id id, bool cancel_running, error_code& ec)
{
    aftermath after(*this);
    lock_type lock(mutex_);
    ec = state_error();
    if (ec)
        return remove_result::unknown;
    timer_type* const timer = find(id);
    if (!timer)
        return remove_result::unknown;
    const remove_result result = remove(*timer, cancel_running, lock, after);
    unpin(*timer, after);
    lock.unlock();
    after.perform();
    return result;
}

template <class Clock, class WaitTraits>
void job_core<Clock, WaitTraits>::async_remove(
    timer_id id,
    bool cancel_running,
    std::uint64_t key,
    removal_handler handler
)
{
    using waiter_type = typename timer_type::waiter;
    std::unique_ptr<waiter_type> waiter(
        new waiter_type{key, std::move(handler), remove_result::unknown, nullptr}
    );
    aftermath after(*this);
    lock_type lock(mutex_);
    const error_code ec = state_error();
    timer_type* const timer = ec ? nullptr : find(id);
    if (!timer) {
        lock.unlock();
        return waiter->handler.post(ec, remove_result::unknown);
    }
    waiter->result = remove(*timer, cancel_running, lock, after);
    waiter->next = std::move(timer->waiters);
    timer->waiters = std::move(waiter);
    unpin(*timer, after);
    lock.unlock();
    after.perform();
}

template <class Clock, class WaitTraits>
auto job_core<Clock, WaitTraits>::next_fire_time(timer_id id) const -> std::optional<time_point>
{
    const lock_type lock(mutex_);
    const timer_type* const timer = find(id);
    if (!timer || !timer->is_waiting())
        return std::nullopt;
    return timer->schedule.next();
}

template <class Clock, class WaitTraits>
auto job_core<Clock, WaitTraits>::pending_timers() const -> std::vector<info_type>
{
    std::vector<info_type> all;
    lock_type lock(mutex_);
    while (all.capacity() < stats_.pending) {
        const std::size_t n = stats_.pending;
        lock.unlock(); // to allocate
        all.reserve(n + n / 8);
        lock.lock();
    }
    for (const list_link* each = live_.front(); each != &live_; each = each->next()) {
        const auto& timer = static_cast<const timer_type&>(static_cast<const live_link&>(*each));
        if (timer.is_waiting())
            all.push_back({timer.id, timer.schedule.next()});
    }
    lock.unlock();
    std::sort(all.begin(), all.end(), [](const info_type& a, const info_type& b) {
        return std::pair(a.next, a.id) < std::pair(b.next, b.id);
    });
    return all;
}

template <class Clock, class WaitTraits>
wheel_stats job_core<Clock, WaitTraits>::stats() const
{
    const lock_type lock(mutex_);
    return stats_;
}

// The turn of a timer that is due, in the context of the driver.
template <class Clock, class WaitTraits>
void job_core<Clock, WaitTraits>::on_due(timer_type& timer)
{
    moment now(timer.schedule.repeats());
    const auto alive = this->shared_from_this(); // the wheel may be destroyed by another thread
    run_type* begun = nullptr;
    std::optional<record_type> unbegun;
    aftermath after(*this);
    std::optional<telling> told;
    lock_type lock(mutex_);
    timer.where = place::none;
    if (timer.is_over) {
        // Removed or stopped on its way.
    } else if (!timer.has_job()) {
        unbegun = give_up(timer, now.get(), job_outcome::failed, error::no_job);
        timer.is_over = true;
    } else if (timer.schedule.skips_overlap() && !timer.runs.empty()) {
        unbegun = give_up(timer, now.get(), job_outcome::skipped, {});
        schedule_next(timer, now);
    } else if (has_room() && waiting_.empty()) {
        hand_over(timer, now, after);
    } else if (settings_.policy == backpressure::block) {
        timer.where = place::queue;
        waiting_.push_back(static_cast<operation&>(timer));
        hand_over_waiting(now, after); // there is room if the workers have lost what was queued
    } else if (settings_.policy == backpressure::drop) {
        unbegun = give_up(timer, now.get(), job_outcome::dropped, error::queue_full);
        schedule_next(timer, now);
    } else {
        begun = make_run(timer, now);
        if (begun) {
            begun->is_inline = true;
            begin_run(*begun, now.get());
        }
    }
    if (unbegun && tells(timer))
        told.emplace(*this, timer);
    else if (!begun)
        bury_if_dead(timer, after);
    lock.unlock();
    after.perform();
    if (told)
        told->tell(*unbegun);
    else if (begun)
        start_job_of(timer, run_ticket<Clock>(alive, *begun));
}

// The context is shut down, so nobody is told.
template <class Clock, class WaitTraits>
void job_core<Clock, WaitTraits>::on_destroyed(timer_type& timer) noexcept
{
    aftermath after(*this);
    const lock_type lock(mutex_);
    timer.where = place::none;
    timer.is_told = true;
    if (!std::exchange(timer.is_over, true)) {
        --stats_.pending;
        ++stats_.cancelled;
    }
    bury_if_dead(timer, after);
}

template <class Clock, class WaitTraits>
void job_core<Clock, WaitTraits>::on_timeout(run_type& run, bool called)
{
    stop_signal signal;
    aftermath after(*this);
    lock_type lock(mutex_);
    run.has_timeout = false;
    if (std::exchange(run.timeout_pins_timer, false)) {
        unpin(*run.timer, after);
    } else if (called && run.stop == stop_reason::none) {
        run.stop = stop_reason::timed_out;
        signal = run.signal;
    }
    release(run);
    const auto alive = this->shared_from_this();
    lock.unlock();
    after.perform();
    emit(signal);
}

template <class Clock, class WaitTraits>
std::stop_token job_core<Clock, WaitTraits>::stop_token(run_type& run)
{
    lock_type lock(mutex_);
    if (!run.signal.source.stop_possible()) {
        lock.unlock();
        std::stop_source source; // allocates
        lock.lock();
        run.signal.source = source;
        const bool is_late = run.stop != stop_reason::none;
        lock.unlock();
        if (is_late)
            source.request_stop();
        return source.get_token();
    }
    return run.signal.source.get_token();
}

// The turn of a slot, on the workers.
template <class Clock, class WaitTraits>
void job_core<Clock, WaitTraits>::on_slot()
{
    aftermath after(*this);
    lock_type lock(mutex_);
    --slots_;
    if (queue_.empty())
        return;
    // Read while locked: by an older time, a run handed over since then would begin early.
    moment now(true);
    auto& run = static_cast<run_type&>(static_cast<queue_link&>(*queue_.front()));
    timer_type& timer = *run.timer;
    take_from_queue(run);
    begin_run(run, now.get());
    hand_over_waiting(now, after);
    run_ticket<Clock> ticket(this->shared_from_this(), run);
    lock.unlock();
    after.perform();
    start_job_of(timer, std::move(ticket));
}

// The workers' context was destroyed, or is out of memory: of what is queued, the last run is
// cancelled, and nobody is told. What waits for room goes on waiting.
template <class Clock, class WaitTraits>
void job_core<Clock, WaitTraits>::on_slot_destroyed() noexcept
{
    aftermath after(*this);
    lock_type lock(mutex_);
    --slots_;
    while (stats_.queued > slots_) {
        auto& run = static_cast<run_type&>(static_cast<queue_link&>(*queue_.back()));
        timer_type& timer = *run.timer;
        withdraw(run, after);
        ++stats_.cancelled;
        if (timer.where == place::none && timer.schedule.has_fixed_delay())
            timer.is_over = true;
        timer.is_removed = timer.is_removed || timer.is_over;
        bury_if_dead(timer, after);
    }
    lock.unlock();
    after.perform();
}

template <class Clock, class WaitTraits>
void job_core<Clock, WaitTraits>::end(run_type& run, error_code ec, std::exception_ptr exception)
{
    const bool is_timed = needs_end(*run.timer);
    moment now(is_timed);
    aftermath after(*this);
    std::optional<telling> told;
    lock_type lock(mutex_);
    timer_type& timer = *run.timer;
    set_ended(run, is_timed ? now.get() : run.record.started_at, ec, exception);
    count(run.record.outcome);
    --stats_.running;
    --timer.running;
    leave(timer, run);
    if (!timer.is_over && timer.schedule.has_fixed_delay())
        schedule_next(timer, now);
    hand_over_waiting(now, after);
    // What a job throws when it was told to stop is how it stops.
    const bool leaves = run.record.outcome == job_outcome::threw && !catches(timer);
    record_type record;
    if (tells(timer)) {
        record = std::move(run.record);
        told.emplace(*this, timer);
    }
    release(run);
    leave_flight(after);
    bury_if_dead(timer, after);
    lock.unlock();
    after.perform();
    if (told)
        told->tell(record);
    if (leaves)
        std::rethrow_exception(exception);
}

// The context of the coroutine was destroyed: the run ends without anybody being told.
template <class Clock, class WaitTraits>
void job_core<Clock, WaitTraits>::on_destroyed(run_type& run) noexcept
{
    aftermath after(*this);
    lock_type lock(mutex_);
    timer_type& timer = *run.timer;
    --stats_.running;
    --timer.running;
    run.phase = run_state::ended;
    ++stats_.cancelled;
    leave(timer, run);
    if (timer.where == place::none && timer.schedule.has_fixed_delay())
        timer.is_over = true;
    timer.is_removed = timer.is_removed || timer.is_over;
    moment now;
    hand_over_waiting(now, after);
    release(run);
    leave_flight(after);
    bury_if_dead(timer, after);
    lock.unlock();
    after.perform();
}

template <class Clock, class WaitTraits>
asio::any_io_executor job_core<Clock, WaitTraits>::executor_of(const run_type& run) const noexcept
{
    const lock_type lock(mutex_);
    return run.is_inline && !is_detached_ ? io_executor_ : workers_;
}

template <class Clock, class WaitTraits>
void job_core<Clock, WaitTraits>::set_coroutine(
    run_type& run,
    std::shared_ptr<coroutine_control> coroutine
)
{
    stop_signal late;
    {
        const lock_type lock(mutex_);
        if (run.phase != run_state::running)
            return;
        run.signal.coroutine = std::move(coroutine);
        if (run.stop != stop_reason::none)
            late.coroutine = run.signal.coroutine;
    }
    late.emit();
}

template <class Clock, class WaitTraits>
void job_core<Clock, WaitTraits>::pin(run_type& run, bool on) noexcept
{
    const lock_type lock(mutex_);
    if (on)
        ++run.references;
    else
        release(run);
}

template <class Clock, class WaitTraits>
error_code job_core<Clock, WaitTraits>::state_error() const
{
    return phase_ == lifecycle::fresh    ? error_code(error::not_started)
           : phase_ == lifecycle::closed ? error_code(error::closed)
                                         : error_code();
}

template <class Clock, class WaitTraits>
auto job_core<Clock, WaitTraits>::find(timer_id id) const noexcept -> timer_type*
{
    const auto found = index_.find(static_cast<std::uint64_t>(id));
    return found == index_.end() ? nullptr : found->second;
}

// The first tick of the driver that is not before the first tick of the wheel's own.
template <class Clock, class WaitTraits>
tick_type job_core<Clock, WaitTraits>::tick_of(time_point when) const
{
    return driver_.math().ceil(math_.begin(math_.ceil(when)));
}

template <class Clock, class WaitTraits>
void job_core<Clock, WaitTraits>::file_or_end(timer_type& timer)
{
    if (timer.schedule.is_over()) {
        timer.is_over = true;
        return;
    }
    timer.where = place::wheel;
    ++stats_.scheduled;
    ++stats_.pending;
    driver_.arm(timer, tick_of(timer.schedule.next()));
}

template <class Clock, class WaitTraits>
void job_core<Clock, WaitTraits>::schedule_next(timer_type& timer, moment& now)
{
    if (timer.schedule.repeats()) {
        timer.schedule.advance(now.get());
        file_or_end(timer);
    } else {
        timer.is_over = true;
    }
}

// Takes a waiting timer from where it waits. One that is on its way from the driver finds out there.
template <class Clock, class WaitTraits>
bool job_core<Clock, WaitTraits>::take_out(timer_type& timer)
{
    if (!timer.is_waiting())
        return false;
    --stats_.pending;
    if (timer.where == place::queue)
        static_cast<operation&>(timer).unlink();
    else if (!driver_.disarm(timer))
        return true;
    timer.where = place::none;
    return true;
}

// Makes a run of a waiting timer, which the caller queues or begins. Without memory for one, the job
// is dropped and nobody is told.
template <class Clock, class WaitTraits>
auto job_core<Clock, WaitTraits>::make_run(timer_type& timer, moment& now) -> run_type*
{
    run_type* const run = take_run();
    if (!run) {
        give_up(timer, now.get(), job_outcome::dropped, error::queue_full);
        schedule_next(timer, now);
        return nullptr;
    }
    run->reset(timer);
    timer.runs.push_back(static_cast<run_link&>(*run));
    --stats_.pending;
    enter_flight();
    timer.schedule.count_run();
    if (timer.schedule.is_over())
        timer.is_over = true;
    else if (!timer.schedule.has_fixed_delay())
        schedule_next(timer, now);
    return run;
}

// Queues a run of a waiting timer for the workers.
template <class Clock, class WaitTraits>
void job_core<Clock, WaitTraits>::hand_over(timer_type& timer, moment& now, aftermath& after)
{
    run_type* const run = make_run(timer, now);
    if (!run)
        return;
    queue_.push_back(static_cast<queue_link&>(*run));
    if (++stats_.queued > slots_) {
        ++slots_;
        after.post_slot();
    }
}

template <class Clock, class WaitTraits>
void job_core<Clock, WaitTraits>::take_from_queue(run_type& run)
{
    static_cast<queue_link&>(run).unlink();
    --stats_.queued;
}

template <class Clock, class WaitTraits>
void job_core<Clock, WaitTraits>::hand_over_waiting(moment& now, aftermath& after)
{
    while (!waiting_.empty() && has_room()) {
        timer_type& timer = timer_type::of(static_cast<operation&>(waiting_.pop_front()));
        timer.where = place::none;
        hand_over(timer, now, after);
        bury_if_dead(timer, after);
    }
}

template <class Clock, class WaitTraits>
void job_core<Clock, WaitTraits>::begin_run(run_type& run, time_point now)
{
    run.phase = run_state::running;
    run.record.started_at = now;
    run.record.lateness = lateness_of<Clock>(run.record.scheduled_for, now);
    stats_.lateness.record(saturated_ceil<std::chrono::nanoseconds>(run.record.lateness));
    ++stats_.running;
    ++stats_.executed;
    ++run.timer->running;
    ++run.timer->begun;
    if (settings_.run_timeout == (duration::max)())
        return;
    run.has_timeout = true;
    ++run.references;
    driver_.arm(run.timeout, tick_of(saturated_add<Clock>(now, settings_.run_timeout)));
}

// Takes a queued run from its timer; the caller counts it.
template <class Clock, class WaitTraits>
void job_core<Clock, WaitTraits>::withdraw(run_type& run, aftermath& after)
{
    take_from_queue(run);
    static_cast<run_link&>(run).unlink();
    release(run);
    leave_flight(after);
}

// A run leaves its timer. If its timeout is on its way from the driver, the timer stays for that.
template <class Clock, class WaitTraits>
void job_core<Clock, WaitTraits>::leave(timer_type& timer, run_type& run)
{
    static_cast<run_link&>(run).unlink();
    disarm_timeout(run, timer);
}

template <class Clock, class WaitTraits>
void job_core<Clock, WaitTraits>::disarm_timeout(run_type& run, timer_type& timer)
{
    if (!run.has_timeout || run.timeout_pins_timer)
        return;
    if (driver_.disarm(run.timeout)) {
        run.has_timeout = false;
        release(run);
    } else {
        run.timeout_pins_timer = true;
        ++timer.pins;
    }
}

template <class Clock, class WaitTraits>
void job_core<Clock, WaitTraits>::unpin(timer_type& timer, aftermath& after)
{
    --timer.pins;
    bury_if_dead(timer, after);
}

template <class Clock, class WaitTraits>
void job_core<Clock, WaitTraits>::bury_if_dead(timer_type& timer, aftermath& after)
{
    if (!timer.is_dead())
        return;
    index_.erase(static_cast<std::uint64_t>(timer.id));
    static_cast<live_link&>(timer).unlink();
    after.bury(timer);
    if (!index_.empty())
        return;
    if (index_.bucket_count() > large_index)
        index_ = {};
    after.keep(std::move(self_));
}

template <class Clock, class WaitTraits>
void job_core<Clock, WaitTraits>::enter_flight()
{
    if (in_flight_++ == 0 && !is_detached_)
        work_.emplace(io_executor_);
}

template <class Clock, class WaitTraits>
void job_core<Clock, WaitTraits>::leave_flight(aftermath& after)
{
    if (--in_flight_ != 0)
        return;
    work_.reset();
    if (phase_ == lifecycle::closed) {
        after.close(closers_);
        quiet_.notify_all();
    }
}

template <class Clock, class WaitTraits>
auto job_core<Clock, WaitTraits>::take_run() noexcept -> run_type*
{
    if (!free_runs_)
        return new (std::nothrow) run_type(*this);
    --free_run_count_;
    return std::exchange(free_runs_, free_runs_->next_free);
}

template <class Clock, class WaitTraits>
void job_core<Clock, WaitTraits>::release(run_type& run) noexcept
{
    if (--run.references != 0)
        return;
    if (free_run_count_ == most_free_runs) {
        delete &run;
        return;
    }
    run.clear();
    run.next_free = std::exchange(free_runs_, &run);
    ++free_run_count_;
}

template <class Clock, class WaitTraits>
void job_core<Clock, WaitTraits>::count(job_outcome outcome) noexcept
{
    switch (outcome) {
    case job_outcome::completed: ++stats_.completed; break;
    case job_outcome::failed: ++stats_.failed; break;
    case job_outcome::threw: ++stats_.threw; break;
    case job_outcome::timed_out: ++stats_.timed_out; break;
    case job_outcome::cancelled: ++stats_.cancelled; break;
    case job_outcome::dropped: ++stats_.dropped; break;
    case job_outcome::skipped: ++stats_.skipped; break;
    }
}

// Counts the end of a waiting timer's next run, which will not begin.
template <class Clock, class WaitTraits>
auto job_core<Clock, WaitTraits>::give_up(
    const timer_type& timer,
    time_point now,
    job_outcome outcome,
    error_code ec
) -> record_type
{
    --stats_.pending;
    count(outcome);
    record_type record = timer.record();
    set_unbegun(record, now, outcome, ec);
    return record;
}

template <class Clock, class WaitTraits>
void job_core<Clock, WaitTraits>::set_unbegun(
    record_type& record,
    time_point now,
    job_outcome outcome,
    error_code ec
) noexcept
{
    record.started_at = record.finished_at = now;
    record.lateness = lateness_of<Clock>(record.scheduled_for, now);
    record.outcome = outcome;
    record.error = ec;
}

template <class Clock, class WaitTraits>
void job_core<Clock, WaitTraits>::set_ended(
    run_type& run,
    time_point now,
    error_code ec,
    const std::exception_ptr& exception
) const noexcept
{
    run.phase = run_state::ended;
    record_type& record = run.record;
    record.finished_at = now;
    record.duration = lateness_of<Clock>(record.started_at, now);
    record.exception = exception;
    // A run may have been over before anybody could look at its timeout.
    const bool is_late = run.stop == stop_reason::none && record.duration > settings_.run_timeout;
    if (run.stop == stop_reason::timed_out || is_late) {
        record.outcome = job_outcome::timed_out;
        record.error = error::timed_out;
    } else if (!ec && !exception) {
        record.outcome = job_outcome::completed;
    } else if (run.stop == stop_reason::told) {
        record.outcome = job_outcome::cancelled;
        record.error = asio::error::operation_aborted;
    } else if (exception) {
        record.outcome = job_outcome::threw;
        record.error = error::job_threw;
    } else {
        record.outcome = job_outcome::failed;
        record.error = ec;
    }
}

template <class Clock, class WaitTraits>
bool job_core<Clock, WaitTraits>::tells(const timer_type& timer) const noexcept
{
    return !is_detached_ && (settings_.is_observed || settings_.on_error || settings_.logger ||
                             timer.reports_to_user());
}

// Whether an exception of the job is somebody's who is told of it.
template <class Clock, class WaitTraits>
bool job_core<Clock, WaitTraits>::catches(const timer_type& timer) const noexcept
{
    return settings_.is_observed || settings_.on_error || timer.reports_to_user();
}

// Whether anybody wants to know when a run of the timer ends.
template <class Clock, class WaitTraits>
bool job_core<Clock, WaitTraits>::needs_end(const timer_type& timer) const noexcept
{
    return settings_.logger || catches(timer) || timer.schedule.has_fixed_delay() ||
           settings_.run_timeout != (duration::max)();
}

template <class Clock, class WaitTraits>
template <class Predicate>
auto job_core<Clock, WaitTraits>::find_run(const timer_type& timer, Predicate wanted) -> run_type*
{
    for (list_link* each = timer.runs.front(); each != &timer.runs; each = each->next()) {
        auto& run = static_cast<run_type&>(static_cast<run_link&>(*each));
        if (wanted(run))
            return &run;
    }
    return nullptr;
}

template <class Clock, class WaitTraits>
auto job_core<Clock, WaitTraits>::find_queued(const timer_type& timer) -> run_type*
{
    return find_run(timer, [](run_type& run) { return run.phase == run_state::queued; });
}

// A running job that has not been told to stop yet.
template <class Clock, class WaitTraits>
auto job_core<Clock, WaitTraits>::find_untold(const timer_type& timer) -> run_type*
{
    return find_run(timer, [](run_type& run) {
        return run.phase == run_state::running && run.stop == stop_reason::none;
    });
}

template <class Clock, class WaitTraits>
void job_core<Clock, WaitTraits>::tell(timer_type& timer, const record_type& record)
{
    const inside_mark inside(*this);
    timer.keep(record);
    if (record.error == error::no_job && settings_.logger)
        settings_.logger(
            "timewheel: timer " + std::to_string(static_cast<std::uint64_t>(record.id)) +
            " came due without a job, and the wheel has no default job; it is removed"
        );
    if (record.outcome == job_outcome::threw && settings_.on_error)
        settings_.on_error(record.id, record.exception);
    timer.report(record);
}

// If the wheel was destroyed meanwhile and another run goes on, who waits for that is told now.
template <class Clock, class WaitTraits>
void job_core<Clock, WaitTraits>::end_telling(timer_type& timer, lock_type& lock)
{
    if (--timer.telling != 0 || !is_detached_ || timer.runs.empty() ||
        std::exchange(timer.is_told, true))
        return;
    lock.unlock();
    aftermath::finish(timer, asio::error::operation_aborted);
    lock.lock();
}

// Stop callbacks are a user's, too.
template <class Clock, class WaitTraits>
void job_core<Clock, WaitTraits>::emit(stop_signal& signal) const
{
    const inside_mark inside(*this);
    signal.emit();
}

template <class Clock, class WaitTraits>
void job_core<Clock, WaitTraits>::start_job_of(timer_type& timer, run_ticket<Clock> ticket)
{
    const inside_mark inside(*this);
    timer.start(std::move(ticket));
}

// Returns with the timer pinned.
template <class Clock, class WaitTraits>
remove_result job_core<Clock, WaitTraits>::remove(
    timer_type& timer,
    bool cancel_running,
    lock_type& lock,
    aftermath& after
)
{
    ++timer.pins;
    bool found = !timer.is_over;
    if (take_out(timer))
        ++stats_.withdrawn;
    timer.is_over = true;
    while (run_type* const run = find_queued(timer)) {
        withdraw(*run, after);
        ++stats_.withdrawn;
        found = true;
    }
    if (found) {
        timer.is_removed = true;
        ++stats_.removed;
    }
    moment now;
    hand_over_waiting(now, after);
    const remove_result result = timer.running != 0 ? remove_result::running
                                 : found            ? remove_result::removed
                                                    : remove_result::unknown;
    if (cancel_running)
        tell_to_stop(timer, lock);
    return result;
}

template <class Clock, class WaitTraits>
void job_core<Clock, WaitTraits>::tell_to_stop(timer_type& timer, lock_type& lock)
{
    while (run_type* const run = find_untold(timer)) {
        run->stop = stop_reason::told;
        stop_signal signal = run->signal;
        lock.unlock();
        emit(signal);
        lock.lock();
    }
}

// Returns the first exception of an observer.
template <class Clock, class WaitTraits>
std::exception_ptr
job_core<Clock, WaitTraits>::stop_all(lock_type& lock, bool is_told, aftermath& after)
{
    std::exception_ptr first;
    while (!live_.empty()) {
        auto& timer = static_cast<timer_type&>(static_cast<live_link&>(live_.pop_front()));
        stopped_.push_back(static_cast<live_link&>(timer));
        ++timer.pins;
        const auto told = [&](const record_type& record) {
            if (!is_told || !tells(timer))
                return;
            ++timer.telling;
            lock.unlock();
            try {
                tell(timer, record);
            } catch (...) {
                if (!first)
                    first = std::current_exception();
            }
            lock.lock();
            end_telling(timer, lock);
        };
        stop_timer(timer, after, told);
        tell_to_stop(timer, lock);
        unpin(timer, after);
    }
    return first;
}

template <class Clock, class WaitTraits>
template <class Told>
void job_core<Clock, WaitTraits>::stop_timer(timer_type& timer, aftermath& after, const Told& told)
{
    const time_point now = Clock::now();
    timer.is_removed = timer.is_removed || !timer.is_over;
    const bool was_waiting = take_out(timer);
    timer.is_over = true;
    if (was_waiting) {
        ++stats_.cancelled;
        record_type record = timer.record();
        set_unbegun(record, now, job_outcome::cancelled, asio::error::operation_aborted);
        told(record);
    }
    while (run_type* const run = find_queued(timer)) {
        record_type record = run->record;
        withdraw(*run, after);
        timer.is_removed = true;
        ++stats_.cancelled;
        set_unbegun(record, now, job_outcome::cancelled, asio::error::operation_aborted);
        told(record);
    }
}

// For a coroutine, this thread is inside if it runs the coroutine's strand.
template <class Clock, class WaitTraits>
bool job_core<Clock, WaitTraits>::is_called_from_job() const
{
    if (inside_mark::is_on_stack(*this))
        return true;
    const lock_type lock(mutex_);
    for (const list_anchor* timers : {&live_, &stopped_}) {
        for (const list_link* each = timers->front(); each != timers; each = each->next()) {
            const auto& timer =
                static_cast<const timer_type&>(static_cast<const live_link&>(*each));
            const auto runs_here = [](const run_type& run) {
                const auto& coroutine = run.signal.coroutine;
                return coroutine && coroutine->strand.running_in_this_thread();
            };
            if (find_run(timer, runs_here))
                return true;
        }
    }
    return false;
}

}

#endif
