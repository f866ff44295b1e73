// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#ifndef TIMEWHEEL_DETAIL_OBSERVED_HPP
#define TIMEWHEEL_DETAIL_OBSERVED_HPP

#include <type_traits>

namespace timewheel::detail {

// The data of the event that an observer is told, which refers to the timer's.
template <class T>
using observed_t =
    std::conditional_t<std::is_void_v<T>, void, std::add_lvalue_reference_t<std::add_const_t<T>>>;

}

#endif
