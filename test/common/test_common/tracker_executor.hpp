// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#ifndef TIMEWHEEL_TEST_COMMON_TRACKER_EXECUTOR_HPP
#define TIMEWHEEL_TEST_COMMON_TRACKER_EXECUTOR_HPP

/** @file
    An executor that hands everything to another one and keeps a diary: how much was submitted,
    how much work is outstanding, and whether the calling code runs on it.
*/

#include <timewheel/config.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/execution/outstanding_work.hpp>
#include <boost/asio/prefer.hpp>
#include <boost/asio/query.hpp>
#include <boost/asio/require.hpp>

#include <atomic>
#include <memory>
#include <type_traits>
#include <utility>

namespace timewheel::test {

/// What the executors of one tracker have seen. Shared by all copies; safe from any thread.
struct tracker_diary
{
    std::atomic<int> submissions{0};
    std::atomic<int> outstanding{0};
};

/// Marks, on this thread, the tracker whose function runs; the innermost one counts.
class tracker_scope
{
public:
    explicit tracker_scope(const tracker_diary& diary) : outer_{std::exchange(innermost_, &diary)}
    {}

    tracker_scope(const tracker_scope&) = delete;
    tracker_scope& operator=(const tracker_scope&) = delete;

    ~tracker_scope() { innermost_ = outer_; }

    /// The diary of the executor that called the running function, or null.
    [[nodiscard]] static const tracker_diary* innermost() noexcept { return innermost_; }

private:
    static inline thread_local const tracker_diary* innermost_ = nullptr;

    const tracker_diary* outer_;
};

/** Wraps `Inner`. Properties are forwarded, so the wrapper can do what `Inner` can; the answer is
    wrapped again. Outstanding work is kept by the wrapper in addition: each copy that was obtained
    by `outstanding_work.tracked` counts as one.
*/
template <class Inner = asio::any_io_executor>
class tracker_executor
{
public:
    using inner_executor_type = Inner;

    explicit tracker_executor(Inner inner)
        : tracker_executor{std::move(inner), std::make_shared<tracker_diary>(), false}
    {}

    tracker_executor(const tracker_executor& other) noexcept
        : inner_{other.inner_}
        , diary_{other.diary_}
        , tracked_{other.tracked_}
    {
        count(+1);
    }

    // The share of the work moves along: Asio does not destroy a guard's executor once it has moved.
    tracker_executor(tracker_executor&& other) noexcept
        : inner_{std::move(other.inner_)}
        , diary_{std::move(other.diary_)}
        , tracked_{std::exchange(other.tracked_, false)}
    {}

    tracker_executor& operator=(tracker_executor other) noexcept
    {
        std::swap(inner_, other.inner_);
        std::swap(diary_, other.diary_);
        std::swap(tracked_, other.tracked_);
        return *this;
    }

    ~tracker_executor() { count(-1); }

    [[nodiscard]] const tracker_diary& diary() const noexcept { return *diary_; }

    /// True inside a function that was submitted to this tracker and to no other one since.
    [[nodiscard]] bool running_here() const noexcept
    {
        return tracker_scope::innermost() == diary_.get();
    }

    template <class Function>
    void execute(Function&& function) const
    {
        ++diary_->submissions;
        inner_.execute([diary = diary_,
                        f = std::decay_t<Function>(std::forward<Function>(function))]() mutable {
            const tracker_scope scope{*diary};
            std::move(f)();
        });
    }

    [[nodiscard]] auto require(asio::execution::outstanding_work_t::tracked_t property) const
    {
        return wrap(asio::prefer(inner_, property), true);
    }

    [[nodiscard]] auto require(asio::execution::outstanding_work_t::untracked_t property) const
    {
        return wrap(asio::prefer(inner_, property), false);
    }

    template <class Property, class = std::enable_if_t<asio::can_require_v<const Inner&, Property>>>
    [[nodiscard]] auto require(const Property& property) const
    {
        return wrap(asio::require(inner_, property), tracked_);
    }

    template <class Property, class = std::enable_if_t<asio::can_prefer_v<const Inner&, Property>>>
    [[nodiscard]] auto prefer(const Property& property) const
    {
        return wrap(asio::prefer(inner_, property), tracked_);
    }

    [[nodiscard]] asio::execution::outstanding_work_t query(asio::execution::outstanding_work_t
    ) const noexcept
    {
        if (tracked_)
            return asio::execution::outstanding_work.tracked;
        return asio::execution::outstanding_work.untracked;
    }

    template <class Property, class = std::enable_if_t<asio::can_query_v<const Inner&, Property>>>
    [[nodiscard]] decltype(auto) query(const Property& property) const
        noexcept(asio::is_nothrow_query_v<const Inner&, Property>)
    {
        return asio::query(inner_, property);
    }

    friend bool operator==(const tracker_executor& a, const tracker_executor& b) noexcept
    {
        return a.diary_ == b.diary_ && a.tracked_ == b.tracked_ && a.inner_ == b.inner_;
    }

private:
    template <class>
    friend class tracker_executor;

    tracker_executor(Inner inner, std::shared_ptr<tracker_diary> diary, bool tracked)
        : inner_{std::move(inner)}
        , diary_{std::move(diary)}
        , tracked_{tracked}
    {
        count(+1);
    }

    template <class Other>
    tracker_executor<std::decay_t<Other>> wrap(Other&& other, bool tracked) const
    {
        return tracker_executor<std::decay_t<Other>>{std::forward<Other>(other), diary_, tracked};
    }

    void count(int change) const noexcept
    {
        if (tracked_)
            diary_->outstanding += change;
    }

    Inner inner_;
    std::shared_ptr<tracker_diary> diary_;
    bool tracked_;
};

template <class Inner>
tracker_executor(Inner) -> tracker_executor<Inner>;

}

#endif
