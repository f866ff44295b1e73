// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#ifndef TIMEWHEEL_EXAMPLE_WHEEL_SERVICE_TASK_SERVICE_HPP
#define TIMEWHEEL_EXAMPLE_WHEEL_SERVICE_TASK_SERVICE_HPP

#include "config.hpp"
#include "task.hpp"
#include "task_store.hpp"

#include <timewheel/keyed_scheduler.hpp>
#include <timewheel/wheel.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/system/error_code.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace wheel_service {

/// What a schedule does, and when.
struct schedule
{
    std::string type = "simple";
    std::string cron; ///< or empty
    std::chrono::milliseconds period{};

    bool operator==(const schedule&) const = default;
};

enum class cancel_result
{
    cancelled, ///< it will not run
    stopping,  ///< it runs, and was told to stop
    finished,  ///< too late
    unknown
};

/** The tasks on their wheel, which has a context and a thread to itself, so that no client holds it up.

    Thread-safe. What does not begin any more after stop() throws a boost::system::system_error.
*/
class task_service
{
public:
    using scheduler = timewheel::keyed_scheduler<std::string, schedule>;
    using schedule_snapshot = scheduler::snapshot_type;

    explicit task_service(const config& chosen);
    ~task_service();

    task_id add(
        const std::string& type,
        std::chrono::milliseconds delay,
        std::optional<std::chrono::milliseconds> repeat
    );

    cancel_result cancel(task_id id);

    timewheel::upsert_result put_schedule(const std::string& key, const schedule& planned);
    std::optional<schedule_snapshot> find_schedule(const std::string& key) const;
    std::vector<schedule_snapshot> schedules() const;
    [[nodiscard]] std::size_t schedule_count() const noexcept { return schedule_count_; }
    bool remove_schedule(const std::string& key);

    [[nodiscard]] task_store& store() noexcept { return store_; }
    [[nodiscard]] const task_store& store() const noexcept { return store_; }
    [[nodiscard]] timewheel::wheel_stats wheel_stats() const { return wheel_.stats(); }
    [[nodiscard]] clock::duration tick() const { return tick_; }

    /// Cancels what waits and calls `done`, once, when nothing runs any more; what runs is told to stop
    /// after `patience`.
    void stop(std::chrono::milliseconds patience, std::function<void()> done);

private:
    using wheel = timewheel::wheel<task_id>;

    void on_run_ended(const wheel::options_type::event_type& event);
    boost::asio::awaitable<boost::system::error_code>
    run_schedule(const std::string& key, const schedule& planned);
    void on_schedule_ran(
        const std::string& key,
        const timewheel::basic_job_record<scheduler::clock_type>& record
    );

    const clock::duration tick_;
    task_store store_;
    boost::asio::io_context context_{1};
    boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_;
    boost::asio::thread_pool workers_;
    wheel wheel_;
    scheduler scheduler_;
    std::atomic<std::size_t> schedule_count_{0};
    std::mutex mutex_;
    std::map<std::string, std::string>
        running_types_; // of schedules, which may be removed meanwhile
    std::thread thread_;
};

}

#endif
