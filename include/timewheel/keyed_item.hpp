// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#ifndef TIMEWHEEL_KEYED_ITEM_HPP
#define TIMEWHEEL_KEYED_ITEM_HPP

#include <timewheel/job.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <optional>
#include <string_view>
#include <vector>

namespace timewheel {

/// What an item of a keyed scheduler is doing.
enum class item_state : std::uint8_t
{
    /// It waits for its next run, for that to be decided, or for the scheduler to be started.
    pending,

    /// At least one run is under way.
    running,

    /// There is no next run, until somebody asks for one.
    disabled,

    /// The function that says when it runs next has thrown.
    invalid,

    /// Somebody has paused it.
    paused,

    /// It is gone; only an observer sees this.
    removed
};

/** @brief Names a state.
    @param state The state.
    @return Its enumerator's name, such as "pending".
*/
[[nodiscard]] constexpr std::string_view to_string(item_state state) noexcept
{
    switch (state) {
    case item_state::pending: return "pending";
    case item_state::running: return "running";
    case item_state::disabled: return "disabled";
    case item_state::invalid: return "invalid";
    case item_state::paused: return "paused";
    case item_state::removed: return "removed";
    }
    return "unknown";
}

/// What became of an item that was passed to `upsert`.
enum class upsert_result : std::uint8_t
{
    /// There was none with that key.
    added,

    /// There was one with other data, which were replaced.
    updated,

    /// There was one with equal data, which goes on undisturbed.
    unchanged
};

/// When an item that has run is scheduled again.
enum class reschedule_policy : std::uint8_t
{
    /// When the run has ended, so that runs of an item never overlap.
    after_finish,

    /// When the run begins: for a fixed cadence.
    before_run,

    /// Not at all: by whoever calls `reschedule`.
    none
};

/// What to do when an item is due while it is running, as it may be with `before_run`.
enum class overlap_policy : std::uint8_t
{
    /// It runs a second time at once.
    allow,

    /// This run is left out.
    skip,

    /// It runs when the other one has ended; only one run waits so.
    queue_one
};

/** @brief An item as it is passed to a keyed scheduler.
    @tparam Key The key.
    @tparam T The data.
*/
template <class Key, class T>
struct keyed_item
{
    /// Its key.
    Key key;

    /// Its data.
    T data;
};

/** @brief What an item is doing, at one moment.
    @tparam Key The key.
    @tparam T The data.
    @tparam Clock The scheduler's clock.
*/
template <class Key, class T, class Clock>
struct basic_item_snapshot
{
    /// Its key.
    Key key;

    /// Its data.
    T data;

    /// What it is doing.
    item_state state = item_state::pending;

    /// When it runs next, if that has been decided.
    std::optional<typename Clock::time_point> next_run;

    /// How many of its runs are under way.
    std::size_t running = 0;

    /// How many of its runs have begun since it was added.
    std::uint64_t runs = 0;

    /// How many of its runs were left out because another one was under way.
    std::uint64_t skipped = 0;

    /// Its last runs that have ended, the latest one last.
    std::vector<basic_job_record<Clock>> history;

    /// Why it is invalid.
    std::exception_ptr invalid_reason;

    /** @brief Returns the last run that has ended.
        @return The run, or null if there was none or no history is kept.
    */
    [[nodiscard]] const basic_job_record<Clock>* last_run() const noexcept
    {
        return history.empty() ? nullptr : &history.back();
    }
};

/** @brief What a replacement of all items has changed.
    @tparam Key The key.
*/
template <class Key>
struct replace_report
{
    /// The keys that were not there before.
    std::vector<Key> added;

    /// The keys whose data were replaced.
    std::vector<Key> updated;

    /// The keys that are gone.
    std::vector<Key> removed;

    /// How many items go on undisturbed.
    std::size_t unchanged = 0;
};

}

#endif
