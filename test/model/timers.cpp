// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#include <timewheel/basic_waitable_timer.hpp>

#include <test_common/random_source.hpp>
#include <test_common/virtual_time.hpp>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/strand.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

/*  Random calls of timers, against a model that only knows what is documented.

    A wait is *due* once the clock has reached the tick of its deadline. Until then the model knows
    everything: what a cancellation returns, and how each wait ends. A wait that is due may have
    been handed out already, or not before the context gets a turn; then the counts returned have to
    fit what comes out in the end, and a full poll leaves nothing behind.
*/

namespace timewheel::test {

namespace {

struct model_tag;
using clock_type = timewheel::manual_clock<model_tag>;
using time_point = clock_type::time_point;
using timer = virtual_timer<model_tag>;

constexpr std::int64_t tick_length = 1'000'000; // ns, the default
constexpr std::int64_t never = (std::numeric_limits<std::int64_t>::max)();
constexpr std::int64_t last_tick = never / tick_length; // that the clock can reach

std::int64_t floor_tick(time_point t)
{
    const std::int64_t ns = t.time_since_epoch().count();
    return ns / tick_length - (ns % tick_length < 0 ? 1 : 0);
}

std::int64_t ceil_tick(time_point t)
{
    if (t == (time_point::max)())
        return never;
    const std::int64_t ns = t.time_since_epoch().count();
    return ns / tick_length + (ns % tick_length > 0 ? 1 : 0);
}

std::int64_t this_tick()
{
    return floor_tick(clock_type::now());
}

[[noreturn]] void fail(const std::string& what)
{
    throw std::logic_error(what);
}

void check(bool holds, const char* what)
{
    if (!holds)
        fail(what);
}

// What the waits for one expiry of one timer have in common.
struct period
{
    std::size_t in_doubt = 0;        // waits whose end depends on whether they were handed out
    std::size_t to_be_cancelled = 0; // how many of those were counted as cancelled
    bool exact = true;               // whether all cancellations were counted
};

enum class fate
{
    fires,
    is_cancelled,
    is_in_doubt
};

struct wait
{
    bool active = false;
    fate end = fate::fires;
    std::shared_ptr<period> of;
    std::size_t context = 0;
    std::int64_t tick = 0;
    std::int64_t latest = 0; // as which tick it counts at most
    bool in_order = false;   // whether its place within the tick is known
    std::uint64_t filed = 0; // when its timer was filed
    bool listens = false;    // whether the signal is for this wait, not for one before it
    asio::cancellation_signal signal;
};

class model_run
{
public:
    model_run(std::uint64_t seed, std::size_t slots) : random_(seed), slots_(slots)
    {
        // Somewhere inside a tick, on either side of the epoch, sometimes near a power of two.
        const std::int64_t around = std::int64_t{1} << (20 + random_.below(38));
        const auto offset = static_cast<std::int64_t>(random_.below(40'000'000)) - 20'000'000;
        clock_type::set(
            time_point(clock_type::duration((random_.one_in(2) ? around : -around) + offset))
        );
    }

    ~model_run() { slots_.clear(); }

    void step()
    {
        ++steps_;
        switch (random_.below(40)) {
        case 0:
        case 1: return advance();
        case 2: return advance_to_next();
        case 3:
        case 4: return poll();
        case 5:
        case 6:
        case 7: return run_some();
        default: return touch_a_timer();
        }
    }

    void finish()
    {
        finishing_ = true;
        for (slot& each : slots_)
            destroy(each);
        poll();
        check(active_ == 0, "waits are left over");
        for (context& each : contexts_)
            check(each.io.stopped(), "a context without waits has work");
    }

    std::uint64_t steps() const { return steps_; }
    std::uint64_t completed() const { return completed_; }

private:
    struct context
    {
        asio::io_context io;
        asio::strand<asio::io_context::executor_type> strand{io.get_executor()};
        std::uint64_t started = 0;
        std::uint64_t fired = 0;
        std::uint64_t cancelled = 0;
        std::uint64_t pending = 0;
        std::int64_t latest_fired = (std::numeric_limits<std::int64_t>::min)();
        std::int64_t ordered_tick = (std::numeric_limits<std::int64_t>::min)();
        std::uint64_t ordered_filed = 0;
    };

