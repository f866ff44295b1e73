// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#ifndef TIMEWHEEL_KEYED_SCHEDULER_HPP
#define TIMEWHEEL_KEYED_SCHEDULER_HPP

#include <timewheel/config.hpp>
#include <timewheel/default_completion_token.hpp>
#include <timewheel/detail/executor_of.hpp>
#include <timewheel/detail/keyed_core.hpp>
#include <timewheel/detail/or_throw.hpp>
#include <timewheel/error.hpp>
#include <timewheel/job.hpp>
#include <timewheel/keyed_item.hpp>
#include <timewheel/keyed_scheduler_options.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/wait_traits.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace timewheel {

/** @brief Runs items by key, each when a function of the user's says.

    For cron-like, calendar and business schedules that change while they run: reports, polls,
    renewals. What is known of time is in one function, `next`; see calendar.hpp for some.

    @snippet keyed_scheduler.cpp keyed_scheduler

    **Semantics.** An item has a key and data. When it is added, and when it has run (`reschedule` says
    before or after that), `next` decides when it runs next, if at all. A time that has passed means
    now, but an item does not begin twice within a tick. Runs are jobs of a @ref wheel on the shared
    timing wheel, with the same forms, workers, time-outs and records.

    **Changes.** New data make an item as good as new: it is decided anew when it runs next, and a run that
    goes on with the old data, or one that was decided by them, does not change it any more. Equal data
    change nothing, so that a configuration can be loaded again at any time. A removed item that is added
    again is another item.

    **Clock.** With a clock that can be set, as the wall clock: if it is set forward, what has become due
    runs once, within a second; if it is set back, what was decided by a time that is yet to come is
    decided anew. Run times are measured by the same clock.

    **Exceptions.** What an observer throws leaves the `run()` of the workers, as if it were a handler
    there: the function that called it may be anybody's. What a job throws is in the record of its run.

    **Executors and memory.** As for a @ref wheel.

    **Lifetime.** The destructor stops the scheduler, but does not wait, and may be called by any function
    that the scheduler calls; asynchronous functions end with `operation_aborted`, and no observer is told
    of what ends later. A scheduler must not outlive the context of its first executor, whose destruction
    destroys the operations.

    **Thread safety.** All members but moves and the destructor may be called from any thread at any time,
    also from jobs, observers and `next`. Nothing blocks but `close()`.

    **Default completion token.** `deferred`, unless the executor has one.

    @tparam Key The key: copyable, compared by `<`.
    @tparam T The data: copyable, and compared by `==` unless `equal` does.
    @tparam Clock A clock as Asio's waitable timers take it; @ref manual_clock is one for tests.
    @tparam WaitTraits The wait traits for the clock.
    @tparam Executor The type of the first executor.
*/
template <
    class Key,
    class T,
    class Clock = std::chrono::system_clock,
    class WaitTraits = asio::wait_traits<Clock>,
    class Executor = asio::any_io_executor>
class basic_keyed_scheduler
{
public:
    /// The type of the executor.
    using executor_type = Executor;

    /// The same scheduler on another executor.
    template <class OtherExecutor>
    struct rebind_executor
    {
        /// The scheduler type for that executor.
        using other = basic_keyed_scheduler<Key, T, Clock, WaitTraits, OtherExecutor>;
    };

    /// The clock.
    using clock_type = Clock;

    /// The clock's duration.
    using duration = typename Clock::duration;

    /// The clock's time point.
    using time_point = typename Clock::time_point;

    /// The wait traits.
    using traits_type = WaitTraits;

    /// The options.
    using options_type = basic_keyed_scheduler_options<Key, T, Clock>;

    /// An item as it is passed.
    using item_type = keyed_item<Key, T>;

    /// What an item is doing.
    using snapshot_type = basic_item_snapshot<Key, T, Clock>;

    /// What a replacement has changed.
    using report_type = replace_report<Key>;

    /** @brief Makes a scheduler; it is new until it is started, and can be filled before.

        @param io An executor or a context: where the items wait.
        @param workers An executor or a context: where their jobs run.
        @param options The options.
        @throws std::invalid_argument An option is out of range, or a necessary one is missing.
    */
    template <detail::executor_or_context Io, detail::executor_or_context Workers>
    basic_keyed_scheduler(Io&& io, Workers&& workers, options_type options);

    /** @brief Moves a scheduler; `other` can only be destroyed or assigned to.
        @param other The scheduler to move.
    */
    basic_keyed_scheduler(basic_keyed_scheduler&& other) = default;

    /** @brief Destroys this scheduler and takes over another one.
        @param other The scheduler to move; it can only be destroyed or assigned to.
        @return `*this`
    */
    basic_keyed_scheduler& operator=(basic_keyed_scheduler&& other) noexcept
    {
        if (this != &other) {
            detach();
            core_ = std::move(other.core_);
            executor_ = other.executor_;
        }
        return *this;
    }

    /// Stops the scheduler without waiting; see the class.
    ~basic_keyed_scheduler() { detach(); }

