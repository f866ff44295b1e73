// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#include <timewheel/cancel_after.hpp>

#include <timewheel/error.hpp>
#include <timewheel/manual_clock.hpp>
#include <timewheel/steady_timer.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/cancellation_type.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/connect_pipe.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/readable_pipe.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/asio/writable_pipe.hpp>
#include <boost/asio/write.hpp>
#include <boost/system/system_error.hpp>
#include <boost/test/unit_test.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <exception>
#include <future>
#include <system_error>
#include <utility>

namespace {

namespace asio = boost::asio;
using boost::system::error_code;
using namespace std::chrono_literals;

//! [coroutine] tag::coroutine[]
asio::awaitable<bool> receive(asio::readable_pipe& from, std::array<char, 4>& header)
{
    try {
        co_await asio::async_read(from, asio::buffer(header), timewheel::timeout_after(20ms));
        co_return true;
    } catch (const boost::system::system_error& e) {
        if (e.code() != timewheel::error::timed_out)
            throw;
        co_return false; // it may be in the midst of a header
    }
}
//! [coroutine] end::coroutine[]

BOOST_AUTO_TEST_SUITE(cancel_after)

BOOST_AUTO_TEST_CASE(timeout_after)
{
    bool timed_out = false;
    //! [timeout_after] tag::timeout_after[]
    asio::io_context context;
    timewheel::steady_timer operation{context, 1h}; // any other will do
    operation.async_wait(timewheel::timeout_after(10ms, [&](error_code ec) {
        timed_out = ec == timewheel::error::timed_out;
    }));
    context.run();
    //! [timeout_after] end::timeout_after[]
    BOOST_TEST(timed_out);
}

BOOST_AUTO_TEST_CASE(coroutine)
{
    asio::io_context context;
    asio::readable_pipe reader(context);
    asio::writable_pipe writer(context);
    asio::connect_pipe(reader, writer);
    std::array<char, 4> header{};
    auto first = asio::co_spawn(context, receive(reader, header), asio::use_future);
    context.run();
    BOOST_TEST(!first.get());
    asio::write(writer, asio::buffer("head", 4));
    context.restart();
    auto second = asio::co_spawn(context, receive(reader, header), asio::use_future);
    context.run();
    BOOST_TEST(second.get());
}

BOOST_AUTO_TEST_CASE(forms)
{
    asio::io_context context;
    timewheel::steady_timer operation{context, 1h};
    int cancelled = 0;
    const auto handler = [&](error_code ec) { cancelled += ec.failed(); };
    //! [forms] tag::forms[]
    using timewheel::cancel_after;
    const auto deadline = std::chrono::steady_clock::now() + 5ms;

    // a deadline, a type of signal other than terminal, another context's wheel
    operation.async_wait(cancel_after(5ms, handler));
    operation.async_wait(timewheel::cancel_at(deadline, handler));
    operation.async_wait(cancel_after(5ms, asio::cancellation_type::total, handler));
    operation.async_wait(cancel_after(context, 5ms, handler));

    // without a token: called with one, as a token, and with |
    operation.async_wait(cancel_after(5ms)(handler));
    auto deferred = operation.async_wait(cancel_after(5ms));
    std::move(deferred)(handler);
    (operation.async_wait(asio::deferred) | cancel_after(5ms))(handler);
    //! [forms] end::forms[]
    context.run();
    BOOST_TEST(cancelled == 7);
}

BOOST_AUTO_TEST_CASE(whole_coroutine)
{
    asio::io_context context;
    bool timed_out = false;
    const auto session = [&]() -> asio::awaitable<void> {
        timewheel::steady_timer timer{context, 1h};
        co_await timer.async_wait(asio::use_awaitable);
    };
    //! [whole] tag::whole[]
    asio::co_spawn(context, session(), timewheel::timeout_after(10ms, [&](std::exception_ptr e) {
                       try {
                           if (e)
                               std::rethrow_exception(e);
                       } catch (const boost::system::system_error& error) {
                           timed_out = error.code() == std::errc::timed_out;
                       }
                   }));
    //! [whole] end::whole[]
    context.run();
    BOOST_TEST(timed_out);
}

BOOST_AUTO_TEST_CASE(virtual_time)
{
    bool timed_out = false;
    //! [virtual_time] tag::virtual_time[]
    struct tag;
    using clock = timewheel::manual_clock<tag>;
    asio::io_context context;
    asio::readable_pipe reader(context);
    asio::writable_pipe writer(context);
    asio::connect_pipe(reader, writer);
    std::array<char, 4> header{};
    asio::async_read(
        reader,
        asio::buffer(header),
        timewheel::timeout_after<clock>(
            5min, [&](error_code ec, std::size_t) { timed_out = ec == timewheel::error::timed_out; }
        )
    );
    clock::advance(5min);
    context.poll();
    //! [virtual_time] end::virtual_time[]
    BOOST_TEST(timed_out);
}

BOOST_AUTO_TEST_SUITE_END()

}
