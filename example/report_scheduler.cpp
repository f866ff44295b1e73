// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

// Runs commands when a file says so, as cron does:
//
//     # name | when                     | command
//     backup | 30 3 * * *               | tar czf /backup/home.tgz /home
//     poll   | every 10s                | curl -fsS https://example.org/health
//
// Each line is an item of a `timewheel::keyed_scheduler` with its name as the key. It shows
//
//  - a configuration that is loaded again whenever the file changes: what is the same goes on, what is
//    new or different is decided at once, and the commands of what is gone or different are told to
//    stop;
//  - lines that are wrong, which are reported with line and column, while the others go on;
//  - jobs that are child processes: a coroutine waits for the end of each, so that a few threads are
//    enough for many of them, and time-outs and the end of the program tell them to stop;
//  - what there is to know of the items, as a table: on SIGUSR1, and at the end.
//
// Without a file it writes one of its own, changes it after a while, and ends by itself.
//
// Try `report_scheduler`, `report_scheduler --config FILE`, and `kill -USR1` and Ctrl-C meanwhile.

#include "common/interruption.hpp"
#include "common/options.hpp"
#include "report_scheduler/child.hpp"
#include "report_scheduler/config.hpp"
#include "report_scheduler/table.hpp"

#include <timewheel/keyed_scheduler.hpp>
#include <timewheel/repeating_timer.hpp>
#include <timewheel/steady_timer.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <variant>
#include <vector>

#include <unistd.h>

namespace asio = boost::asio;
namespace fs = std::filesystem;
using boost::system::error_code;
using reports::clock_type;
using reports::report;
using reports::scheduler_type;
using timewheel::job_outcome;
using namespace std::chrono_literals;

namespace {

struct options
{
    std::string config;
    std::chrono::milliseconds duration{0};
    std::chrono::milliseconds check{500};
    std::chrono::milliseconds timeout{60'000};
    std::int64_t concurrent = 4;
    std::int64_t threads = 1;
};

// Lines that several threads write, each as a whole.
void say(std::FILE* to, const std::string& text)
{
    static std::mutex one_at_a_time;
    const std::lock_guard lock(one_at_a_time);
    std::fprintf(to, "%s\n", text.c_str());
    std::fflush(to);
}

// The file, and what is known of it without reading it.
class watched_file
{
public:
    explicit watched_file(fs::path path) : path_(std::move(path)) {}

    [[nodiscard]] const fs::path& path() const { return path_; }

    // Whether it is another one than at the last call.
    bool has_changed()
    {
        std::error_code ec;
        const stamp now{fs::last_write_time(path_, ec), fs::file_size(path_, ec)};
        return !ec && std::exchange(seen_, now) != now;
    }

private:
    using stamp = std::pair<fs::file_time_type, std::uintmax_t>;

    fs::path path_;
    std::optional<stamp> seen_;
};

class report_service
{
public:
    report_service(asio::io_context& context, const options& chosen)
        : file_(chosen.config)
        , pool_(static_cast<std::size_t>(chosen.threads))
        , check_(context, chosen.check, timewheel::repeat_mode::fixed_delay)
        , scheduler_(context, pool_, scheduler_options(chosen))
    {}

    ~report_service() { pool_.join(); }

    report_service(const report_service&) = delete;
    report_service& operator=(const report_service&) = delete;

    asio::awaitable<void> run()
    {
        file_.has_changed();
        load(); // throws if there is nothing to begin with
        scheduler_.start();
        while (!is_stopped_) {
            co_await check_.async_wait(asio::as_tuple(asio::use_awaitable));
            if (file_.has_changed())
                try_load();
        }
        co_await scheduler_.async_close(asio::use_awaitable);
    }

    void stop()
    {
        is_stopped_ = true; // a look at the file may be due already
        check_.cancel();
    }

    void print() const { say(stdout, reports::table(scheduler_).text()); }

    [[nodiscard]] const scheduler_type& scheduler() const { return scheduler_; }
    [[nodiscard]] std::size_t loads() const { return loads_; }
    [[nodiscard]] std::size_t complaints() const { return complaints_; }

private:
    static scheduler_type::options_type scheduler_options(const options& chosen)
    {
        return {
            .next = [](clock_type::time_point now, const std::string&, const report& what
                    ) { return std::visit([now](const auto& due) { return due(now); }, what.due); },
            .run = [](const std::string&,
                      const report& what) { return reports::run_command(what.command); },
            .cancel_running_on_remove = true,
            .cancel_running_on_replace = true,
            .run_timeout = chosen.timeout,
            .max_concurrent = static_cast<std::size_t>(chosen.concurrent),
            .history = 1,
            .on_run =
                [](const std::string& name, const auto& record) {
                    if (record.outcome != job_outcome::completed)
                        say(stdout,
                            name + ": " + std::string(to_string(record.outcome)) + ", " +
                                record.error.message());
                }
        };
    }

    void try_load()
    {
        try {
            load();
        } catch (const std::exception& e) {
            say(stderr, "report_scheduler: " + std::string(e.what()) + "; all goes on as it was");
        }
    }

