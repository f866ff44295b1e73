// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#ifndef TIMEWHEEL_IMPL_KEYED_CORE_RUNS_HPP
#define TIMEWHEEL_IMPL_KEYED_CORE_RUNS_HPP

#include <timewheel/detail/keyed_core.hpp>

#include <boost/asio/error.hpp>

#include <algorithm>

namespace timewheel::detail {

// The begin and the end of runs.

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
    aftermath after(posters_);
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
    aftermath after(posters_);
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
    aftermath after(posters_);
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

}

#endif
