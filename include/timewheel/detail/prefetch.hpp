// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#ifndef TIMEWHEEL_DETAIL_PREFETCH_HPP
#define TIMEWHEEL_DETAIL_PREFETCH_HPP

namespace timewheel::detail {

// Has the processor fetch what is about to be written, while it goes on with something else.
inline void prefetch_line([[maybe_unused]] const void* memory) noexcept
{
#if defined(__GNUC__)
    __builtin_prefetch(memory, 1);
#endif
}

}

#endif
