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
#include <boost/beast/http/write.hpp>

#include <algorithm>
#include <chrono>
#include <optional>
#include <sstream>
#include <tuple>
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

// How long it is waited until a client has taken the last answer and closes.
constexpr auto farewell_time = 3s;

// More connections than are allowed are told so, as long as there are not too many of these, too.
constexpr std::size_t refused_at_a_time = 100;

constexpr std::size_t read_size = 4096;
constexpr int event_buffer_size = 32 * 1024;

api_error to_api_error(const error_code& ec)
{
    if (ec == http::error::header_limit || ec == http::error::buffer_overflow)
        return {
            status::request_header_fields_too_large, "header_too_large", "the header is too large"
        };
    if (ec == http::error::body_limit)
        return {status::payload_too_large, "body_too_large", "the body is too large"};
    if (ec == timewheel::error::timed_out)
        return {status::request_timeout, "timeout", "the request did not come in time"};
    if (ec == http::error::partial_message)
        return {status::bad_request, "invalid_request", "the request ends too early"};
    return {status::bad_request, "invalid_request", "this is not HTTP: " + ec.message()};
}

// Whether the client can be told.
bool is_clients_fault(const error_code& ec)
{
    return ec == timewheel::error::timed_out ||
           (ec.category() == http::make_error_code(http::error::bad_method).category() &&
            ec != http::error::end_of_stream);
}

tcp::acceptor listen(asio::io_context& context, const config& chosen)
{
    const tcp::endpoint at(asio::ip::make_address(chosen.address), chosen.port);
    try {
        return tcp::acceptor(context, at);
    } catch (const boost::system::system_error& error) {
        std::ostringstream place;
        place << "listen on " << at;
        throw boost::system::system_error(error.code(), place.str());
    }
}

}

struct http_server::connection
{
    connection(http_server& owner, tcp::socket accepted)
        : server(owner)
        , socket(std::move(accepted))
        , idle(socket.get_executor(), server.config_.idle_timeout)
        , buffer(server.config_.header_limit + read_size)
    {
        server.connections_.insert(this);
        server.state_.connections = server.connections_.size();
    }

    ~connection()
    {
        server.connections_.erase(this);
        server.state_.connections = server.connections_.size();
    }

    connection(const connection&) = delete;
    connection& operator=(const connection&) = delete;

    http_server& server;
    tcp::socket socket;
    timewheel::idle_timer idle;
    boost::beast::flat_buffer buffer;
    bool is_asking = false;   // has sent a part of a request
    bool is_answered = false; // gets an answer, perhaps its last
};

http_server::http_server(const config& chosen, task_service& tasks)
    : config_(chosen)
    , acceptor_(listen(context_, chosen))
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
        is_closed_ = true;
        stop_events_.emit(asio::cancellation_type::terminal);
        close_connections(false);
        asio::co_spawn(context_, end_answers(), asio::detached);
    });
}

void http_server::close_connections(bool all)
{
    for (connection* const client : connections_) {
        error_code ignored;
        if (all || !client->is_answered)
            client->socket.close(ignored);
    }
}

// Answers that are under way have a little time.
asio::awaitable<void> http_server::end_answers()
{
    const auto deadline = clock::now() + farewell_time;
    while (!connections_.empty() && clock::now() < deadline)
        co_await timewheel::sleep_for(10ms);
    close_connections(true);
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
    if (is_closed_ || connections_.size() >= config_.max_connections + refused_at_a_time)
        co_return;
    connection client(*this, std::move(socket));
    error_code ignored;
    client.socket.set_option(tcp::no_delay(true), ignored);
    if (connections_.size() > config_.max_connections) {
        co_await refuse(
            client,
            {status::service_unavailable,
             "too_many_connections",
             "there are too many connections: try again later"}
        );
        co_return;
    }
    const auto first = co_await (serve(client) || client.idle.async_wait(as_result));
    if (first.index() == 0)
        co_await linger(client);
    else if (client.is_asking)
        co_await refuse(client, to_api_error(timewheel::error::timed_out));
}

asio::awaitable<void> http_server::serve(connection& client)
{
    for (bool is_kept = true; is_kept;)
        is_kept = co_await serve_one(client);
}

