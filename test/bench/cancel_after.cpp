// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

// A deadline around an operation that finishes at once: Asio's own adapter, where it has one (from
// Boost 1.86), against ours, and the operation without a deadline.

#include "population.hpp"

#include <timewheel/cancel_after.hpp>

#include <boost/asio/append.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/post.hpp>
#if __has_include(<boost/asio/cancel_after.hpp>)
#include <boost/asio/cancel_after.hpp>
#endif

namespace timewheel::bench {

namespace {

struct post_handler
{
    using executor_type = io_executor;

    io_executor executor;

    const executor_type& get_executor() const noexcept { return executor; }

    template <class Handler>
    void operator()(Handler handler) const
    {
        asio::post(executor, asio::append(std::move(handler), error_code()));
    }
};

// Succeeds in the next turn.
template <class CompletionToken>
auto async_finish(const io_executor& executor, CompletionToken&& token)
{
    return asio::async_initiate<CompletionToken, void(error_code)>(post_handler{executor}, token);
}

struct without_deadline
{
    counting_handler operator()(counting_handler handler) const { return handler; }
};

#if __has_include(<boost/asio/cancel_after.hpp>)
template <class Timeout>
struct asio_deadline
{
    auto operator()(counting_handler handler) const
    {
        return asio::cancel_after(Timeout::value, handler);
    }
};
#endif

template <class Timeout>
struct wheel_deadline
{
    auto operator()(counting_handler handler) const
    {
        return timewheel::cancel_after(Timeout::value, handler);
    }
};

struct before_all_others
{
    static constexpr auto value = 30s;
};

struct after_all_others
{
    static constexpr auto value = 2h;
};

// Operations in a context where n other timers are pending, so many of them at the same time.
template <class Timer, class Adapter, std::size_t AtATime>
class operations
{
public:
    explicit operations(std::size_t n) : others_(n) {}

    void some()
    {
        const auto executor = others_.context().get_executor();
        for (std::size_t done = 0; done != polled_every; done += AtATime) {
            for (std::size_t i = 0; i != AtATime; ++i)
                async_finish(executor, Adapter()(counting_handler{&completed_}));
            others_.context().poll();
        }
        started_ += polled_every;
        require(completed_ == started_, "a completion was lost or came twice");
    }

private:
    population<Timer> others_;
    std::uint64_t started_ = 0;
    std::uint64_t completed_ = 0;
};

template <class Timeout, std::size_t AtATime>
void compare(session& session, const std::string& workload)
{
    const std::size_t n = 1'000;
    operations<asio_timer, without_deadline, AtATime> plain(n);
    operations<wheel_timer, wheel_deadline<Timeout>, AtATime> wheel(n);
    const auto sample = [&](auto& some) {
        return [&] { return session.time(polled_every, [&] { some.some(); }); };
    };
    std::vector<subject> subjects{
        {"no deadline", sample(plain)},
        {"wheel", sample(wheel)},
    };
#if __has_include(<boost/asio/cancel_after.hpp>)
    operations<asio_timer, asio_deadline<Timeout>, AtATime> asio(n);
    subjects.push_back({"asio", sample(asio)});
#endif
    session.compare(workload, n, subjects);
}

void cancel_after(session& session)
{
    compare<before_all_others, 1>(session, "cancel_after");
    if (session.quick)
        return;
    compare<before_all_others, polled_every>(session, "cancel_after_64_at_a_time");
    compare<after_all_others, 1>(session, "cancel_after_late");
    compare<after_all_others, polled_every>(session, "cancel_after_late_64_at_a_time");
}

const benchmark known("cancel_after", cancel_after);

}

}
