// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#include "api.hpp"

#include "json_text.hpp"
#include "metrics.hpp"
#include "page.hpp"
#include "request_fields.hpp"

#include <timewheel/calendar.hpp>
#include <timewheel/error.hpp>

#include <boost/beast/http/field.hpp>
#include <boost/beast/http/verb.hpp>
#include <boost/beast/version.hpp>
#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <boost/system/system_error.hpp>
#include <boost/url/parse.hpp>

#include <algorithm>
#include <charconv>
#include <limits>
#include <map>
#include <random>

namespace wheel_service {

namespace json = boost::json;
using boost::beast::http::status;
using http::verb;

namespace {

constexpr const char* plain_json = "application/json";
constexpr std::size_t longest_key = 200;

std::uint64_t to_number(const std::string& name, const std::string& text, std::uint64_t most)
{
    std::uint64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size() || number > most)
        throw api_error(
            status::bad_request,
            "invalid_field",
            name + ": '" + text.substr(0, 60) +
                "' is not allowed; it takes a whole number from 0 to " + std::to_string(most),
            name
        );
    return number;
}

api_error not_found(const std::string& what)
{
    return {status::not_found, "not_found", "there is no " + what};
}

std::string list_of(const std::vector<verb>& methods)
{
    std::string text;
    for (const verb each : methods)
        text += (text.empty() ? "" : ", ") + std::string(http::to_string(each));
    return text;
}

}

struct api::parsed_target
{
    std::vector<std::string> segments;
    std::map<std::string, std::string> query;
};

struct api::content
{
    content(json::object body, status with = status::ok) : text(json::serialize(body)), code(with)
    {}

    content(std::string body, const char* content_type) : text(std::move(body)), type(content_type)
    {}

    std::string text;
    const char* type = plain_json;
    status code = status::ok;
};

// A path whose last segment may be anything if it is written as "*".
struct api::route
{
    verb method;
    std::vector<std::string> path;
    content (*call)(api&, const request&, const parsed_target&);
};

const std::vector<api::route>& api::routes()
{
    using target = parsed_target;
    static const std::vector<route> all{
        {verb::get,
         {""},
         [](api&, const request&, const target&) {
             return content(std::string(page::html), "text/html; charset=utf-8");
         }},
        {verb::get,
         {"style.css"},
         [](api&, const request&, const target&) {
             return content(std::string(page::css), "text/css; charset=utf-8");
         }},
        {verb::get,
         {"script.js"},
         [](api&, const request&, const target&) {
             return content(std::string(page::javascript), "text/javascript; charset=utf-8");
         }},
        {verb::get,
         {"icon.svg"},
         [](api&, const request&, const target&) {
             return content(std::string(page::icon), "image/svg+xml");
         }},
        {verb::get,
         {"healthz"},
         [](api& self, const request&, const target&) {
             const bool stops = self.state_.is_stopping;
             return content(
                 json::object{{"status", stops ? "stopping" : "ok"}},
                 stops ? status::service_unavailable : status::ok
             );
         }},
        {verb::get,
         {"metrics"},
         [](api& self, const request&, const target&) { return self.metrics(); }},
        {verb::get,
         {"api", "timingwheel", "stats"},
         [](api& self, const request&, const target&) {
             return content(stats_to_json(self.tasks_));
         }},
        {verb::get,
         {"api", "timingwheel", "execution-stats"},
         [](api& self, const request&, const target&) {
             return content(execution_stats_to_json(self.tasks_));
         }},
        {verb::get,
         {"api", "timingwheel", "tasks"},
         [](api& self, const request&, const target& asked) { return self.list_tasks(asked); }},
        {verb::post,
         {"api", "timingwheel", "tasks", "sample"},
         [](api& self, const request& asked, const target&) { return self.add_sample(asked); }},
        {verb::post,
         {"api", "timingwheel", "tasks", "batch"},
         [](api& self, const request& asked, const target&) { return self.add_batch(asked); }},
        {verb::post,
         {"api", "timingwheel", "tasks", "cleanup"},
         [](api& self, const request&, const target&) { return self.cleanup(); }},
        {verb::post,
         {"api", "timingwheel", "stress-test"},
         [](api& self, const request& asked, const target&) { return self.stress_test(asked); }},
        {verb::get,
         {"api", "timingwheel", "tasks", "*"},
         [](api& self, const request&, const target& asked) {
             return self.show_task(asked.segments.back());
         }},
        {verb::delete_,
         {"api", "timingwheel", "tasks", "*"},
         [](api& self, const request&, const target& asked) {
             return self.cancel_task(asked.segments.back());
         }},
        {verb::get,
         {"api", "timingwheel", "schedules"},
         [](api& self, const request&, const target&) { return self.list_schedules(); }},
        {verb::put,
         {"api", "timingwheel", "schedules", "*"},
         [](api& self, const request& asked, const target& at) {
             return self.put_schedule(asked, at.segments.back());
         }},
        {verb::get,
         {"api", "timingwheel", "schedules", "*"},
         [](api& self, const request&, const target& asked) {
             return self.show_schedule(asked.segments.back());
         }},
        {verb::delete_,
         {"api", "timingwheel", "schedules", "*"},
         [](api& self, const request&, const target& asked) {
             return self.remove_schedule(asked.segments.back());
         }},
    };
    return all;
}

