// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

// Operations with tiny deadlines on a context that several threads run, without a strand: waits,
// composed operations, reads and writes, from the threads of the context and from others, with
// signals of a parent at the same time where the rules of Asio allow one. The same in strands, and with
// handlers that are bound to another context. Each must end exactly once and in a way that is possible.
// Then the gate behind it all by itself. Says what went wrong and returns 1, else 0; meant to be run
// with a thread sanitizer as well.

#include <timewheel/cancel_after.hpp>

#include <timewheel/error.hpp>
#include <timewheel/steady_timer.hpp>

#include <test_common/random_source.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/append.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/compose.hpp>
#include <boost/asio/connect_pipe.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/readable_pipe.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/asio/writable_pipe.hpp>
#include <boost/asio/write.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

namespace asio = boost::asio;
using namespace std::chrono_literals;
using asio::cancellation_type;
using boost::system::error_code;
using timewheel::steady_timer;
using timewheel::test::random_source;
using clock_type = std::chrono::steady_clock;

std::atomic<int> failures{0};

void check(bool good, const char* what)
{
    if (!good && failures++ < 10)
        std::printf("failed: %s\n", what);
}

// How many operations began, and how they ended.
struct account
{
    std::atomic<int> started{0};
    std::atomic<int> succeeded{0};
    std::atomic<int> aborted{0};
    std::atomic<int> timed_out{0};

    void count(error_code ec)
    {
        if (!ec)
            ++succeeded;
        else if (ec == asio::error::operation_aborted)
            ++aborted;
        else if (ec == timewheel::error::timed_out)
            ++timed_out;
        else
            check(false, "an error that nobody has made");
    }

    void close(const char* what) const
    {
        std::printf(
            "%s: %d operations, %d succeeded, %d aborted, %d timed out\n",
            what,
            started.load(),
            succeeded.load(),
            aborted.load(),
            timed_out.load()
        );
        check(started == succeeded + aborted + timed_out, "each operation ends once");
        check(succeeded > 0, "some succeed");
    }
};

// A context and the threads that run it.
class crew
{
public:
    explicit crew(int threads)
    {
        for (; threads != 0; --threads)
            threads_.emplace_back([this] { context.run(); });
    }

    void join()
    {
        busy_.reset();
        for (std::thread& thread : threads_)
            thread.join();
    }

    asio::io_context context;

private:
    asio::executor_work_guard<asio::io_context::executor_type> busy_ =
        asio::make_work_guard(context);
    std::vector<std::thread> threads_;
};

constexpr int crew_size = 3;

// The end of a span of work for the threads that make it.
class time_limit
{
public:
    explicit time_limit(clock_type::duration span) : end_(clock_type::now() + span) {}

    bool is_over() const { return clock_type::now() >= end_; }

private:
    clock_type::time_point end_;
};

std::chrono::microseconds any_time(random_source& random)
{
    return std::chrono::microseconds(random.below(3) == 0 ? random.below(3000) : random.below(300));
}

auto as_value()
{
    return asio::use_future([](error_code ec, auto&&...) { return ec; });
}

// Waits in several steps, each of them where and when the last one ended.
struct three_waits
{
    template <class Self>
    void operator()(Self& self, error_code ec = {})
    {
        if (ec || left-- == 0)
            return self.complete(ec);
        timer->expires_after(step);
        auto& next = *timer;
        next.async_wait(std::move(self));
    }

    std::shared_ptr<steady_timer> timer;
    std::chrono::microseconds step;
    int left = 3;
};

template <class Executor, class CompletionToken>
auto async_three_waits(
    const Executor& executor,
    std::chrono::microseconds step,
    CompletionToken&& token
)
{
    return asio::async_compose<CompletionToken, void(error_code)>(
        three_waits{std::make_shared<steady_timer>(executor), step}, token, executor
    );
}

// Foreign threads start operations and wait for the future of each.
void check_futures()
{
    crew all(crew_size);
    account ends;
    const time_limit limit(800ms);
    std::vector<std::thread> threads;
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
        threads.emplace_back([&, seed] {
            random_source random(seed);
            while (!limit.is_over()) {
                const auto deadline = any_time(random);
                const auto time = any_time(random);
                ends.started += 3;
                steady_timer timer(all.context, time);
                auto wait = timer.async_wait(timewheel::timeout_after(deadline, as_value()));
                auto steps = async_three_waits(
                    all.context.get_executor(),
                    time / 3,
                    timewheel::timeout_after(deadline, as_value())
                );
                auto nested = async_three_waits(
                    all.context.get_executor(),
                    time / 3,
                    timewheel::cancel_after(
                        any_time(random), timewheel::timeout_after(deadline, as_value())
                    )
                );
                ends.count(wait.get());
                ends.count(steps.get());
                ends.count(nested.get());
            }
        });
    }
    for (std::thread& thread : threads)
        thread.join();
    all.join();
    ends.close("futures");
}