    /** @brief Returns the first executor.
        @return The executor of the context in which the items wait.
    */
    [[nodiscard]] executor_type get_executor() const noexcept { return executor_; }

    /** @brief Starts the scheduler: decides when each item runs next.
        @throws boost::system::system_error As the form with an error code reports.
    */
    void start()
    {
        return detail::or_throw("keyed_scheduler::start", [&](error_code& ec) {
            return start(ec);
        });
    }

    /** @brief Starts the scheduler: decides when each item runs next.
        @param ec Set to `error::already_running`, `error::closed`, or to no error.
    */
    void start(error_code& ec) { alive()->start(ec); }

    /** @brief Stops the scheduler for good, and tells running jobs to stop.
        @throws boost::system::system_error As the form with an error code reports.
    */
    void stop()
    {
        return detail::or_throw("keyed_scheduler::stop", [&](error_code& ec) { return stop(ec); });
    }

    /** @brief Stops the scheduler for good, and tells running jobs to stop.
        @param ec Set to `error::not_started`, or to no error.
    */
    void stop(error_code& ec) { alive()->stop(ec); }

    /** @brief Stops the scheduler and blocks until no job is running, if `wait_running_on_close` is set.
        @throws boost::system::system_error As the form with an error code reports.
    */
    void close()
    {
        return detail::or_throw("keyed_scheduler::close", [&](error_code& ec) {
            return close(ec);
        });
    }

    /** @brief Stops the scheduler and blocks until no job is running, if `wait_running_on_close` is set.
        @param ec Set to `error::would_deadlock` when called by a job or an observer, which changes nothing; to `error::not_started`, or to no error.
    */
    void close(error_code& ec) { alive()->close(ec); }

    /** @brief Stops the scheduler and waits asynchronously until no job is running, if
        `wait_running_on_close` is set.

        @par Completion signature
        `void(error_code)`

        @par Per-operation cancellation
        `terminal`, `partial` and `total` end the operation; the scheduler is stopped all the same.

        @par Errors
        `error::not_started`: it was not started. `operation_aborted`: cancelled, or the scheduler was
        destroyed.

        @param token The completion token.
        @return As the token determines.
    */
    template <
        asio::completion_token_for<void(error_code)> CompletionToken =
            default_completion_token_t<Executor>>
    auto async_close(CompletionToken&& token = default_completion_token_t<Executor>());

    /** @brief Adds an item, or gives it other data; with equal data it goes on undisturbed.
        @param key The item's key.
        @param data Its data.
        @return What became of it.
        @throws boost::system::system_error As the form with an error code reports.
    */
    upsert_result upsert(const Key& key, T data)
    {
        return detail::or_throw("keyed_scheduler::upsert", [&](error_code& ec) {
            return upsert(key, std::move(data), ec);
        });
    }

    /** @brief Adds an item, or gives it other data; with equal data it goes on undisturbed.
        @param key The item's key.
        @param data Its data.
        @param ec Set to `error::closed`, or to no error.
        @return What became of it.
    */
    upsert_result upsert(const Key& key, T data, error_code& ec)
    {
        return alive()->upsert(key, std::move(data), ec);
    }

    /** @brief Makes these the only items; those with equal data go on undisturbed.
        @param items The items. Of those with the same key, the last one counts.
        @return What has changed.
        @throws boost::system::system_error As the form with an error code reports.
    */
    report_type replace_all(std::vector<item_type> items)
    {
        return detail::or_throw("keyed_scheduler::replace_all", [&](error_code& ec) {
            return replace_all(std::move(items), ec);
        });
    }

    /** @brief Makes these the only items; those with equal data go on undisturbed.
        @param items The items. Of those with the same key, the last one counts.
        @param ec Set to `error::closed`, or to no error.
        @return What has changed.
    */
    report_type replace_all(std::vector<item_type> items, error_code& ec)
    {
        return alive()->replace_all(std::move(items), ec);
    }

    /** @brief Removes an item: no run of it begins any more.
        @param key The item's key.
        @return `running` if a run goes on, else `removed`; `unknown` if there is an error.
        @throws boost::system::system_error As the form with an error code reports.
    */
    remove_result remove(const Key& key)
    {
        return detail::or_throw("keyed_scheduler::remove", [&](error_code& ec) {
            return remove(key, ec);
        });
    }

    /** @brief Removes an item: no run of it begins any more.
        @param key The item's key.
        @param ec Set to `error::unknown_key`, `error::closed`, or to no error.
        @return `running` if a run goes on, else `removed`; `unknown` if there is an error.
    */
    remove_result remove(const Key& key, error_code& ec) { return alive()->remove(key, ec); }

    /** @brief Removes an item and waits asynchronously until none of its runs is under way.

        @par Completion signature
        `void(error_code, remove_result)`: whether a run was under way at the start.

        @par Per-operation cancellation
        `terminal`, `partial` and `total` end the operation; the item is removed all the same.

        @par Errors
        `error::unknown_key`, `error::closed`: nothing was removed. `operation_aborted`: cancelled, or the
        scheduler was destroyed.

        @param key The item's key.
        @param token The completion token.
        @return As the token determines.
    */
    template <
        asio::completion_token_for<void(error_code, remove_result)> CompletionToken =
            default_completion_token_t<Executor>>
    auto
    async_remove(const Key& key, CompletionToken&& token = default_completion_token_t<Executor>());

