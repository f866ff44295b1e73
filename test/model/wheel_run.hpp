// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#ifndef TIMEWHEEL_TEST_MODEL_WHEEL_RUN_HPP
#define TIMEWHEEL_TEST_MODEL_WHEEL_RUN_HPP

#include "wheel_model.hpp"
#include "wheel_operations.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace timewheel::test {

// Does the same operations to a wheel and to its model, and compares them after each.
class wheel_run
{
public:
    wheel_run(tick_type now, std::size_t nodes)
        : wheel_(std::make_unique<wheel>(now))
        , model_(nodes)
        , nodes_(nodes)
        , clock_(now)
    {
        for (std::size_t id = 0; id != nodes; ++id)
            nodes_[id].id = id;
    }

    // Looks at all there is after each operation.
    void check_thoroughly() { often_ = 1; }

    // Throws model_failure at the first difference.
    void run(std::span<const operation> operations)
    {
        rest_ = operations;
        while (!rest_.empty()) {
            apply(next());
            check();
        }
        drain();
    }

    std::uint64_t handed_out() const { return handed_out_; }

private:
    struct node : detail::wheel_node
    {
        std::size_t id = 0;
    };

    static constexpr tick_type never = wheel::never;

    const operation& next()
    {
        const operation& op = rest_.front();
        rest_ = rest_.subspan(1);
        return op;
    }

    static tick_type plus(tick_type a, tick_type b) { return a > never - b ? never : a + b; }
    static tick_type minus(tick_type a, tick_type b) { return a < b ? 0 : a - b; }

    tick_type tick_of(const operation& op) const
    {
        const tick_type now = wheel_->now();
        switch (op.at) {
        case aim::close: return plus(now, op.value % 4);
        case aim::near: return plus(now, op.value % 300);
        case aim::boundary: {
            const tick_type unit = tick_type{1} << (8 * (op.value % 8));
            const tick_type units = now / unit + 1 + (op.value >> 3) % 3;
            const tick_type boundary = units > never / unit ? never : units * unit;
            return minus(plus(boundary, (op.value >> 8) % 3), 1);
        }
        case aim::magnitude: return plus(now, op.value >> (op.other % 64));
        case aim::past: return minus(now, op.value % 300);
        case aim::equal: return model_[op.other % nodes_.size()].tick;
        case aim::top: return never - op.value % 600;
        case aim::never: return never;
        case aim::bottom: return op.value % 600;
        case aim::clock: return plus(clock_, op.value % 16);
        }
        return now;
    }

    void apply(const operation& op)
    {
        node& n = nodes_[op.node % nodes_.size()];
        switch (op.what) {
        case action::insert:
        case action::add:
        case action::remove:
        case action::reschedule:
        case action::replace:
        case action::take_all: change(op, n); break;
        case action::expire:
            clock_ = (std::max)(clock_, (std::min)(tick_of(op), never - 1));
            expire(batch_size(op));
            break;
        case action::resume: expire(batch_size(op)); break;
        case action::rewind: rewind(op); break;
        }
    }

    // What a callback may do too.
    void change(const operation& op, node& n)
    {
        const tick_type now = wheel_->now();
        const bool filed = model_[n.id].filed;
        switch (op.what) {
        case action::add:
            if (!filed)
                insert(n, tick_of(op));
            break;
        case action::remove:
            if (filed)
                remove(n);
            break;
        case action::reschedule:
            if (filed) {
                const tick_type tick = tick_of(op);
                wheel_->reschedule(n, tick);
                model_.reschedule(n.id, tick, now, in_call_);
            } else {
                insert(n, tick_of(op));
            }
            break;
        case action::replace: {
            node& to = nodes_[op.other % nodes_.size()];
            if (filed && !model_[to.id].filed) {
                wheel_->replace(n, to);
                model_.replace(n.id, to.id);
            }
            break;
        }
        case action::take_all: take_all(); break;
        default:
            if (filed)
                remove(n);
            insert(n, tick_of(op));
        }
    }

    void insert(node& n, tick_type tick)
    {
        model_.insert(n.id, tick, wheel_->now(), in_call_);
        wheel_->insert(n, tick);
    }

    void remove(node& n)
    {
        wheel_->remove(n);
        model_.remove(n.id);
    }

    void take_all()
    {
        wheel_->take_all([this](detail::wheel_node& taken) {
            require(!taken.is_linked(), "a taken node is linked");
            model_.take(static_cast<node&>(taken).id);
        });
        require(model_.empty(), "a node was not taken");
        complete_ = true;
    }

