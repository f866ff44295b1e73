// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#include <all_headers.hpp>

const void* category_seen_by_a()
{
    return &timewheel::error_category();
}
