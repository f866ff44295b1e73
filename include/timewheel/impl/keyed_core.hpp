// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#ifndef TIMEWHEEL_IMPL_KEYED_CORE_HPP
#define TIMEWHEEL_IMPL_KEYED_CORE_HPP

#include <timewheel/detail/keyed_core.hpp>

#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>

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
        this->data_.is_over = true;
        if (const auto core = core_.lock())
            core->on_end(this->data_, record);
    }

    void on_end(error_code) override
    {
        if (this->data_.is_over)
            return;
        if (const auto core = core_.lock())
            core->on_lost(this->data_, this->id);
    }

private:
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
    aftermath after;
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
    {
        const lock_type lock(mutex_);
        closers_.emplace(operation, std::move(handler));
    }
    const auto finish = [weak = this->weak_from_this(), operation](error_code end) {
        if (const auto core = weak.lock())
            core->end_close(operation, end);
    };
    jobs_->async_stop_and_wait(operation, close_handler(finish, io_executor_));
}

template <class Key, class T, class Clock, class WaitTraits>
void keyed_core<Key, T, Clock, WaitTraits>::end_close(std::uint64_t operation, error_code ec)
{
    lock_type lock(mutex_);
    auto found = closers_.extract(operation);
    lock.unlock();
    if (found)
        found.mapped().post(ec);
}

template <class Key, class T, class Clock, class WaitTraits>
void keyed_core<Key, T, Clock, WaitTraits>::cancel_close(std::uint64_t operation)
{
    end_close(operation, asio::error::operation_aborted);
    jobs_->cancel_wait(operation);
}

template <class Key, class T, class Clock, class WaitTraits>
void keyed_core<Key, T, Clock, WaitTraits>::detach() noexcept
{
    aftermath after;
    std::deque<std::pair<entry_pointer, item_state>> untold;
    std::unordered_map<std::uint64_t, close_handler> closers;
    watch_.stop();
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
        closers.swap(closers_);
    }
    for (auto& [operation, handler] : closers)
        handler.post(error_code(asio::error::operation_aborted));
    jobs_->detach();
    perform(after);
}

