// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#ifndef TIMEWHEEL_DETAIL_OPERATION_SIGNAL_HPP
#define TIMEWHEEL_DETAIL_OPERATION_SIGNAL_HPP

#include <timewheel/config.hpp>

#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/cancellation_type.hpp>

#include <cstdint>

namespace timewheel::detail {

/*  The cancellation signal of an operation that may be over. Bits above the 32 of Asio's types say
    where a signal comes from; they are remembered and not emitted.
*/
class operation_signal
{
public:
    asio::cancellation_slot slot() noexcept { return signal_.slot(); }

    // What has been emitted.
    std::uint64_t emitted() const noexcept { return emitted_; }

    // The operation is over: nothing is emitted any more.
    void close() noexcept { is_closed_ = true; }
    bool is_closed() const noexcept { return is_closed_; }

    void emit(std::uint64_t types)
    {
        if (is_closed_)
            return;
        emitted_ |= types;
        const auto type = static_cast<asio::cancellation_type_t>(types & 0xffff'ffff);
        if (type != asio::cancellation_type::none)
            signal_.emit(type);
    }

private:
    asio::cancellation_signal signal_;
    std::uint64_t emitted_ = 0;
    bool is_closed_ = false;
};

}

#endif
