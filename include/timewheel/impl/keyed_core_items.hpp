// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#ifndef TIMEWHEEL_IMPL_KEYED_CORE_ITEMS_HPP
#define TIMEWHEEL_IMPL_KEYED_CORE_ITEMS_HPP

#include <timewheel/detail/keyed_core.hpp>

#include <boost/asio/error.hpp>

#include <algorithm>

namespace timewheel::detail {

// What the user does with items.

template <class Key, class T, class Clock, class WaitTraits>
upsert_result
keyed_core<Key, T, Clock, WaitTraits>::upsert(const Key& key, T&& data, error_code& ec)
{
    auto fresh = std::make_shared<const T>(std::move(data));
    for (;;) {
        std::shared_ptr<const T> old;
        entry_pointer entry;
        aftermath after(posters_);
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
    aftermath after(posters_);
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
    aftermath after(posters_);
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
    aftermath after(posters_);
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
    aftermath after(posters_);
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
    aftermath after(posters_);
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
    aftermath after(posters_);
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
    aftermath after(posters_);
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

}

#endif
