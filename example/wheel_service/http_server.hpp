// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#ifndef TIMEWHEEL_EXAMPLE_WHEEL_SERVICE_HTTP_SERVER_HPP
#define TIMEWHEEL_EXAMPLE_WHEEL_SERVICE_HTTP_SERVER_HPP

#include "api.hpp"
#include "config.hpp"
#include "task_service.hpp"

#include <timewheel/idle_timer.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <string>

namespace wheel_service {

/// What else may be open: refused connections, standard streams, the reactor.
inline constexpr std::size_t other_descriptors = 128;

/** Serves HTTP on one thread. Each connection is a coroutine with an idle timer that every piece of
    progress touches; a request must be there within a time as well.
*/
class http_server
{
public:
    /// Binds; throws a boost::system::system_error that names the address if it can't be used.
    http_server(const config& chosen, task_service& tasks);

    [[nodiscard]] boost::asio::ip::tcp::endpoint endpoint() const;

    /// Serves until stop() was called and all connections are closed.
    void run() { context_.run(); }

    /// From now on, nothing is accepted but what is asked on open connections. Thread-safe.
    void begin_stop();

    /// Closes what is open, when the last answers are sent. Thread-safe.
    void end_stop();

    [[nodiscard]] boost::asio::io_context& context() noexcept { return context_; }

private:
    struct connection;

    using request_parser = http::request_parser<http::string_body>;
    using has_come = bool (*)(const request_parser& parser);

    boost::asio::awaitable<void> accept();
    boost::asio::awaitable<void> attend(boost::asio::ip::tcp::socket socket);
    boost::asio::awaitable<void> serve(connection& client);
    boost::asio::awaitable<bool> serve_one(connection& client);
    boost::asio::awaitable<boost::system::error_code>
    receive(connection& client, request_parser& parser, has_come is_enough);
    boost::asio::awaitable<void> send(connection& client, response answer);
    boost::asio::awaitable<void> refuse(connection& client, const api_error& error);
    boost::asio::awaitable<void> linger(connection& client);
    boost::asio::awaitable<void> send_events(connection& client, const request& asked);
    boost::asio::awaitable<void> make_events();
    void close_connections(bool all);
    boost::asio::awaitable<void> end_answers();

    const config& config_;
    boost::asio::io_context context_{1};
    boost::asio::ip::tcp::acceptor acceptor_;
    server_state state_;
    api api_;
    std::set<connection*> connections_;
    bool is_closed_ = false;    // all connections
    std::size_t listeners_ = 0; // to events
    std::shared_ptr<const std::string> event_;
    std::uint64_t event_number_ = 0;
    boost::asio::cancellation_signal stop_events_;
};

}

#endif