// Handlers start the next operation, on whichever thread they are.
template <class Executor>
class chain
{
public:
    chain(Executor executor, account& ends, const time_limit& limit, std::uint64_t seed)
        : executor_(std::move(executor))
        , ends_(ends)
        , limit_(limit)
        , random_(seed)
    {}

    void next()
    {
        if (limit_.is_over())
            return;
        ++ends_.started;
        const auto deadline = any_time(random_);
        const auto handler = [this](error_code ec) {
            ends_.count(ec);
            next();
        };
        if (random_.one_in(2))
            async_three_waits(
                executor_, any_time(random_) / 3, timewheel::timeout_after(deadline, handler)
            );
        else
            async_three_waits(
                executor_,
                any_time(random_) / 3,
                timewheel::cancel_after(
                    any_time(random_),
                    cancellation_type::total,
                    timewheel::timeout_after(deadline, handler)
                )
            );
    }

private:
    const Executor executor_;
    account& ends_;
    const time_limit& limit_;
    random_source random_;
};

// `executor_of_chain(context, seed)` says where a chain runs.
template <class ExecutorOfChain>
void check_handlers(const char* what, ExecutorOfChain executor_of_chain)
{
    crew all(crew_size);
    account ends;
    const time_limit limit(800ms);
    using executor_type = decltype(executor_of_chain(all.context, 0));
    std::vector<std::unique_ptr<chain<executor_type>>> chains;
    for (std::uint64_t seed = 1; seed <= 16; ++seed) {
        const auto executor = executor_of_chain(all.context, seed);
        chains.push_back(std::make_unique<chain<executor_type>>(executor, ends, limit, seed));
        asio::post(executor, [&each = *chains.back()] { each.next(); });
    }
    all.join();
    ends.close(what);
}

void check_handlers_anywhere()
{
    check_handlers("handlers", [](asio::io_context& context, std::uint64_t) {
        return context.get_executor();
    });
}

void check_handlers_in_strands()
{
    check_handlers("handlers in strands", [](asio::io_context& context, std::uint64_t) {
        return asio::make_strand(context);
    });
    check_handlers("handlers in erased strands", [](asio::io_context& context, std::uint64_t seed) {
        // Some are strands of what hides its type itself.
        return seed % 2 == 0 ? asio::any_io_executor(asio::make_strand(context))
                             : asio::make_strand(asio::any_io_executor(context.get_executor()));
    });
}

// Bound to an executor around the adapter or within it: the handler is called in a pool, the timer's
// signal comes from there, and the timer is used in a strand.
template <class Timer, class Bind>
void check_waits_bound_to_a_pool(const char* what, Bind bind)
{
    crew all(crew_size);
    asio::thread_pool pool(2);
    account ends;
    const time_limit limit(300ms);
    const auto strand = asio::make_strand(all.context);
    steady_timer pause(strand);
    std::function<void()> start_some = [&] {
        if (limit.is_over())
            return;
        for (int i = 0; i != 20; ++i) {
            ++ends.started;
            const auto timer =
                std::make_shared<Timer>(strand, std::chrono::microseconds(900 + i * 15));
            timer->async_wait(bind(pool, [timer, &ends](error_code ec) { ends.count(ec); }));
        }
        pause.expires_after(500us);
        pause.async_wait([&](error_code) { start_some(); });
    };
    asio::post(strand, [&] { start_some(); });
    all.join();
    pool.join();
    ends.close(what);
}

template <class Timer>
void check_bound_waits()
{
    check_waits_bound_to_a_pool<Timer>("bound around a deadline", [](auto& pool, auto handler) {
        return asio::bind_executor(pool, timewheel::timeout_after(1ms, std::move(handler)));
    });
    check_waits_bound_to_a_pool<Timer>("bound within a deadline", [](auto& pool, auto handler) {
        return timewheel::timeout_after(1ms, asio::bind_executor(pool, std::move(handler)));
    });
    // Another adapter hides from this one what is bound around both: of a wait, even that is safe.
    check_waits_bound_to_a_pool<Timer>("bound around two adapters", [](auto& pool, auto handler) {
        return asio::bind_executor(
            pool,
            asio::append(
                timewheel::timeout_after(
                    pool, 1ms, [handler](error_code ec, int) mutable { handler(ec); }
                ),
                0
            )
        );
    });
}

