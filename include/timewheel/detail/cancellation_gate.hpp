// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#ifndef TIMEWHEEL_DETAIL_CANCELLATION_GATE_HPP
#define TIMEWHEEL_DETAIL_CANCELLATION_GATE_HPP

#include <timewheel/config.hpp>

#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/cancellation_type.hpp>

#include <atomic>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace timewheel::detail {

/*  Keeps cancellation signals to an operation apart from what the operation does itself, so that a
    signal may come from any thread without a strand around the operation.

    What the operation does goes through the gate: its initiation, its intermediate handlers and its
    completion, any number of them at a time. A signal is emitted when nothing is inside: by whoever
    asks for it, or by the last one that leaves. While it is emitted, others wait at the gate, except
    for what the emission itself calls. Handlers of signals must not throw.

    The gate is reference counted, and kept by everyone who is inside.
*/
class cancellation_gate
{
public:
    cancellation_gate(const cancellation_gate&) = delete;
    cancellation_gate& operator=(const cancellation_gate&) = delete;

    void add_reference() noexcept { references_.fetch_add(1, std::memory_order_relaxed); }

    void release() noexcept
    {
        if (references_.fetch_sub(1, std::memory_order_acq_rel) == 1)
            free();
    }

    // The slot for the operation.
    asio::cancellation_slot slot() noexcept { return signal_.slot(); }

    // What has been emitted, of the signals asked for. To be called inside.
    std::uint64_t emitted() const noexcept { return emitted_; }

    // Emits a signal of these types now, or has the last one that leaves do so; never after close().
    // Bits above the 32 of the types are only remembered. The caller has a reference.
    void request(std::uint64_t types) noexcept
    {
        types_.fetch_or(types, std::memory_order_relaxed);
        if ((state_.fetch_or(requested) | requested) == requested)
            emit_if_empty();
    }

    // The operation is over: emits nothing any more. Ends this thread's visits, but for an
    // emission, so that they do not keep the gate, and frees what is in the slot if nobody else is
    // inside. To be called inside.
    void close() noexcept
    {
        closed_ = true;
        std::uint32_t own_visits = 0;
        for (const visit* each = visit::top; each; each = each->below_)
            own_visits += each->gate_ == this && !each->emits_;
        if ((state_.load() & ~requested) == own_visits)
            slot().clear();
        for (visit* each = visit::top; each; each = each->below_) {
            if (each->gate_ == this && !each->emits_)
                std::exchange(each->gate_, nullptr)->leave();
        }
    }

    // A stay inside the gate, on the stack of a thread.
    class visit
    {
    public:
        explicit visit(cancellation_gate& gate) noexcept : visit(gate, false)
        {
            gate.add_reference();
            gate.enter();
        }

        ~visit()
        {
            top = below_;
            if (gate_ && !emits_)
                gate_->leave();
        }

        visit(const visit&) = delete;
        visit& operator=(const visit&) = delete;

    private:
        friend class cancellation_gate;

        visit(cancellation_gate& gate, bool emits) noexcept
            : gate_(&gate)
            , below_(std::exchange(top, this))
            , emits_(emits)
        {}

        static inline constinit thread_local visit* top = nullptr; // this thread's, innermost first

        cancellation_gate* gate_;
        visit* const below_;
        const bool emits_;
    };

protected:
    cancellation_gate() = default;
    ~cancellation_gate() = default;

private:
    static constexpr std::uint32_t emitting = 1u << 31;
    static constexpr std::uint32_t requested = 1u << 30; // the rest counts the visits

    virtual void free() noexcept = 0;

    bool is_emitting_here() const noexcept
    {
        for (const visit* each = visit::top; each; each = each->below_) {
            if (each->gate_ == this && each->emits_)
                return true;
        }
        return false;
    }

    void enter() noexcept
    {
        std::uint32_t state = state_.load();
        for (;;) {
            if ((state & emitting) != 0 && !is_emitting_here()) {
                state_.wait(state);
                state = state_.load();
            } else if (state_.compare_exchange_weak(state, state + 1)) {
                return;
            }
        }
    }

    void leave() noexcept
    {
        if (state_.fetch_sub(1) - 1 == requested)
            emit_if_empty();
        release();
    }

    void emit_if_empty() noexcept
    {
        std::uint32_t state = requested;
        while (state == requested && state_.compare_exchange_strong(state, emitting)) {
            {
                const visit emission(*this, true);
                const std::uint64_t types = types_.exchange(0, std::memory_order_relaxed);
                if (!closed_) {
                    emitted_ |= types;
                    emit(static_cast<asio::cancellation_type_t>(types & 0xffff'ffff));
                }
            }
            state = state_.fetch_and(~emitting) & ~emitting;
            state_.notify_all();
        }
    }

    // No types are left if the emission before has taken those of a request that was in the making.
    void emit(asio::cancellation_type_t type) noexcept
    {
        if (type != asio::cancellation_type::none)
            signal_.emit(type);
    }

    asio::cancellation_signal signal_;
    bool closed_ = false;
    std::uint64_t emitted_ = 0;
    std::atomic<std::uint64_t> types_{0};
    std::atomic<std::uint32_t> state_{0};
    std::atomic<std::uint32_t> references_{0};
};

template <class Function>
struct gated_function;

// Executes within the gate. Owns a reference, since an executor may outlive what it is got from.
class gate_policy
{
public:
    explicit gate_policy(cancellation_gate& gate) noexcept : gate_(&gate) { gate.add_reference(); }

    gate_policy(const gate_policy& other) noexcept : gate_(other.gate_)
    {
        if (gate_)
            gate_->add_reference();
    }

    gate_policy(gate_policy&& other) noexcept : gate_(std::exchange(other.gate_, nullptr)) {}

    gate_policy& operator=(gate_policy other) noexcept
    {
        std::swap(gate_, other.gate_);
        return *this;
    }

    ~gate_policy()
    {
        if (gate_)
            gate_->release();
    }

    template <class Executor, class Function>
    void execute(const Executor& executor, Function&& function) const
    {
        executor.execute(
            gated_function<std::decay_t<Function>>{*this, std::forward<Function>(function)}
        );
    }

    bool operator==(const gate_policy&) const = default;

    cancellation_gate& gate() const noexcept { return *gate_; }

private:
    cancellation_gate* gate_;
};

template <class Function>
struct gated_function
{
    gate_policy policy;
    Function function;

    void operator()()
    {
        const cancellation_gate::visit inside(policy.gate());
        function();
    }
};

}

#endif
