// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#include <timewheel/detail/cancellation_gate.hpp>

#include <test_common/random_source.hpp>

#include <boost/asio/cancellation_type.hpp>
#include <boost/test/unit_test.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

namespace timewheel::test {

BOOST_AUTO_TEST_SUITE(cancellation_gate)

using asio::cancellation_type;
using detail::gate_policy;
using visit = detail::cancellation_gate::visit;

namespace {

constexpr std::uint64_t terminal = 1;
constexpr std::uint64_t partial = 2;
constexpr std::uint64_t total = 4;
constexpr std::uint64_t remembered = std::uint64_t{1} << 40;

/// A gate that counts its ends instead of freeing itself, and writes down what it emits.
class test_gate final : public detail::cancellation_gate
{
public:
    // With one reference, the test's.
    test_gate() : detail::cancellation_gate(1)
    {
        const visit making(*this, from_the_beginning());
        slot().assign([this](asio::cancellation_type type) {
            signals.push_back(type);
            if (on_signal)
                on_signal(type);
        });
    }

    std::vector<cancellation_type> signals;
    std::function<void(cancellation_type)> on_signal;
    int frees = 0;

private:
    void free() noexcept override { ++frees; }
};

using types = std::vector<cancellation_type>;

}

BOOST_AUTO_TEST_CASE(nobody_inside)
{
    test_gate gate;
    gate.request(terminal);
    gate.request(total | partial);
    BOOST_CHECK(
        gate.signals ==
        (types{cancellation_type::terminal, cancellation_type::total | cancellation_type::partial})
    );
    const visit inside(gate);
    BOOST_TEST(gate.emitted() == (terminal | total | partial));
    BOOST_TEST(gate.frees == 0);
}

BOOST_AUTO_TEST_CASE(the_last_one_that_leaves_emits)
{
    test_gate gate;
    std::optional<visit> first(std::in_place, gate);
    {
        const visit second(gate);
        gate.request(total);
        gate.request(partial);
        BOOST_TEST(gate.signals.empty());
        BOOST_TEST(gate.emitted() == 0u);
    }
    BOOST_TEST(gate.signals.empty());
    first.reset();
    BOOST_CHECK(gate.signals == types{cancellation_type::total | cancellation_type::partial});
}

BOOST_AUTO_TEST_CASE(bits_that_are_only_remembered)
{
    test_gate gate;
    gate.request(remembered | total);
    BOOST_CHECK(gate.signals == types{cancellation_type::total});
    gate.request(remembered << 1);
    BOOST_TEST(gate.signals.size() == 1u);
    const visit inside(gate);
    BOOST_TEST(gate.emitted() == (remembered | remembered << 1 | total));
}

BOOST_AUTO_TEST_CASE(a_visit_within_the_emission)
{
    test_gate gate;
    gate.on_signal = [&](cancellation_type) {
        const visit inside(gate);
        const visit further_inside(gate);
        BOOST_TEST(gate.emitted() == terminal);
    };
    gate.request(terminal);
    BOOST_TEST(gate.signals.size() == 1u);
    gate.on_signal = nullptr;
    gate.request(terminal);
    BOOST_TEST(gate.signals.size() == 2u);
}

BOOST_AUTO_TEST_CASE(a_request_within_the_emission)
{
    test_gate gate;
    int depth = 0;
    gate.on_signal = [&](cancellation_type type) {
        BOOST_TEST(++depth == 1);
        if (type == cancellation_type::terminal) {
            gate.request(partial);
            const visit inside(gate);
            gate.request(total);
        }
        BOOST_TEST(gate.signals.size() == (type == cancellation_type::terminal ? 1u : 2u));
        --depth;
    };
    gate.request(terminal);
    BOOST_CHECK(
        gate.signals ==
        (types{cancellation_type::terminal, cancellation_type::total | cancellation_type::partial})
    );
}

BOOST_AUTO_TEST_CASE(two_gates_within_each_other)
{
    test_gate outer;
    test_gate inner;
    outer.on_signal = [&](cancellation_type type) {
        inner.request(static_cast<std::uint64_t>(type));
    };
    {
        const visit outside(outer);
        const visit inside(inner);
        outer.request(terminal);
        BOOST_TEST(outer.signals.empty());
    }
    BOOST_TEST(outer.signals.size() == 1u);
    BOOST_TEST(inner.signals.size() == 1u);

    // The inner one is being visited when the outer one's signal comes.
    {
        const visit inside(inner);
        outer.request(total);
        BOOST_TEST(outer.signals.size() == 2u);
        BOOST_TEST(inner.signals.size() == 1u);
    }
    BOOST_TEST(inner.signals.size() == 2u);
}

BOOST_AUTO_TEST_CASE(nothing_is_emitted_after_close)
{
    test_gate gate;
    {
        const visit inside(gate);
        gate.request(terminal);
        gate.close(0);
        gate.request(partial);
    }
    gate.request(total);
    BOOST_TEST(gate.signals.empty());
    gate.release();
    BOOST_TEST(gate.frees == 1);
}

BOOST_AUTO_TEST_CASE(close_ends_the_visits_of_the_thread)
{
    test_gate gate;
    test_gate other;
    const visit other_outside(other);
    {
        const visit first(gate);
        const visit other_inside(other);
        const visit second(gate);
        gate.close(0);
        // Only the test's own reference is left.
        gate.release();
        BOOST_TEST(gate.frees == 1);
        other.request(terminal);
        BOOST_TEST(other.signals.empty());
    }
    BOOST_TEST(gate.frees == 1);
    BOOST_TEST(other.signals.empty());
}

BOOST_AUTO_TEST_CASE(close_within_the_emission)
{
    test_gate gate;
    gate.on_signal = [&](cancellation_type) {
        gate.request(total);
        const visit inside(gate);
        gate.close(0);
    };
    gate.add_reference();
    gate.request(terminal);
    gate.release();
    BOOST_TEST(gate.signals.size() == 1u);
    gate.release();
    BOOST_TEST(gate.frees == 1);
}

// Its memory is free for the next operation.
BOOST_AUTO_TEST_CASE(close_empties_the_slot)
{
    const auto held = std::make_shared<int>();
    const auto hold = [&](test_gate& gate) {
        gate.slot().assign([&gate, held](asio::cancellation_type) {
            const visit inside(gate);
            gate.close(0);
            BOOST_TEST(held.use_count() > 1);
        });
    };
    {
        test_gate gate;
        hold(gate);
        const visit outside(gate);
        const visit inside(gate);
        gate.close(0);
        BOOST_TEST(held.use_count() == 1);
    }
    {
        test_gate gate;
        hold(gate);
        gate.request(terminal); // what is being called stays
        BOOST_TEST(held.use_count() == 2);
    }
    {
        test_gate gate;
        hold(gate);
        std::atomic<int> step{0};
        std::thread other([&] {
            const visit inside(gate);
            step = 1;
            while (step == 1)
                std::this_thread::yield();
        });
        while (step == 0)
            std::this_thread::yield();
        {
            const visit inside(gate);
            gate.close(0);
            BOOST_TEST(held.use_count() == 2); // the other one may be using it
        }
        step = 2;
        other.join();
    }
    BOOST_TEST(held.use_count() == 1);
}

BOOST_AUTO_TEST_CASE(close_gives_back_references)
{
    test_gate gate;
    gate.add_reference();
    gate.add_reference();
    {
        const visit inside(gate);
        gate.close(2);
        BOOST_TEST(gate.frees == 0);
    }
    gate.release();
    BOOST_TEST(gate.frees == 1);

    test_gate last;
    {
        const visit outside(last);
        const visit inside(last);
        last.close(1);
        BOOST_TEST(last.frees == 1);
    }
    BOOST_TEST(last.frees == 1);
}

BOOST_AUTO_TEST_CASE(whoever_makes_the_gate_is_inside)
{
    struct maker final : detail::cancellation_gate
    {
        maker() : detail::cancellation_gate(2)
        {
            slot().assign([this](asio::cancellation_type) { ++signals; });
        }
        void free() noexcept override { ++frees; }

        int signals = 0;
        int frees = 0;
    } gate;
    {
        const visit first(gate, maker::from_the_beginning());
        const visit second(gate);
        gate.request(terminal);
        BOOST_TEST(gate.signals == 0);
    }
    BOOST_TEST(gate.signals == 1);
    gate.release();
    BOOST_TEST(gate.frees == 0);
    gate.release();
    BOOST_TEST(gate.frees == 1);
}

// A visit keeps the gate, and the last one frees it.
BOOST_AUTO_TEST_CASE(the_last_reference_is_a_visit)
{
    test_gate gate;
    {
        const visit inside(gate);
        gate.release();
        BOOST_TEST(gate.frees == 0);
    }
    BOOST_TEST(gate.frees == 1);
}

BOOST_AUTO_TEST_CASE(others_wait_while_a_signal_is_emitted)
{
    test_gate gate;
    std::atomic<bool> emitting{false};
    std::atomic<bool> entered{false};
    bool entered_too_soon = false;
    gate.on_signal = [&](cancellation_type) {
        emitting = true;
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        entered_too_soon = entered;
    };
    std::thread visitor([&] {
        while (!emitting)
            std::this_thread::yield();
        const visit inside(gate);
        entered = true;
    });
    gate.request(terminal);
    visitor.join();
    BOOST_TEST(!entered_too_soon);
    BOOST_TEST(entered);
}

BOOST_AUTO_TEST_CASE(a_visit_ends_with_an_exception)
{
    test_gate gate;
    try {
        const visit inside(gate);
        gate.request(terminal);
        throw 1;
    } catch (int) {}
    BOOST_TEST(gate.signals.size() == 1u);
}

BOOST_AUTO_TEST_CASE(the_policy_executes_within_the_gate)
{
    test_gate gate;
    const gate_policy policy(gate);
    struct inline_executor
    {
        void execute(std::function<void()> f) const { f(); }
    };
    bool executed = false;
    policy.execute(inline_executor(), [&] {
        gate.request(terminal);
        executed = gate.signals.empty();
    });
    BOOST_TEST(executed);
    BOOST_TEST(gate.signals.size() == 1u);
    test_gate other;
    BOOST_TEST((policy == gate_policy(gate)));
    BOOST_TEST((policy != gate_policy(other)));
}

// References that are made inside, more than a visit has to spare, and given back in any order.
BOOST_AUTO_TEST_CASE(references_come_and_go_inside_and_outside)
{
    for (std::uint64_t seed = 1; seed <= 200; ++seed) {
        BOOST_TEST_CONTEXT("seed " << seed)
        {
            random_source random(seed);
            test_gate gate;
            test_gate other;
            std::vector<gate_policy> policies;
            std::vector<std::unique_ptr<visit>> visits;
            policies.emplace_back(gate);
            gate.release();
            for (int step = 0; step != 200; ++step) {
                switch (random.below(5)) {
                case 0: visits.push_back(std::make_unique<visit>(gate)); break;
                case 1: visits.push_back(std::make_unique<visit>(other)); break;
                case 2:
                    if (!visits.empty())
                        visits.pop_back();
                    break;
                case 3: policies.push_back(policies[random.below(policies.size())]); break;
                default:
                    if (policies.size() > 1) {
                        std::swap(policies[random.below(policies.size())], policies.back());
                        policies.pop_back();
                    }
                }
                BOOST_REQUIRE(gate.frees == 0);
            }
            const bool policies_first = random.one_in(2);
            if (policies_first)
                policies.clear();
            while (!visits.empty())
                visits.pop_back();
            BOOST_TEST(gate.frees == (policies_first ? 1 : 0));
            policies.clear();
            BOOST_TEST(gate.frees == 1);
            BOOST_TEST(other.frees == 0);
        }
    }
}

// Also what it has been given to execute does.
BOOST_AUTO_TEST_CASE(the_policy_keeps_the_gate)
{
    test_gate gate;
    struct keeping_executor
    {
        void execute(std::function<void()> f) const { *kept = std::move(f); }
        std::function<void()>* kept;
    };
    std::function<void()> kept;
    int executed = 0;
    {
        std::optional<gate_policy> policy(std::in_place, gate);
        const gate_policy copy(*policy);
        const gate_policy moved(std::move(*policy));
        policy.reset();
        gate.release();
        BOOST_TEST(gate.frees == 0);
        moved.execute(keeping_executor{&kept}, [&executed] { ++executed; });
    }
    BOOST_TEST(gate.frees == 0);
    kept();
    BOOST_TEST(executed == 1);
    kept = nullptr;
    BOOST_TEST(gate.frees == 1);
}

BOOST_AUTO_TEST_SUITE_END()

}