api::parsed_target api::parse_target(const request& asked)
{
    const auto url = boost::urls::parse_origin_form({asked.target().data(), asked.target().size()});
    if (!url)
        throw api_error(
            status::bad_request, "invalid_target", "the target of the request is not a path"
        );
    parsed_target target;
    for (const auto segment : url->segments())
        target.segments.emplace_back(segment.begin(), segment.end());
    if (target.segments.empty())
        target.segments.emplace_back();
    for (const auto parameter : url->params())
        target.query[std::string(parameter.key)] = std::string(parameter.value);
    return target;
}

bool api::is_for_events(const request& asked)
{
    return asked.method() == verb::get && asked.target() == "/api/timingwheel/events";
}

response api::answer(const request& asked)
{
    ++state_.requests;
    response answer;
    try {
        if (asked.method() == verb::options) {
            answer = response(status::no_content, asked.version());
            answer.set(http::field::allow, "GET, POST, PUT, DELETE, OPTIONS");
        } else {
            content found = dispatch(asked);
            answer = response(found.code, asked.version());
            answer.set(http::field::content_type, found.type);
            answer.set(http::field::cache_control, "no-store");
            answer.body() = std::move(found.text);
        }
    } catch (const api_error& error) {
        answer = refuse(error, asked.version(), asked.keep_alive());
        if (error.status == status::method_not_allowed)
            answer.set(http::field::allow, error.field);
    } catch (const boost::system::system_error& error) {
        const bool is_full = error.code() == timewheel::error::too_many_timers;
        answer = refuse(
            api_error(
                status::service_unavailable,
                is_full ? "too_many_tasks" : "stopping",
                is_full ? "as many tasks are waiting as are allowed: try again later"
                        : "the service is being stopped"
            ),
            asked.version(),
            asked.keep_alive()
        );
    }
    allow_origin(asked, answer);
    answer.set(http::field::server, "timewheel");
    answer.set("X-Content-Type-Options", "nosniff");
    // The page needs nothing from anywhere else, and nobody may put it into theirs.
    answer.set(
        "Content-Security-Policy", "default-src 'self'; base-uri 'none'; frame-ancestors 'none'"
    );
    answer.keep_alive(asked.keep_alive());
    answer.prepare_payload();
    return answer;
}

response api::refuse(const api_error& error, unsigned version, bool keep_alive)
{
    response answer(error.status, version);
    answer.set(http::field::content_type, plain_json);
    json::object text{{"code", error.code}, {"message", error.what()}};
    if (!error.field.empty() && error.status != status::method_not_allowed)
        text["field"] = error.field;
    answer.body() = json::serialize(json::object{{"error", std::move(text)}});
    answer.keep_alive(keep_alive);
    answer.prepare_payload();
    return answer;
}

void api::allow_origin(const request& asked, http::fields& answer) const
{
    const auto origin = asked.find(http::field::origin);
    if (config_.allowed_origins.empty() || origin == asked.end())
        return;
    answer.set(http::field::vary, "Origin");
    const auto& allowed = config_.allowed_origins;
    if (std::find(allowed.begin(), allowed.end(), origin->value()) == allowed.end())
        return;
    answer.set(http::field::access_control_allow_origin, origin->value());
    if (asked.method() == verb::options) {
        answer.set(http::field::access_control_allow_methods, "GET, POST, PUT, DELETE");
        answer.set(http::field::access_control_allow_headers, "Content-Type");
        answer.set(http::field::access_control_max_age, "600");
    }
}

std::string api::event() const
{
    const clock::time_point now = clock::now();
    json::array latest;
    for (const task& each : tasks_.store().latest(10))
        latest.push_back(to_json(each, now));
    return json::serialize(json::object{
        {"stats", stats_to_json(tasks_)},
        {"execution", execution_stats_to_json(tasks_)},
        {"rings", rings_to_json(tasks_, now)},
        {"latest", std::move(latest)},
        {"connections", state_.connections.load()},
        {"stopping", state_.is_stopping.load()}
    });
}

