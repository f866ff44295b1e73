// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#ifndef TIMEWHEEL_DETAIL_KEYED_CORE_HPP
#define TIMEWHEEL_DETAIL_KEYED_CORE_HPP

#include <timewheel/config.hpp>
#include <timewheel/detail/clock_watch.hpp>
#include <timewheel/detail/keyed_entry.hpp>
#include <timewheel/detail/pending_completion.hpp>
#include <timewheel/detail/posters.hpp>
#include <timewheel/detail/typed_job_timer.hpp>
#include <timewheel/keyed_scheduler_options.hpp>

#include <boost/asio/any_io_executor.hpp>

#include <algorithm>
#include <atomic>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

namespace timewheel::detail {

/*  The items of a keyed scheduler and the decisions about them. Each run is a timer of a job wheel
    that has the item as its data.

    `mutex_` guards everything. It is not held while a function of the user's is called, but for those
    of the keys; what a critical section leaves to be done outside is collected in an `aftermath`. The
    job wheel's mutex may be locked while it is held.

    A timer that was replaced may come due before it is taken out. Its run compares itself with the
    item then, and is void if it is not the one that the item waits for.
*/
template <class Key, class T, class Clock, class WaitTraits>
class keyed_core : public std::enable_shared_from_this<keyed_core<Key, T, Clock, WaitTraits>>
{
public:
    using time_point = typename Clock::time_point;
    using options_type = basic_keyed_scheduler_options<Key, T, Clock>;
    using record_type = basic_job_record<Clock>;
    using snapshot_type = basic_item_snapshot<Key, T, Clock>;
    using report_type = replace_report<Key>;
    using run_type = keyed_run<Key, T, Clock>;
    using jobs_type = typed_job_core<run_type, Clock, WaitTraits>;
    using removal_handler = pending_completion<void(error_code, remove_result)>;
    using trigger_handler = pending_completion<void(error_code, record_type)>;
    using close_handler = pending_completion<void(error_code)>;

    keyed_core(
        const asio::any_io_executor& io_executor,
        const asio::any_io_executor& workers,
        options_type options
    );

    // To be called once, when there is a shared pointer.
    void init();

    const asio::any_io_executor& io_executor() const noexcept { return io_executor_; }

    void start(error_code& ec);
    void stop(error_code& ec);
    void close(error_code& ec);
    void async_close(std::uint64_t operation, close_handler handler);
    void detach() noexcept;

    upsert_result upsert(const Key& key, T&& data, error_code& ec);
    report_type replace_all(std::vector<keyed_item<Key, T>> items, error_code& ec);
    remove_result remove(const Key& key, error_code& ec);
    void trigger(const Key& key, error_code& ec);
    void pause(const Key& key, error_code& ec);
    void resume(const Key& key, error_code& ec);
    void reschedule(const Key& key, error_code& ec);

    void async_remove(const Key& key, std::uint64_t operation, removal_handler handler);
    void async_trigger(const Key& key, std::uint64_t operation, trigger_handler handler);

    // Names an operation, so that it can be cancelled.
    std::uint64_t new_operation() noexcept { return ++last_operation_; }
    void cancel(std::uint64_t operation);
    void cancel_close(std::uint64_t operation);

    std::vector<snapshot_type> snapshot() const;
    std::optional<snapshot_type> snapshot(const Key& key) const;

private:
    using lock_type = std::unique_lock<std::mutex>;
    using entry_type = keyed_entry<Key, T, Clock>;
    using entry_pointer = std::shared_ptr<entry_type>;
    using node_type = typename std::map<Key, entry_pointer>::node_type;
    using glance = keyed_glance<Key, T, Clock>;

    enum class lifecycle : std::uint8_t
    {
        fresh,
        running,
        closed
    };

    // What is to be done when the mutex is not locked any more.
    struct aftermath;

    // The job of the wheel.
    class runner;

    // A timer of the wheel.
    class timer;

    // An item that is to be there.
    struct wish
    {
        const T& wanted() const noexcept { return data ? *data : item->data; }

