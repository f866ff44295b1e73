// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#include "http_server.hpp"

#include <timewheel/cancel_after.hpp>
#include <timewheel/error.hpp>
#include <timewheel/sleep.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/write.hpp>

#include <chrono>
#include <utility>

namespace wheel_service {

namespace asio = boost::asio;
using namespace asio::experimental::awaitable_operators;
using namespace std::chrono_literals;
using asio::ip::tcp;
using boost::beast::http::status;
using boost::system::error_code;

namespace {

constexpr auto as_result = asio::as_tuple(asio::use_awaitable);
constexpr auto event_interval = 250ms;

api_error to_api_error(const error_code& ec)
{
    if (ec == http::error::header_limit)
        return {
            status::request_header_fields_too_large, "header_too_large", "the header is too large"
        };
    if (ec == http::error::body_limit)
        return {status::payload_too_large, "body_too_large", "the body is too large"};
    if (ec == timewheel::error::timed_out)
        return {status::request_timeout, "timeout", "the request did not come in time"};
    return {status::bad_request, "invalid_request", "this is not HTTP: " + ec.message()};
}

// Whether the client can be told.
bool is_clients_fault(const error_code& ec)
{
    return ec == timewheel::error::timed_out ||
           (ec.category() == http::make_error_code(http::error::bad_method).category() &&
            ec != http::error::end_of_stream && ec != http::error::partial_message);
}

}

struct http_server::connection
{
    connection(tcp::socket accepted, std::chrono::milliseconds idle_timeout)
        : socket(std::move(accepted))
        , idle(socket.get_executor(), idle_timeout)
    {}

    tcp::socket socket;
    timewheel::idle_timer idle;
    boost::beast::flat_buffer buffer;
};

http_server::http_server(const config& chosen, task_service& tasks)
    : config_(chosen)
    , acceptor_(context_, tcp::endpoint(asio::ip::make_address(chosen.address), chosen.port))
    , api_(chosen, tasks, state_)
{
    asio::co_spawn(context_, accept(), asio::detached);
    asio::co_spawn(
        context_, make_events(), asio::bind_cancellation_slot(stop_events_.slot(), asio::detached)
    );
}

tcp::endpoint http_server::endpoint() const
{
    return acceptor_.local_endpoint();
}

void http_server::begin_stop()
{
    state_.is_stopping = true;
    asio::post(context_, [this] {
        error_code ignored;
        acceptor_.close(ignored);
    });
}

void http_server::end_stop()
{
    asio::post(context_, [this] {
        stop_events_.emit(asio::cancellation_type::terminal);
        for (connection* const client : connections_)
            client->socket.close();
    });
}

asio::awaitable<void> http_server::accept()
{
    while (acceptor_.is_open()) {
        auto [ec, socket] = co_await acceptor_.async_accept(as_result);
        if (!ec) {
            asio::co_spawn(context_, attend(std::move(socket)), asio::detached);
        } else if (acceptor_.is_open()) {
            co_await timewheel::sleep_for(100ms); // no descriptors are left, for example
        }
    }
}

asio::awaitable<void> http_server::attend(tcp::socket socket)
{
    connection client(std::move(socket), config_.idle_timeout);
    error_code ignored;
    client.socket.set_option(tcp::no_delay(true), ignored);
    if (connections_.size() >= config_.max_connections) {
        const api_error full(
            status::service_unavailable, "too_many_connections", "there are too many connections"
        );
        co_await send(client, api::refuse(full, 11, false));
        client.socket.shutdown(tcp::socket::shutdown_send, ignored);
        co_return;
    }
    connections_.insert(&client);
    state_.connections = connections_.size();
    co_await (serve(client) || client.idle.async_wait(as_result));
    connections_.erase(&client);
    state_.connections = connections_.size();
}

asio::awaitable<void> http_server::serve(connection& client)
{
    while (co_await serve_one(client))
        continue;
    error_code ignored;
    client.socket.shutdown(tcp::socket::shutdown_send, ignored);
}

// Returns whether the connection is kept.
asio::awaitable<bool> http_server::serve_one(connection& client)
{
    if (client.buffer.size() == 0) {
        const auto [ec] = co_await client.socket.async_wait(tcp::socket::wait_read, as_result);
        if (ec)
            co_return false;
    }
    client.idle.touch();
    http::request_parser<http::string_body> parser;
    parser.header_limit(static_cast<std::uint32_t>(config_.header_limit));
    parser.body_limit(config_.body_limit);
    const auto in_time = [&] {
        return timewheel::timeout_after(config_.request_timeout, as_result);
    };
    auto [ec, n] =
        co_await http::async_read_header(client.socket, client.buffer, parser, in_time());
    if (!ec && parser.get()[http::field::expect] == "100-continue") {
        http::response<http::empty_body> go_on(status::continue_, parser.get().version());
        co_await http::async_write(client.socket, go_on, as_result);
    }
    if (!ec) {
        client.idle.touch();
        std::tie(ec, n) =
            co_await http::async_read(client.socket, client.buffer, parser, in_time());
    }
    client.idle.touch();
    if (ec) {
        if (is_clients_fault(ec))
            co_await send(client, api::refuse(to_api_error(ec), 11, false));
        co_return false;
    }
    const request asked = parser.release();
    if (api::is_for_events(asked)) {
        co_await send_events(client, asked);
        co_return false;
    }
    response answer = api_.answer(asked);
    const bool is_kept = answer.keep_alive() && !state_.is_stopping;
    answer.keep_alive(is_kept);
    co_await send(client, std::move(answer));
    co_return is_kept&& client.socket.is_open();
}

// A client that does not read is given up when nothing could be sent for the idle timeout.
asio::awaitable<void> http_server::send(connection& client, response answer)
{
    http::response_serializer<http::string_body> serializer(answer);
    while (!serializer.is_done()) {
        const auto [ec, n] = co_await http::async_write_some(client.socket, serializer, as_result);
        if (ec && ec != http::error::need_buffer) {
            client.socket.close();
            co_return;
        }
        client.idle.touch();
    }
}

// A client that is slow misses events, and holds up nobody.
asio::awaitable<void> http_server::send_events(connection& client, const request& asked)
{
    http::response<http::empty_body> head(status::ok, asked.version());
    head.set(http::field::content_type, "text/event-stream");
    head.set(http::field::cache_control, "no-store");
    head.keep_alive(false);
    api_.allow_origin(asked, head);
    http::response_serializer<http::empty_body> serializer(head);
    const auto [head_ec, head_size] =
        co_await http::async_write_header(client.socket, serializer, as_result);
    if (head_ec)
        co_return;
    ++listeners_;
    struct count
    {
        std::size_t& listeners;

        ~count() { --listeners; }
    };
    const count counted{listeners_};
    std::uint64_t sent = event_number_;
    while (client.socket.is_open()) {
        if (event_ && sent != event_number_) {
            const auto event = event_;
            sent = event_number_;
            const auto [ec, n] =
                co_await asio::async_write(client.socket, asio::buffer(*event), as_result);
            if (ec)
                co_return;
            client.idle.touch();
        }
        co_await timewheel::sleep_for(event_interval / 5);
    }
}

// Makes an event at times, if anybody listens.
asio::awaitable<void> http_server::make_events()
{
    for (;;) {
        if (listeners_ != 0) {
            event_ = std::make_shared<const std::string>("data: " + api_.event() + "\n\n");
            ++event_number_;
        }
        co_await timewheel::sleep_for(event_interval);
    }
}

}
