// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#ifndef TIMEWHEEL_EXAMPLE_IDLE_SERVER_CLIENTS_HPP
#define TIMEWHEEL_EXAMPLE_IDLE_SERVER_CLIENTS_HPP

#include "protocol.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/experimental/channel.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/system/error_code.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <random>
#include <thread>
#include <tuple>

namespace example {

/// How the clients behave. Percentages are of `connections`; what is left is active.
struct client_plan
{
    std::size_t connections;
    std::size_t silent_percent;
    std::size_t overstay_percent;
    std::chrono::steady_clock::duration duration;
    std::chrono::steady_clock::duration idle_timeout;
    std::chrono::steady_clock::duration session_limit;
    std::uint64_t seed;
};

/// What the clients of one role saw.
struct client_tally
{
    std::atomic<std::uint64_t> connected = 0;
    std::atomic<std::uint64_t> closed_by_server = 0;
    std::atomic<std::uint64_t> closed_too_early =
        0; ///< sooner than the timeout after its last echo
};

/** @brief The load: clients in a thread and a context of their own, as if from outside.

    Each plays one role, again and again in a new connection, until the duration is over. They use
    Asio's own timers, so that nothing that they do or see depends on the wheel.
*/
class clients
{
public:
    using clock = std::chrono::steady_clock;
    using tcp = boost::asio::ip::tcp;

    clients(tcp::endpoint server, const client_plan& plan)
        : plan_(plan)
        , server_(server)
        , start_(clock::now())
        , end_(start_ + plan.duration)
    {
        for (std::size_t n = 0; n < plan_.connections; ++n)
            co_spawn(outside_->context, client(n), boost::asio::detached);
        thread_ = std::jthread([this] {
            outside_->context.run();
            finished_ = true;
        });
    }

    ~clients() { stop(); }

    clients(const clients&) = delete;
    clients& operator=(const clients&) = delete;

    /// Ends all clients where they are, which closes their connections.
    void stop()
    {
        if (!thread_.joinable())
            return;
        outside_->context.stop();
        thread_.join();
        outside_.reset();
    }

    /// Whether every client has done what it planned; any thread.
    [[nodiscard]] bool finished() const noexcept { return finished_; }

    [[nodiscard]] const client_tally& tally(role r) const noexcept { return tallies_[index(r)]; }

    [[nodiscard]] std::uint64_t failed_connects() const noexcept { return failed_connects_; }

private:
    static constexpr auto token = boost::asio::as_tuple(boost::asio::use_awaitable);
    using random = std::minstd_rand;

    // Roles are dealt evenly, so that a short or interrupted run has each of them too.
    role role_of(std::size_t n) const
    {
        const std::size_t card = n * 37 % 100;
        if (card < plan_.silent_percent)
            return card % 2 == 0 ? role::silent_at_once : role::falls_silent;
        return card < plan_.silent_percent + plan_.overstay_percent ? role::overstays
                                                                    : role::active;
    }

    // How long a connection of this role may take.
    clock::duration longest_life(role r) const
    {
        switch (r) {
        case role::silent_at_once: return plan_.idle_timeout;
        case role::falls_silent: return plan_.idle_timeout * 2;
        case role::overstays: return plan_.session_limit;
        case role::active: break;
        }
        return plan_.idle_timeout / 2;
    }

    static clock::duration between(random& r, clock::duration low, clock::duration high)
    {
        return clock::duration(std::uniform_int_distribution(low.count(), high.count())(r));
    }

    boost::asio::awaitable<void> client(std::size_t n)
    {
        const role player = role_of(n);
        random r(static_cast<random::result_type>(plan_.seed * 100'003 + n));
        // They come in over the first eighth of the duration.
        boost::asio::steady_timer timer(
            outside_->context, start_ + plan_.duration / 8 * n / plan_.connections
        );
        co_await timer.async_wait(token);
        while (in_time(player)) {
            tcp::socket socket(outside_->context);
            const auto begin = clock::now();
            if (co_await connect(socket, player)) {
                co_await live(socket, timer, player, begin, r);
                reset(socket);
            }
        }
    }

    // No connection is begun that could not be finished.
    bool in_time(role player) const { return clock::now() + longest_life(player) < end_; }

    // Connects and waits until the server says hello. The system would accept on behalf of a server
    // that is busy, and turn away more than fit into its queue, so only some may be waiting.
    boost::asio::awaitable<bool> connect(tcp::socket& socket, role player)
    {
        co_await outside_->connecting.async_send({}, token);
        bool connected = false;
        if (in_time(player)) {
            message hello;
            auto [error] = co_await socket.async_connect(server_, token);
            if (!error)
                std::tie(error, std::ignore) =
                    co_await async_read(socket, boost::asio::buffer(hello), token);
            connected = !error;
            failed_connects_ += error ? 1 : 0;
        }
        outside_->connecting.try_receive([](auto&&...) {});
        co_return connected;
    }

    boost::asio::awaitable<void> live(
        tcp::socket& socket,
        boost::asio::steady_timer& timer,
        role player,
        clock::time_point begin,
        random& r
    )
    {
        client_tally& tally = tallies_[index(player)];
        ++tally.connected;
        message text{};
        text[0] = static_cast<char>(player);
        auto last_byte = begin;
        auto leave = (clock::time_point::max)();
        if (player == role::active)
            leave = (std::min)(
                begin + between(r, plan_.session_limit * 3 / 10, plan_.session_limit * 7 / 10), end_
            );
        auto messages = (std::numeric_limits<std::uint64_t>::max)();
        if (player == role::silent_at_once)
            messages = 0;
        else if (player == role::falls_silent)
            messages = 1 + r() % 2;
        boost::system::error_code error;
        for (; messages > 0; --messages) {
            const auto sent = clock::now();
            std::tie(error, std::ignore) =
                co_await async_write(socket, boost::asio::buffer(text), token);
            if (error)
                break;
            std::tie(error, std::ignore) =
                co_await async_read(socket, boost::asio::buffer(text), token);
            if (error)
                break;
            last_byte = sent;
            const auto gap = between(r, plan_.idle_timeout / 6, plan_.idle_timeout / 3);
            timer.expires_at((std::min)(clock::now() + gap, leave));
            co_await timer.async_wait(token);
            if (clock::now() >= leave)
                co_return;
        }
        // Silent from here on: all that can come is the end of the connection.
        if (!error)
            co_await async_read(socket, boost::asio::buffer(text), token);
        ++tally.closed_by_server;
        if (clock::now() < last_byte + plan_.idle_timeout && player != role::overstays)
            ++tally.closed_too_early;
    }

    client_plan plan_;
    tcp::endpoint server_;
    clock::time_point start_;
    clock::time_point end_;
    std::array<client_tally, all_roles.size()> tallies_;
    std::atomic<std::uint64_t> failed_connects_ = 0;
    std::atomic<bool> finished_ = false;
    static constexpr std::size_t most_connecting = 1000;
    struct outside
    {
        boost::asio::io_context context{1};
        boost::asio::experimental::channel<void(boost::system::error_code)> connecting{
            context,
            most_connecting
        };
    };
    std::unique_ptr<outside> outside_ = std::make_unique<outside>();
    std::jthread thread_;
};

}

#endif