// Steps of an operation in a strand that is bound around the adapter.
void check_bound_steps()
{
    crew all(crew_size);
    account ends;
    const time_limit limit(500ms);
    std::function<void(asio::strand<asio::io_context::executor_type>, random_source)> next;
    next = [&](auto strand, random_source random) {
        if (limit.is_over())
            return;
        ++ends.started;
        const auto deadline = any_time(random);
        const auto step = any_time(random) / 3;
        const auto handler = [&next, &ends, strand, random](error_code ec) {
            ends.count(ec);
            next(strand, random);
        };
        async_three_waits(
            all.context.get_executor(),
            step,
            asio::bind_executor(strand, timewheel::timeout_after(deadline, handler))
        );
    };
    for (std::uint64_t seed = 1; seed <= 16; ++seed) {
        const auto strand = asio::make_strand(all.context);
        asio::post(strand, [&next, strand, seed] { next(strand, random_source(seed)); });
    }
    all.join();
    ends.close("bound steps");
}

// Whole blocks through a pipe, one end of which is now and then slow.
class piped_blocks
{
public:
    piped_blocks(asio::io_context& context, account& ends, const time_limit& limit)
        : ends_(ends)
        , limit_(limit)
        , reader_(context)
        , writer_(context)
    {
        asio::connect_pipe(reader_, writer_);
    }

    void start()
    {
        read();
        write();
    }

private:
    using size_type = std::size_t;

    void read()
    {
        ++ends_.started;
        asio::async_read(
            reader_,
            asio::buffer(in_),
            timewheel::timeout_after(
                any_time(read_random_),
                [this](error_code ec, size_type) {
                    if (ec == asio::error::eof)
                        ec = {};
                    ends_.count(ec);
                    if (!limit_.is_over())
                        return read();
                    reader_.close();
                }
            )
        );
    }

    void write()
    {
        ++ends_.started;
        // More than fits into a pipe at once, so that it takes several steps.
        asio::async_write(
            writer_,
            asio::buffer(out_),
            timewheel::timeout_after(
                any_time(write_random_),
                [this](error_code ec, size_type) {
                    if (ec == asio::error::broken_pipe)
                        ec = asio::error::operation_aborted;
                    ends_.count(ec);
                    if (!limit_.is_over())
                        return write();
                    writer_.close();
                }
            )
        );
    }

    account& ends_;
    const time_limit& limit_;
    asio::readable_pipe reader_;
    asio::writable_pipe writer_;
    random_source read_random_{1};
    random_source write_random_{2};
    std::array<char, 40'000> in_{};
    std::array<char, 100'000> out_{};
};

void check_pipes()
{
    crew all(crew_size);
    account ends;
    const time_limit limit(800ms);
    std::vector<std::unique_ptr<piped_blocks>> pipes;
    for (int n = 0; n != 6; ++n) {
        pipes.push_back(std::make_unique<piped_blocks>(all.context, ends, limit));
        asio::post(all.context, [&each = *pipes.back()] { each.start(); });
    }
    all.join();
    ends.close("pipes");
}

// A parent's signal is a use of the handler, so both are on a strand; the deadlines are not asked.
class cancelled_waits
{
public:
    cancelled_waits(asio::io_context& context, account& ends, const time_limit& limit, int seed)
        : context_(context)
        , strand_(asio::make_strand(context))
        , ends_(ends)
        , limit_(limit)
        , random_(static_cast<std::uint64_t>(seed))
        , parent_timer_(strand_)
    {}

    void start()
    {
        asio::post(strand_, [this] { next(); });
    }

private:
    void next()
    {
        if (limit_.is_over())
            return;
        ++ends_.started;
        async_three_waits(
            context_.get_executor(),
            any_time(random_) / 3,
            timewheel::timeout_after(
                any_time(random_),
                asio::bind_cancellation_slot(
                    parent_.slot(),
                    asio::bind_executor(
                        strand_,
                        [this](error_code ec) {
                            ends_.count(ec);
                            next();
                        }
                    )
                )
            )
        );
        parent_timer_.expires_after(any_time(random_));
        parent_timer_.async_wait([this](error_code ec) {
            if (!ec)
                parent_.emit(cancellation_type::terminal);
        });
    }

    asio::io_context& context_;
    asio::strand<asio::io_context::executor_type> strand_;
    account& ends_;
    const time_limit& limit_;
    random_source random_;
    asio::cancellation_signal parent_;
    steady_timer parent_timer_;
};

