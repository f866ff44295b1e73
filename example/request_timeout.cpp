// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

// A TCP client that does not wait forever. It sends requests to a server on the loopback interface
// and waits for each reply with one more word in the line that waits:
//
//     co_await asio::async_read(socket, asio::buffer(header), timewheel::timeout_at(deadline));
//
// There is no timer to set, to cancel and to keep apart from the read: a read that is not done at
// the deadline is cancelled, and fails with timewheel::error::timed_out, which tells it from a read
// that was cancelled by somebody else. A reply is a length and a text, so it takes two reads, which
// share the deadline. A whole client is a coroutine, which may have a deadline just as well.
//
// The server answers most requests at once, some of them late, and on some connections it says
// nothing any more. When a reply does not come in time, the client cannot know where in the stream
// it would be; so it says so, makes a new connection and goes on. At the end it prints a table of
// what has happened, and checks it: what came came in time, and nothing was given up too early.

#include <timewheel/cancel_after.hpp>
#include <timewheel/error.hpp>
#include <timewheel/sleep.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/address_v4.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/system/system_error.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <exception>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;
using namespace std::chrono_literals;

namespace {

using clock_type = std::chrono::steady_clock;
using milliseconds = std::chrono::duration<double, std::milli>;

// A slow machine has to be in time as well.
constexpr auto time_to_reply = 1500ms;
constexpr auto late = 3s;
constexpr auto time_of_hasty_client = 1s;

// What the clients ask for, and how it has to end.
enum class ending
{
    reply,
    timeout,
    cancellation
};

struct request
{
    std::string_view text;
    ending expected;
};

constexpr std::array requests_of_busy_client{
    request{"ping", ending::reply},
    request{"think about it", ending::timeout},
    request{"pong", ending::reply},
    request{"think about it again", ending::timeout},
    request{"goodbye", ending::reply},
};

constexpr std::array requests_of_patient_client{
    request{"be silent", ending::timeout},
    request{"hello", ending::reply},
};

constexpr std::array requests_of_hasty_client{
    request{"ping", ending::reply},
    request{"be silent", ending::cancellation},
    request{"never sent", ending::reply},
};

// A message on the wire is one byte with the length of the text, and the text.
asio::awaitable<void> send(tcp::socket& socket, std::string_view text)
{
    const std::array<unsigned char, 1> header{static_cast<unsigned char>(text.size())};
    const std::array<asio::const_buffer, 2> message{asio::buffer(header), asio::buffer(text)};
    co_await asio::async_write(socket, message, asio::use_awaitable);
}

// Throws, also when the deadline passes before all is there.
asio::awaitable<std::string> receive(tcp::socket& socket, clock_type::time_point deadline)
{
    std::array<unsigned char, 1> header{};
    co_await asio::async_read(socket, asio::buffer(header), timewheel::timeout_at(deadline));
    std::string text(header[0], '\0');
    co_await asio::async_read(socket, asio::buffer(text), timewheel::timeout_at(deadline));
    co_return text;
}

// The server.

asio::awaitable<void> serve(tcp::socket socket)
{
    bool silent = false;
    try {
        for (;;) {
            // Nobody is kept waiting for longer than this, and nobody who is gone is kept.
            const std::string text = co_await receive(socket, clock_type::now() + 10s);
            silent = silent || text == "be silent";
            if (silent)
                continue;
            if (text.starts_with("think about "))
                co_await timewheel::sleep_for(late);
            co_await send(socket, "the answer to " + text);
        }
    } catch (const boost::system::system_error&) {
        // The client has closed the connection.
    }
}

asio::awaitable<void> accept(tcp::acceptor& acceptor)
{
    for (;;) {
        auto [ec, socket] = co_await acceptor.async_accept(asio::as_tuple(asio::use_awaitable));
        if (ec)
            co_return; // closed, there are no more clients
        asio::co_spawn(acceptor.get_executor(), serve(std::move(socket)), asio::detached);
    }
}

// The client.

struct report
{
    std::string client;
    request asked;
    std::string reply;
    error_code ec;
    clock_type::duration took{};

    std::string result() const
    {
        if (ec == timewheel::error::timed_out)
            return "timed out";
        if (ec == asio::error::operation_aborted)
            return "cancelled";
        return ec ? ec.message() : reply;
    }

