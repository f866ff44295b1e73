// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#include "families.hpp"

#include <test_common/checked_token.hpp>
#include <test_common/io_fixture.hpp>
#include <test_common/run.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/execution_context.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/system_executor.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/test/unit_test.hpp>

#include <chrono>
#include <concepts>
#include <cstddef>
#include <future>
#include <type_traits>
#include <utility>

namespace timewheel::test {

/// A token that looks at the initiation and then waits with the handler it was given.
template <class Executor, class Handler>
struct inspecting_token
{
    Executor expected;
    Handler handler;
    bool& same_executor;
};

}

namespace boost::asio {

template <class Executor, class Handler, class... Values>
class async_result<timewheel::test::inspecting_token<Executor, Handler>, void(Values...)>
{
public:
    using return_type = int;

    template <class Initiation, class Token>
    static int initiate(Initiation&& initiation, Token&& token)
    {
        using initiation_type = std::decay_t<Initiation>;
        static_assert(std::same_as<typename initiation_type::executor_type, Executor>);
        static_assert(noexcept(std::as_const(initiation).get_executor()));
        token.same_executor = std::as_const(initiation).get_executor() == token.expected;
        // An initiation may be kept and started later, as deferred does.
        auto kept = std::forward<Initiation>(initiation);
        std::move(kept)(std::move(token.handler));
        return 42;
    }
};

}