    // A timer, and what is known of it.
    struct slot
    {
        std::optional<timer> object;
        std::size_t context = 0;
        bool on_strand = false;
        std::int64_t tick = 0;
        time_point expiry;
        std::shared_ptr<period> now = std::make_shared<period>();
        std::vector<std::size_t> waits; // of this period and not known to be over

        // The place in the wheel: when it was filed, for which tick, and whether there is one to
        // which it was moved lazily.
        std::uint64_t filed = 0;
        std::int64_t filed_tick = never;
        bool is_filed = false;
        bool lazily = false;
    };

    wait& at(std::size_t index) { return waits_[index]; }

    bool is_due(const slot& s) const { return s.tick <= this_tick(); }

    void touch_a_timer()
    {
        slot& s = slots_[random_.below(slots_.size())];
        if (!s.object)
            return construct(s);
        switch (random_.below(24)) {
        case 0: return destroy(s);
        case 1: return move_construct(s);
        case 2: return move_assign(s);
        case 3:
        case 4:
        case 5:
        case 6:
        case 7: return expires_after(s);
        case 8: return expires_at(s);
        case 9:
        case 10: return cancel(s);
        case 11:
        case 12: return cancel_one(s);
        case 13:
        case 14: return emit();
        default: return start(s);
        }
    }

    void construct(slot& s)
    {
        s = slot();
        s.context = random_.below(contexts_.size());
        s.on_strand = random_.one_in(8);
        context& c = contexts_[s.context];
        if (s.on_strand)
            s.object.emplace(c.strand);
        else
            s.object.emplace(c.io);
        s.tick = 0;
        s.expiry = time_point();
        if (random_.one_in(2))
            expires_after(s);
    }

    void destroy(slot& s)
    {
        if (!s.object)
            return;
        s.object.reset();
        end_all_uncounted(s);
        s = slot();
    }

    void move_construct(slot& s)
    {
        slot& to = slots_[random_.below(slots_.size())];
        if (&to == &s)
            return;
        destroy(to);
        to.object.emplace(std::move(*s.object));
        hand_over(s, to);
    }

    void move_assign(slot& s)
    {
        slot& to = slots_[random_.below(slots_.size())];
        if (!to.object)
            return;
        if (&to != &s)
            end_all_uncounted(to);
        *to.object = std::move(*s.object);
        if (&to != &s)
            hand_over(s, to);
    }

    void hand_over(slot& from, slot& to)
    {
        std::optional<timer> object = std::move(to.object);
        std::optional<timer> old = std::move(from.object);
        // The optionals were moved, and with them the timers: the one in `to` and the moved-from one.
        slot taken;
        taken.context = from.context;
        taken.on_strand = from.on_strand;
        taken.tick = from.tick;
        taken.expiry = from.expiry;
        taken.now = from.now;
        taken.waits = from.waits;
        taken.filed = from.filed;
        taken.filed_tick = from.filed_tick;
        taken.is_filed = from.is_filed;
        taken.lazily = from.lazily;
        to = std::move(taken);
        to.object = std::move(object);
        from.now = std::make_shared<period>();
        from.waits.clear();
        from.is_filed = false;
        from.tick = 0;
        from.expiry = time_point();
        from.object = std::move(old);
        check(from.object->expiry() == time_point(), "a moved-from timer keeps its expiry");
        check(from.object->cancel() == 0, "a moved-from timer keeps waits");
        check(to.object->expiry() == to.expiry, "a move loses the expiry");
    }

    void expires_after(slot& s)
    {
        const auto ns = random_delay();
        const std::size_t n = s.object->expires_after(clock_type::duration(ns));
        cancelled_all(s, n);
        s.expiry = detail::saturated_add<clock_type>(clock_type::now(), clock_type::duration(ns));
        s.tick = ns <= 0 ? floor_tick(s.expiry) : ceil_tick(s.expiry);
        s.now = std::make_shared<period>();
        check(s.object->expiry() == s.expiry, "expires_after sets another expiry");
    }

