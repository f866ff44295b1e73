// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#include "task_service.hpp"

#include "sample_jobs.hpp"

#include <timewheel/calendar.hpp>
#include <timewheel/wheel_service.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <exception>
#include <utility>

namespace wheel_service {

namespace {

namespace asio = boost::asio;
using system_clock = std::chrono::system_clock;

task_state to_state(timewheel::job_outcome outcome)
{
    using timewheel::job_outcome;
    switch (outcome) {
    case job_outcome::completed: return task_state::completed;
    case job_outcome::failed:
    case job_outcome::threw: return task_state::failed;
    case job_outcome::timed_out: return task_state::timed_out;
    case job_outcome::cancelled: return task_state::cancelled;
    case job_outcome::dropped:
    case job_outcome::skipped: break;
    }
    return task_state::dropped;
}

std::optional<system_clock::time_point>
next_run(system_clock::time_point now, const std::string&, const schedule& planned)
{
    if (!planned.cron.empty())
        return timewheel::cron(planned.cron)(now);
    return now + planned.period;
}

// The wheel's ticks are the service's, so that the page can show its slots.
asio::io_context& with_tick(asio::io_context& context, const config& chosen)
{
    asio::make_service<timewheel::wheel_service>(
        context, timewheel::wheel_service_options{.tick = chosen.tick_duration}
    );
    return context;
}

}

task_service::task_service(const config& chosen)
    : tick_(chosen.tick_duration)
    , store_(chosen.history_size, tick_)
    , work_(context_.get_executor())
    , workers_(chosen.worker_threads)
    , wheel_(
          with_tick(context_, chosen),
          workers_,
          {.tick = chosen.tick_duration,
           .max_queued = chosen.queue_size,
           .policy = chosen.queue_policy,
           .max_pending = chosen.max_tasks,
           .run_timeout = chosen.task_timeout,
           .observer = [this](const auto& event) { on_run_ended(event); }}
      )
    , scheduler_(
          context_,
          workers_,
          {.next = next_run,
           .run =
               [this](const std::string& key, const schedule& planned) {
                   return run_schedule(key, planned);
               },
           .run_timeout = chosen.task_timeout,
           .tick = chosen.tick_duration,
           .on_run =
               [this](const std::string& key, const auto& record) { on_schedule_ran(key, record); }}
      )
    , thread_([this] { context_.run(); })
{
    wheel_.start();
    scheduler_.start();
}

task_service::~task_service()
{
    boost::system::error_code ignored;
    scheduler_.close(ignored);
    wheel_.close(ignored);
    work_.reset();
    thread_.join();
    workers_.join();
}

task_id task_service::add(
    const std::string& type,
    std::chrono::milliseconds delay,
    std::optional<std::chrono::milliseconds> repeat
)
{
    task added;
    added.type = type;
    added.delay = delay;
    added.repeat = repeat;
    added.created = clock::now();
    added.due = added.created + delay;
    const clock::time_point due = added.due;
    const auto job = [this, type](timewheel::job_context& run, task_id id) {
        store_.begin(id, run.scheduled_for() + run.lateness());
        return run_sample(type);
    };
    return store_.add(std::move(added), [&](task_id id) {
        if (!repeat)
            return wheel_.add(due, id, job);
        return wheel_.add_repeating(
            *repeat, id, job, {.mode = timewheel::repeat_mode::fixed_delay, .initial_delay = delay}
        );
    });
}

cancel_result task_service::cancel(task_id id)
{
    const std::optional<task> found = store_.find(id);
    if (!found)
        return cancel_result::unknown;
    if (is_final(found->state))
        return cancel_result::finished;
    boost::system::error_code ec;
    switch (wheel_.remove(found->timer, timewheel::cancel_running, ec)) {
    case timewheel::remove_result::removed:
        store_.end(id, task_state::cancelled, clock::now(), {}, std::nullopt);
        return cancel_result::cancelled;
    case timewheel::remove_result::running: return cancel_result::stopping;
    case timewheel::remove_result::unknown: break;
    }
    return cancel_result::finished;
}

void task_service::on_run_ended(const wheel::options_type::event_type& event)
{
    store_.end(
        event.data,
        to_state(event.outcome),
        event.finished_at,
        event.error ? event.error.message() : std::string(),
        wheel_.next_fire_time(event.id)
    );
}

timewheel::upsert_result task_service::put_schedule(const std::string& key, const schedule& planned)
{
    const timewheel::upsert_result result = scheduler_.upsert(key, planned);
    if (result == timewheel::upsert_result::added)
        ++schedule_count_;
    return result;
}

auto task_service::find_schedule(const std::string& key) const -> std::optional<schedule_snapshot>
{
    return scheduler_.snapshot(key);
}

auto task_service::schedules() const -> std::vector<schedule_snapshot>
{
    return scheduler_.snapshot();
}

bool task_service::remove_schedule(const std::string& key)
{
    boost::system::error_code ec;
    const bool was_there = scheduler_.remove(key, ec) != timewheel::remove_result::unknown;
    if (was_there)
        --schedule_count_;
    return was_there;
}

asio::awaitable<boost::system::error_code>
task_service::run_schedule(const std::string& key, const schedule& planned)
{
    const std::lock_guard lock(mutex_);
    running_types_[key] = planned.type;
    return run_sample(planned.type);
}

// The store counts by the steady clock, a schedule by the wall clock.
void task_service::on_schedule_ran(
    const std::string& key,
    const timewheel::basic_job_record<scheduler::clock_type>& record
)
{
    const clock::time_point now = clock::now();
    task ran;
    ran.type = "simple";
    if (const std::lock_guard lock(mutex_); auto type = running_types_.extract(key))
        ran.type = type.mapped();
    else if (const auto planned = scheduler_.snapshot(key))
        ran.type = planned->data.type; // it was dropped before it began
    ran.state = to_state(record.outcome);
    ran.schedule = key;
    ran.created = ran.due = now - record.duration - record.lateness;
    ran.started = now - record.duration;
    ran.finished = now;
    ran.duration = record.duration;
    ran.runs = 1;
    ran.error = record.error ? record.error.message() : std::string();
    store_.add_finished(std::move(ran));
}

void task_service::stop(std::chrono::milliseconds patience, std::function<void()> done)
{
    asio::co_spawn(
        context_,
        [this, patience]() -> asio::awaitable<void> {
            for (const task& each : store_.active()) {
                boost::system::error_code ec;
                if (wheel_.remove(each.timer, ec) == timewheel::remove_result::removed)
                    store_.end(each.id, task_state::cancelled, clock::now(), {}, std::nullopt);
            }
            for (const schedule_snapshot& each : scheduler_.snapshot())
                scheduler_.pause(each.key);
            const auto is_busy = [this] {
                if (wheel_.stats().running != 0)
                    return true;
                for (const schedule_snapshot& each : scheduler_.snapshot()) {
                    if (each.running != 0)
                        return true;
                }
                return false;
            };
            // The ticks of the wheel may be longer than anybody's patience.
            asio::steady_timer pause(context_);
            const clock::time_point deadline = clock::now() + patience;
            while (is_busy() && clock::now() < deadline) {
                pause.expires_after(std::chrono::milliseconds(10));
                co_await pause.async_wait(asio::use_awaitable);
            }
            co_await wheel_.async_close(asio::use_awaitable);
            co_await scheduler_.async_close(asio::use_awaitable);
        },
        [done = std::move(done)](const std::exception_ptr&) { done(); }
    );
}

}
