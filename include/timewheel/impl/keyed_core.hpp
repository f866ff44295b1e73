// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#ifndef TIMEWHEEL_IMPL_KEYED_CORE_HPP
#define TIMEWHEEL_IMPL_KEYED_CORE_HPP

#include <timewheel/detail/keyed_core.hpp>

#include <boost/asio/error.hpp>

#include <algorithm>

namespace timewheel::detail {

template <class Key, class T, class Clock, class WaitTraits>
struct keyed_core<Key, T, Clock, WaitTraits>::aftermath
{
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
    }

    // Only who has found something running has to wait.
    void complete(removal_handler&& handler, error_code ec)
    {
        removals.push_back({std::move(handler), ec});
    }

    void post_all()
    {
        for (trigger_end& each : triggers)
            each.handler.post(each.ec, std::move(each.record));
        for (removal_end& each : removals)
            each.handler.post(each.ec, remove_result::running);
    }

    std::vector<timer_id> to_remove;
    std::vector<timer_id> to_cancel;
    std::vector<trigger_end> triggers;
    std::vector<removal_end> removals;
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
        const auto& record = ticket.run().record;
        if (core && core->begin(run, record.id, record.started_at)) {
            job_->start(run.item->key, *run.data, std::move(ticket));
        } else {
            run.is_void = true;
            std::move(ticket).end({}, nullptr);
        }
    }

private:
    const std::weak_ptr<keyed_core> core_;
    const std::shared_ptr<any_keyed_job<Key, T, Clock>> job_;
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
    traits_type traits{
        [weak](const typename traits_type::observed_event& event) {
            if (const auto core = weak.lock())
                core->on_end(event.data, event);
        },
        std::make_unique<runner>(weak, options_.run)
    };
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
    if constexpr (!Clock::is_steady)
        watch_.start(this->shared_from_this(), [weak] {
            if (const auto core = weak.lock())
                core->on_clock_set_back();
        });
}

template <class Key, class T, class Clock, class WaitTraits>
void keyed_core<Key, T, Clock, WaitTraits>::start(error_code& ec)
{
    jobs_->start(ec);
    if (ec)
        return;
    std::vector<entry_pointer> all;
    {
        const lock_type lock(mutex_);
        phase_ = lifecycle::running;
        for (const auto& [key, entry] : entries_)
            all.push_back(entry);
    }
    for (const entry_pointer& entry : all)
        decide(entry);
}

