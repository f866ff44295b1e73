// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#ifndef TIMEWHEEL_IMPL_KEYED_CORE_DECISIONS_HPP
#define TIMEWHEEL_IMPL_KEYED_CORE_DECISIONS_HPP

#include <timewheel/detail/keyed_core.hpp>

#include <algorithm>

namespace timewheel::detail {

// When items run next, and what takes that away.

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
    aftermath after(posters_);
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

}

#endif
