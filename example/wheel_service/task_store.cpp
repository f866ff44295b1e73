// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#include "task_store.hpp"

#include <algorithm>
#include <utility>

namespace wheel_service {

namespace {

std::int64_t second_of(clock::time_point time)
{
    return std::chrono::duration_cast<std::chrono::seconds>(time.time_since_epoch()).count();
}

std::size_t index_of(task_state state)
{
    return static_cast<std::size_t>(state);
}

}

task_store::task_store(std::size_t history_size, clock::duration tick)
    : history_size_(history_size)
    , tick_(tick)
{}

task_id task_store::add(task added, const std::function<timewheel::timer_id(task_id)>& arm)
{
    const std::lock_guard lock(mutex_);
    added.id = ++last_id_;
    added.state = task_state::waiting;
    added.timer = arm(added.id); // what the run tells waits for this lock
    count_due(added.due, true);
    const task_id id = added.id;
    in(task_state::waiting).emplace_hint(in(task_state::waiting).end(), id, std::move(added));
    return id;
}

void task_store::begin(task_id id, clock::time_point now)
{
    const std::lock_guard lock(mutex_);
    auto moved = in(task_state::waiting).extract(id);
    if (!moved)
        return;
    task& begun = moved.mapped();
    count_due(begun.due, false);
    begun.state = task_state::running;
    begun.started = now;
    ++begun.runs;
    in(task_state::running).insert(std::move(moved));
}

void task_store::end(
    task_id id,
    task_state outcome,
    clock::time_point now,
    const std::string& error,
    std::optional<clock::time_point> next
)
{
    const std::lock_guard lock(mutex_);
    auto moved = in(task_state::running).extract(id);
    const bool has_run = !moved.empty();
    if (!has_run) {
        moved = in(task_state::waiting).extract(id);
        if (!moved)
            return;
        count_due(moved.mapped().due, false);
    }
    task& ended = moved.mapped();
    if (has_run && ended.started)
        ended.duration = (std::max)(now - *ended.started, clock::duration::zero());
    count_end(outcome, now, has_run ? ended.duration : std::nullopt);
    ended.error = error;
    ended.finished = now;
    if (next) {
        ended.due = *next;
        ended.state = task_state::waiting;
        count_due(ended.due, true);
        in(task_state::waiting).insert(std::move(moved));
    } else {
        // Only a cancelled task does not repeat any more, however its last run ended.
        ended.state = ended.repeat ? task_state::cancelled : outcome;
        finish(std::move(ended));
    }
}

void task_store::add_finished(task finished)
{
    const std::lock_guard lock(mutex_);
    finished.id = ++last_id_;
    count_end(finished.state, finished.finished.value_or(clock::now()), finished.duration);
    finish(std::move(finished));
}

std::optional<task> task_store::find(task_id id) const
{
    const std::lock_guard lock(mutex_);
    for (const group& tasks : groups_) {
        const auto found = tasks.find(id);
        if (found != tasks.end())
            return found->second;
    }
    return std::nullopt;
}

std::vector<task>
task_store::page(std::optional<task_state> state, std::size_t limit, task_id after) const
{
    const std::lock_guard lock(mutex_);
    std::vector<std::pair<group::const_iterator, group::const_iterator>> sources;
    for (std::size_t i = 0; i != groups_.size(); ++i) {
        if (!state || index_of(*state) == i)
            sources.emplace_back(groups_[i].upper_bound(after), groups_[i].end());
    }
    std::vector<task> found;
    while (found.size() < limit) {
        auto* lowest = &sources.front();
        for (auto& source : sources) {
            if (source.first != source.second &&
                (lowest->first == lowest->second || source.first->first < lowest->first->first))
                lowest = &source;
        }
        if (lowest->first == lowest->second)
            break;
        found.push_back(lowest->first->second);
        ++lowest->first;
    }
    return found;
}

std::vector<task> task_store::latest(std::size_t limit) const
{
    const std::lock_guard lock(mutex_);
    std::vector<task> found;
    for (auto each = finished_.rbegin(); each != finished_.rend() && found.size() < limit; ++each)
        found.push_back(in(each->second).at(each->first));
    return found;
}

std::size_t task_store::cleanup()
{
    const std::lock_guard lock(mutex_);
    for (std::size_t i = 0; i != groups_.size(); ++i) {
        if (is_final(static_cast<task_state>(i)))
            groups_[i].clear();
    }
    return std::exchange(finished_, {}).size();
}

std::vector<task> task_store::active() const
{
    const std::lock_guard lock(mutex_);
    std::vector<task> found;
    for (const task_state state : {task_state::waiting, task_state::running}) {
        for (const auto& [id, each] : in(state))
            found.push_back(each);
    }
    return found;
}

store_counts task_store::counts(clock::time_point now) const
{
    const std::lock_guard lock(mutex_);
    store_counts counts;
    for (std::size_t i = 0; i != groups_.size(); ++i)
        counts.now[i] = groups_[i].size();
    counts.outcomes = outcomes_;
    counts.durations = durations_;
    std::uint64_t ended = 0;
    const std::int64_t second = second_of(now);
    for (const auto& [in_second, count] : ended_in_) {
        // The present second is not over.
        if (in_second < second && in_second + std::int64_t{seconds_remembered} >= second)
            ended += count;
    }
    counts.per_second = static_cast<double>(ended) / seconds_remembered;
    return counts;
}

std::vector<std::pair<std::int64_t, std::uint32_t>> task_store::due_ticks() const
{
    const std::lock_guard lock(mutex_);
    return {due_.begin(), due_.end()};
}

std::int64_t task_store::tick_of(clock::time_point due) const
{
    return (due.time_since_epoch() + tick_ - clock::duration(1)) / tick_;
}

void task_store::count_due(clock::time_point due, bool added)
{
    const std::int64_t tick = tick_of(due);
    if (added)
        ++due_[tick];
    else if (--due_[tick] == 0)
        due_.erase(tick);
}

void task_store::finish(task finished)
{
    if (history_size_ == 0)
        return;
    if (finished_.size() == history_size_) {
        const auto [id, state] = finished_.front();
        finished_.pop_front();
        in(state).erase(id);
    }
    finished_.emplace_back(finished.id, finished.state);
    const task_id id = finished.id;
    in(finished.state).emplace(id, std::move(finished));
}

void task_store::count_end(
    task_state outcome,
    clock::time_point now,
    std::optional<clock::duration> duration
)
{
    ++outcomes_[index_of(outcome)];
    if (duration)
        durations_.record(*duration);
    auto& [second, count] = ended_in_[static_cast<std::size_t>(second_of(now)) % ended_in_.size()];
    if (second != second_of(now)) {
        second = second_of(now);
        count = 0;
    }
    ++count;
}

}