template <class Key, class T, class Clock, class WaitTraits>
void keyed_core<Key, T, Clock, WaitTraits>::stop(error_code& ec)
{
    aftermath after;
    {
        const lock_type lock(mutex_);
        ec = phase_ == lifecycle::fresh ? error_code(error::not_started) : error_code();
        if (ec)
            return;
        phase_ = lifecycle::closed;
        for (const auto& [key, entry] : entries_) {
            drop_timer(*entry, after);
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
    if (!ec && options_.wait_running_on_close)
        jobs_->async_stop_and_wait(operation, std::move(handler));
    else
        handler.post(ec);
}

template <class Key, class T, class Clock, class WaitTraits>
void keyed_core<Key, T, Clock, WaitTraits>::detach() noexcept
{
    aftermath after;
    watch_.stop();
    {
        const lock_type lock(mutex_);
        phase_ = lifecycle::closed;
        is_detached_ = true;
        changes_.clear();
        for (auto& [operation, handler] : triggers_)
            after.complete(std::move(handler), asio::error::operation_aborted);
        for (auto& [operation, handler] : removals_)
            after.complete(std::move(handler), asio::error::operation_aborted);
        triggers_.clear();
        removals_.clear();
    }
    jobs_->detach();
    perform(after);
}

template <class Key, class T, class Clock, class WaitTraits>
upsert_result
keyed_core<Key, T, Clock, WaitTraits>::upsert(const Key& key, T&& data, error_code& ec)
{
    auto fresh = std::make_shared<const T>(std::move(data));
    for (;;) {
        std::shared_ptr<const T> old;
        entry_pointer entry;
        aftermath after;
        {
            const lock_type lock(mutex_);
            ec = closed_error();
            if (ec)
                return upsert_result::unchanged;
            const auto found = entries_.find(key);
            if (found == entries_.end()) {
                entry = std::make_shared<entry_type>(key, std::move(fresh), ++last_generation_);
                entries_.emplace(key, entry);
                note_state(entry);
            } else {
                old = found->second->data;
            }
        }
        if (entry) {
            perform(after);
            decide(entry);
            return upsert_result::added;
        }
        if (are_equal(*old, *fresh))
            return upsert_result::unchanged;
        {
            const lock_type lock(mutex_);
            const auto found = entries_.find(key);
            if (found == entries_.end() || found->second->data != old)
                continue; // somebody else was faster
            entry = found->second;
            replace(entry, std::move(fresh), after);
        }
        perform(after);
        decide(entry);
        return upsert_result::updated;
    }
}

template <class Key, class T, class Clock, class WaitTraits>
auto keyed_core<Key, T, Clock, WaitTraits>::replace_all(
    std::vector<keyed_item<Key, T>> items,
    error_code& ec
) -> report_type
{
    std::map<Key, std::shared_ptr<const T>> wanted;
    for (keyed_item<Key, T>& item : items)
        wanted.insert_or_assign(item.key, std::make_shared<const T>(std::move(item.data)));

    // Data are compared by a function of the user's, so not while they are locked.
    std::map<Key, std::shared_ptr<const T>> before;
    {
        const lock_type lock(mutex_);
        for (const auto& [key, entry] : entries_)
            before.emplace_hint(before.end(), key, entry->data);
    }
    std::map<Key, const T*> equal;
    for (const auto& [key, data] : wanted) {
        const auto found = before.find(key);
        if (found != before.end() && are_equal(*found->second, *data))
            equal.emplace_hint(equal.end(), key, found->second.get());
    }

    report_type report;
    std::vector<entry_pointer> changed;
    aftermath after;
    {
        const lock_type lock(mutex_);
        ec = closed_error();
        if (ec)
            return report;
        for (auto each = entries_.begin(); each != entries_.end();) {
            if (wanted.contains(each->first)) {
                ++each;
                continue;
            }
            const entry_pointer gone = each->second;
            each = entries_.erase(each);
            report.removed.push_back(gone->key);
            drop(gone, after);
        }
        for (auto& [key, data] : wanted) {
            const auto [found, is_new] = entries_.try_emplace(key);
            entry_pointer& entry = found->second;
            if (is_new) {
                entry = std::make_shared<entry_type>(key, std::move(data), ++last_generation_);
                report.added.push_back(key);
                note_state(entry);
            } else {
                const auto same = equal.find(key);
                if (same != equal.end() && same->second == entry->data.get()) {
                    ++report.unchanged;
                    continue;
                }
                report.updated.push_back(key);
                replace(entry, std::move(data), after);
            }
            changed.push_back(entry);
        }
    }
    perform(after);
    for (const entry_pointer& entry : changed)
        decide(entry);
    return report;
}

template <class Key, class T, class Clock, class WaitTraits>
remove_result keyed_core<Key, T, Clock, WaitTraits>::remove(const Key& key, error_code& ec)
{
    aftermath after;
    remove_result result = remove_result::unknown;
    {
        const lock_type lock(mutex_);
        const entry_pointer entry = find(key, ec);
        if (ec)
            return result;
        entries_.erase(key);
        result = drop(entry, after);
    }
    perform(after);
    return result;
}

template <class Key, class T, class Clock, class WaitTraits>
void keyed_core<Key, T, Clock, WaitTraits>::async_remove(
    const Key& key,
    std::uint64_t operation,
    removal_handler handler
)
{
    error_code ec;
    aftermath after;
    remove_result result = remove_result::unknown;
    {
        const lock_type lock(mutex_);
        const entry_pointer entry = find(key, ec);
        if (!ec) {
            entries_.erase(entry->key);
            result = drop(entry, after);
            if (result == remove_result::running) {
                entry->removals.push_back(operation);
                removals_.emplace(operation, std::move(handler));
            }
        }
    }
    if (result != remove_result::running)
        handler.post(ec, result);
    perform(after);
}

template <class Key, class T, class Clock, class WaitTraits>
void keyed_core<Key, T, Clock, WaitTraits>::trigger(const Key& key, error_code& ec)
{
    aftermath after;
    {
        const lock_type lock(mutex_);
        const entry_pointer entry = find_running(key, ec);
        if (!ec)
            trigger(entry, 0);
    }
    perform(after);
}

template <class Key, class T, class Clock, class WaitTraits>
void keyed_core<Key, T, Clock, WaitTraits>::async_trigger(
    const Key& key,
    std::uint64_t operation,
    trigger_handler handler
)
{
    error_code ec;
    aftermath after;
    {
        const lock_type lock(mutex_);
        const entry_pointer entry = find_running(key, ec);
        if (!ec) {
            triggers_.emplace(operation, std::move(handler));
            trigger(entry, operation);
        }
    }
    if (ec)
        handler.post(ec, record_type{});
    perform(after);
}

template <class Key, class T, class Clock, class WaitTraits>
void keyed_core<Key, T, Clock, WaitTraits>::pause(const Key& key, error_code& ec)
{
    aftermath after;
    {
        const lock_type lock(mutex_);
        const entry_pointer entry = find(key, ec);
        if (ec)
            return;
        entry->is_paused = true;
        drop_timer(*entry, after);
        note_state(entry);
    }
    perform(after);
}

template <class Key, class T, class Clock, class WaitTraits>
void keyed_core<Key, T, Clock, WaitTraits>::resume(const Key& key, error_code& ec)
{
    entry_pointer entry;
    {
        const lock_type lock(mutex_);
        entry = find(key, ec);
        if (ec || !std::exchange(entry->is_paused, false))
            return;
    }
    decide(entry);
}

template <class Key, class T, class Clock, class WaitTraits>
void keyed_core<Key, T, Clock, WaitTraits>::reschedule(const Key& key, error_code& ec)
{
    entry_pointer entry;
    {
        const lock_type lock(mutex_);
        entry = find(key, ec);
    }
    if (!ec)
        decide(entry);
}

template <class Key, class T, class Clock, class WaitTraits>
void keyed_core<Key, T, Clock, WaitTraits>::cancel(std::uint64_t operation)
{
    aftermath after;
    {
        const lock_type lock(mutex_);
        if (auto found = triggers_.extract(operation))
            after.complete(std::move(found.mapped()), asio::error::operation_aborted);
        if (auto found = removals_.extract(operation))
            after.complete(std::move(found.mapped()), asio::error::operation_aborted);
    }
    perform(after);
}

template <class Key, class T, class Clock, class WaitTraits>
auto keyed_core<Key, T, Clock, WaitTraits>::snapshot() const -> std::vector<snapshot_type>
{
    std::vector<snapshot_type> all;
    const lock_type lock(mutex_);
    all.reserve(entries_.size());
    for (const auto& [key, entry] : entries_)
        all.push_back(snapshot_of(*entry));
    return all;
}

template <class Key, class T, class Clock, class WaitTraits>
auto keyed_core<Key, T, Clock, WaitTraits>::snapshot(const Key& key) const
    -> std::optional<snapshot_type>
{
    const lock_type lock(mutex_);
    const auto found = entries_.find(key);
    if (found == entries_.end())
        return std::nullopt;
    return snapshot_of(*found->second);
}

template <class Key, class T, class Clock, class WaitTraits>
auto keyed_core<Key, T, Clock, WaitTraits>::snapshot_of(const entry_type& entry) -> snapshot_type
{
    return {
        entry.key,
        *entry.data,
        entry.state(),
        entry.next,
        entry.active.size(),
        entry.runs,
        entry.skipped,
        {entry.history.begin(), entry.history.end()},
        entry.invalid_reason
    };
}

template <class Key, class T, class Clock, class WaitTraits>
error_code keyed_core<Key, T, Clock, WaitTraits>::closed_error() const
{
    return phase_ == lifecycle::closed ? error_code(error::closed) : error_code();
}

template <class Key, class T, class Clock, class WaitTraits>
auto keyed_core<Key, T, Clock, WaitTraits>::find(const Key& key, error_code& ec) const
    -> entry_pointer
{
    ec = closed_error();
    if (ec)
        return nullptr;
    const auto found = entries_.find(key);
    if (found != entries_.end())
        return found->second;
    ec = error::unknown_key;
    return nullptr;
}

template <class Key, class T, class Clock, class WaitTraits>
auto keyed_core<Key, T, Clock, WaitTraits>::find_running(const Key& key, error_code& ec) const
    -> entry_pointer
{
    if (phase_ != lifecycle::fresh)
        return find(key, ec);
    ec = error::not_started;
    return nullptr;
}

template <class Key, class T, class Clock, class WaitTraits>
bool keyed_core<Key, T, Clock, WaitTraits>::are_equal(const T& a, const T& b) const
{
    if constexpr (std::equality_comparable<T>) {
        if (!options_.equal)
            return a == b;
    }
    return options_.equal(a, b);
}

// Asks when the item runs next, until nothing has changed meanwhile. Only one thread does at a time;
// others leave it to that one.
template <class Key, class T, class Clock, class WaitTraits>
void keyed_core<Key, T, Clock, WaitTraits>::decide(const entry_pointer& entry)
{
    aftermath after;
    lock_type lock(mutex_);
    if (entry->is_deciding) {
        entry->decide_again = true;
        return;
    }
    entry->is_deciding = true;
    std::exception_ptr invalid_reason;
    bool is_settled = false;
    while (!is_settled && wants_decision(*entry)) {
        entry->decide_again = false;
        const std::uint64_t generation = entry->generation;
        const std::shared_ptr<const T> data = entry->data;
        lock.unlock();
        std::optional<time_point> next;
        invalid_reason = nullptr;
        try {
            next = options_.next(Clock::now(), entry->key, *data);
        } catch (...) {
            invalid_reason = std::current_exception();
        }
        lock.lock();
        is_settled = !entry->decide_again && entry->generation == generation;
        if (!is_settled || !wants_decision(*entry))
            continue;
        drop_timer(*entry, after);
        entry->invalid_reason = invalid_reason;
        entry->is_disabled = !next && !invalid_reason;
        if (next)
            schedule(entry, *next);
    }
    entry->is_deciding = false;
    note_state(entry);
    lock.unlock();
    perform(after);
    if (invalid_reason && options_.on_invalid)
        options_.on_invalid(entry->key, invalid_reason);
}

template <class Key, class T, class Clock, class WaitTraits>
bool keyed_core<Key, T, Clock, WaitTraits>::wants_decision(const entry_type& entry) const
{
    return phase_ == lifecycle::running && entry.is_present && !entry.is_paused &&
           !(options_.reschedule == reschedule_policy::after_finish && entry.is_active_now());
}

template <class Key, class T, class Clock, class WaitTraits>
void keyed_core<Key, T, Clock, WaitTraits>::schedule(const entry_pointer& entry, time_point next)
{
    if (entry->last_begin) {
        const auto tick = saturated_ceil<typename Clock::duration>(options_.tick);
        next = (std::max)(next, saturated_add<Clock>(*entry->last_begin, tick));
    }
    entry->timer = add_timer(entry, next, false);
    entry->next = next;
}

template <class Key, class T, class Clock, class WaitTraits>
timer_id keyed_core<Key, T, Clock, WaitTraits>::add_timer(
    const entry_pointer& entry,
    time_point when,
    bool is_triggered
)
{
    std::unique_ptr<job_timer<Clock>> timer = std::make_unique<data_timer<run_type, Clock>>(
        *jobs_,
        jobs_->traits,
        job_schedule<Clock>(when),
        run_type{entry, entry->data, entry->generation, is_triggered}
    );
    error_code ec; // only if the wheel is being closed
    return jobs_->add(timer, ec);
}

template <class Key, class T, class Clock, class WaitTraits>
void keyed_core<Key, T, Clock, WaitTraits>::drop_timer(entry_type& entry, aftermath& after)
{
    if (entry.timer == timer_id::none)
        return;
    after.to_remove.push_back(std::exchange(entry.timer, timer_id::none));
    entry.next.reset();
}

template <class Key, class T, class Clock, class WaitTraits>
void keyed_core<Key, T, Clock, WaitTraits>::replace(
    const entry_pointer& entry,
    std::shared_ptr<const T> data,
    aftermath& after
)
{
    entry->data = std::move(data);
    entry->generation = ++last_generation_;
    entry->invalid_reason = nullptr;
    entry->is_disabled = false;
    drop_timer(*entry, after);
    if (options_.cancel_running_on_replace)
        cancel_active(*entry, after);
}

// Takes leave of an item that is not among the others any more.
template <class Key, class T, class Clock, class WaitTraits>
remove_result
keyed_core<Key, T, Clock, WaitTraits>::drop(const entry_pointer& entry, aftermath& after)
{
    entry->is_present = false;
    entry->runs_again = false;
    drop_timer(*entry, after);
    abort_triggers(*entry, after);
    if (options_.cancel_running_on_remove)
        cancel_active(*entry, after);
    note_state(entry);
    return entry->active.empty() ? remove_result::removed : remove_result::running;
}

template <class Key, class T, class Clock, class WaitTraits>
void keyed_core<Key, T, Clock, WaitTraits>::cancel_active(entry_type& entry, aftermath& after)
{
    for (const auto& run : entry.active)
        after.to_cancel.push_back(run.id);
}

// Ends the operations whose run has not begun.
template <class Key, class T, class Clock, class WaitTraits>
void keyed_core<Key, T, Clock, WaitTraits>::abort_triggers(entry_type& entry, aftermath& after)
{
    const auto has_begun = [&](const auto& triggered) {
        return std::any_of(entry.active.begin(), entry.active.end(), [&](const auto& run) {
            return run.id == triggered.id;
        });
    };
    std::erase_if(entry.triggered, [&](const auto& triggered) {
        if (has_begun(triggered))
            return false;
        if (triggered.id != timer_id::none)
            after.to_remove.push_back(triggered.id);
        if (auto found = triggers_.extract(triggered.operation))
            after.complete(std::move(found.mapped()), asio::error::operation_aborted);
        return true;
    });
}

template <class Key, class T, class Clock, class WaitTraits>
void keyed_core<Key, T, Clock, WaitTraits>::trigger(
    const entry_pointer& entry,
    std::uint64_t operation
)
{
    const timer_id id = add_timer(entry, Clock::now(), true);
    entry->triggered.push_back({id, operation});
    note_state(entry);
}

// Decides whether a run takes place that the workers have come to.
template <class Key, class T, class Clock, class WaitTraits>
bool keyed_core<Key, T, Clock, WaitTraits>::begin(run_type& run, timer_id id, time_point now)
{
    const entry_pointer entry = run.item;
    aftermath after;
    bool begins = false;
    bool decides = false;
    {
        const lock_type lock(mutex_);
        if (!is_current(*entry, run, id))
            return false;
        if (!run.is_triggered) {
            entry->timer = timer_id::none;
            entry->next.reset();
            decides = options_.reschedule == reschedule_policy::before_run;
        }
        if (entry->active.empty() || allows_overlap()) {
            begins = true;
            run.data = entry->data;
            run.generation = entry->generation;
            entry->active.push_back({id, run.generation});
            entry->last_begin = now;
            ++entry->runs;
            if (options_.reschedule == reschedule_policy::after_finish)
                drop_timer(*entry, after);
        } else if (waits_for_end()) {
            entry->runs_again = true;
            for (auto& triggered : entry->triggered) {
                if (triggered.id == id)
                    triggered.id = timer_id::none;
            }
        } else {
            ++entry->skipped;
            record_type record;
            record.id = id;
            record.started_at = record.finished_at = now;
            record.outcome = job_outcome::skipped;
            complete_triggers(*entry, id, record, after);
        }
        note_state(entry);
    }
    perform(after);
    if (decides)
        decide(entry);
    return begins;
}

template <class Key, class T, class Clock, class WaitTraits>
bool keyed_core<Key, T, Clock, WaitTraits>::is_current(
    const entry_type& entry,
    const run_type& run,
    timer_id id
) const
{
    if (phase_ != lifecycle::running || !entry.is_present)
        return false;
    if (!run.is_triggered)
        return entry.timer == id;
    return std::any_of(entry.triggered.begin(), entry.triggered.end(), [id](const auto& each) {
        return each.id == id;
    });
}

template <class Key, class T, class Clock, class WaitTraits>
void keyed_core<Key, T, Clock, WaitTraits>::complete_triggers(
    entry_type& entry,
    timer_id id,
    const record_type& record,
    aftermath& after
)
{
    std::erase_if(entry.triggered, [&](const auto& triggered) {
        if (triggered.id != id)
            return false;
        if (auto found = triggers_.extract(triggered.operation))
            after.complete(std::move(found.mapped()), record.error, record);
        return true;
    });
}

template <class Key, class T, class Clock, class WaitTraits>
void keyed_core<Key, T, Clock, WaitTraits>::on_end(const run_type& run, const record_type& record)
{
    const entry_pointer entry = run.item;
    aftermath after;
    bool decides = false;
    {
        const lock_type lock(mutex_);
        // Else it has not begun: it was void, or the wheel was stopped.
        if (std::erase_if(entry->active, [&](const auto& each) { return each.id == record.id; }) ==
            0)
            return;
        complete_triggers(*entry, record.id, record, after);
        const bool is_late = run.generation != entry->generation;
        if (!is_late)
            entry->remember(record, options_.history);
        if (entry->active.empty()) {
            for (const std::uint64_t operation : std::exchange(entry->removals, {})) {
                if (auto found = removals_.extract(operation))
                    after.complete(std::move(found.mapped()), {});
            }
            if (options_.reschedule == reschedule_policy::none && entry->timer == timer_id::none)
                entry->is_disabled = true;
            if (std::exchange(entry->runs_again, false) && phase_ == lifecycle::running)
                run_again(entry);
            else
                decides = !is_late && options_.reschedule == reschedule_policy::after_finish;
        }
        note_state(entry);
    }
    perform(after);
    if (options_.on_run)
        options_.on_run(entry->key, record);
    if (decides)
        decide(entry);
}

// One run for all that waited for the end of another one.
template <class Key, class T, class Clock, class WaitTraits>
void keyed_core<Key, T, Clock, WaitTraits>::run_again(const entry_pointer& entry)
{
    const timer_id id = add_timer(entry, Clock::now(), true);
    bool is_known = false;
    for (auto& triggered : entry->triggered) {
        if (triggered.id == timer_id::none) {
            triggered.id = id;
            is_known = true;
        }
    }
    if (!is_known)
        entry->triggered.push_back({id, 0});
}

template <class Key, class T, class Clock, class WaitTraits>
void keyed_core<Key, T, Clock, WaitTraits>::on_clock_set_back()
{
    std::vector<entry_pointer> pending;
    {
        const lock_type lock(mutex_);
        for (const auto& [key, entry] : entries_) {
            // What ran by a time that is yet to come does not hold up what comes before.
            entry->last_begin.reset();
            if (entry->timer != timer_id::none)
                pending.push_back(entry);
        }
    }
    for (const entry_pointer& entry : pending)
        decide(entry);
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
    struct end
    {
        keyed_core& core;
        lock_type& lock;

        ~end()
        {
            if (!lock.owns_lock())
                lock.lock();
            core.is_telling_ = false;
        }
    };
    const end at_end{*this, lock};
    while (!changes_.empty()) {
        const auto [entry, state] = std::move(changes_.front());
        changes_.pop_front();
        lock.unlock();
        options_.on_change(entry->key, state);
        lock.lock();
    }
}

}

#endif