    void expires_at(slot& s)
    {
        time_point to;
        switch (random_.below(8)) {
        case 0: to = (time_point::max)(); break;
        case 1: to = (time_point::min)(); break;
        case 2: to = clock_type::now(); break;
        default:
            to = detail::saturated_add<clock_type>(
                clock_type::now(), clock_type::duration(random_delay())
            );
        }
        const std::size_t n = s.object->expires_at(to);
        cancelled_all(s, n);
        s.expiry = to;
        s.tick = ceil_tick(to);
        s.now = std::make_shared<period>();
    }

    std::int64_t random_delay()
    {
        switch (random_.below(12)) {
        case 0: return 0;
        case 1: return -static_cast<std::int64_t>(random_.any_magnitude() >> 12);
        case 2: return static_cast<std::int64_t>(random_.any_magnitude() >> 1);
        case 3: return static_cast<std::int64_t>(random_.below(256) * 256 * tick_length);
        case 4: return (std::numeric_limits<std::int64_t>::max)();
        case 5:
        case 6: return static_cast<std::int64_t>(random_.below(40)) * tick_length;
        default: return static_cast<std::int64_t>(random_.below(400 * tick_length));
        }
    }

    void cancel(slot& s)
    {
        cancelled_all(s, s.object->cancel());
        check(s.object->expiry() == s.expiry, "cancel changes the expiry");
    }

    // All waits of a timer were cancelled, `n` of them by its own account.
    void cancelled_all(slot& s, std::size_t n)
    {
        std::size_t known = 0;
        std::size_t in_doubt = 0;
        for (const std::size_t index : s.waits) {
            wait& w = at(index);
            if (!w.active || w.of != s.now || w.end == fate::is_cancelled)
                continue;
            if (w.end == fate::fires && !is_due(s)) {
                set_fate(w, fate::is_cancelled);
                ++known;
            } else {
                set_fate(w, fate::is_in_doubt);
                ++in_doubt;
            }
        }
        s.waits.clear();
        check(n >= known && n <= known + in_doubt, "a cancellation returns another count");
        s.now->to_be_cancelled += n - known;
    }

    void cancel_one(slot& s)
    {
        const std::size_t n = s.object->cancel_one();
        bool any = false;
        for (const std::size_t index : s.waits) {
            wait& w = at(index);
            if (!w.active || w.of != s.now || w.end == fate::is_cancelled)
                continue;
            any = true;
            if (!is_due(s)) {
                check(n == 1, "cancel_one cancels nothing");
                return set_fate(w, fate::is_cancelled);
            }
            set_fate(w, fate::is_in_doubt);
        }
        check(n == 0 || (n == 1 && any), "cancel_one returns another count");
        s.now->to_be_cancelled += n;
    }

    void end_all_uncounted(slot& s)
    {
        for (const std::size_t index : s.waits) {
            wait& w = at(index);
            if (!w.active || w.of != s.now || w.end == fate::is_cancelled)
                continue;
            if (w.end == fate::fires && !is_due(s)) {
                set_fate(w, fate::is_cancelled);
            } else {
                set_fate(w, fate::is_in_doubt);
                w.of->exact = false;
            }
        }
        s.waits.clear();
    }

    void emit()
    {
        if (waits_.empty())
            return;
        static constexpr std::array types{
            asio::cancellation_type::terminal,
            asio::cancellation_type::partial,
            asio::cancellation_type::total,
            asio::cancellation_type::none
        };
        wait& w = waits_[random_.below(waits_.size())];
        const asio::cancellation_type type = random_.any_of(types);
        w.signal.emit(type);
        if (type == asio::cancellation_type::none || !w.listens || !w.active ||
            w.end == fate::is_cancelled)
            return;
        if (w.end == fate::fires && w.tick > this_tick()) {
            set_fate(w, fate::is_cancelled);
        } else {
            set_fate(w, fate::is_in_doubt);
            w.of->exact = false;
        }
    }

