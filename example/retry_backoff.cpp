// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

// A TCP client whose server is not there yet. It tries to connect again and again, each time after a
// longer and partly random delay, until the server has come up, and then exchanges a line with it.
// An attempt to connect is given up after a while as well, since a lost packet is no refusal.
//
// The server is part of the program and listens on the loopback interface after 700 ms. Ctrl-C
// ends the client at any moment, in a delay as well as in an attempt.
//
// Returns 0 if the line came back, else 1.

#include <timewheel/cancel_after.hpp>
#include <timewheel/retry.hpp>
#include <timewheel/steady_timer.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

#include <chrono>
#include <csignal>
#include <exception>
#include <iostream>
#include <string>
#include <utility>
#include <variant>

namespace asio = boost::asio;
using asio::awaitable;
using asio::ip::tcp;
using asio::use_awaitable;
using boost::system::error_code;
using namespace std::chrono_literals;

namespace {

// Sends one line back, but not before some time has passed.
awaitable<void> serve_late(tcp::acceptor& acceptor, std::chrono::milliseconds delay)
{
    timewheel::steady_timer timer{acceptor.get_executor(), delay};
    co_await timer.async_wait();
    acceptor.listen();
    std::cout << "server: listening now" << std::endl;
    tcp::socket socket = co_await acceptor.async_accept(use_awaitable);
    std::string line;
    co_await asio::async_read_until(socket, asio::dynamic_buffer(line, 1000), '\n', use_awaitable);
    co_await asio::async_write(socket, asio::buffer(line), use_awaitable);
}

timewheel::exponential_backoff backoff()
{
    return {
        .initial = 50ms,
        .multiplier = 2,
        .maximum = 500ms,
        .jitter = 0.5,
        .max_attempts = 20,
        .on_retry =
            [](const error_code& ec, unsigned attempt, auto delay) {
                std::cout << "client: attempt " << attempt << ": " << ec.message()
                          << ", the next one in " << delay / 1ms << " ms" << std::endl;
            }
    };
}

// Returns whether the server has sent back what it was sent.
awaitable<bool> talk(tcp::endpoint server)
{
    tcp::socket socket{co_await asio::this_coro::executor};
    co_await timewheel::async_retry(
        socket.get_executor(),
        [&](auto token) {
            error_code ignored;
            socket.close(ignored); // a socket that failed to connect can't be used again
            return socket.async_connect(server, timewheel::timeout_after(1s, std::move(token)));
        },
        backoff(),
        use_awaitable
    );
    std::cout << "client: connected to " << socket.remote_endpoint() << std::endl;

    const std::string line = "better late than never\n";
    std::string answer;
    co_await asio::async_write(socket, asio::buffer(line), use_awaitable);
    co_await asio::async_read_until(
        socket, asio::dynamic_buffer(answer, 1000), '\n', use_awaitable
    );
    std::cout << "client: the server says: " << answer << std::flush;
    co_return answer == line;
}

awaitable<bool> talk_until_interrupted(tcp::acceptor& acceptor)
{
    using namespace asio::experimental::awaitable_operators;
    asio::signal_set interrupt{acceptor.get_executor(), SIGINT, SIGTERM};
    const auto first = co_await (
        (serve_late(acceptor, 700ms) && talk(acceptor.local_endpoint())) ||
        interrupt.async_wait(use_awaitable)
    );
    if (first.index() == 1)
        std::cout << "interrupted" << std::endl;
    co_return first.index() == 0 && std::get<0>(first);
}

}

int main()
{
    try {
        asio::io_context context;
        // A port that is bound and not listened to refuses connections, and stays ours.
        tcp::acceptor acceptor{context, tcp::v4()};
        acceptor.bind({asio::ip::address_v4::loopback(), 0});

        bool done = false;
        asio::co_spawn(
            context,
            talk_until_interrupted(acceptor),
            [&](std::exception_ptr exception, bool result) {
                if (exception)
                    std::rethrow_exception(exception);
                done = result;
            }
        );
        context.run();
        return done ? 0 : 1;
    } catch (const std::exception& e) {
        std::cerr << "retry_backoff: " << e.what() << std::endl;
        return 1;
    }
}