    void expire(std::size_t max)
    {
        const std::uint64_t refiled = wheel_->refiled();
        std::size_t visits = 0;
        in_call_ = true;
        model_.begin_call(wheel_->now());
        complete_ = wheel_->expire(clock_, max, [&](detail::wheel_node& due) {
            ++visits;
            hand_out(static_cast<node&>(due));
        });
        in_call_ = false;
        visits += static_cast<std::size_t>(wheel_->refiled() - refiled);
        require(visits <= max, "a call visited more nodes than it may");
        require(wheel_->now() <= clock_, "the wheel ran ahead of the clock");
        if (complete_)
            model_.end_call(wheel_->now());
        const bool rest = !model_.empty() && model_.earliest() <= clock_;
        require(!(complete_ && rest), "a call said that all was handed out, and it was not");
    }

    void hand_out(node& n)
    {
        require(!n.is_linked(), "a node was handed out and is still linked");
        require(wheel_->now() <= clock_, "the wheel ran ahead of the clock");
        model_.hand_out(n.id, n.tick, wheel_->now());
        ++handed_out_;
        check();
        for (int done = 0; done != 3 && !rest_.empty() && rest_.front().nested; ++done) {
            const operation& op = next();
            if (op.what == action::expire || op.what == action::resume) {
                if (!model_[n.id].filed)
                    insert(n, tick_of(op)); // the node that is handed out, again
            } else if (op.what != action::rewind) {
                change(op, nodes_[op.node % nodes_.size()]);
            }
            check();
        }
    }

    void rewind(const operation& op)
    {
        const tick_type now = wheel_->now();
        if (now == 0)
            return;
        const tick_type back = op.at == aim::magnitude ? op.value >> (op.other % 64)
                               : op.at == aim::bottom  ? now - op.value % 600 % now
                                                       : op.value % 300;
        const tick_type target = minus(now, (std::max)(back, tick_type{1}));
        wheel_->rewind(target);
        require(wheel_->now() == target, "the wheel did not go back");
        model_.rewind(target);
        clock_ = target;
        complete_ = true;
    }

    void check()
    {
        const tick_type truth = model_.earliest();
        const tick_type now = wheel_->now();
        require(wheel_->empty() == model_.empty(), "empty() is wrong");
        require(wheel_->refiled() <= model_.moves_later(), "more was refiled than moved later");
        const tick_type wakeup = wheel_->next_wakeup();
        require(wakeup <= (std::max)(truth, now), "next_wakeup() is later than the truth");
        require(wakeup >= now, "next_wakeup() is in the past");
        if (model_.empty())
            require(wakeup == never, "next_wakeup() of an empty wheel");
        else if (complete_ && !in_call_ && model_.only_filed())
            require(wakeup == (std::max)(truth, now), "next_wakeup() is early without a reason");
        // Not every time: it looks at all slots.
        if (++checks_ % often_ == 0)
            require(wheel_->next_due() == truth, "next_due() is wrong");
        if (checks_ % (8 * often_) == 0)
            check_all();
    }

    void check_all() const
    {
        tick_type odd = never;
        for (const node& n : nodes_) {
            require(n.is_linked() == model_[n.id].filed, "a node is in a list, or not, wrongly");
            if (n.is_linked())
                require(n.tick == model_[n.id].tick, "a node lost its tick");
            if (n.is_linked() && n.id % 2 == 1)
                odd = (std::min)(odd, n.tick);
        }
        const auto counts = [](const detail::wheel_node& n) {
            return static_cast<const node&>(n).id % 2 == 1;
        };
        require(wheel_->next_due(counts) == odd, "next_due() of some nodes is wrong");
    }

    // To the end of time: what is filed comes, in as many calls as there are nodes to refile.
    void drain()
    {
        clock_ = never - 1;
        std::size_t calls = 16 * nodes_.size() + 64;
        do {
            require(calls-- != 0, "the wheel does not come to an end");
            expire(3);
            check();
        } while (!complete_);
        require(model_.earliest() == never, "a node was lost");
        take_all();
        check();
    }

    std::unique_ptr<wheel> wheel_;
    wheel_model model_;
    std::vector<node> nodes_;
    std::span<const operation> rest_;
    tick_type clock_;
    bool in_call_ = false;
    bool complete_ = true; // the last call handed out all that was due
    std::uint64_t checks_ = 0;
    std::uint64_t often_ = 4;
    std::uint64_t handed_out_ = 0;
};

}

#endif