void check_parents()
{
    crew all(crew_size);
    account ends;
    const time_limit limit(800ms);
    std::vector<std::unique_ptr<cancelled_waits>> waits;
    for (int seed = 1; seed <= 8; ++seed) {
        waits.push_back(std::make_unique<cancelled_waits>(all.context, ends, limit, seed));
        waits.back()->start();
    }
    all.join();
    ends.close("parents");
}

// The context is stopped and destroyed with operations in every state.
void check_shutdown()
{
    std::atomic<int> started{0};
    std::atomic<int> ended{0};
    class ending
    {
    public:
        explicit ending(std::atomic<int>& ended) : ended_(&ended) {}
        ending(ending&& other) noexcept : ended_(std::exchange(other.ended_, nullptr)) {}
        ~ending()
        {
            if (ended_)
                ++*ended_;
        }
        void operator()(error_code) const {}

    private:
        std::atomic<int>* ended_;
    };
    for (std::uint64_t round = 0; round != 40; ++round) {
        random_source random(round);
        auto all = std::make_unique<crew>(crew_size);
        for (int n = 0; n != 100; ++n) {
            ++started;
            async_three_waits(
                all->context.get_executor(),
                any_time(random),
                timewheel::timeout_after(any_time(random), ending(ended))
            );
        }
        if (round % 2 == 0)
            std::this_thread::sleep_for(any_time(random));
        all->context.stop();
        all->join();
        all.reset();
        check(started == ended, "each handler is called or destroyed");
    }
}

class stressed_gate final : public timewheel::detail::cancellation_gate
{
public:
    stressed_gate(std::atomic<int>& alive, std::uint64_t& emitted)
        : timewheel::detail::cancellation_gate(1)
        , alive_(alive)
        , emitted_(emitted)
    {
        ++alive_;
        slot().assign([this](cancellation_type type) { emit(type); });
    }

    std::atomic<int> inside{0};
    std::atomic<bool> closed{false};

private:
    void emit(cancellation_type type)
    {
        check(type != cancellation_type::none, "no emission without a type");
        check(inside == 0, "no visit while a signal is emitted");
        check(!closed, "no emission after close");
        ++emissions_;
        const visit nested(*this);
        if (emissions_ % 3 == 0)
            request(2);
        if (emissions_ % 100 == 0)
            std::this_thread::yield();
        check(inside == 0, "no visit while a signal is emitted");
    }

    void free() noexcept override
    {
        --alive_;
        emitted_ += emissions_;
        delete this;
    }

    std::atomic<int>& alive_;
    std::uint64_t& emitted_;
    std::uint64_t emissions_ = 0; // not atomic: the gate is what keeps emissions and visits apart
};

void check_gate()
{
    std::atomic<int> alive{0};
    std::uint64_t emissions = 0;
    for (std::uint64_t round = 0; round != 60; ++round) {
        const std::uint64_t emissions_before = emissions;
        auto* const gate = new stressed_gate(alive, emissions);
        std::vector<std::thread> threads;
        auto first_visit =
            std::make_unique<stressed_gate::visit>(*gate, stressed_gate::from_the_beginning());
        for (std::uint64_t n = 0; n != 4; ++n) {
            gate->add_reference();
            threads.emplace_back([gate, n, round] {
                random_source random(round * 4 + n);
                for (int left = 1000; left != 0; --left) {
                    if (random.one_in(3)) {
                        gate->request(std::uint64_t{1} << random.below(3));
                        continue;
                    }
                    const stressed_gate::visit visit(*gate);
                    ++gate->inside;
                    if (random.one_in(4)) {
                        const stressed_gate::visit nested(*gate);
                        gate->request(4);
                    }
                    --gate->inside;
                    if (n == 0 && left == 100 && round % 2 == 0) {
                        gate->closed = true;
                        if (round % 4 == 0)
                            return gate->close(1); // with this thread's reference
                        gate->close(0);
                    }
                }
                gate->release();
            });
        }
        first_visit.reset();
        gate->release();
        for (std::thread& thread : threads)
            thread.join();
        check(alive == 0, "the last one frees the gate");
        if (round % 2 != 0) // it was not closed
            check(emissions > emissions_before, "what is requested is emitted");
    }
    std::printf("gate: %llu emissions\n", static_cast<unsigned long long>(emissions));
}

}

int main()
{
    std::signal(SIGPIPE, SIG_IGN); // a pipe is closed while it is written to
    check_futures();
    check_handlers_anywhere();
    check_handlers_in_strands();
    check_bound_waits<asio::steady_timer>();
    check_bound_waits<steady_timer>();
    check_bound_steps();
    check_pipes();
    check_parents();
    check_shutdown();
    check_gate();
    return failures == 0 ? 0 : 1;
}
