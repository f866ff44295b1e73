// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

// How long I/O has to wait while timers expire in a mass: round trips of a client of an echo server
// that shares its context with n timers, all due within one millisecond.

#include "population.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/asio/local/connect_pair.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>

#include <algorithm>
#include <atomic>
#include <thread>

namespace timewheel::bench {

namespace {

using local_socket = asio::local::stream_protocol::socket;

class echo_server
{
public:
    explicit echo_server(local_socket socket) : socket_(std::move(socket)) { read(); }

private:
    void read()
    {
        socket_.async_read_some(asio::buffer(&byte_, 1), [this](const error_code& ec, std::size_t) {
            if (ec)
                return;
            asio::write(socket_, asio::buffer(&byte_, 1)); // never blocks with one byte under way
            read();
        });
    }

    local_socket socket_;
    char byte_ = 0;
};

// Makes round trips until it is told to stop; their times, in microseconds.
class echo_client
{
public:
    echo_client(local_socket socket, steady_clock::time_point begin)
        : socket_(std::move(socket))
        , thread_([this, begin] { run(begin); })
    {}

    std::vector<double> stop()
    {
        stopped_ = true;
        thread_.join();
        return std::move(times_);
    }

private:
    void run(steady_clock::time_point begin)
    {
        std::this_thread::sleep_until(begin);
        char byte = 0;
        while (!stopped_) {
            const auto start = steady_clock::now();
            asio::write(socket_, asio::buffer(&byte, 1));
            asio::read(socket_, asio::buffer(&byte, 1));
            times_.push_back(
                std::chrono::duration<double, std::micro>(steady_clock::now() - start).count()
            );
        }
    }

    local_socket socket_;
    std::atomic<bool> stopped_ = false;
    std::vector<double> times_;
    std::thread thread_;
};

// The round trips from the time when the timers become due until the last handler has run.
template <class Timer>
std::vector<double> round_trips(std::size_t n)
{
    asio::io_context context{2};
    local_socket ours{context}, theirs{context};
    asio::local::connect_pair(ours, theirs);
    const auto due = steady_clock::now() + 20ms + n * 3us;
    std::uint64_t completed = 0;
    std::vector<Timer> timers;
    timers.reserve(n);
    for (std::size_t i = 0; i != n; ++i) {
        timers.emplace_back(context, due + 1ms * i / n);
        timers.back().async_wait(counting_handler{&completed});
    }
    require(steady_clock::now() < due, "too slow to arm the timers in time");
    echo_server server{std::move(ours)};
    echo_client client{std::move(theirs), due};
    while (completed != n)
        context.run_one();
    // The last round trip may be on its way; the client stops after it.
    std::atomic<bool> stopped = false;
    std::vector<double> times;
    std::thread stopper{[&] {
        times = client.stop();
        stopped = true;
    }};
    while (!stopped)
        context.run_one_for(1ms);
    stopper.join();
    require(completed == n, "a completion was lost or came twice");
    std::sort(times.begin(), times.end());
    return times;
}

struct percentiles
{
    std::vector<double> median, p99, max, count;

    void add(const std::vector<double>& times)
    {
        median.push_back(times[times.size() / 2]);
        p99.push_back(times[times.size() * 99 / 100]);
        max.push_back(times.back());
        count.push_back(static_cast<double>(times.size()));
    }

    void record(session& session, std::size_t n, const std::string& subject) const
    {
        session.record("echo_median", n, "us", subject, median);
        session.record("echo_p99", n, "us", subject, p99);
        session.record("echo_max", n, "us", subject, max);
        session.record("echo_round_trips", n, "", subject, count);
    }
};

void echo(session& session)
{
    for (const std::size_t n : session.sizes({100'000, 1'000'000})) {
        percentiles asio, wheel;
        for (std::size_t round = 0; round != session.rounds; ++round) {
            asio.add(round_trips<asio_timer>(n));
            wheel.add(round_trips<wheel_timer>(n));
        }
        asio.record(session, n, "asio");
        wheel.record(session, n, "wheel");
    }
}

const benchmark known("echo", echo);

}

}