    /** @brief Runs an item now, whatever its state; one that is running, as `overlap` says.

        Without waiting for a tick. Triggers that wait for the end of a run have one run together.

        @param key The item's key.
        @throws boost::system::system_error As the form with an error code reports.
    */
    void trigger_now(const Key& key)
    {
        return detail::or_throw("keyed_scheduler::trigger_now", [&](error_code& ec) {
            return trigger_now(key, ec);
        });
    }

    /** @brief Runs an item now, whatever its state; one that is running, as `overlap` says.
        @param key The item's key.
        @param ec Set to `error::unknown_key`, `error::not_started`, `error::closed`, or to no error.
    */
    void trigger_now(const Key& key, error_code& ec) { alive()->trigger(key, ec); }

    /** @brief Runs an item now and waits asynchronously until that run has ended.

        @par Completion signature
        `void(error_code, basic_job_record<Clock>)`: the record's error, and the record. A run that was
        left out has no error, and the outcome `skipped`.

        @par Per-operation cancellation
        `terminal`, `partial` and `total` end the operation; the run goes on.

        @par Errors
        `error::unknown_key`, `error::not_started`, `error::closed`: there is no run.
        `operation_aborted`: cancelled, the item was removed before the run began, or the scheduler was
        stopped or destroyed. Else what the job returned, `error::timed_out`, `error::job_threw`.

        @param key The item's key.
        @param token The completion token.
        @return As the token determines.
    */
    template <
        asio::completion_token_for<void(error_code, basic_job_record<Clock>)> CompletionToken =
            default_completion_token_t<Executor>>
    auto
    async_trigger(const Key& key, CompletionToken&& token = default_completion_token_t<Executor>());

    /** @brief Takes an item's next run away until it is resumed, one that waits as well; a run goes on.
        @param key The item's key.
        @throws boost::system::system_error As the form with an error code reports.
    */
    void pause(const Key& key)
    {
        return detail::or_throw("keyed_scheduler::pause", [&](error_code& ec) {
            return pause(key, ec);
        });
    }

    /** @brief Takes an item's next run away until it is resumed, one that waits as well; a run goes on.
        @param key The item's key.
        @param ec Set to `error::unknown_key`, `error::closed`, or to no error.
    */
    void pause(const Key& key, error_code& ec) { alive()->pause(key, ec); }

    /** @brief Decides anew when a paused item runs next; does nothing if it is not paused.
        @param key The item's key.
        @throws boost::system::system_error As the form with an error code reports.
    */
    void resume(const Key& key)
    {
        return detail::or_throw("keyed_scheduler::resume", [&](error_code& ec) {
            return resume(key, ec);
        });
    }

    /** @brief Decides anew when a paused item runs next; does nothing if it is not paused.
        @param key The item's key.
        @param ec Set to `error::unknown_key`, `error::closed`, or to no error.
    */
    void resume(const Key& key, error_code& ec) { alive()->resume(key, ec); }

    /** @brief Decides anew when an item runs next, since what `next` depends on has changed; a run that
        waits is taken away.
        @param key The item's key.
        @throws boost::system::system_error As the form with an error code reports.
    */
    void reschedule(const Key& key)
    {
        return detail::or_throw("keyed_scheduler::reschedule", [&](error_code& ec) {
            return reschedule(key, ec);
        });
    }

    /** @brief Decides anew when an item runs next, since what `next` depends on has changed; a run that
        waits is taken away.
        @param key The item's key.
        @param ec Set to `error::unknown_key`, `error::closed`, or to no error.
    */
    void reschedule(const Key& key, error_code& ec) { alive()->reschedule(key, ec); }

    /** @brief Returns what all items are doing; takes time in proportion to their number.
        @return The items, sorted by key, at one moment.
    */
    [[nodiscard]] std::vector<snapshot_type> snapshot() const { return alive()->snapshot(); }

    /** @brief Returns what an item is doing.
        @param key The item's key.
        @return The item, or nothing if there is none.
    */
    [[nodiscard]] std::optional<snapshot_type> snapshot(const Key& key) const
    {
        return alive()->snapshot(key);
    }

private:
    using core_type = detail::keyed_core<Key, T, Clock, WaitTraits>;

    // A function of the user's may destroy the scheduler that calls it.
    std::shared_ptr<core_type> alive() const noexcept { return core_; }

    void detach() noexcept
    {
        if (core_)
            core_->detach();
    }

    std::shared_ptr<core_type> core_;
    executor_type executor_;
};

/// A scheduler on the wall clock.
template <class Key, class T>
using keyed_scheduler = basic_keyed_scheduler<Key, T>;

}

#include <timewheel/impl/keyed_scheduler.hpp>

#endif