        keyed_item<Key, T>* item;
        std::shared_ptr<const T> compared; // with what is there
        std::shared_ptr<const T> data;     // if it is to be stored
        bool is_equal;
    };

    error_code closed_error() const;
    entry_pointer find(const Key& key, error_code& ec) const;
    entry_pointer find_running(const Key& key, error_code& ec) const;
    bool are_equal(const T& a, const T& b) const;

    static std::vector<wish> sorted_wishes(std::vector<keyed_item<Key, T>>& items);
    std::vector<wish*>
    open_wishes(std::vector<wish>& wishes, std::vector<std::shared_ptr<const T>>& old) const;
    std::vector<entry_pointer>
    fulfil(std::vector<wish>& wishes, report_type& report, aftermath& after);

    static void ask(entry_type& entry);
    void decide(entry_pointer entry);
    entry_pointer decide_one(const entry_pointer& entry);
    bool can_decide(const entry_type& entry) const;
    void schedule(const entry_pointer& entry, time_point next, time_point now);
    timer_id add_timer(const entry_pointer& entry, time_point when);
    timer_id add_trigger(const entry_pointer& entry);
    timer_id add_timer(time_point when, run_type&& run);
    void drop_timer(entry_type& entry, aftermath& after);
    void replace(const entry_pointer& entry, std::shared_ptr<const T> data, aftermath& after);
    remove_result drop(const entry_pointer& entry, aftermath& after);
    void cancel_active(entry_type& entry, aftermath& after);

    void trigger(const entry_pointer& entry, std::uint64_t operation);
    void run_again(const entry_pointer& entry);
    void abort_triggers(entry_type& entry, aftermath& after);
    void
    complete_triggers(entry_type& entry, timer_id id, const record_type& record, aftermath& after);

    bool begin(run_type& run, record_type& record);
    void put_back(const entry_pointer& entry, time_point now);
    bool is_current(const entry_type& entry, const run_type& run, timer_id id) const;
    bool allows_overlap() const noexcept
    {
        return options_.reschedule != reschedule_policy::after_finish &&
               options_.overlap == overlap_policy::allow;
    }
    bool waits_for_end() const noexcept
    {
        return options_.reschedule == reschedule_policy::after_finish ||
               options_.overlap == overlap_policy::queue_one;
    }
    void on_end(const run_type& run, const record_type& record);
    void settle(entry_type& entry, bool is_late);
    bool leave(entry_type& entry, timer_id id, const record_type& record, aftermath& after);
    void on_lost(const run_type& run, timer_id id);
    void on_clock_set_back();
    void on_shutdown();

    void note_state(const entry_pointer& entry);
    void perform(aftermath& after);
    void tell_changes();
    template <class Function, class... Arguments>
    void observe(const Function& function, const Arguments&... arguments);

    const asio::any_io_executor io_executor_;
    const asio::any_io_executor workers_;
    const options_type options_;
    std::shared_ptr<jobs_type> jobs_;
    clock_watch<Clock, WaitTraits> watch_;

    mutable std::mutex mutex_;
    lifecycle phase_ = lifecycle::fresh;
    std::atomic<bool> is_detached_{false}; // set under the lock
    std::map<Key, entry_pointer> entries_;
    std::map<Key, entry_pointer> leaving_; // removed while they were being decided
    std::uint64_t last_generation_ = 0;
    std::unordered_map<std::uint64_t, removal_handler> removals_;
    std::unordered_map<std::uint64_t, trigger_handler> triggers_;
    posters posters_;
    std::atomic<std::uint64_t> last_operation_{0};

    std::deque<std::pair<entry_pointer, item_state>> changes_; // to be told
    bool is_telling_ = false;
};

}

#include <timewheel/impl/keyed_core.hpp>
#include <timewheel/impl/keyed_core_decisions.hpp>
#include <timewheel/impl/keyed_core_items.hpp>
#include <timewheel/impl/keyed_core_runs.hpp>

#endif
