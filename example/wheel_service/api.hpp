// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#ifndef TIMEWHEEL_EXAMPLE_WHEEL_SERVICE_API_HPP
#define TIMEWHEEL_EXAMPLE_WHEEL_SERVICE_API_HPP

#include "api_error.hpp"
#include "config.hpp"
#include "task_service.hpp"

#include <boost/beast/http/message.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/verb.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace wheel_service {

namespace http = boost::beast::http;

using request = http::request<http::string_body>;
using response = http::response<http::string_body>;
using http::verb;

/// What the server tells of itself.
struct server_state
{
    std::atomic<std::size_t> connections{0};
    std::atomic<std::uint64_t> requests{0};
    std::atomic<bool> is_stopping{false};
};

/// Answers requests, without I/O.
class api
{
public:
    api(const config& chosen, task_service& tasks, server_state& state) noexcept
        : config_(chosen)
        , tasks_(tasks)
        , state_(state)
    {}

    [[nodiscard]] response answer(const request& asked);

    /// Why the header alone makes a request impossible to answer, if it does.
    [[nodiscard]] static std::optional<api_error> find_fault(const http::request_header<>& asked);

    /// Whether the request is for the stream of events, which the server sends by itself.
    [[nodiscard]] static bool is_for_events(const request& asked);

    /// The answer to something that is not done.
    [[nodiscard]] static response refuse(const api_error& error, unsigned version, bool keep_alive);

    /// Adds what lets a browser use the answer on a page of another origin, if that is allowed.
    void allow_origin(const request& asked, http::fields& answer) const;

    /// The data of one event of the stream.
    [[nodiscard]] std::string event() const;

private:
    struct parsed_target;
    struct content;
    struct route;

    static const std::vector<route>& routes();
    static parsed_target parse_target(const request& asked);
    static std::vector<verb> methods_of(const parsed_target& target);

    void check_origin(const request& asked) const;
    response answer_options(const request& asked) const;
    content dispatch(const request& asked);
    content list_tasks(const parsed_target& target) const;
    content show_task(const std::string& id) const;
    content cancel_task(const std::string& id);
    content add_sample(const request& asked);
    content add_batch(const request& asked);
    content stress_test(const request& asked);
    content cleanup();
    content list_schedules() const;
    content put_schedule(const request& asked, const std::string& key);
    content show_schedule(const std::string& key) const;
    content remove_schedule(const std::string& key);
    content metrics() const;

    void check_accepts() const;
    std::vector<task_id>
    add_tasks(std::int64_t count, std::chrono::milliseconds least, std::chrono::milliseconds most);

    const config& config_;
    task_service& tasks_;
    server_state& state_;
};

}

#endif
