// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#ifndef TIMEWHEEL_IMPL_KEYED_CORE_HPP
#define TIMEWHEEL_IMPL_KEYED_CORE_HPP

#include <timewheel/detail/keyed_core.hpp>

#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>

#include <algorithm>
#include <atomic>

namespace timewheel::detail {

template <class Key, class T, class Clock, class WaitTraits>
struct keyed_core<Key, T, Clock, WaitTraits>::aftermath
{
    explicit aftermath(posters& all) noexcept : posting(all) {}

    struct trigger_end
    {
        trigger_handler handler;
        error_code ec;
        record_type record;
    };

    struct removal_end
    {
        removal_handler handler;
        error_code ec;
    };

    void complete(trigger_handler&& handler, error_code ec, const record_type& record = {})
    {
        triggers.push_back({std::move(handler), ec, record});
        posting.enter();
    }

    // Only who has found something running has to wait.
    void complete(removal_handler&& handler, error_code ec)
    {
        removals.push_back({std::move(handler), ec});
        posting.enter();
    }

    void post_all()
    {
        for (trigger_end& each : triggers)
            each.handler.post(each.ec, std::move(each.record));
        for (removal_end& each : removals)
            each.handler.post(each.ec, remove_result::running);
        posting.leave();
    }

    // What is the user's is not destroyed under the lock either.
    void discard(std::shared_ptr<const T>&& data) { old_data.push_back(std::move(data)); }
    void discard(node_type&& node) { old_nodes.push_back(std::move(node)); }

    void discard(std::exception_ptr&& exception)
    {
        if (exception)
            old_exceptions.push_back(std::move(exception));
    }

    std::vector<timer_id> to_remove;
    std::vector<timer_id> to_cancel;
    std::vector<std::shared_ptr<const T>> old_data;
    std::vector<node_type> old_nodes;
    std::vector<std::exception_ptr> old_exceptions;
    std::vector<trigger_end> triggers;
    std::vector<removal_end> removals;
    posters::poster posting;
};

template <class Key, class T, class Clock, class WaitTraits>
class keyed_core<Key, T, Clock, WaitTraits>::runner final : public any_job<run_type, Clock>
{
public:
    runner(std::weak_ptr<keyed_core> core, const basic_keyed_job<Key, T, Clock>& job)
        : core_(std::move(core))
        , job_(access::job(job))
    {}

    void start(run_type& run, run_ticket<Clock> ticket) override
    {
        const auto core = core_.lock();
        if (core && core->begin(run, ticket.run().record))
            job_->start(run.item->key, *run.data, std::move(ticket));
        else
            std::move(ticket).end({}, nullptr);
    }

private:
    const std::weak_ptr<keyed_core> core_;
    const std::shared_ptr<any_keyed_job<Key, T, Clock>> job_;
};

template <class Key, class T, class Clock, class WaitTraits>
class keyed_core<Key, T, Clock, WaitTraits>::timer final : public data_timer<run_type, Clock>
{
public:
    timer(keyed_core& core, time_point when, run_type&& run)
        : data_timer<run_type, Clock>(
              *core.jobs_,
              core.jobs_->traits,
              job_schedule<Clock>(when),
              std::move(run)
          )
        , core_(core.weak_from_this())
    {}

    void report(const record_type& record) override
    {
        is_over_.store(true, std::memory_order_relaxed);
        if (const auto core = core_.lock())
            core->on_end(this->data_, record);
    }

