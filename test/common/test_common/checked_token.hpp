// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#ifndef TIMEWHEEL_TEST_COMMON_CHECKED_TOKEN_HPP
#define TIMEWHEEL_TEST_COMMON_CHECKED_TOKEN_HPP

/** @file
    A completion token that holds an operation to its contract:

    - the handler is invoked exactly once, or, where the test allows it, destroyed uninvoked;
    - never by the thread that is still inside the initiating function;
    - with the error code the test expects;
    - on the executor the test expects, if it names one.

    What goes wrong is reported with the line that created the token.
*/

#include <timewheel/config.hpp>

#include <test_common/report.hpp>
#include <test_common/tracker_executor.hpp>

#include <boost/asio/async_result.hpp>
#include <boost/asio/error.hpp>

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <thread>
#include <utility>

namespace timewheel::test {

/// What became of an operation, for the test to look at. Each may be set from another thread.
struct outcome
{
    std::atomic<int> invoked{0};
    std::atomic<int> dropped{0};
    error_code ec;

    [[nodiscard]] bool done() const noexcept { return invoked != 0; }
};

/// The expectations and the fate of one operation; see the file comment.
class checked_token
{
public:
    checked_token(std::optional<error_code> expected, const boost::source_location& where)
        : state_{std::make_shared<state>()}
    {
        state_->expected = expected;
        state_->where = where;
    }

    /// Stores the fate in `result`, which must outlive the operation.
    [[nodiscard]] checked_token into(outcome& result) &&
    {
        state_->result = &result;
        return std::move(*this);
    }

    /// The handler must be running on `executor`.
    template <class Inner>
    [[nodiscard]] checked_token on(tracker_executor<Inner> executor) &&
    {
        state_->right_executor = [executor = std::move(executor)] {
            return executor.running_here();
        };
        return std::move(*this);
    }

    /// Runs `continuation` in the handler, after the checks.
    [[nodiscard]] checked_token then(std::function<void()> continuation) &&
    {
        state_->continuation = std::move(continuation);
        return std::move(*this);
    }

    /// Destruction without invocation is fine: the context may go away first.
    [[nodiscard]] checked_token or_dropped() &&
    {
        state_->may_be_dropped = true;
        return std::move(*this);
    }

    /// Invocation is a failure: the operation can only be dropped.
    [[nodiscard]] checked_token never_invoked() &&
    {
        state_->may_be_invoked = false;
        return std::move(*this).or_dropped();
    }

    /// Starts an operation that completes to this token.
    template <class Initiation, class... Args>
    void initiate(Initiation&& initiation, Args&&... args) &&
    {
        // The note of this thread lasts as long as the call; the handler may well be gone sooner.
        const auto alive = state_;
        const initiation_scope scope{alive->initiating};
        std::forward<Initiation>(initiation)(
            handler{std::move(state_)}, std::forward<Args>(args)...
        );
    }

private:
    /// Notes which thread is inside the initiating function.
    class initiation_scope
    {
    public:
        explicit initiation_scope(std::atomic<std::thread::id>& thread) : thread_{thread}
        {
            thread_ = std::this_thread::get_id();
        }

        initiation_scope(const initiation_scope&) = delete;
        initiation_scope& operator=(const initiation_scope&) = delete;

        ~initiation_scope() { thread_ = std::thread::id{}; }

    private:
        std::atomic<std::thread::id>& thread_;
    };

    struct state
    {
        std::optional<error_code> expected;
        boost::source_location where;
        outcome* result = nullptr;
        std::function<bool()> right_executor;
        std::function<void()> continuation;
        bool may_be_dropped = false;
        bool may_be_invoked = true;
        std::atomic<bool> invoked{false};
        std::atomic<std::thread::id> initiating{};
    };

    class handler
    {
    public:
        explicit handler(std::shared_ptr<state> s) : state_{std::move(s)} {}

        handler(handler&&) noexcept = default;

        ~handler()
        {
            if (!state_ || state_->invoked)
                return;
            if (state_->result)
                ++state_->result->dropped;
            if (!state_->may_be_dropped)
                report_failure(state_->where, "the handler was destroyed without being invoked");
        }

        template <class... Values>
        void operator()(error_code ec, Values&&...)
        {
            if (!state_)
                return report_failure(BOOST_CURRENT_LOCATION, "a moved-from handler was invoked");
            state& s = *state_;
            if (s.invoked.exchange(true))
                fail("the handler was invoked twice");
            if (!s.may_be_invoked)
                fail("the handler was invoked, with " + describe(ec));
            else if (s.expected && *s.expected != ec)
                fail("completed with " + describe(ec) + " instead of " + describe(*s.expected));
            if (s.initiating.load() == std::this_thread::get_id())
                fail("the handler was invoked inside the initiating function");
            if (s.right_executor && !s.right_executor())
                fail("the handler was invoked outside of its executor");
            if (s.result) {
                s.result->ec = ec;
                ++s.result->invoked;
            }
            if (s.continuation)
                s.continuation();
        }

    private:
        static std::string describe(const error_code& ec)
        {
            std::ostringstream text;
            text << ec << " (" << ec.message() << ")";
            return text.str();
        }

        void fail(const std::string& what) const { report_failure(state_->where, what); }

        std::shared_ptr<state> state_;
    };

    std::shared_ptr<state> state_;
};

/// The operation ends with `expected`.
[[nodiscard]] inline checked_token
ends_with(error_code expected, const boost::source_location& where = BOOST_CURRENT_LOCATION)
{
    return checked_token{expected, where};
}

/// The operation ends, with whatever error code.
[[nodiscard]] inline checked_token ends(
    const boost::source_location& where = BOOST_CURRENT_LOCATION
)
{
    return checked_token{std::nullopt, where};
}

/// The operation succeeds.
[[nodiscard]] inline checked_token succeeds(
    const boost::source_location& where = BOOST_CURRENT_LOCATION
)
{
    return checked_token{error_code{}, where};
}

/// The operation is cancelled.
[[nodiscard]] inline checked_token is_aborted(
    const boost::source_location& where = BOOST_CURRENT_LOCATION
)
{
    return checked_token{error_code{asio::error::operation_aborted}, where};
}

/// The operation never ends; its handler is destroyed with the context.
[[nodiscard]] inline checked_token is_dropped(
    const boost::source_location& where = BOOST_CURRENT_LOCATION
)
{
    return checked_token{std::nullopt, where}.never_invoked();
}

}

namespace boost::asio {

template <class... Values>
class async_result<timewheel::test::checked_token, void(timewheel::error_code, Values...)>
{
public:
    using return_type = void;

    template <class Initiation, class... Args>
    static void
    initiate(Initiation&& initiation, timewheel::test::checked_token token, Args&&... args)
    {
        std::move(token).initiate(
            std::forward<Initiation>(initiation), std::forward<Args>(args)...
        );
    }
};

}

#endif
