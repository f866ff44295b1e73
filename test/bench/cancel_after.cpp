// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

// A deadline around an operation that finishes at once: Asio's own adapter, where it has one (from
// Boost 1.86), against ours, and the operation without a deadline. As in a server, operations are
// started by a handler.

#include "population.hpp"

#include <timewheel/cancel_after.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/append.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/post.hpp>
#if __has_include(<boost/asio/cancel_after.hpp>)
#include <boost/asio/cancel_after.hpp>
#endif

namespace timewheel::bench {

namespace {

template <class Executor>
struct post_handler
{
    using executor_type = Executor;

    Executor executor;

    const executor_type& get_executor() const noexcept { return executor; }

    template <class Handler>
    void operator()(Handler handler) const
    {
        asio::post(executor, asio::append(std::move(handler), error_code()));
    }
};

// Succeeds in the next turn.
template <class Executor, class CompletionToken>
auto async_finish(const Executor& executor, CompletionToken&& token)
{
    return asio::async_initiate<CompletionToken, void(error_code)>(
        post_handler<Executor>{executor}, token
    );
}

struct without_deadline
{
    auto operator()(auto handler) const { return handler; }
};

#if __has_include(<boost/asio/cancel_after.hpp>)
template <class Timeout>
struct asio_deadline
{
    auto operator()(auto handler) const { return asio::cancel_after(Timeout::value, handler); }
};
#endif

template <class Timeout>
struct wheel_deadline
{
    auto operator()(auto handler) const { return timewheel::cancel_after(Timeout::value, handler); }
};

struct before_all_others
{
    static constexpr auto value = 30s;
};

struct after_all_others
{
    static constexpr auto value = 2h;
};

// What the operations are made with, and how many of them are under way at a time.
struct usual
{
    using executor = io_executor;
    static constexpr int concurrency_hint = 1;
    static constexpr std::size_t at_a_time = 1;
    using timeout = before_all_others;
};

struct many_at_a_time : usual
{
    static constexpr std::size_t at_a_time = polled_every;
};

struct late : usual
{
    using timeout = after_all_others;
};

struct many_late : many_at_a_time
{
    using timeout = after_all_others;
};

struct erased : many_at_a_time
{
    using executor = asio::any_io_executor;
};

// A context that may be run by two threads.
struct shared : usual
{
    static constexpr int concurrency_hint = 2;
};

struct many_shared : many_at_a_time
{
    static constexpr int concurrency_hint = 2;
};

// Operations in a context where n other timers are pending.
template <class Timer, class Adapter, class Setting>
class operations
{
public:
    explicit operations(std::size_t n) : others_(n, Setting::concurrency_hint) {}

    // Each operation is followed by another one, as on a connection.
    void some()
    {
        left_ = polled_every;
        asio::post(others_.context(), [this] {
            for (std::size_t i = 0; i != Setting::at_a_time; ++i)
                next();
        });
        others_.context().poll();
        require(completed_ == started_, "a completion was lost or came twice");
    }

private:
    struct continuation
    {
        operations* all;

        void operator()(const error_code&) const
        {
            ++all->completed_;
            if (all->left_ != 0)
                all->next();
        }
    };

    void next()
    {
        --left_;
        ++started_;
        async_finish(executor_, Adapter()(continuation{this}));
    }

    population<Timer> others_;
    typename Setting::executor executor_ = others_.context().get_executor();
    std::size_t left_ = 0;
    std::uint64_t started_ = 0;
    std::uint64_t completed_ = 0;
};

template <class Setting>
void compare(session& session, const std::string& workload)
{
    const std::size_t n = 1'000;
    using timeout = typename Setting::timeout;
    operations<asio_timer, without_deadline, Setting> plain(n);
    operations<wheel_timer, wheel_deadline<timeout>, Setting> wheel(n);
    const auto sample = [&](auto& some) {
        return [&] { return session.time(polled_every, [&] { some.some(); }); };
    };
    std::vector<subject> subjects{
        {"no deadline", sample(plain)},
        {"wheel", sample(wheel)},
    };
#if __has_include(<boost/asio/cancel_after.hpp>)
    operations<asio_timer, asio_deadline<timeout>, Setting> asio(n);
    subjects.push_back({"asio", sample(asio)});
#endif
    session.compare(workload, n, subjects);
}

void cancel_after(session& session)
{
    compare<usual>(session, "cancel_after");
    if (session.quick)
        return;
    compare<many_at_a_time>(session, "cancel_after_64_at_a_time");
    compare<late>(session, "cancel_after_late");
    compare<many_late>(session, "cancel_after_late_64_at_a_time");
    compare<erased>(session, "cancel_after_any_64_at_a_time");
    compare<shared>(session, "cancel_after_shared");
    compare<many_shared>(session, "cancel_after_shared_64_at_a_time");
}

const benchmark known("cancel_after", cancel_after);

}

}