api::content api::dispatch(const request& asked)
{
    const parsed_target target = parse_target(asked);
    const auto matches = [&](const std::vector<std::string>& path) {
        if (path.size() != target.segments.size())
            return false;
        for (std::size_t i = 0; i != path.size(); ++i) {
            if (path[i] == "*" ? target.segments[i].empty() : path[i] != target.segments[i])
                return false;
        }
        return true;
    };
    std::vector<verb> methods;
    for (const route& each : routes()) {
        if (!matches(each.path))
            continue;
        if (each.method == asked.method())
            return each.call(*this, asked, target);
        methods.push_back(each.method);
    }
    if (methods.empty())
        throw not_found("such resource");
    const std::string allowed = list_of(methods);
    throw api_error(
        status::method_not_allowed,
        "method_not_allowed",
        std::string(asked.method_string()) + " is not allowed here; " + allowed + " is",
        allowed
    );
}

api::content api::list_tasks(const parsed_target& target) const
{
    constexpr std::uint64_t most = 1000;
    std::optional<task_state> state;
    std::uint64_t limit = 100;
    std::uint64_t after = 0;
    for (const auto& [name, value] : target.query) {
        if (name == "state") {
            state = to_state(value);
            if (!state) {
                std::string names;
                for (const std::string_view each : state_names)
                    names += (names.empty() ? "" : ", ") + std::string(each);
                throw api_error(
                    status::bad_request,
                    "invalid_field",
                    "state: '" + value.substr(0, 60) + "' is not allowed; it takes one of " + names,
                    "state"
                );
            }
        } else if (name == "limit") {
            limit = to_number(name, value, most);
        } else if (name == "after") {
            after = to_number(name, value, (std::numeric_limits<std::int64_t>::max)());
        } else {
            throw api_error(
                status::bad_request,
                "unknown_field",
                "there is no parameter '" + name.substr(0, 60) + "'; there are state, limit, after",
                name.substr(0, 60)
            );
        }
    }
    const std::vector<task> found = tasks_.store().page(state, limit, after);
    const clock::time_point now = clock::now();
    json::array shown;
    for (const task& each : found)
        shown.push_back(to_json(each, now));
    json::object body{{"tasks", std::move(shown)}};
    if (found.size() == limit && !found.empty())
        body["next"] = std::to_string(found.back().id);
    return body;
}

api::content api::show_task(const std::string& id) const
{
    const auto found =
        tasks_.store().find(to_number("id", id, (std::numeric_limits<std::int64_t>::max)()));
    if (!found)
        throw not_found("task '" + id + "'");
    return to_json(*found, clock::now());
}

api::content api::cancel_task(const std::string& id)
{
    switch (tasks_.cancel(to_number("id", id, (std::numeric_limits<std::int64_t>::max)()))) {
    case cancel_result::cancelled:
        return json::object{{"id", id}, {"state", to_string(task_state::cancelled)}};
    case cancel_result::stopping:
        return {
            json::object{{"id", id}, {"state", to_string(task_state::running)}}, status::accepted
        };
    case cancel_result::finished:
        throw api_error(
            status::conflict, "already_finished", "task '" + id + "' is finished already"
        );
    case cancel_result::unknown: break;
    }
    throw not_found("task '" + id + "'");
}

void api::check_accepts() const
{
    if (state_.is_stopping)
        throw api_error(status::service_unavailable, "stopping", "the service is being stopped");
}

api::content api::add_sample(const request& asked)
{
    check_accepts();
    const request_fields fields(asked.body(), {"type", "delay", "repeat"});
    const std::string type = fields.sample_type("type");
    const auto delay = fields.delay("delay", 1000);
    const auto repeat = fields.whole_if("repeat", 1, longest_delay);
    const task_id id = tasks_.add(
        type, delay, repeat ? std::optional(std::chrono::milliseconds(*repeat)) : std::nullopt
    );
    json::object body{
        {"taskId", std::to_string(id)},
        {"type", type},
        {"delay", delay.count()},
        {"message", "Task created"}
    };
    if (repeat)
        body["repeat"] = *repeat;
    return {std::move(body), status::created};
}

