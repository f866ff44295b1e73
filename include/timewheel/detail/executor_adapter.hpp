// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#ifndef TIMEWHEEL_DETAIL_EXECUTOR_ADAPTER_HPP
#define TIMEWHEEL_DETAIL_EXECUTOR_ADAPTER_HPP

#include <timewheel/config.hpp>

#include <boost/asio/prefer.hpp>
#include <boost/asio/query.hpp>
#include <boost/asio/require.hpp>

#include <concepts>
#include <type_traits>
#include <utility>

namespace timewheel::detail {

// Whether executing as the policy says breaks what a property promises.
template <class Policy, class Property>
concept breaks_promise = std::same_as<typename Policy::broken_promise, Property>;

/*  An executor that does something of its own with what it is given to execute, and is like the one
    it adapts in everything else: context, work tracking, blocking, allocator and any other property.
    Neither is copied without need: an executor that tracks work counts its copies.
    `Policy::execute(inner, function)` says what, and `Policy::broken_promise`, if there is one, what
    can't be required therefore; policies are compared with `==`. A policy that is costly to copy is
    moved on from executors that are not used any more, which Asio makes many of.
*/
template <class Inner, class Policy>
class executor_adapter
{
public:
    executor_adapter(Inner inner, Policy policy)
        : inner_(std::move(inner))
        , policy_(std::move(policy))
    {}

    const Inner& get_inner_executor() const noexcept { return inner_; }
    const Policy& policy() const noexcept { return policy_; }

    template <class Property>
        requires(asio::can_query_v<const Inner&, Property>)
    decltype(auto) query(const Property& property) const
        noexcept(asio::is_nothrow_query_v<const Inner&, Property>)
    {
        return asio::query(inner_, property);
    }

    template <class Property>
        requires(asio::can_require_v<const Inner&, Property> && !breaks_promise<Policy, Property>)
    auto require(const Property& property) const&
    {
        return adapt(asio::require(inner_, property), policy_);
    }

    template <class Property>
        requires(asio::can_require_v<const Inner&, Property> && !breaks_promise<Policy, Property>)
    auto require(const Property& property) &&
    {
        return adapt(asio::require(inner_, property), std::move(policy_));
    }

    template <class Property>
        requires(asio::can_prefer_v<const Inner&, Property> && !asio::can_require_v<const Inner&, Property>)
    auto prefer(const Property& property) const
    {
        return adapt(asio::prefer(inner_, property), policy_);
    }

    template <class Function>
    void execute(Function&& function) const&
    {
        policy_.execute(inner_, std::forward<Function>(function));
    }

    template <class Function>
    void execute(Function&& function) &&
    {
        std::move(policy_).execute(inner_, std::forward<Function>(function));
    }

    friend bool operator==(const executor_adapter& a, const executor_adapter& b) noexcept
    {
        return a.inner_ == b.inner_ && a.policy_ == b.policy_;
    }

    friend bool operator!=(const executor_adapter& a, const executor_adapter& b) noexcept
    {
        return !(a == b);
    }

private:
    template <class Other>
    static auto adapt(Other other, Policy policy)
    {
        return executor_adapter<Other, Policy>(std::move(other), std::move(policy));
    }

    Inner inner_;
    Policy policy_;
};

}

#endif