    void set_fate(wait& w, fate end)
    {
        if (end == fate::is_in_doubt && w.end != fate::is_in_doubt)
            ++w.of->in_doubt;
        if (w.end == fate::fires)
            --contexts_[w.context].pending;
        w.end = end;
    }

    void start(slot& s)
    {
        for (std::uint64_t n = 1 + random_.below(random_.one_in(4) ? 3 : 1); n != 0; --n)
            start_one(s);
    }

    void start_one(slot& s)
    {
        std::erase_if(s.waits, [&](std::size_t index) {
            const wait& w = at(index);
            return !w.active || w.of != s.now || w.end == fate::is_cancelled;
        });
        const std::int64_t now = this_tick();
        if (s.waits.empty()) {
            const bool linked = s.is_filed && s.filed_tick > polled_;
            s.lazily = linked && s.tick > s.filed_tick;
            s.filed = ++filings_;
            s.filed_tick = s.tick;
            s.is_filed = true;
        }
        const std::size_t index = take_wait();
        wait& w = at(index);
        w.active = true;
        w.end = fate::fires;
        w.of = s.now;
        w.context = s.context;
        w.tick = s.tick;
        w.latest = (std::max)(s.tick, now);
        w.in_order = s.tick > now && !s.lazily && !s.on_strand;
        w.filed = s.filed;
        s.waits.push_back(index);
        context& c = contexts_[s.context];
        ++c.started;
        ++c.pending;
        ++active_;
        ++pending_ticks_[s.tick];
        const bool in_turns = !s.on_strand;
        const auto handler = [this, index, in_turns](error_code ec) {
            complete(index, ec, in_turns);
        };
        w.listens = random_.one_in(3);
        if (w.listens)
            s.object->async_wait(asio::bind_cancellation_slot(w.signal.slot(), handler));
        else
            s.object->async_wait(handler);
    }

    std::size_t take_wait()
    {
        if (free_.empty()) {
            waits_.emplace_back();
            return waits_.size() - 1;
        }
        const std::size_t index = free_.back();
        free_.pop_back();
        return index;
    }

    void complete(std::size_t index, error_code ec, bool in_turns)
    {
        wait& w = at(index);
        check(w.active, "a wait completes twice");
        context& c = contexts_[w.context];
        if (ec) {
            check(ec == asio::error::operation_aborted, "an unexpected error");
            check(w.end != fate::fires, "a wait that was not cancelled is aborted");
            ++c.cancelled;
        } else {
            check(w.end != fate::is_cancelled, "a cancelled wait succeeds");
            check(w.tick <= this_tick(), "a wait completes early");
            ++c.fired;
            if (w.end == fate::fires)
                --c.pending;
            if (in_turns)
                check_order(c, w);
        }
        if (w.end == fate::is_in_doubt) {
            period& p = *w.of;
            if (ec && p.exact) {
                check(p.to_be_cancelled != 0, "more waits are aborted than were cancelled");
                --p.to_be_cancelled;
            }
            if (--p.in_doubt == 0 && p.exact && w.of.use_count() == 1)
                check(p.to_be_cancelled == 0, "fewer waits are aborted than were cancelled");
        }
        w.active = false;
        w.of.reset();
        --active_;
        ++completed_;
        const auto entry = pending_ticks_.find(w.tick);
        if (--entry->second == 0)
            pending_ticks_.erase(entry);
        free_.push_back(index);
        if (!finishing_ && random_.one_in(4))
            touch_a_timer();
    }

    void check_order(context& c, const wait& w)
    {
        check(c.latest_fired <= w.latest, "a wait completes after one with a later tick");
        c.latest_fired = (std::max)(c.latest_fired, w.tick);
        if (!w.in_order)
            return;
        if (w.tick == c.ordered_tick)
            check(w.filed >= c.ordered_filed, "waits of one tick are out of order");
        c.ordered_tick = w.tick;
        c.ordered_filed = w.filed;
    }