std::vector<task_id>
api::add_tasks(std::int64_t count, std::chrono::milliseconds least, std::chrono::milliseconds most)
{
    if (least > most)
        throw api_error(
            status::bad_request,
            "invalid_field",
            "minDelay: " + std::to_string(least.count()) +
                " is not allowed; it takes at most maxDelay, " + std::to_string(most.count()),
            "minDelay"
        );
    // All or nothing, as far as one can tell before.
    if (tasks_.wheel_stats().pending + static_cast<std::uint64_t>(count) > config_.max_tasks)
        throw boost::system::system_error(timewheel::error::too_many_timers);
    static thread_local std::mt19937_64 random{std::random_device()()};
    std::uniform_int_distribution<std::int64_t> delay(least.count(), most.count());
    std::vector<task_id> ids;
    ids.reserve(static_cast<std::size_t>(count));
    for (std::int64_t i = 0; i != count; ++i)
        ids.push_back(tasks_.add("simple", std::chrono::milliseconds(delay(random)), std::nullopt));
    return ids;
}

api::content api::add_batch(const request& asked)
{
    check_accepts();
    const request_fields fields(asked.body(), {"count", "minDelay", "maxDelay"});
    const auto count = fields.whole("count", 10, 1, static_cast<std::int64_t>(config_.max_batch));
    const auto ids =
        add_tasks(count, fields.delay("minDelay", 1000), fields.delay("maxDelay", 10'000));
    json::array names;
    for (const task_id id : ids)
        names.push_back(json::string(std::to_string(id)));
    return {
        json::object{
            {"taskIds", std::move(names)}, {"count", ids.size()}, {"message", "Batch tasks created"}
        },
        status::created
    };
}

api::content api::stress_test(const request& asked)
{
    check_accepts();
    const request_fields fields(asked.body(), {"taskCount", "minDelay", "maxDelay"});
    const auto count =
        fields.whole("taskCount", 1000, 1, static_cast<std::int64_t>(config_.max_batch));
    const auto begun = clock::now();
    const auto ids =
        add_tasks(count, fields.delay("minDelay", 100), fields.delay("maxDelay", 5000));
    const double seconds = std::chrono::duration<double>(clock::now() - begun).count();
    return {
        json::object{
            {"taskCount", ids.size()},
            {"creationTime", seconds * 1000},
            {"throughput", static_cast<double>(ids.size()) / seconds},
            {"message", "Stress test tasks created"}
        },
        status::created
    };
}

api::content api::cleanup()
{
    return json::object{{"removed", tasks_.store().cleanup()}};
}

api::content api::list_schedules() const
{
    json::array shown;
    for (const auto& each : tasks_.schedules())
        shown.push_back(to_json(each));
    return json::object{{"schedules", std::move(shown)}};
}

api::content api::put_schedule(const request& asked, const std::string& key)
{
    check_accepts();
    if (key.size() > longest_key)
        throw api_error(
            status::bad_request,
            "invalid_field",
            "key: it has " + std::to_string(key.size()) + " bytes; it takes at most " +
                std::to_string(longest_key),
            "key"
        );
    const request_fields fields(asked.body(), {"type", "cron", "period"});
    schedule planned;
    planned.type = fields.sample_type("type");
    planned.cron = fields.text("cron").value_or("");
    const auto period = fields.whole_if("period", 1, longest_delay);
    if (planned.cron.empty() == !period)
        throw api_error(
            status::bad_request,
            "invalid_field",
            "cron, period: give one of them, and not both",
            period ? "period" : "cron"
        );
    planned.period = std::chrono::milliseconds(period.value_or(0));
    if (!period) {
        try {
            static_cast<void>(timewheel::cron(planned.cron));
        } catch (const std::invalid_argument& error) {
            throw api_error(
                status::bad_request, "invalid_field", std::string("cron: ") + error.what(), "cron"
            );
        }
    }
    if (!tasks_.find_schedule(key) && tasks_.schedules().size() >= config_.max_schedules)
        throw api_error(
            status::service_unavailable,
            "too_many_schedules",
            "there are as many schedules as are allowed: remove some"
        );
    const auto result = tasks_.put_schedule(key, planned);
    json::object body;
    if (const auto found = tasks_.find_schedule(key))
        body = to_json(*found);
    return {
        std::move(body), result == timewheel::upsert_result::added ? status::created : status::ok
    };
}

api::content api::show_schedule(const std::string& key) const
{
    const auto found = tasks_.find_schedule(key);
    if (!found)
        throw not_found("schedule '" + key.substr(0, 60) + "'");
    return to_json(*found);
}

api::content api::remove_schedule(const std::string& key)
{
    if (!tasks_.remove_schedule(key))
        throw not_found("schedule '" + key.substr(0, 60) + "'");
    return json::object{{"key", key}, {"removed", true}};
}

api::content api::metrics() const
{
    if (!config_.enable_metrics)
        throw not_found("such resource: enable-metrics is false");
    return {metrics_text(tasks_, state_.connections, state_.requests), "text/plain; version=0.0.4"};
}

}
