// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#include "api.hpp"

#include "json_text.hpp"
#include "metrics.hpp"
#include "page.hpp"
#include "request_fields.hpp"
#include "text.hpp"

#include <timewheel/calendar.hpp>
#include <timewheel/error.hpp>

#include <boost/beast/core/string.hpp>
#include <boost/beast/http/field.hpp>
#include <boost/json/array.hpp>
#include <boost/system/system_error.hpp>
#include <boost/url/parse.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <map>
#include <random>

namespace wheel_service {

namespace json = boost::json;
using boost::beast::http::status;

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
            name + ": '" + quotable(text) + "' is not allowed; it takes a whole number from 0 to " +
                std::to_string(most),
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

bool is_safe(verb method)
{
    return method == verb::get || method == verb::head || method == verb::options;
}

void check_key(const std::string& key)
{
    std::string fault;
    if (key.size() > longest_key)
        fault = "it has " + std::to_string(key.size()) + " bytes";
    else if (!is_readable(key))
        fault = "'" + quotable(key) + "' is not allowed";
    else
        return;
    throw api_error(
        status::bad_request,
        "invalid_field",
        "key: " + fault + "; it takes at most " + std::to_string(longest_key) +
            " bytes of UTF-8 without control characters",
        "key"
    );
}

}

struct api::parsed_target
{
    std::vector<std::string> segments;
    std::map<std::string, std::string> query;
};

struct api::content
{
    content(json::object body, status with = status::ok) : text(to_text(body)), code(with) {}

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

    [[nodiscard]] bool matches(const parsed_target& target) const
    {
        if (path.size() != target.segments.size())
            return false;
        for (std::size_t i = 0; i != path.size(); ++i) {
            if (path[i] == "*" ? target.segments[i].empty() : path[i] != target.segments[i])
                return false;
        }
        return true;
    }
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
        // For HEAD; the server sends the stream.
        {verb::get,
         {"api", "timingwheel", "events"},
         [](api&, const request&, const target&) { return content("", "text/event-stream"); }},
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
    const boost::urls::string_view text(asked.target().data(), asked.target().size());
    // With the host is the form for proxies, which everybody has to understand.
    const bool has_host = text.starts_with("http://") || text.starts_with("https://");
    const auto url =
        has_host ? boost::urls::parse_absolute_uri(text) : boost::urls::parse_origin_form(text);
    if (!url || (has_host && url->host().empty()))
        throw api_error(
            status::bad_request, "invalid_target", "the target of the request is not a path"
        );
    parsed_target target;
    for (const auto segment : url->segments())
        target.segments.emplace_back(segment.begin(), segment.end());
    if (target.segments.empty())
        target.segments.emplace_back();
    for (const auto parameter : url->params()) {
        const std::string name(parameter.key);
        if (!target.query.emplace(name, std::string(parameter.value)).second)
            throw api_error(
                status::bad_request,
                "invalid_field",
                quotable(name) + ": it is there twice",
                quotable(name)
            );
    }
    return target;
}

std::optional<api_error> api::find_fault(const http::request_header<>& asked)
{
    const auto invalid = [](const char* what) {
        return api_error(status::bad_request, "invalid_request", what);
    };
    const auto hosts = asked.count(http::field::host);
    if (hosts > 1 || (hosts == 0 && asked.version() >= 11))
        return invalid("there must be one Host");
    // Whoever does not know where a body ends takes it for the next request.
    const auto codings = asked.equal_range(http::field::transfer_encoding);
    for (auto each = codings.first; each != codings.second; ++each) {
        if (!boost::beast::iequals(each->value(), "chunked"))
            return invalid("the only Transfer-Encoding that is known is chunked");
    }
    const auto expected = asked.find(http::field::expect);
    if (asked.version() >= 11 && expected != asked.end() &&
        !boost::beast::iequals(expected->value(), "100-continue"))
        return api_error(
            status::expectation_failed,
            "expectation_failed",
            "the only expectation that is known is 100-continue"
        );
    return std::nullopt;
}

bool api::is_for_events(const request& asked)
{
    const auto target = asked.target();
    return asked.method() == verb::get &&
           target.substr(0, target.find('?')) == "/api/timingwheel/events";
}