// The context in which the items wait is destroyed, and operations with it. Their handlers may own the
// scheduler.
template <class Key, class T, class Clock, class WaitTraits>
void keyed_core<Key, T, Clock, WaitTraits>::on_shutdown()
{
    std::unordered_map<std::uint64_t, removal_handler> removals;
    std::unordered_map<std::uint64_t, trigger_handler> triggers;
    std::unordered_map<std::uint64_t, close_handler> closers;
    const lock_type lock(mutex_);
    phase_ = lifecycle::closed;
    is_detached_ = true;
    removals.swap(removals_);
    triggers.swap(triggers_);
    closers.swap(closers_);
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
                entry->is_asked = true;
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

// Compares the data that are wanted with those that are there, which takes functions of the user's,
// until they are still there when the lock is taken again.
template <class Key, class T, class Clock, class WaitTraits>
auto keyed_core<Key, T, Clock, WaitTraits>::replace_all(
    std::vector<keyed_item<Key, T>> items,
    error_code& ec
) -> report_type
{
    std::vector<wish> wishes = sorted_wishes(items);
    std::vector<std::shared_ptr<const T>> old;
    std::vector<wish*> open;
    report_type report;
    std::vector<entry_pointer> changed;
    aftermath after;
    for (;;) {
        {
            const lock_type lock(mutex_);
            ec = closed_error();
            if (ec)
                return report;
            open = open_wishes(wishes, old);
            if (open.empty()) {
                changed = fulfil(wishes, report, after);
                break;
            }
        }
        old.clear();
        for (wish* const each : open) {
            each->is_equal = each->compared && are_equal(*each->compared, each->wanted());
            if (!each->is_equal && !each->data)
                each->data = std::make_shared<const T>(std::move(each->item->data));
        }
    }
    perform(after);
    for (const entry_pointer& entry : changed)
        decide(entry);
    return report;
}

// In the order of the keys; the last one of those with the same key.
template <class Key, class T, class Clock, class WaitTraits>
auto keyed_core<Key, T, Clock, WaitTraits>::sorted_wishes(std::vector<keyed_item<Key, T>>& items)
    -> std::vector<wish>
{
    std::vector<wish> wishes(items.size());
    std::transform(items.rbegin(), items.rend(), wishes.begin(), [](keyed_item<Key, T>& item) {
        return wish{&item, nullptr, nullptr, false};
    });
    std::stable_sort(wishes.begin(), wishes.end(), [](const wish& a, const wish& b) {
        return a.item->key < b.item->key;
    });
    const auto end = std::unique(wishes.begin(), wishes.end(), [](const wish& a, const wish& b) {
        return !(a.item->key < b.item->key);
    });
    wishes.erase(end, wishes.end());
    return wishes;
}

// Those whose data have not been compared with what is there now.
template <class Key, class T, class Clock, class WaitTraits>
auto keyed_core<Key, T, Clock, WaitTraits>::open_wishes(
    std::vector<wish>& wishes,
    std::vector<std::shared_ptr<const T>>& old
) const -> std::vector<wish*>
{
    std::vector<wish*> open;
    auto at = entries_.begin();
    for (wish& each : wishes) {
        while (at != entries_.end() && at->first < each.item->key)
            ++at;
        const bool is_there = at != entries_.end() && !(each.item->key < at->first);
        if (is_there ? each.compared == at->second->data : !each.compared && each.data)
            continue;
        old.push_back(std::exchange(each.compared, is_there ? at->second->data : nullptr));
        open.push_back(&each);
    }
    return open;
}

template <class Key, class T, class Clock, class WaitTraits>
auto keyed_core<Key, T, Clock, WaitTraits>::fulfil(
    std::vector<wish>& wishes,
    report_type& report,
    aftermath& after
) -> std::vector<entry_pointer>
{
    std::vector<entry_pointer> changed;
    auto at = entries_.begin();
    const auto drop_until = [&](const Key* key) {
        while (at != entries_.end() && (!key || at->first < *key)) {
            report.removed.push_back(at->first);
            drop(at->second, after);
            after.discard(entries_.extract(at++));
        }
    };
    for (wish& each : wishes) {
        const Key& key = each.item->key;
        drop_until(&key);
        if (!each.compared) {
            const auto entry =
                std::make_shared<entry_type>(key, std::move(each.data), ++last_generation_);
            entries_.emplace_hint(at, key, entry);
            entry->is_asked = true;
            note_state(entry);
            report.added.push_back(key);
            changed.push_back(entry);
            continue;
        }
        const entry_pointer& entry = (at++)->second;
        if (each.is_equal) {
            ++report.unchanged;
            continue;
        }
        replace(entry, std::move(each.data), after);
        report.updated.push_back(key);
        changed.push_back(entry);
    }
    drop_until(nullptr);
    return changed;
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
        result = drop(entry, after);
        after.discard(entries_.extract(key));
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
            result = drop(entry, after);
            after.discard(entries_.extract(key));
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
            trigger(entry, operation);
            triggers_.emplace(operation, std::move(handler));
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
        entry->runs_again = false;
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
        ask(*entry);
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
        if (ec)
            return;
        entry->runs_again = false;
        ask(*entry);
    }
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
    std::vector<glance> glances;
    {
        const lock_type lock(mutex_);
        glances.reserve(entries_.size());
        for (const auto& [key, entry] : entries_)
            glances.emplace_back(entry);
    }
    std::vector<snapshot_type> all;
    all.reserve(glances.size());
    for (glance& each : glances)
        all.push_back(std::move(each).snapshot());
    return all;
}