namespace timewheel::test {

BOOST_AUTO_TEST_SUITE(conformance_surface)

namespace {

using steady_clock = std::chrono::steady_clock;
using io_executor = asio::io_context::executor_type;

/// A context of a user's own, as far as timers are concerned.
struct derived_context : asio::io_context
{};

/// Something that has get_executor() and is no execution context.
struct not_a_context
{
    [[nodiscard]] io_executor get_executor() const;
};

template <class Timer>
void take(Timer);

// Whether a timer can be had from a braced list, that is, by a constructor that is not explicit.
template <class Timer, class... Args>
concept implicitly_constructible =
    requires(Args&&... args) { take<Timer>({std::forward<Args>(args)...}); };

template <class Timer>
concept has_deprecated_members =
    requires(Timer t, error_code ec) { t.cancel(ec); } ||
    requires(Timer t, error_code ec) { t.cancel_one(ec); } ||
    requires(const Timer t) { t.expires_at(); } ||
    requires(const Timer t) { t.expires_from_now(); } ||
    requires(Timer t) { t.expires_from_now(typename Timer::duration{}); } ||
    requires(Timer t, error_code ec) { t.expires_at(typename Timer::time_point{}, ec); };

template <class Timer>
concept waits_with_default_token = requires(Timer t) { t.async_wait(); };

template <class Timer, class Token>
concept waits_with = requires(Timer t, Token token) { t.async_wait(std::move(token)); };

/// Section 1.1: the nested types.
template <class Timer, class Clock, class WaitTraits, class Executor>
constexpr bool has_the_nested_types =
    std::same_as<typename Timer::clock_type, Clock> &&
    std::same_as<typename Timer::duration, typename Clock::duration> &&
    std::same_as<typename Timer::time_point, typename Clock::time_point> &&
    std::same_as<typename Timer::traits_type, WaitTraits> &&
    std::same_as<typename Timer::executor_type, Executor>;

/// Section 1.1: the nine constructors, and which of them are explicit.
template <class Timer>
consteval bool has_the_constructors()
{
    using executor = typename Timer::executor_type;
    using time_point = typename Timer::time_point;
    using duration = typename Timer::duration;
    using context = asio::io_context;

    static_assert(!std::default_initializable<Timer>);
    static_assert(!std::copy_constructible<Timer>);
    static_assert(!std::is_copy_constructible_v<Timer>);
    static_assert(!std::is_copy_assignable_v<Timer>);
    static_assert(std::is_move_constructible_v<Timer>);
    static_assert(std::is_move_assignable_v<Timer>);
    static_assert(std::is_nothrow_destructible_v<Timer>);

    static_assert(std::is_constructible_v<Timer, const executor&>);
    static_assert(!std::is_convertible_v<const executor&, Timer>);
    static_assert(implicitly_constructible<Timer, const executor&, const time_point&>);
    static_assert(implicitly_constructible<Timer, const executor&, const duration&>);

    static_assert(std::is_constructible_v<Timer, context&>);
    static_assert(std::is_constructible_v<Timer, derived_context&>);
    static_assert(!std::is_convertible_v<context&, Timer>);
    static_assert(std::is_constructible_v<Timer, context&, const time_point&>);
    static_assert(std::is_constructible_v<Timer, context&, const duration&>);
    static_assert(!implicitly_constructible<Timer, context&, const time_point&>);
    static_assert(!implicitly_constructible<Timer, context&, const duration&>);

    static_assert(!std::is_constructible_v<Timer, not_a_context&>);
    static_assert(!std::is_constructible_v<Timer, not_a_context&, const time_point&>);
    static_assert(!std::is_constructible_v<Timer, not_a_context&, const duration&>);
    static_assert(!std::is_constructible_v<Timer, int>);
    static_assert(!std::is_constructible_v<Timer, const time_point&>);
    return true;
}

/// Section 1.2: the members, with their exact types.
template <class Timer>
consteval bool has_the_members()
{
    using executor = typename Timer::executor_type;
    using time_point = typename Timer::time_point;
    using duration = typename Timer::duration;
    Timer& (*const make)() = nullptr;
    error_code& (*const make_ec)() = nullptr;

    static_assert(std::same_as<decltype(make().get_executor()), const executor&>);
    static_assert(noexcept(std::declval<Timer&>().get_executor()));
    static_assert(std::same_as<decltype(make().cancel()), std::size_t>);
    static_assert(std::same_as<decltype(make().cancel_one()), std::size_t>);
    static_assert(std::same_as<decltype(std::as_const(make()).expiry()), time_point>);
    static_assert(std::same_as<decltype(make().expires_at(time_point{})), std::size_t>);
    static_assert(std::same_as<decltype(make().expires_after(duration{})), std::size_t>);
    static_assert(std::same_as<decltype(make().wait()), void>);
    static_assert(std::same_as<decltype(make().wait(make_ec())), void>);
    static_assert(std::same_as<decltype(make() = std::declval<Timer>()), Timer&>);
    return true;
}

/// Section 1.2: what an initiating function returns is the token's business.
template <class Timer>
consteval bool has_the_token_results()
{
    Timer& (*const make)() = nullptr;
    static_assert(std::same_as<decltype(make().async_wait([](error_code) {})), void>);
    static_assert(std::same_as<decltype(make().async_wait(asio::detached)), void>);
    static_assert(std::same_as<decltype(make().async_wait(asio::use_future)), std::future<void>>);
    static_assert(std::same_as<
                  decltype(make().async_wait(asio::use_awaitable)),
                  asio::awaitable<void>>);
    static_assert(asio::is_async_operation<decltype(make().async_wait(asio::deferred))>::value);
    return true;
}

template <class Family>
consteval bool has_the_surface()
{
    using any = asio::any_io_executor;
    using traits = asio::wait_traits<steady_clock>;
    using native = typename Family::template basic<steady_clock, traits, io_executor>;

    static_assert(std::same_as<
                  typename Family::steady,
                  typename Family::template basic<steady_clock>>);
    static_assert(std::same_as<
                  typename Family::system,
                  typename Family::template basic<std::chrono::system_clock>>);
    static_assert(std::same_as<
                  typename Family::high_resolution,
                  typename Family::template basic<std::chrono::high_resolution_clock>>);
    static_assert(has_the_nested_types<typename Family::steady, steady_clock, traits, any>);
    static_assert(has_the_nested_types<native, steady_clock, traits, io_executor>);

    static_assert(std::same_as<
                  typename Family::steady::template rebind_executor<io_executor>::other,
                  native>);
    static_assert(std::same_as<
                  typename native::template rebind_executor<any>::other,
                  typename Family::steady>);

    // Conversions follow those of the executors.
    static_assert(std::is_constructible_v<typename Family::steady, native>);
    static_assert(std::is_convertible_v<native, typename Family::steady>);
    static_assert(std::is_assignable_v<typename Family::steady&, native>);
    static_assert(!std::is_constructible_v<native, typename Family::steady>);
    static_assert(!std::is_assignable_v<native&, typename Family::steady>);
    static_assert(!std::is_constructible_v<typename Family::steady, native&>);
    static_assert(!std::is_constructible_v<typename Family::steady, typename Family::system>);

    static_assert(has_the_constructors<typename Family::steady>());
    static_assert(has_the_constructors<typename Family::system>());
    static_assert(has_the_constructors<native>());
    static_assert(has_the_members<typename Family::steady>());
    static_assert(has_the_members<native>());
    static_assert(has_the_token_results<typename Family::steady>());
    static_assert(has_the_token_results<native>());

    // A token that cannot take an error code is refused in the signature, not inside.
    static_assert(waits_with<typename Family::steady, void (*)(error_code)>);
    static_assert(!waits_with<typename Family::steady, void (*)(int*)>);
    static_assert(!waits_with<typename Family::steady, int>);

    if constexpr (Family::is_ours) {
        static_assert(!has_deprecated_members<typename Family::steady>);
        static_assert(waits_with_default_token<typename Family::steady>);
        static_assert(waits_with_default_token<native>);
    }
    return true;
}

static_assert(has_the_surface<asio_family>());

}

// Sections 1.1 and 1.2: nothing to run, since the compiler has done it.
BOOST_AUTO_TEST_CASE_TEMPLATE(the_surface_is_the_same, Family, families)
{
    static_assert(has_the_surface<Family>());
    BOOST_TEST(true);
}

// Section 1.1: what each constructor sets.
BOOST_FIXTURE_TEST_CASE_TEMPLATE(constructors_set_expiry_and_executor, Family, families, io_fixture)
{
    using timer_type = typename Family::steady;
    const auto executor = asio::any_io_executor{asio::make_strand(ctx)};
    const auto expiry = steady_clock::now() + 1h;

    timer_type a{executor};
    BOOST_CHECK(a.get_executor() == executor);
    BOOST_CHECK(a.expiry() == steady_clock::time_point{});
    timer_type b{ctx};
    BOOST_CHECK(b.get_executor() == ctx.get_executor());
    BOOST_CHECK(b.expiry() == steady_clock::time_point{});
    timer_type c = {executor, expiry};
    BOOST_CHECK(c.get_executor() == executor);
    BOOST_CHECK(c.expiry() == expiry);
    timer_type d{ctx, expiry};
    BOOST_CHECK(d.get_executor() == ctx.get_executor());
    BOOST_CHECK(d.expiry() == expiry);

    const auto before = steady_clock::now();
    timer_type e = {executor, steady_clock::duration{1h}};
    timer_type f{ctx, steady_clock::duration{1h}};
    const auto after = steady_clock::now();
    BOOST_CHECK(e.get_executor() == executor);
    BOOST_CHECK(f.get_executor() == ctx.get_executor());
    for (const auto& timer : {std::cref(e), std::cref(f)}) {
        BOOST_CHECK(timer.get().expiry() >= before + 1h);
        BOOST_CHECK(timer.get().expiry() <= after + 1h);
    }

    // Coarser durations and time points convert.
    timer_type g{ctx, std::chrono::minutes{1}};
    g.expires_after(std::chrono::hours{1});
    g.expires_at(std::chrono::time_point_cast<std::chrono::seconds>(expiry));
    BOOST_CHECK(g.expiry() <= expiry);

    // So does anything that the executor type takes.
    timer_type h{ctx.get_executor(), expiry};
    timer_type i{asio::system_executor{}};
    BOOST_CHECK(h.get_executor() == ctx.get_executor());
    BOOST_CHECK(i.get_executor() == asio::any_io_executor{asio::system_executor{}});
}

// C17: the initiation shows the timer's executor, which token adapters build upon.
BOOST_FIXTURE_TEST_CASE_TEMPLATE(the_initiation_shows_the_executor, Family, families, io_fixture)
{
    const auto strand = asio::any_io_executor{asio::make_strand(ctx)};
    typename Family::steady timer{strand, 1ms};
    int ended = 0;
    bool same_executor = false;
    const auto handler = [&](error_code ec) { ended += !ec; };
    using token = inspecting_token<asio::any_io_executor, decltype(handler)>;
    const int result = timer.async_wait(token{strand, handler, same_executor});
    BOOST_TEST(result == 42);
    BOOST_TEST(same_executor);
    BOOST_TEST(run_to_end(ctx));
    BOOST_TEST(ended == 1);
}

// Section 1.1: what as_default_on_t makes of a timer waits with that token and can be had from a
// plain one.
BOOST_FIXTURE_TEST_CASE_TEMPLATE(default_tokens_rebind_the_timer, Family, families, io_fixture)
{
    // On Boost 1.81, Clang does not take the adapted form of any_io_executor for an executor.
    using plain =
        typename Family::template basic<steady_clock, asio::wait_traits<steady_clock>, io_executor>;
    using awaitable_timer = asio::use_awaitable_t<>::as_default_on_t<plain>;
    using tuple_timer = asio::as_tuple_t<asio::use_awaitable_t<>>::as_default_on_t<plain>;
    using detached_timer = asio::detached_t::as_default_on_t<plain>;
    using deferred_timer = asio::deferred_t::as_default_on_t<plain>;

    static_assert(std::same_as<
                  decltype(std::declval<awaitable_timer&>().async_wait()),
                  asio::awaitable<void>>);
    static_assert(std::same_as<
                  decltype(std::declval<tuple_timer&>().async_wait()),
                  asio::awaitable<std::tuple<error_code>>>);

    detached_timer detached{ctx, 1ms};
    detached.async_wait();
    deferred_timer deferred{plain{ctx, 1ms}};
    deferred.async_wait()(succeeds());
    BOOST_TEST(run_to_end(ctx));
}

// Section 1.2: without a token, ours defers on every Boost; Asio's does so from 1.86 on.
BOOST_FIXTURE_TEST_CASE_TEMPLATE(the_default_token_is_deferred, Family, families, io_fixture)
{
    if constexpr (Family::is_ours || BOOST_ASIO_VERSION >= 103200) {
        typename Family::steady timer{ctx, 1ms};
        static_assert(std::same_as<
                      decltype(timer.async_wait()),
                      decltype(timer.async_wait(asio::deferred))>);
        auto operation = timer.async_wait();
        // Nothing has been started yet.
        BOOST_TEST(timer.cancel() == 0U);
        std::move(operation)(succeeds());
        BOOST_TEST(run_to_end(ctx));
    }
}

BOOST_AUTO_TEST_SUITE_END()

}