response api::answer(const request& asked)
{
    response answer;
    try {
        if (asked.method() == verb::options) {
            answer = answer_options(asked);
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
    if (asked.method() == verb::head)
        answer.body().clear(); // its length is told all the same
    return answer;
}

response api::answer_options(const request& asked) const
{
    std::vector<verb> methods{verb::get, verb::head, verb::post, verb::put, verb::delete_};
    if (asked.target() != "*")
        methods = methods_of(parse_target(asked));
    if (methods.empty())
        throw not_found("such resource");
    methods.push_back(verb::options);
    response answer(status::no_content, asked.version());
    answer.set(http::field::allow, list_of(methods));
    return answer;
}

response api::refuse(const api_error& error, unsigned version, bool keep_alive)
{
    response answer(error.status, version);
    answer.set(http::field::content_type, plain_json);
    json::object text{{"code", error.code}, {"message", error.what()}};
    if (!error.field.empty() && error.status != status::method_not_allowed)
        text["field"] = error.field;
    answer.body() = to_text(json::object{{"error", std::move(text)}});
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
    return to_text(json::object{
        {"stats", stats_to_json(tasks_)},
        {"execution", execution_stats_to_json(tasks_)},
        {"rings", rings_to_json(tasks_, now)},
        {"latest", std::move(latest)},
        {"connections", state_.connections.load()},
        {"stopping", state_.is_stopping.load()}
    });
}

// A browser sends a simple POST for a page of any origin without asking, and only hides the answer.
void api::check_origin(const request& asked) const
{
    const auto found = asked.find(http::field::origin);
    if (found == asked.end() || is_safe(asked.method()))
        return;
    const std::string origin(found->value());
    const std::string host(asked[http::field::host]);
    const auto& allowed = config_.allowed_origins;
    if (origin == "http://" + host || origin == "https://" + host ||
        std::find(allowed.begin(), allowed.end(), origin) != allowed.end())
        return;
    throw api_error(
        status::forbidden,
        "origin_not_allowed",
        "pages of the origin '" + quotable(origin) + "' are not allowed; see allowed-origins"
    );
}

std::vector<verb> api::methods_of(const parsed_target& target)
{
    std::vector<verb> methods;
    for (const route& each : routes()) {
        if (!each.matches(target))
            continue;
        methods.push_back(each.method);
        if (each.method == verb::get)
            methods.push_back(verb::head);
    }
    return methods;
}

api::content api::dispatch(const request& asked)
{
    check_origin(asked);
    const parsed_target target = parse_target(asked);
    const verb method = asked.method() == verb::head ? verb::get : asked.method();
    for (const route& each : routes()) {
        if (each.method == method && each.matches(target))
            return each.call(*this, asked, target);
    }
    std::vector<verb> methods = methods_of(target);
    if (methods.empty())
        throw not_found("such resource");
    methods.push_back(verb::options);
    const std::string allowed = list_of(methods);
    throw api_error(
        status::method_not_allowed,
        "method_not_allowed",
        quotable(std::string(asked.method_string())) + " is not allowed here; " + allowed + " are",
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
                    "state: '" + quotable(value) + "' is not allowed; it takes one of " + names,
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
                "there is no parameter '" + quotable(name) + "'; there are state, limit, after",
                quotable(name)
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
        {"message", "Task created successfully"}
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
            {"taskIds", std::move(names)},
            {"count", ids.size()},
            {"message", "Batch tasks created successfully"}
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
    const std::chrono::duration<double, std::milli> needed = clock::now() - begun;
    const double milliseconds = (std::max)(std::round(needed.count() * 1000) / 1000, 0.001);
    const double per_second = static_cast<double>(ids.size()) / milliseconds * 1000;
    return {
        json::object{
            {"taskCount", ids.size()},
            {"creationTime", milliseconds},
            {"throughput", std::round(per_second * 10) / 10},
            {"message", "Stress test completed successfully"}
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
    check_key(key);
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
    if (!tasks_.find_schedule(key) && tasks_.schedule_count() >= config_.max_schedules)
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
    check_key(key);
    const auto found = tasks_.find_schedule(key);
    if (!found)
        throw not_found("schedule '" + quotable(key) + "'");
    return to_json(*found);
}

api::content api::remove_schedule(const std::string& key)
{
    check_key(key);
    if (!tasks_.remove_schedule(key))
        throw not_found("schedule '" + quotable(key) + "'");
    return json::object{{"key", key}, {"removed", true}};
}

api::content api::metrics() const
{
    if (!config_.enable_metrics)
        throw not_found("such resource: enable-metrics is false");
    return {
        metrics_text(tasks_, state_.connections, state_.requests),
        "text/plain; version=0.0.4; charset=utf-8"
    };
}

}