    void load()
    {
        reports::config read = reports::read_config(file_.path().string());
        for (const auto& each : read.complaints)
            say(stderr,
                file_.path().string() + ':' + std::to_string(each.line) + ':' +
                    std::to_string(each.column) + ": " + each.what);
        complaints_ += read.complaints.size();
        std::vector<scheduler_type::item_type> items;
        for (auto& each : read.reports) {
            read.broken.erase(each.name);
            items.push_back({each.name, std::move(each.what)});
        }
        // What was good before its line went wrong goes on as it was.
        for (const std::string& name : read.broken) {
            if (const auto item = scheduler_.snapshot(name))
                items.push_back({name, item->data});
        }
        const auto changed = scheduler_.replace_all(std::move(items));
        ++loads_;
        say(stdout,
            "loaded " + file_.path().string() + ": " + std::to_string(changed.added.size()) +
                " added, " + std::to_string(changed.updated.size()) + " updated, " +
                std::to_string(changed.removed.size()) + " removed, " +
                std::to_string(changed.unchanged) + " unchanged");
    }

    watched_file file_;
    asio::thread_pool pool_;
    timewheel::repeating_timer check_;
    scheduler_type scheduler_;
    std::size_t loads_ = 0;
    std::size_t complaints_ = 0;
    bool is_stopped_ = false;
};

// A configuration that is written to a temporary file, and changed after a while.
class demonstration
{
public:
    demonstration() : path_(fs::temp_directory_path() / name())
    {
        write(R"(# name | when | command
hello   | every 400ms      | echo "hello from a child"
clock   | * * * * * *      | date +%T
failing | every 700ms      | exit 3
typo    | 0 61 * * *       | echo "an hour has 60 minutes"
slow    | every 200ms      | sleep 60
)");
    }

    demonstration(const demonstration&) = delete;
    demonstration& operator=(const demonstration&) = delete;

    ~demonstration()
    {
        std::error_code ec;
        fs::remove(path_, ec);
    }

    [[nodiscard]] std::string path() const { return path_.string(); }

    void change() const
    {
        write(R"(# name | when | command
hello   | every 400ms      | echo "hello from a child"
clock   | every now        | date +%T
failing | every 700ms      | exit 3
new     | every 300ms      | echo "new in the file"
)");
    }

    // Whether all happened that should have.
    static void check(const report_service& service)
    {
        const auto require = [](bool holds, const char* what) {
            if (!holds)
                throw std::runtime_error(std::string("the demonstration went wrong: ") + what);
        };
        require(service.loads() >= 2, "the file was not loaded again");
        require(service.complaints() >= 2, "the wrong lines were not reported");
        for (const char* name : {"hello", "clock", "failing", "new"}) {
            const auto item = service.scheduler().snapshot(name);
            require(item && item->runs > 0, "a report did not run");
        }
        require(!service.scheduler().snapshot("slow"), "a report was not removed");
    }

private:
    static std::string name() { return "report_scheduler_" + std::to_string(::getpid()) + ".conf"; }

    void write(std::string_view text) const
    {
        std::ofstream out(path_);
        out << text;
        if (!out.flush())
            throw std::runtime_error("cannot write " + path_.string());
    }

    fs::path path_;
};

int run(options chosen)
{
    std::optional<demonstration> demo;
    if (chosen.config.empty()) {
        demo.emplace();
        chosen.config = demo->path();
        chosen.check = (std::min)(chosen.check, std::chrono::milliseconds(100));
        if (chosen.duration == 0ms)
            chosen.duration = 4s;
    }

    asio::io_context context(1);
    report_service service(context, chosen);
    example::interruption interruption(context, [&] { service.stop(); });
    asio::signal_set asking(context, SIGUSR1);
    timewheel::steady_timer limit(context);
    timewheel::steady_timer changing(context);
    asio::co_spawn(context, service.run(), [&](std::exception_ptr error) {
        interruption.forget();
        asking.cancel();
        limit.cancel();
        changing.cancel();
        example::stop_at_error(error);
    });
    const std::function<void()> answer = [&] {
        asking.async_wait([&](error_code ec, int) {
            if (ec)
                return;
            service.print();
            answer();
        });
    };
    answer();
    if (chosen.duration != 0ms) {
        limit.expires_after(chosen.duration);
        limit.async_wait([&](error_code ec) {
            if (!ec)
                service.stop();
        });
    }
    if (demo) {
        changing.expires_after(chosen.duration / 2);
        changing.async_wait([&](error_code ec) {
            if (!ec)
                demo->change();
        });
    }
    context.run();
    service.print();
    if (interruption.signal() != 0)
        return interruption.exit_code();
    if (demo)
        demonstration::check(service);
    return 0;
}

}

int main(int argc, char* argv[])
{
    options chosen;
    example::command_line line(
        "report_scheduler",
        "runs commands when a file says so.",
        "Each line of the file is  name | when | command,  where when is 'every 10s' or a cron\n"
        "expression with five fields, or six with the second first, in UTC; # begins a comment.\n"
        "The file is loaded again when it changes. SIGUSR1 prints a table of the reports.\n\n"
        "Exit code: 0 all was right, 1 it was not, 2 a bad option; 130 ended by SIGINT\n"
        "(Ctrl-C), 143 by SIGTERM, with the table. A second Ctrl-C ends it at once."
    );
    line.add("config", chosen.config, "the file; without, a demonstration of 4 s");
    line.add("duration", chosen.duration, 1s, 24h, "when to end; without, at Ctrl-C");
    line.add("check", chosen.check, 10ms, 1min, "how often to look at the file");
    line.add("timeout", chosen.timeout, 100ms, 24h, "how long a command may run");
    line.add("concurrent", chosen.concurrent, 1, 1000, "commands at a time");
    line.add("threads", chosen.threads, 1, 16, "threads that start them");
    return example::run_example(line, argc, argv, [&] { return run(chosen); });
}
