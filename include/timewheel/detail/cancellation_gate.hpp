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

    The gate is reference counted, and kept by everyone who is inside. A thread that is inside has some
    spare references, so that most of those that come and go there need no atomic operation.
*/
class cancellation_gate
{
public:
    cancellation_gate(const cancellation_gate&) = delete;
    cancellation_gate& operator=(const cancellation_gate&) = delete;

    // Names the constructor of a visit.
    struct from_the_beginning
    {};

    void add_reference() noexcept
    {
        visit* const own = visit::own(*this);
        if (own && own->spare_ != 0)
            --own->spare_;
        else
            state_.fetch_add(reference, std::memory_order_relaxed);
    }

    void release() noexcept
    {
        if (visit* const own = visit::own(*this))
            ++own->spare_;
        else if (state_.fetch_sub(reference, std::memory_order_acq_rel) == reference)
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
        std::uint64_t state = state_.fetch_or(requested) | requested;
        while ((state & ~references) == requested) {
            if (state_.compare_exchange_weak(state, state + reference - requested + emitting)) {
                emit_requested();
                return;
            }
        }
    }

    // The operation is over: emits nothing any more, and gives back some references of the caller's.
    // Ends this thread's visits, but for an emission, so that they do not keep the gate, and frees
    // what is in the slot if nobody else is inside. To be called inside.
    void close(std::uint32_t given_back) noexcept
    {
        closed_ = true;
        std::uint64_t own = 0; // this thread may be inside only because it emits
        for (visit* each = visit::top; each; each = each->below_) {
            if (each->gate_ != this || each->stay_ == visit::emission)
                continue;
            own += each->worth();
            each->gate_ = nullptr;
        }
        if ((state_.load() & ~references & ~requested) == (own & ~references))
            slot().clear();
        leave(own + given_back);
    }

    // A stay inside the gate, on the stack of a thread.
    class visit
    {
    public:
        explicit visit(cancellation_gate& gate) noexcept : visit(gate, 0) {}

        // The stay of whoever has made the gate.
        visit(cancellation_gate& gate, from_the_beginning) noexcept : visit(gate, counted) {}

        // Takes over references of the caller's. Within another stay of the same thread it is that
        // one which counts.
        visit(cancellation_gate& gate, std::uint32_t given) noexcept
            : visit(gate, is_inside(gate) ? nested : counted)
        {
            if (stay_ == counted)
                gate.enter(worth() - given);
            else
                for (; given != 0; --given)
                    gate.release();
        }

        ~visit()
        {
            top = below_;
            if (gate_ && stay_ == counted)
                gate_->leave(worth());
        }

        visit(const visit&) = delete;
        visit& operator=(const visit&) = delete;

    private:
        friend class cancellation_gate;

        enum kind
        {
            counted,
            nested,
            emission
        };

        visit(cancellation_gate& gate, kind stay) noexcept
            : gate_(&gate)
            , below_(std::exchange(top, this))
            , spare_(stay == counted ? spare_references : 0)
            , stay_(stay)
        {}

        static bool is_inside(const cancellation_gate& gate) noexcept
        {
            for (const visit* each = top; each; each = each->below_) {
                if (each->gate_ == &gate)
                    return true;
            }
            return false;
        }

        // The innermost stay of this thread, if that is in the gate and counts.
        static visit* own(const cancellation_gate& gate) noexcept
        {
            return top && top->gate_ == &gate && top->stay_ == counted ? top : nullptr;
        }

        // What the stay adds to the state.
        std::uint64_t worth() const noexcept { return stay_ == counted ? one_visit + spare_ : 0; }

        static inline constinit thread_local visit* top = nullptr; // this thread's, innermost first

        cancellation_gate* gate_;
        visit* const below_;
        std::uint32_t spare_; // references
        const kind stay_;
    };

protected:
    // With references of the maker's, who is inside as well.
    explicit cancellation_gate(std::uint32_t count) noexcept
        : state_(one_visit + spare_references + count)
    {}

    ~cancellation_gate() = default;

private:
    // The state: flags, then how many are inside, then how many references there are beside those.
    // The gate is freed when nothing of it is left.
    static constexpr std::uint64_t emitting = std::uint64_t{1} << 63;
    static constexpr std::uint64_t requested = std::uint64_t{1} << 62;
    static constexpr std::uint64_t one_visit = std::uint64_t{1} << 32;
    static constexpr std::uint64_t reference = 1;
    static constexpr std::uint64_t references = one_visit - 1;

    static constexpr std::uint32_t spare_references = 8; // of a visit, to begin with

    virtual void free() noexcept = 0;

    // Adds a visit, and references.
    void enter(std::uint64_t taken) noexcept
    {
        std::uint64_t state = state_.load();
        for (;;) {
            if ((state & emitting) != 0) {
                state_.wait(state);
                state = state_.load();
            } else if (state_.compare_exchange_weak(state, state + taken)) {
                return;
            }
        }
    }

    // Gives back a visit or none, and references. The last one that leaves emits what is requested,
    // and keeps a reference for that.
    void leave(std::uint64_t given_back) noexcept
    {
        std::uint64_t state = state_.load();
        std::uint64_t left = 0;
        bool emits = false;
        do {
            left = state - given_back;
            emits = (left & ~references) == requested;
            if (emits)
                left += reference - requested + emitting;
        } while (!state_.compare_exchange_weak(state, left));
        if (emits)
            emit_requested();
        else if (left == 0)
            free();
    }

    // With a reference and the flag that it emits, both of which it gives back.
    void emit_requested() noexcept
    {
        std::uint64_t state = emitting;
        do {
            emit(types_.exchange(0, std::memory_order_relaxed));
            state = state_.load();
            while (!state_.compare_exchange_weak(
                state, (state & requested) != 0 ? state - requested : state - emitting
            )) {}
        } while ((state & requested) != 0);
        state_.notify_all();
        release();
    }

    // No types are left if the emission before has taken those of a request that was in the making.
    void emit(std::uint64_t types) noexcept
    {
        const visit emission(*this, visit::emission);
        if (closed_)
            return;
        emitted_ |= types;
        const auto type = static_cast<asio::cancellation_type_t>(types & 0xffff'ffff);
        if (type != asio::cancellation_type::none)
            signal_.emit(type);
    }

    asio::cancellation_signal signal_;
    bool closed_ = false;
    std::uint64_t emitted_ = 0;
    std::atomic<std::uint64_t> types_{0};
    std::atomic<std::uint64_t> state_;
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
    void execute(const Executor& executor, Function&& function) const&
    {
        gate_policy(*this).execute(executor, std::forward<Function>(function));
    }

    template <class Executor, class Function>
    void execute(const Executor& executor, Function&& function) &&
    {
        executor.execute(gated_function<std::decay_t<Function>>{
            std::move(*this), std::forward<Function>(function)
        });
    }

    bool operator==(const gate_policy&) const = default;

    // Gives up the reference.
    cancellation_gate& detach() noexcept { return *std::exchange(gate_, nullptr); }

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
        const cancellation_gate::visit inside(policy.detach(), 1);
        function();
    }
};

}

#endif