    void advance()
    {
        switch (random_.below(4)) {
        case 0: return clock_type::advance(clock_type::duration(random_.below(3 * tick_length)));
        case 1: return clock_type::advance(clock_type::duration(random_.any_magnitude() >> 16));
        default: return clock_type::advance(clock_type::duration(random_.below(200 * tick_length)));
        }
    }

    void advance_to_next()
    {
        const bool sure = random_.one_in(2);
        if (sure)
            poll();
        const std::int64_t next = next_tick();
        const auto far = pending_ticks_.upper_bound(last_tick / 2);
        if (far != pending_ticks_.end() && far->first != never)
            return; // stay away from the end of time
        const time_point before = clock_type::now();
        const bool moved = clock_type::advance_to_next();
        if (!sure || next <= floor_tick(before))
            return;
        check(moved == (next <= last_tick), "advance_to_next finds another number of deadlines");
        if (moved)
            check(
                clock_type::now() == time_point(clock_type::duration(next * tick_length)),
                "advance_to_next goes elsewhere"
            );
    }

    // The earliest tick for which something waits.
    std::int64_t next_tick() const
    {
        return pending_ticks_.empty() ? never : pending_ticks_.begin()->first;
    }

    void run_some()
    {
        context& c = contexts_[random_.below(contexts_.size())];
        c.io.restart();
        for (std::uint64_t n = 1 + random_.below(8); n != 0; --n)
            c.io.poll_one();
    }

    void poll()
    {
        // Handlers of one context start waits on the other.
        for (std::size_t done = 1; done != 0;) {
            done = 0;
            for (context& each : contexts_) {
                each.io.restart();
                done += each.io.poll();
            }
        }
        polled_ = this_tick();
        check(next_tick() > polled_, "a wait is late, or was cancelled and has not completed");
        for (context& each : contexts_)
            check_stats(each);
    }

    void check_stats(context& c)
    {
        const auto stats = service_of<timer>(c.io).stats();
        check(stats.pending + stats.fired + stats.cancelled == c.started, "counters do not add up");
        check(stats.pending == c.pending, "another number is pending");
        check(stats.fired == c.fired, "another number has fired");
        check(stats.cancelled == c.cancelled, "another number was cancelled");
        check(c.io.stopped() == (c.pending == 0), "work and waits differ");
    }

    random_source random_;
    std::array<context, 2> contexts_;
    std::deque<wait> waits_;
    std::vector<std::size_t> free_;
    std::map<std::int64_t, std::size_t> pending_ticks_;
    std::vector<slot> slots_;
    std::size_t active_ = 0;
    bool finishing_ = false;
    std::uint64_t filings_ = 0;
    std::uint64_t steps_ = 0;
    std::uint64_t completed_ = 0;
    std::int64_t polled_ = (std::numeric_limits<std::int64_t>::min)();
};

}

BOOST_AUTO_TEST_SUITE(timers_model)

BOOST_AUTO_TEST_CASE(random_calls)
{
    const std::uint64_t seed = test_seed("timers");
    const std::uint64_t steps = number_from_environment("TIMEWHEEL_OPERATIONS", 5'000'000);
    std::uint64_t steps_so_far = 0;
    std::uint64_t completed = 0;
    random_source rounds(seed);
    for (int round = 0; steps_so_far < steps; ++round) {
        model_run model(rounds.bits(), std::size_t{1} << (1 + rounds.below(8)));
        try {
            while (model.steps() != 100'000)
                model.step();
            model.finish();
        } catch (const std::logic_error& e) {
            BOOST_FAIL(
                e.what() << " (round " << round << ", step " << model.steps()
                         << ", TIMEWHEEL_SEED=" << seed << ")"
            );
        }
        steps_so_far += model.steps();
        completed += model.completed();
    }
    BOOST_TEST_MESSAGE(completed << " waits completed in " << steps_so_far << " steps");
    BOOST_TEST(completed > steps / 10);
}

BOOST_AUTO_TEST_SUITE_END()

}
