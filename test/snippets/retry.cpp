// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#include <timewheel/retry.hpp>

#include <timewheel/manual_clock.hpp>

#include <boost/asio/append.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/asio/write.hpp>
#include <boost/test/unit_test.hpp>

#include <chrono>
#include <cstdio>
#include <string>
#include <utility>

namespace {

namespace asio = boost::asio;
using boost::system::error_code;
using namespace std::chrono_literals;

// tag::coroutine[]
asio::awaitable<std::string> ask(asio::ip::tcp::endpoint server)
{
    asio::ip::tcp::socket socket{co_await asio::this_coro::executor};
    co_await socket.async_connect(server, asio::use_awaitable);
    char answer = 0;
    co_await socket.async_read_some(asio::buffer(&answer, 1), asio::use_awaitable);
    co_return std::string(1, answer);
}

asio::awaitable<std::string> ask_until_it_answers(asio::ip::tcp::endpoint server)
{
    co_return co_await timewheel::async_retry(
        co_await asio::this_coro::executor,
        [&] { return ask(server); },
        timewheel::exponential_backoff{.initial = 10ms},
        asio::use_awaitable
    );
}
// end::coroutine[]

BOOST_AUTO_TEST_SUITE(retry)

BOOST_AUTO_TEST_CASE(backoff)
{
    //! [backoff] tag::backoff[]
    const timewheel::exponential_backoff patient{
        .initial = 200ms, // so at most 200 ms, 400 ms, 800 ms and so on
        .maximum = 1min,
        .max_attempts = timewheel::exponential_backoff::unlimited,
        .retry_if = [](const error_code& ec) { return ec != asio::error::access_denied; },
        .on_retry =
            [](const error_code& ec, unsigned attempt, auto delay) {
                const auto ms = std::chrono::ceil<std::chrono::milliseconds>(delay).count();
                std::printf(
                    "attempt %u: %s; next one in %d ms\n",
                    attempt,
                    ec.message().c_str(),
                    static_cast<int>(ms)
                );
            }
    };
    //! [backoff] end::backoff[]
    BOOST_TEST(patient.retry_if(asio::error::connection_refused));
    BOOST_TEST(!patient.retry_if(asio::error::access_denied));
    patient.on_retry(asio::error::connection_refused, 1, 150ms);
}

BOOST_AUTO_TEST_CASE(retry)
{
    asio::io_context context;
    asio::ip::tcp::acceptor acceptor{context, {asio::ip::address_v4::loopback(), 0}};
    const auto server = acceptor.local_endpoint();
    int attempts = 0;
    bool connected = false;
    //! [retry] tag::retry[]
    asio::ip::tcp::socket socket{context};
    const auto connect = [&](auto token) {
        ++attempts;
        socket.close(); // what a failed attempt has left
        return socket.async_connect(server, token);
    };
    timewheel::async_retry(
        context,
        connect,
        timewheel::exponential_backoff{.initial = 50ms, .max_attempts = 3},
        [&](error_code ec) { connected = !ec; }
    );
    //! [retry] end::retry[]
    context.run();
    BOOST_TEST(attempts == 1);
    BOOST_TEST(connected);
}

BOOST_AUTO_TEST_CASE(coroutine)
{
    asio::io_context context;
    asio::ip::tcp::acceptor acceptor{context, {asio::ip::address_v4::loopback(), 0}};
    asio::ip::tcp::socket peer{context};
    acceptor.async_accept(peer, [&](error_code ec) {
        BOOST_TEST(!ec);
        asio::write(peer, asio::buffer("!", 1));
    });
    auto answer =
        asio::co_spawn(context, ask_until_it_answers(acceptor.local_endpoint()), asio::use_future);
    context.run();
    BOOST_TEST(answer.get() == "!");
}

BOOST_AUTO_TEST_CASE(virtual_time)
{
    // tag::virtual_time[]
    using clock = timewheel::manual_clock<struct virtual_time_test>;
    asio::io_context context;
    int attempts = 0;
    error_code result;
    timewheel::async_retry(
        context,
        [&](auto token) {
            ++attempts;
            const error_code ec = asio::error::timed_out;
            return asio::post(context, asio::append(std::move(token), ec));
        },
        timewheel::basic_exponential_backoff<clock>{.initial = 1s, .jitter = 0, .max_attempts = 4},
        [&](error_code ec) { result = ec; }
    );
    context.poll();
    while (clock::advance_to_next())
        context.poll();
    BOOST_TEST(attempts == 4);
    BOOST_TEST(result == asio::error::timed_out);
    BOOST_TEST((clock::now().time_since_epoch() == 7s)); // 1 s + 2 s + 4 s
    // end::virtual_time[]
}

BOOST_AUTO_TEST_SUITE_END()

}