    bool is_as_expected() const
    {
        switch (asked.expected) {
        case ending::reply: return !ec && reply == "the answer to " + std::string(asked.text);
        case ending::timeout: return ec == timewheel::error::timed_out && took >= time_to_reply;
        case ending::cancellation: return ec == asio::error::operation_aborted;
        }
        return false;
    }
};

class client
{
public:
    client(std::string name, const tcp::endpoint& server, std::vector<report>& reports)
        : name_(std::move(name))
        , server_(server)
        , reports_(reports)
    {}

    asio::awaitable<void> run(std::span<const request> requests)
    {
        tcp::socket socket = co_await connect();
        for (const request& each : requests) {
            report result{name_, each, {}, {}, {}};
            const auto begin = clock_type::now();
            try {
                co_await send(socket, each.text);
                result.reply = co_await receive(socket, begin + time_to_reply);
            } catch (const boost::system::system_error& error) {
                result.ec = error.code();
            }
            result.took = clock_type::now() - begin;
            reports_.push_back(result);
            if (result.ec == timewheel::error::timed_out) {
                const std::string text(each.text);
                std::printf("%s: no reply to '%s' yet, going on\n", name_.c_str(), text.c_str());
                socket = co_await connect();
            } else if (result.ec) {
                throw boost::system::system_error(result.ec);
            }
        }
    }

private:
    asio::awaitable<tcp::socket> connect()
    {
        tcp::socket socket(co_await asio::this_coro::executor);
        co_await socket.async_connect(
            server_, timewheel::timeout_after(time_to_reply, asio::use_awaitable)
        );
        co_return socket;
    }

    std::string name_;
    tcp::endpoint server_;
    std::vector<report>& reports_;
};

asio::awaitable<void> run_clients(tcp::acceptor& acceptor, std::vector<report>& reports)
{
    const auto executor = co_await asio::this_coro::executor;
    const auto server = acceptor.local_endpoint();

    client busy("busy client", server, reports);
    co_await busy.run(requests_of_busy_client);

    client patient("patient client", server, reports);
    co_await patient.run(requests_of_patient_client);

    // All that a client does may have a deadline as well. The read that is going on is cancelled.
    client hasty("hasty client", server, reports);
    const auto [failure] = co_await asio::co_spawn(
        executor,
        hasty.run(requests_of_hasty_client),
        timewheel::timeout_after(time_of_hasty_client, asio::as_tuple(asio::use_awaitable))
    );
    acceptor.close();
    try {
        if (failure)
            std::rethrow_exception(failure);
    } catch (const boost::system::system_error& error) {
        if (error.code() != timewheel::error::timed_out)
            throw;
        std::printf("hasty client: no time for any more requests\n");
        co_return;
    }
    throw std::runtime_error("the hasty client should have run out of time");
}

// Prints what has happened; returns whether it is right.
bool print(const std::vector<report>& reports)
{
    std::printf("\n%-15s %-21s %9s  %s\n", "", "request", "took", "result");
    bool good = reports.size() == requests_of_busy_client.size() +
                                      requests_of_patient_client.size() +
                                      requests_of_hasty_client.size() - 1;
    for (const report& each : reports) {
        const bool right = each.is_as_expected();
        good = good && right;
        std::printf(
            "%-15s %-21s %6.1f ms  %s%s\n",
            each.client.c_str(),
            std::string(each.asked.text).c_str(),
            milliseconds(each.took).count(),
            each.result().c_str(),
            right ? "" : "  <- wrong"
        );
    }
    return good;
}

}

int main()
{
    try {
        asio::io_context context;
        tcp::acceptor acceptor(context, tcp::endpoint(asio::ip::address_v4::loopback(), 0));
        std::vector<report> reports;
        std::exception_ptr failure;
        asio::co_spawn(context, accept(acceptor), asio::detached);
        asio::co_spawn(context, run_clients(acceptor, reports), [&](std::exception_ptr e) {
            failure = e;
            acceptor.close();
        });
        context.run();
        if (failure)
            std::rethrow_exception(failure);
        const bool good = print(reports);
        std::printf("\n%s\n", good ? "All is as it should be." : "Something is wrong.");
        return good ? 0 : 1;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "request_timeout: %s\n", error.what());
        return 1;
    }
}
