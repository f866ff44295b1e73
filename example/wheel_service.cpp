// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

// A timing wheel as a service: tasks are added by an HTTP API, run on worker threads at their time,
// and can be watched on a live page.
//
//     wheel_service --port 8081            then open http://127.0.0.1:8081/
//     curl -X POST localhost:8081/api/timingwheel/tasks/sample -d '{"type": "slow", "delay": 500}'
//     curl localhost:8081/api/timingwheel/stats
//
// It is made of three parts, in wheel_service/, from the bottom up:
//
//  - task_service: the tasks on a job wheel, with a context and a thread of its own, and schedules on
//    a keyed scheduler there. task_store is the list of them that the API shows.
//  - api: answers requests, a function from an HTTP request to a response.
//  - http_server: connections as coroutines on another thread, each with an idle timer.

#include "wheel_service/config.hpp"
#include "wheel_service/http_server.hpp"
#include "wheel_service/task_service.hpp"

#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>

#include <algorithm>
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <exception>
#include <iostream>

#include <sys/resource.h>

namespace {

// Each connection needs a descriptor, and a shell gives few.
void allow_descriptors(std::size_t count)
{
    rlimit limit{};
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= count)
        return;
    limit.rlim_cur = (std::min)(static_cast<rlim_t>(count), limit.rlim_max);
    if (setrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur < count)
        std::cerr << "max-connections: the system allows " << limit.rlim_max
                  << " open files, so that there will be fewer connections\n";
}

int run(const wheel_service::config& chosen)
{
    std::signal(SIGPIPE, SIG_IGN); // nobody has to read what is printed
    allow_descriptors(chosen.max_connections + wheel_service::other_descriptors);
    wheel_service::task_service tasks(chosen);
    wheel_service::http_server server(chosen, tasks);

    // Whoever has read the address may send a signal already.
    boost::asio::signal_set signals(server.context(), SIGINT, SIGTERM);
    std::cout << "http://" << server.endpoint() << "/\n" << std::flush;
    signals.async_wait([&](const boost::system::error_code& ec, int) {
        if (ec)
            return;
        std::cout << "stopping\n" << std::flush;
        server.begin_stop();
        tasks.stop(chosen.shutdown_timeout, [&] {
            server.end_stop();
            boost::asio::post(server.context(), [&] { signals.cancel(); });
        });
        // The second time, it ends at once.
        signals.async_wait([](const boost::system::error_code& again, int) {
            if (!again)
                std::_Exit(EXIT_FAILURE);
        });
    });
    server.run();
    std::cout << "stopped\n";
    return EXIT_SUCCESS;
}

}

int main(int argc, char* argv[])
{
    try {
        const auto chosen = wheel_service::read_config(argc, argv);
        return chosen ? run(*chosen) : EXIT_SUCCESS;
    } catch (const wheel_service::bad_setting& error) {
        std::cerr << error.what() << "\nTry wheel_service --help.\n";
        return 2;
    } catch (const std::exception& error) {
        std::cerr << "can't start: " << error.what() << '\n';
        return EXIT_FAILURE;
    }
}
