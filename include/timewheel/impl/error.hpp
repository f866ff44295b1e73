// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#ifndef TIMEWHEEL_IMPL_ERROR_HPP
#define TIMEWHEEL_IMPL_ERROR_HPP

#include <timewheel/error.hpp>

// The destructor of the base is protected, yet gcc warns because the base has friends.
#if defined(__GNUC__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wnon-virtual-dtor"
#endif

namespace timewheel {
namespace detail {

class error_category_type final : public boost::system::error_category
{
public:
    // The id makes the category equal to itself across shared objects that each have a copy.
    constexpr error_category_type() noexcept : boost::system::error_category(0x6d1f0c8b52e4a937) {}

    const char* name() const noexcept override { return "timewheel"; }

    std::string message(int value) const override { return text(value); }

    const char* message(int value, char*, std::size_t) const noexcept override
    {
        return text(value);
    }

    boost::system::error_condition default_error_condition(int value) const noexcept override
    {
        namespace errc = boost::system::errc;
        switch (static_cast<error>(value)) {
        case error::would_deadlock:
            return errc::make_error_condition(errc::resource_deadlock_would_occur);
        case error::too_many_timers:
            return errc::make_error_condition(errc::resource_unavailable_try_again);
        case error::timed_out: return errc::make_error_condition(errc::timed_out);
        case error::queue_full:
            return errc::make_error_condition(errc::resource_unavailable_try_again);
        case error::empty_job:
        case error::invalid_period:
        case error::invalid_count: return errc::make_error_condition(errc::invalid_argument);
        case error::not_started:
        case error::closed:
        case error::already_running:
        case error::no_job:
        case error::job_threw:
        case error::unknown_key: break;
        }
        return {value, *this};
    }

private:
    static const char* text(int value) noexcept
    {
        switch (static_cast<error>(value)) {
        case error::not_started: return "not started: call start() first";
        case error::closed: return "stopped or closed, which is final: make a new one";
        case error::already_running: return "already running: call start() only once";
        case error::would_deadlock:
            return "a job that blocks until its own wheel has closed would wait for itself: "
                   "use async_close()";
        case error::too_many_timers:
            return "too many timers are pending: try again when some have fired, or raise "
                   "max_pending";
        case error::no_job:
            return "the timer has no job: give it one, or give the wheel a default job";
        case error::timed_out:
            return "the deadline passed before the operation completed: try again or allow more "
                   "time";
        case error::queue_full:
            return "the queue of the workers was full, so the job was dropped: raise max_queued, "
                   "or choose another backpressure policy";
        case error::job_threw: return "the job threw an exception: see the event's exception";
        case error::empty_job: return "the job is empty: pass something that can be called";
        case error::invalid_period:
            return "the period of a repeating job is not positive: pass a longer one";
        case error::invalid_count:
            return "the number of runs of a repeating job is zero: pass at least 1, or leave it "
                   "out";
        case error::unknown_key: return "the scheduler has no item with that key: upsert it first";
        }
        return "unknown timewheel error";
    }
};

inline constinit const error_category_type error_category_instance{};

}

inline const boost::system::error_category& error_category() noexcept
{
    return detail::error_category_instance;
}

inline error_code make_error_code(error e) noexcept
{
    return {static_cast<int>(e), error_category()};
}

}

#if defined(__GNUC__)
#pragma GCC diagnostic pop
#endif

#endif