// Returns whether the connection is kept.
asio::awaitable<bool> http_server::serve_one(connection& client)
{
    if (client.buffer.size() == 0) {
        // A connection without a request has no buffer.
        client.buffer.shrink_to_fit();
        const auto [ec] = co_await client.socket.async_wait(tcp::socket::wait_read, as_result);
        if (ec)
            co_return false;
    }
    client.is_asking = true;
    client.idle.touch();
    request_parser parser;
    parser.body_limit(config_.body_limit);
    error_code ec = co_await receive(client, parser, [](const request_parser& each) {
        return each.is_header_done();
    });
    std::optional<api_error> fault;
    if (!ec)
        fault = api::find_fault(parser.get());
    if (!ec && !fault) {
        if (parser.get().version() >= 11 && parser.get().count(http::field::expect) != 0 &&
            !parser.is_done() && client.buffer.size() == 0) {
            http::response<http::empty_body> go_on(status::continue_, parser.get().version());
            co_await http::async_write(client.socket, go_on, as_result);
        }
        parser.eager(true);
        ec = co_await receive(client, parser, [](const request_parser& each) {
            return each.is_done();
        });
    }
    if (ec && !is_clients_fault(ec))
        co_return false;
    client.is_asking = false;
    ++state_.requests;
    if (ec)
        fault = to_api_error(ec);
    if (fault) {
        client.is_answered = true;
        co_await send(client, api::refuse(*fault, 11, false));
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
    client.is_answered = true;
    co_await send(client, std::move(answer));
    client.is_answered = !is_kept;
    co_return is_kept&& client.socket.is_open() && !is_closed_;
}

// Every piece that comes touches the idle timer; it must be enough within the request timeout.
asio::awaitable<error_code>
http_server::receive(connection& client, request_parser& parser, has_come is_enough)
{
    const bool is_header = !parser.is_header_done();
    const auto deadline = clock::now() + config_.request_timeout;
    std::size_t parsed = 0;
    while (!is_enough(parser)) {
        error_code ec;
        const std::size_t used = parser.put(client.buffer.data(), ec);
        client.buffer.consume(used);
        parsed += used;
        if (ec && ec != http::error::need_more)
            co_return ec;
        const std::size_t unparsed = client.buffer.size();
        if (is_header && parsed + (parser.is_header_done() ? 0 : unparsed) > config_.header_limit)
            co_return http::error::header_limit;
        if (is_enough(parser) || (!ec && used != 0))
            continue;
        if (unparsed == client.buffer.max_size())
            co_return http::error::buffer_overflow; // one line of a chunked body
        const auto room = client.buffer.prepare(
            (std::min)(read_size, client.buffer.max_size() - client.buffer.size())
        );
        const auto [read_ec, n] = co_await client.socket.async_read_some(
            room, timewheel::timeout_after(deadline - clock::now(), as_result)
        );
        if (read_ec == asio::error::eof)
            co_return parser.got_some() || unparsed != 0 ? http::error::partial_message
                                                         : http::error::end_of_stream;
        if (read_ec)
            co_return read_ec;
        client.buffer.commit(n);
        client.idle.touch();
    }
    co_return error_code();
}

// A client that does not read is given up when nothing could be sent for the idle timeout.
asio::awaitable<void> http_server::send(connection& client, response answer)
{
    http::response_serializer<http::string_body> serializer(answer);
    while (!serializer.is_done()) {
        const auto [ec, n] = co_await http::async_write_some(client.socket, serializer, as_result);
        if (ec && ec != http::error::need_buffer) {
            error_code ignored;
            client.socket.close(ignored);
            co_return;
        }
        client.idle.touch();
    }
}

asio::awaitable<void> http_server::refuse(connection& client, const api_error& error)
{
    client.is_answered = true;
    co_await (
        send(client, api::refuse(error, 11, false)) ||
        timewheel::sleep_for(farewell_time)(asio::use_awaitable)
    );
    co_await linger(client);
}

// To close with something unread would take back the last answer, if the client has not got it yet.
asio::awaitable<void> http_server::linger(connection& client)
{
    error_code ec;
    client.socket.shutdown(tcp::socket::shutdown_send, ec);
    const auto deadline = clock::now() + farewell_time;
    while (!ec && clock::now() < deadline) {
        client.buffer.clear();
        std::tie(ec, std::ignore) = co_await client.socket.async_read_some(
            client.buffer.prepare(read_size),
            timewheel::timeout_after(deadline - clock::now(), as_result)
        );
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
    // What the system holds for a client that does not read is memory as well.
    error_code ignored;
    client.socket.set_option(tcp::socket::send_buffer_size(event_buffer_size), ignored);
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
