// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#include <timewheel/high_resolution_timer.hpp>
#include <timewheel/steady_timer.hpp>
#include <timewheel/system_timer.hpp>

#include "harness.hpp"

#include <test_common/random_source.hpp>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/thread_pool.hpp>

#include <chrono>
#include <functional>
#include <memory>

// Sessions as servers have them: each on its strand with a timeout that is re-armed, and a wait that
// others cancel by a signal on that strand. Several services share the context, and a pool of
// threads completes handlers of its own.

using namespace timewheel;
using namespace timewheel::test;
using namespace std::chrono_literals;

namespace {

template <class Timer>
class session : public std::enable_shared_from_this<session<Timer>>
{
public:
    session(asio::io_context& ctx, asio::thread_pool& pool, tally& waits)
        : strand_(asio::make_strand(ctx))
        , timeout_(strand_)
        , wait_(strand_)
        , elsewhere_(ctx)
        , pool_(pool)
        , waits_(waits)
    {}

    void start()
    {
        asio::post(strand_, [self = this->shared_from_this()] { self->again(); });
    }

    void signal()
    {
        asio::post(strand_, [self = this->shared_from_this()] {
            self->signal_.emit(asio::cancellation_type::total);
        });
    }

private:
    auto counted()
    {
        ++waits_.started;
        return [self = this->shared_from_this()](error_code ec) { self->waits_.count(ec); };
    }

    void again()
    {
        if (++rounds_ == 100)
            return;
        timeout_.expires_after(std::chrono::microseconds(rounds_ % 10 * 100));
        timeout_.async_wait(asio::bind_executor(pool_, counted()));
        elsewhere_.expires_after(100us);
        elsewhere_.async_wait(asio::bind_executor(strand_, counted()));
        wait_.expires_after(std::chrono::microseconds(rounds_ % 3 * 500));
        ++waits_.started;
        wait_.async_wait(asio::bind_cancellation_slot(
            signal_.slot(),
            [self = this->shared_from_this()](error_code ec) {
                self->waits_.count(ec);
                self->again();
            }
        ));
    }

    asio::strand<asio::io_context::executor_type> strand_;
    Timer timeout_;
    Timer wait_;
    Timer elsewhere_;
    asio::thread_pool& pool_;
    asio::cancellation_signal signal_;
    tally& waits_;
    int rounds_ = 0;
};

template <class Timer>
void run()
{
    asio::io_context ctx;
    tally waits;
    {
        asio::thread_pool pool(2);
        crew runners(ctx, 3);
        std::vector<std::shared_ptr<session<Timer>>> sessions;
        for (int i = 0; i != 20; ++i) {
            sessions.push_back(std::make_shared<session<Timer>>(ctx, pool, waits));
            sessions.back()->start();
        }
        in_threads(2, [&](unsigned number) {
            random_source random(number);
            for (int step = 0; step != 1000; ++step) {
                sessions[random.below(sessions.size())]->signal();
                if (random.one_in(20))
                    std::this_thread::sleep_for(100us);
            }
        });
        sessions.clear();
        runners.finish();
        pool.join();
    }
    using service = basic_wheel_service<typename Timer::clock_type>;
    waits.check_against(asio::use_service<service>(ctx).stats());
}

}

int main()
{
    run<steady_timer>();
    run<system_timer>();
    run<basic_waitable_timer<
        std::chrono::high_resolution_clock,
        asio::wait_traits<std::chrono::high_resolution_clock>,
        asio::any_io_executor>>();
}
