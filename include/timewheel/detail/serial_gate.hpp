// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#ifndef TIMEWHEEL_DETAIL_SERIAL_GATE_HPP
#define TIMEWHEEL_DETAIL_SERIAL_GATE_HPP

#include <timewheel/config.hpp>
#include <timewheel/detail/operation_signal.hpp>

#include <boost/asio/cancellation_signal.hpp>

#include <cstdint>
#include <utility>

namespace timewheel::detail {

/*  The cancellation_gate of an operation that is started, and does everything, on one executor that
    runs one thing at a time. No signal can come while a handler runs, so the handlers need not go
    through the gate: what is left is to hold back signals while the operation is being started, and
    to keep it alive while something of it is on the stack. Nothing is atomic.
*/
class serial_gate
{
public:
    // Whether intermediate handlers have to go through the gate.
    static constexpr bool gates_handlers = false;

    serial_gate(const serial_gate&) = delete;
    serial_gate& operator=(const serial_gate&) = delete;

    struct from_the_beginning
    {};

    void add_reference() noexcept { ++references_; }

    void release() noexcept { give_back(1); }

    // The slot for the operation.
    asio::cancellation_slot slot() noexcept { return signal_.slot(); }

    // What has been emitted, of the signals asked for.
    std::uint64_t emitted() const noexcept { return signal_.emitted(); }

    // Emits a signal of these types now, or after the start or the signal that is under way; never
    // after close(). The caller has a reference.
    void request(std::uint64_t types) noexcept
    {
        types_ |= types;
        if (!is_busy_)
            emit_requested();
    }

    // The operation is over: emits nothing any more, and gives back some references of the caller's.
    // Frees what is in the slot, unless that is just being used.
    void close(std::uint32_t given_back) noexcept
    {
        signal_.close();
        if (!is_busy_)
            slot().clear();
        give_back(given_back);
    }

    // A stay inside the gate, on the stack.
    class visit
    {
    public:
        // Of a handler, which nobody disturbs anyway.
        explicit visit(serial_gate&) noexcept {}

        // Of whoever has made the gate, and starts the operation.
        visit(serial_gate& gate, from_the_beginning) noexcept : starting_(&gate) {}

        ~visit()
        {
            if (starting_)
                starting_->end_start();
        }

        visit(const visit&) = delete;
        visit& operator=(const visit&) = delete;

    private:
        serial_gate* starting_ = nullptr;
    };

protected:
    // With references of the maker's, who has one more until the operation has been started.
    explicit serial_gate(std::uint32_t count) noexcept : references_(count + 1) {}

    ~serial_gate() = default;

private:
    virtual void free() noexcept = 0;

    void give_back(std::uint32_t count) noexcept
    {
        references_ -= count;
        if (references_ == 0)
            free();
    }

    void end_start() noexcept
    {
        is_busy_ = false;
        if (types_ != 0)
            emit_requested();
        release();
    }

    // A signal may ask for another one, and may end the operation.
    void emit_requested() noexcept
    {
        is_busy_ = true;
        while (types_ != 0)
            signal_.emit(std::exchange(types_, 0));
        is_busy_ = false;
    }

    operation_signal signal_;
    std::uint64_t types_ = 0; // asked for and not emitted
    std::uint32_t references_;
    bool is_busy_ = true; // being started, or emitting
};

}

#endif
