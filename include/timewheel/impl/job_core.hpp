// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#ifndef TIMEWHEEL_IMPL_JOB_CORE_HPP
#define TIMEWHEEL_IMPL_JOB_CORE_HPP

#include <timewheel/detail/job_core.hpp>
#include <timewheel/impl/job_core_ends.hpp>
#include <timewheel/impl/job_core_parts.hpp>
#include <timewheel/impl/job_core_runs.hpp>
#include <timewheel/impl/job_core_turns.hpp>

#include <boost/asio/error.hpp>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace timewheel::detail {

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
    , watch_(driver_)
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
    {
        const lock_type lock(mutex_);
        ec = phase_ == lifecycle::running  ? error_code(error::already_running)
             : phase_ == lifecycle::closed ? error_code(error::closed)
                                           : error_code();
        if (ec)
            return;
        phase_ = lifecycle::running;
    }
    watch_.start(this->shared_from_this(), [] {}, [this] { on_shutdown(); });
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
        if (in_flight_ != 0 && !is_shut_down_) {
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
    const error_code aborted = asio::error::operation_aborted;
    asio::any_io_executor executor;
    aftermath after(*this);
    lock_type lock(mutex_);
    if (is_shut_down_)
        return;
    const bool is_over = leave_context(lock, after, [aborted](timer_type& timer, auto waiters) {
        aftermath::finish(timer, std::move(waiters), aborted, aborted);
    });
    executor.swap(io_executor_);
    after.close(closers_);
    lock.unlock();
    after.perform(aborted);
    // Others may be about to post to the context: then its shutdown still has to wait for them.
    if (is_over && posters_.empty())
        watch_.stop();
}

// The context of the driver is destroyed, and operations with it. Their handlers may own the wheel.
template <class Clock, class WaitTraits>
void job_core<Clock, WaitTraits>::on_shutdown() noexcept
{
    asio::any_io_executor executor;
    std::vector<closer> closers;
    aftermath after(*this);
    lock_type lock(mutex_);
    is_shut_down_ = true;
    closers.swap(closers_);
    leave_context(lock, after, [](timer_type& timer, auto waiters) {
        aftermath::abandon(timer, std::move(waiters));
    });
    executor.swap(io_executor_);
    lock.unlock();
    after.perform();
    posters_.wait();
}

// Ends everything but the jobs that are running. What is left besides them is on its way from the
// driver. Nobody is told of it later, but who is being told goes on; `leave` is called for those that
// have not been told. Returns whether nobody is being told.
template <class Clock, class WaitTraits>
template <class Leave>
bool job_core<Clock, WaitTraits>::leave_context(
    lock_type& lock,
    aftermath& after,
    Leave leave
) noexcept
{
    bool is_over = true;
    phase_ = lifecycle::closed;
    stop_all(lock, false, after);
    while (!stopped_.empty()) {
        auto& timer = static_cast<timer_type&>(static_cast<live_link&>(stopped_.pop_front()));
        live_.push_back(static_cast<live_link&>(timer));
        for (list_link* each = timer.runs.front(); each != &timer.runs; each = each->next())
            disarm_timeout(static_cast<run_type&>(static_cast<run_link&>(*each)), timer);
        if (timer.is_told)
            continue;
        if (timer.telling != 0 && !is_shut_down_) {
            is_over = false;
            continue;
        }
        timer.is_told = true;
        ++timer.pins;
        auto waiters = std::move(timer.waiters);
        lock.unlock();
        leave(timer, std::move(waiters));
        lock.lock();
        unpin(timer, after);
    }
    is_detached_ = true;
    work_.reset();
    if (!index_.empty())
        self_ = this->shared_from_this();
    return is_over;
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

}

#endif