template <class Key, class T, class Clock, class WaitTraits>
auto keyed_core<Key, T, Clock, WaitTraits>::snapshot(const Key& key) const
    -> std::optional<snapshot_type>
{
    std::optional<glance> found;
    {
        const lock_type lock(mutex_);
        const auto at = entries_.find(key);
        if (at == entries_.end())
            return std::nullopt;
        found.emplace(at->second);
    }
    return std::move(*found).snapshot();
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

// Notes that somebody wants to know when the item runs next; to be followed by decide(). What `next`
// itself wants to know is what it is just about to say.
template <class Key, class T, class Clock, class WaitTraits>
void keyed_core<Key, T, Clock, WaitTraits>::ask(entry_type& entry)
{
    if (!entry.is_deciding || entry.decider != std::this_thread::get_id())
        entry.is_asked = true;
}

// Asks when the item runs next, until nothing has changed meanwhile. Only one thread does so for a
// key; others leave it to that one.
template <class Key, class T, class Clock, class WaitTraits>
void keyed_core<Key, T, Clock, WaitTraits>::decide(entry_pointer entry)
{
    while (entry)
        entry = decide_one(entry);
}

// Returns another item with the same key that waited for this decision to be over, if any.
template <class Key, class T, class Clock, class WaitTraits>
auto keyed_core<Key, T, Clock, WaitTraits>::decide_one(const entry_pointer& entry) -> entry_pointer
{
    aftermath after;
    std::exception_ptr invalid_reason;
    entry_pointer successor;
    {
        lock_type lock(mutex_);
        if (entry->is_deciding || leaving_.contains(entry->key))
            return nullptr;
        const typename entry_type::decision_mark mark(*entry);
        while (entry->is_asked && can_decide(*entry)) {
            entry->is_asked = false;
            after.discard(std::move(invalid_reason));
            std::shared_ptr<const T> data = entry->data;
            lock.unlock();
            const time_point now = Clock::now();
            std::optional<time_point> next;
            std::exception_ptr thrown;
            try {
                next = options_.next(now, entry->key, *data);
            } catch (...) {
                thrown = std::current_exception();
            }
            data.reset();
            lock.lock();
            if (Clock::now() < now) // it was set back
                entry->is_asked = true;
            if (entry->is_asked || !can_decide(*entry)) {
                after.discard(std::move(thrown));
                continue;
            }
            drop_timer(*entry, after);
            after.discard(std::exchange(entry->invalid_reason, thrown));
            entry->is_disabled = !next && !thrown;
            if (next)
                schedule(entry, *next, now);
            invalid_reason = std::move(thrown);
        }
        entry->is_asked = false;
        note_state(entry);
        if (auto left = leaving_.extract(entry->key)) {
            after.discard(std::move(left));
            const auto found = entries_.find(entry->key);
            if (found != entries_.end())
                successor = found->second;
        }
    }
    perform(after);
    if (invalid_reason)
        observe(options_.on_invalid, entry->key, invalid_reason);
    return successor;
}

template <class Key, class T, class Clock, class WaitTraits>
bool keyed_core<Key, T, Clock, WaitTraits>::can_decide(const entry_type& entry) const
{
    return phase_ == lifecycle::running && entry.is_present && !entry.is_paused &&
           !(options_.reschedule == reschedule_policy::after_finish && entry.is_active_now());
}

template <class Key, class T, class Clock, class WaitTraits>
void keyed_core<Key, T, Clock, WaitTraits>::schedule(
    const entry_pointer& entry,
    time_point next,
    time_point now
)
{
    // What had its turn by a time that is yet to come had it before the clock was set back.
    if (entry->last_turn && *entry->last_turn <= now) {
        const auto tick = saturated_ceil<typename Clock::duration>(options_.tick);
        next = (std::max)(next, saturated_add<Clock>(*entry->last_turn, tick));
    }
    entry->timer = add_timer(entry, next);
    entry->next = next;
    entry->decided_at = now;
}

template <class Key, class T, class Clock, class WaitTraits>
timer_id
keyed_core<Key, T, Clock, WaitTraits>::add_timer(const entry_pointer& entry, time_point when)
{
    return add_timer(when, run_type{entry, entry->data, entry->generation, std::nullopt});
}

// For a time that has come on any grid, also if the clock is set back.
template <class Key, class T, class Clock, class WaitTraits>
timer_id keyed_core<Key, T, Clock, WaitTraits>::add_trigger(const entry_pointer& entry)
{
    return add_timer(
        (time_point::min)(), run_type{entry, entry->data, entry->generation, Clock::now()}
    );
}

template <class Key, class T, class Clock, class WaitTraits>
timer_id keyed_core<Key, T, Clock, WaitTraits>::add_timer(time_point when, run_type&& run)
{
    std::unique_ptr<job_timer<Clock>> added = std::make_unique<timer>(*this, when, std::move(run));
    error_code ec; // only if the wheel is being closed
    return jobs_->add(added, ec);
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
    after.discard(std::exchange(entry->data, std::move(data)));
    after.discard(std::exchange(entry->invalid_reason, nullptr));
    entry->generation = ++last_generation_;
    entry->is_disabled = false;
    entry->is_asked = true;
    entry->runs_again = false;
    drop_timer(*entry, after);
    if (options_.cancel_running_on_replace)
        cancel_active(*entry, after);
}

// Takes leave of an item that will not be among the others any more.
template <class Key, class T, class Clock, class WaitTraits>
remove_result
keyed_core<Key, T, Clock, WaitTraits>::drop(const entry_pointer& entry, aftermath& after)
{
    entry->is_present = false;
    entry->runs_again = false;
    if (entry->is_deciding)
        leaving_.emplace(entry->key, entry);
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
    std::erase_if(entry.triggered, [&](const auto& triggered) {
        if (entry.is_active(triggered.id))
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
    entry->triggered.push_back({timer_id::none, operation});
    entry->triggered.back().id = add_trigger(entry);
}

// Decides whether a run takes place that the workers have come to.
template <class Key, class T, class Clock, class WaitTraits>
bool keyed_core<Key, T, Clock, WaitTraits>::begin(run_type& run, record_type& record)
{
    const entry_pointer entry = run.item;
    const timer_id id = record.id;
    aftermath after;
    bool begins = false;
    {
        const lock_type lock(mutex_);
        if (!is_current(*entry, run, id))
            return false;
        if (run.triggered_at) {
            record.scheduled_for = *run.triggered_at;
            record.lateness = lateness_of<Clock>(record.scheduled_for, record.started_at);
        }
        const bool is_early = !run.triggered_at && record.started_at < record.scheduled_for;
        if (is_early) {
            put_back(entry, record.started_at);
        } else if (!run.triggered_at) {
            entry->timer = timer_id::none;
            entry->next.reset();
            entry->last_turn = record.started_at;
            if (options_.reschedule == reschedule_policy::before_run)
                ask(*entry);
        }
        if (is_early) {
            // It does not count.
        } else if (entry->active.empty() || allows_overlap()) {
            begins = true;
            after.discard(std::exchange(run.data, entry->data));
            run.generation = entry->generation;
            record.sequence = ++entry->runs + entry->skipped;
            entry->active.push_back({id, run.generation});
            entry->last_turn = record.started_at;
            if (options_.reschedule == reschedule_policy::after_finish)
                drop_timer(*entry, after);
        } else if (waits_for_end()) {
            entry->runs_again = entry->runs_again || !run.triggered_at;
            for (auto& triggered : entry->triggered) {
                if (triggered.id == id)
                    triggered.id = timer_id::none;
            }
        } else {
            record_type skipped = record;
            skipped.sequence = entry->runs + ++entry->skipped;
            skipped.finished_at = record.started_at;
            skipped.outcome = job_outcome::skipped;
            complete_triggers(*entry, id, skipped, after);
        }
        note_state(entry);
    }
    perform(after);
    decide(entry);
    return begins;
}

// The clock was set back when the item was due already, which nobody has noticed.
template <class Key, class T, class Clock, class WaitTraits>
void keyed_core<Key, T, Clock, WaitTraits>::put_back(const entry_pointer& entry, time_point now)
{
    entry->timer = add_timer(entry, *entry->next);
    if (entry->decided_at > now)
        ask(*entry);
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
    if (!run.triggered_at)
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
    {
        const lock_type lock(mutex_);
        if (!leave(*entry, record.id, record, after))
            return; // it has not begun: it was void, or the wheel was stopped
        const bool is_late = run.generation != entry->generation;
        if (!is_late)
            after.discard(entry->remember(record, options_.history));
        const bool is_last = entry->active.empty();
        if (is_last && (std::exchange(entry->runs_again, false) || entry->has_waiting_trigger()))
            run_again(entry);
        else if (is_last && phase_ == lifecycle::running)
            settle(*entry, is_late);
        note_state(entry);
    }
    perform(after);
    observe(options_.on_run, entry->key, record);
    decide(entry);
}

// Nothing of the item's is under way any more.
template <class Key, class T, class Clock, class WaitTraits>
void keyed_core<Key, T, Clock, WaitTraits>::settle(entry_type& entry, bool is_late)
{
    if (options_.reschedule == reschedule_policy::after_finish && !is_late)
        ask(entry);
    else if (options_.reschedule == reschedule_policy::none && !entry.is_deciding)
        entry.is_disabled = entry.timer == timer_id::none;
}

// A run has ended. Returns false if it had not begun.
template <class Key, class T, class Clock, class WaitTraits>
bool keyed_core<Key, T, Clock, WaitTraits>::leave(
    entry_type& entry,
    timer_id id,
    const record_type& record,
    aftermath& after
)
{
    if (std::erase_if(entry.active, [id](const auto& each) { return each.id == id; }) == 0)
        return false;
    complete_triggers(entry, id, record, after);
    if (entry.active.empty()) {
        for (const std::uint64_t operation : std::exchange(entry.removals, {})) {
            if (auto found = removals_.extract(operation))
                after.complete(std::move(found.mapped()), {});
        }
    }
    return true;
}

// A run has neither ended nor will it begin: its executor was destroyed, for example. What else the
// item waits for would be handed to the same executor.
template <class Key, class T, class Clock, class WaitTraits>
void keyed_core<Key, T, Clock, WaitTraits>::on_lost(const run_type& run, timer_id id)
{
    const entry_pointer entry = run.item;
    aftermath after;
    {
        const lock_type lock(mutex_);
        if (is_detached_)
            return;
        record_type record;
        record.id = id;
        record.outcome = job_outcome::cancelled;
        record.error = asio::error::operation_aborted;
        if (entry->timer == id) {
            entry->timer = timer_id::none;
            entry->next.reset();
        }
        if (!leave(*entry, id, record, after))
            complete_triggers(*entry, id, record, after);
        else if (entry->active.empty()) {
            entry->runs_again = false;
            complete_triggers(*entry, timer_id::none, record, after);
        }
        note_state(entry);
    }
    perform(after);
}

// One run for all that waited for the end of another one.
template <class Key, class T, class Clock, class WaitTraits>
void keyed_core<Key, T, Clock, WaitTraits>::run_again(const entry_pointer& entry)
{
    const timer_id id = add_trigger(entry);
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

// What was decided by a time that is yet to come again is decided anew, unless it is due by the new
// time, too. What was decided before that is as right as it was.
template <class Key, class T, class Clock, class WaitTraits>
void keyed_core<Key, T, Clock, WaitTraits>::on_clock_set_back()
{
    std::vector<entry_pointer> pending;
    {
        const lock_type lock(mutex_);
        const time_point now = Clock::now();
        for (const auto& [key, entry] : entries_) {
            entry->last_turn.reset();
            if (entry->next && *entry->next > now && entry->decided_at > now) {
                ask(*entry);
                pending.push_back(entry);
            }
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
