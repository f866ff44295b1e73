// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

// Some system headers define these two; the library must not stumble over them. The standard
// library takes them away again, so it comes first, with what is not written for them.
#include <pch.hpp>

#include <boost/unordered/unordered_flat_map.hpp>

#include <complex>
#include <deque>
#include <map>
#include <random>
#include <unordered_map>

#define min(a, b) a macro must not be called
#define max(a, b) a macro must not be called

#include <all_headers.hpp>

#if !defined(min) || !defined(max)
#error "something took the macros away, so that nothing was tested"
#endif

const void* category_seen_by_a();

int main()
{
    return category_seen_by_a() == &timewheel::error_category() ? 0 : 1;
}
