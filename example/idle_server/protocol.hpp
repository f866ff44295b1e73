// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#ifndef TIMEWHEEL_EXAMPLE_IDLE_SERVER_PROTOCOL_HPP
#define TIMEWHEEL_EXAMPLE_IDLE_SERVER_PROTOCOL_HPP

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/socket_base.hpp>
#include <boost/system/error_code.hpp>

#include <array>
#include <cstddef>

namespace example {

/// What a client plays. The server learns it only for its report: see `message`.
enum class role : unsigned char
{
    silent_at_once,
    falls_silent,
    active,
    overstays
};

inline constexpr std::array
    all_roles{role::silent_at_once, role::falls_silent, role::active, role::overstays};

constexpr std::size_t index(role r) noexcept
{
    return static_cast<std::size_t>(r);
}

/// The server says hello with one of zeros, and sends back those that it gets. The first byte of a
/// client's is its role, so a connection without any byte is one that was silent at once.
using message = std::array<char, 32>;

/** @brief Closes a connection so that nothing of it stays behind in the kernel.

    The port of an orderly closed connection stays reserved for a minute. A program that plays both
    sides of thousands of connections would run out of ports, so it resets them instead.
*/
inline void reset(boost::asio::ip::tcp::socket& socket)
{
    boost::system::error_code ignored;
    socket.set_option(boost::asio::socket_base::linger(true, 0), ignored);
    socket.close(ignored);
}

}

#endif
