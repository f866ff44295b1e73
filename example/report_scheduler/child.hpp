// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#ifndef TIMEWHEEL_EXAMPLE_REPORT_SCHEDULER_CHILD_HPP
#define TIMEWHEEL_EXAMPLE_REPORT_SCHEDULER_CHILD_HPP

#include <timewheel/cancel_after.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/error_category.hpp>
#include <boost/system/error_code.hpp>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <string>
#include <tuple>

#include <spawn.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

namespace reports {

namespace asio = boost::asio;
using boost::system::error_code;

// The destructor of the base is protected, yet gcc warns because the base has friends.
#if defined(__GNUC__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wnon-virtual-dtor"
#endif

/// How a child ended, as waitpid() tells it.
class child_category final : public boost::system::error_category
{
public:
    [[nodiscard]] const char* name() const noexcept override { return "child"; }

    [[nodiscard]] std::string message(int status) const override
    {
        if (WIFSIGNALED(status))
            return "ended by signal " + std::to_string(WTERMSIG(status));
        return "ended with code " + std::to_string(WEXITSTATUS(status));
    }
};

#if defined(__GNUC__)
#pragma GCC diagnostic pop
#endif

inline error_code child_error(int status)
{
    static const child_category category;
    return {status, category};
}

inline error_code system_error(int number)
{
    return {number, boost::system::system_category()};
}

/// A shell that runs a command, in a process group of its own.
class child
{
public:
    child() = default;
    child(const child&) = delete;
    child& operator=(const child&) = delete;

    // Nobody waits for it any more: the scheduler was destroyed.
    ~child()
    {
        if (pid_ <= 0)
            return;
        signal(SIGKILL);
        reap();
    }

    error_code start(const std::string& command)
    {
        std::string shell = "sh";
        std::string option = "-c";
        std::string text = command;
        char* const arguments[] = {shell.data(), option.data(), text.data(), nullptr};
        posix_spawnattr_t attributes;
        ::posix_spawnattr_init(&attributes);
        ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
        ::posix_spawnattr_setpgroup(&attributes, 0);
        const int failed =
            ::posix_spawn(&pid_, "/bin/sh", nullptr, &attributes, arguments, ::environ);
        ::posix_spawnattr_destroy(&attributes);
        if (failed != 0)
            pid_ = -1;
        return failed == 0 ? error_code() : system_error(failed);
    }

    /// A descriptor that is ready when the child has ended; negative, and errno, if that fails.
    [[nodiscard]] int open() const { return static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0)); }

    void signal(int number) const { ::kill(-pid_, number); }

    /// Takes the child out of the table of processes, and returns how it ended.
    error_code reap()
    {
        int status = 0;
        while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {}
        pid_ = -1;
        return status == 0 ? error_code() : child_error(status);
    }

private:
    pid_t pid_ = -1;
};

/// Runs a command. When this is cancelled, the command is told to stop, and killed when it does not.
inline asio::awaitable<error_code> run_command(const std::string& command)
{
    child running;
    if (const error_code ec = running.start(command))
        co_return ec;
    asio::posix::stream_descriptor end(co_await asio::this_coro::executor);
    const int descriptor = running.open();
    if (descriptor < 0)
        co_return system_error(errno);
    end.assign(descriptor);

    const auto token = asio::as_tuple(asio::use_awaitable);
    auto [ec] = co_await end.async_wait(asio::posix::stream_descriptor::wait_read, token);
    if (ec) {
        co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
        running.signal(SIGTERM);
        std::tie(ec) = co_await end.async_wait(
            asio::posix::stream_descriptor::wait_read,
            timewheel::timeout_after(std::chrono::seconds(2), token)
        );
        if (ec)
            running.signal(SIGKILL);
    }
    co_return running.reap();
}

}

#endif
