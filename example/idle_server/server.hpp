// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#ifndef TIMEWHEEL_EXAMPLE_IDLE_SERVER_SERVER_HPP
#define TIMEWHEEL_EXAMPLE_IDLE_SERVER_SERVER_HPP

#include "protocol.hpp"

#include <timewheel.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <mutex>
#include <utility>
#include <vector>

namespace example {

/// Why a connection is no more.
enum class ending : unsigned char
{
    by_client,
    idle,
    session_limit
};

/// What the server knows about a connection, by its own clock.
struct session_record
{
    using time_point = std::chrono::steady_clock::time_point;

    role player = role::silent_at_once;
    ending how = ending::by_client;
    time_point opened;
    time_point last_byte; ///< `opened` as long as there was none
    time_point closed;    ///< unset as long as it is open
};

/// Sends back what it receives, and closes who is silent for too long or stays for too long.
class idle_server
{
public:
    using clock = std::chrono::steady_clock;
    using tcp = boost::asio::ip::tcp;

    idle_server(
        boost::asio::io_context& context,
        bool many_threads,
        clock::duration idle_timeout,
        clock::duration session_limit
    )
        : context_(context)
        , many_threads_(many_threads)
        , idle_timeout_(idle_timeout)
        , session_limit_(session_limit)
        , acceptor_(context, tcp::endpoint(boost::asio::ip::address_v4::loopback(), 0))
        , endpoint_(acceptor_.local_endpoint())
    {
        // One accept is one turn of the context; several at a time keep up with a rush of clients.
        for (int n = 0; n < 64; ++n)
            co_spawn(context_, accept(), boost::asio::detached);
    }

    [[nodiscard]] tcp::endpoint endpoint() const { return endpoint_; }

    /// Connections open now; any thread.
    [[nodiscard]] std::size_t open() const noexcept { return open_; }

    /// Accepts no more connections; any thread.
    void stop()
    {
        boost::asio::post(context_, [this] { acceptor_.close(); });
    }

    /// Every connection that has ended. Only after the context ended.
    [[nodiscard]] const std::vector<session_record>& records() const noexcept { return records_; }

private:
    static constexpr auto token = boost::asio::as_tuple(boost::asio::use_awaitable);

    // A session is one chain of events; a strand keeps it so when several threads run the context.
    boost::asio::any_io_executor session_executor()
    {
        if (many_threads_)
            return boost::asio::make_strand(context_);
        return context_.get_executor();
    }

    boost::asio::awaitable<void> accept()
    {
        timewheel::steady_timer pause(context_);
        while (acceptor_.is_open()) {
            auto [error, socket] = co_await acceptor_.async_accept(session_executor(), token);
            if (!error) {
                const auto executor = socket.get_executor();
                co_spawn(executor, session(std::move(socket)), boost::asio::detached);
            } else if (acceptor_.is_open()) {
                // Out of descriptors for a moment, most likely; the client waits in the backlog.
                pause.expires_after(std::chrono::milliseconds(10));
                co_await pause.async_wait(token);
            }
        }
    }

    boost::asio::awaitable<void> session(tcp::socket socket)
    {
        using namespace boost::asio::experimental::awaitable_operators;

        ++open_;
        session_record record;
        record.opened = record.last_byte = clock::now();
        co_await (
            echo(socket, record) || idle_timeout(socket, record) || session_limit(socket, record)
        );
        --open_;
        const std::lock_guard lock(records_mutex_);
        records_.push_back(record);
    }

    boost::asio::awaitable<void> echo(tcp::socket& socket, session_record& record)
    {
        message buffer{};
        co_await async_write(socket, boost::asio::buffer(buffer), token); // hello
        for (;;) {
            const auto [error, size] =
                co_await socket.async_read_some(boost::asio::buffer(buffer), token);
            if (error)
                co_return end(socket, record, ending::by_client);
            record.last_byte = clock::now();
            record.player = static_cast<role>(buffer[0]);
            const auto [write_error, written] =
                co_await async_write(socket, boost::asio::buffer(buffer, size), token);
            if (write_error)
                co_return end(socket, record, ending::by_client);
        }
    }

    // The idle timeout: activity costs no timer operation at all, it is one store of the time. The
    // timer wakes when the timeout could be over and goes on for as long as it is not.
    boost::asio::awaitable<void> idle_timeout(tcp::socket& socket, session_record& record)
    {
        timewheel::steady_timer timer(socket.get_executor());
        while (clock::now() < record.last_byte + idle_timeout_) {
            timer.expires_at(record.last_byte + idle_timeout_);
            if (const auto [error] = co_await timer.async_wait(token); error)
                co_return;
        }
        end(socket, record, ending::idle);
    }

    boost::asio::awaitable<void> session_limit(tcp::socket& socket, session_record& record)
    {
        timewheel::steady_timer timer(socket.get_executor(), record.opened + session_limit_);
        if (const auto [error] = co_await timer.async_wait(token); !error)
            end(socket, record, ending::session_limit);
    }

    // The first of the three that ends a session says why.
    static void end(tcp::socket& socket, session_record& record, ending how)
    {
        if (record.closed != session_record::time_point())
            return;
        reset(socket);
        record.closed = clock::now();
        record.how = how;
    }

    boost::asio::io_context& context_;
    bool many_threads_;
    clock::duration idle_timeout_;
    clock::duration session_limit_;
    tcp::acceptor acceptor_;
    tcp::endpoint endpoint_;
    std::atomic<std::size_t> open_ = 0;
    std::mutex records_mutex_;
    std::vector<session_record> records_;
};

}

#endif