    void on_end(error_code) override
    {
        if (is_over_.load(std::memory_order_relaxed))
            return;
        if (const auto core = core_.lock())
            core->on_lost(this->data_, this->id);
    }

private:
    // The run may end while the scheduler's destructor gives it up, after which neither counts.
    std::atomic<bool> is_over_{false};
    const std::weak_ptr<keyed_core> core_;
};

template <class Key, class T, class Clock, class WaitTraits>
keyed_core<Key, T, Clock, WaitTraits>::keyed_core(
    const asio::any_io_executor& io_executor,
    const asio::any_io_executor& workers,
    options_type options
)
    : io_executor_(io_executor)
    , workers_(workers)
    , options_(std::move(options))
    , watch_(use_driver<Clock, WaitTraits>(io_executor))
{}

template <class Key, class T, class Clock, class WaitTraits>
void keyed_core<Key, T, Clock, WaitTraits>::init()
{
    using traits_type = job_traits<run_type, Clock>;
    const std::weak_ptr<keyed_core> weak = this->weak_from_this();
    traits_type traits{{}, std::make_unique<runner>(weak, options_.run)};
    jobs_ = std::make_shared<jobs_type>(
        io_executor_,
        workers_,
        job_settings<Clock>{
            .tick = options_.tick,
            .max_queued = options_type::unlimited,
            .policy = backpressure::block,
            .max_begun_or_queued = options_.max_concurrent,
            .max_pending = options_type::unlimited,
            .run_timeout = options_.run_timeout,
            .is_observed = true,
            .on_error = {},
            .logger = {}
        },
        std::move(traits)
    );
    watch_.start(
        this->shared_from_this(),
        [weak] {
            if (const auto core = weak.lock())
                core->on_clock_set_back();
        },
        [weak] {
            if (const auto core = weak.lock())
                core->on_shutdown();
        }
    );
}

template <class Key, class T, class Clock, class WaitTraits>
void keyed_core<Key, T, Clock, WaitTraits>::start(error_code& ec)
{
    std::vector<entry_pointer> all;
    {
        const lock_type lock(mutex_);
        jobs_->start(ec);
        if (ec)
            return;
        phase_ = lifecycle::running;
        for (const auto& [key, entry] : entries_) {
            entry->is_asked = true;
            all.push_back(entry);
        }
    }
    for (const entry_pointer& entry : all)
        decide(entry);
}

template <class Key, class T, class Clock, class WaitTraits>
void keyed_core<Key, T, Clock, WaitTraits>::stop(error_code& ec)
{
    aftermath after(posters_);
    {
        const lock_type lock(mutex_);
        ec = phase_ == lifecycle::fresh ? error_code(error::not_started) : error_code();
        if (ec)
            return;
        phase_ = lifecycle::closed;
        for (const auto& [key, entry] : entries_) {
            drop_timer(*entry, after);
            entry->runs_again = false;
            abort_triggers(*entry, after);
            note_state(entry);
        }
    }
    after.to_remove.clear(); // all of them go at once
    jobs_->stop(ec);
    perform(after);
}

template <class Key, class T, class Clock, class WaitTraits>
void keyed_core<Key, T, Clock, WaitTraits>::close(error_code& ec)
{
    if (options_.wait_running_on_close && jobs_->is_called_from_job()) {
        ec = error::would_deadlock;
        return;
    }
    stop(ec);
    if (!ec && options_.wait_running_on_close)
        jobs_->wait(ec);
}

template <class Key, class T, class Clock, class WaitTraits>
void keyed_core<Key, T, Clock, WaitTraits>::async_close(
    std::uint64_t operation,
    close_handler handler
)
{
    error_code ec;
    stop(ec);
    if (ec || !options_.wait_running_on_close)
        return handler.post(ec);
    jobs_->async_stop_and_wait(operation, std::move(handler));
}

template <class Key, class T, class Clock, class WaitTraits>
void keyed_core<Key, T, Clock, WaitTraits>::cancel_close(std::uint64_t operation)
{
    jobs_->cancel_wait(operation);
}

template <class Key, class T, class Clock, class WaitTraits>
void keyed_core<Key, T, Clock, WaitTraits>::detach() noexcept
{
    aftermath after(posters_);
    std::deque<std::pair<entry_pointer, item_state>> untold;
    {
        const lock_type lock(mutex_);
        phase_ = lifecycle::closed;
        is_detached_ = true;
        untold.swap(changes_);
        for (auto& [operation, handler] : triggers_)
            after.complete(std::move(handler), asio::error::operation_aborted);
        for (auto& [operation, handler] : removals_)
            after.complete(std::move(handler), asio::error::operation_aborted);
        triggers_.clear();
        removals_.clear();
    }
    jobs_->detach();
    perform(after);
    if (posters_.empty()) // else the shutdown of the context has to wait for them
        watch_.stop();
}

// The context in which the items wait is destroyed, and operations with it. Their handlers may own the
// scheduler.
template <class Key, class T, class Clock, class WaitTraits>
void keyed_core<Key, T, Clock, WaitTraits>::on_shutdown()
{
    std::unordered_map<std::uint64_t, removal_handler> removals;
    std::unordered_map<std::uint64_t, trigger_handler> triggers;
    {
        const lock_type lock(mutex_);
        phase_ = lifecycle::closed;
        is_detached_ = true;
        removals.swap(removals_);
        triggers.swap(triggers_);
    }
    posters_.wait();
}

template <class Key, class T, class Clock, class WaitTraits>
void keyed_core<Key, T, Clock, WaitTraits>::note_state(const entry_pointer& entry)
{
    const item_state state = entry->state();
    if (options_.on_change && !is_detached_ && std::exchange(entry->told, state) != state)
        changes_.emplace_back(entry, state);
}

template <class Key, class T, class Clock, class WaitTraits>
void keyed_core<Key, T, Clock, WaitTraits>::perform(aftermath& after)
{
    error_code ignored; // the wheel may be closed
    for (const timer_id id : after.to_remove)
        jobs_->remove(id, false, ignored);
    for (const timer_id id : after.to_cancel)
        jobs_->remove(id, true, ignored);
    after.post_all();
    tell_changes();
}

// One thread at a time tells the changes, so that they are told in order.
template <class Key, class T, class Clock, class WaitTraits>
void keyed_core<Key, T, Clock, WaitTraits>::tell_changes()
{
    lock_type lock(mutex_);
    if (is_telling_)
        return;
    is_telling_ = true;
    while (!changes_.empty()) {
        auto [entry, state] = std::move(changes_.front());
        changes_.pop_front();
        lock.unlock();
        observe(options_.on_change, entry->key, state);
        entry.reset();
        lock.lock();
    }
    is_telling_ = false;
}

// Calls an observer. What it throws is thrown where a job would have thrown it, since what calls it
// may be anybody's turn.
template <class Key, class T, class Clock, class WaitTraits>
template <class Function, class... Arguments>
void keyed_core<Key, T, Clock, WaitTraits>::observe(
    const Function& function,
    const Arguments&... arguments
)
{
    if (!function || is_detached_)
        return;
    try {
        function(arguments...);
    } catch (...) {
        asio::post(workers_, [thrown = std::current_exception()] {
            std::rethrow_exception(thrown);
        });
    }
}

}

#endif
