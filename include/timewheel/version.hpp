// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#ifndef TIMEWHEEL_VERSION_HPP
#define TIMEWHEEL_VERSION_HPP

/** @brief The version of the library: major * 10000 + minor * 100 + patch.

    The only place where the version is written down: the build, the package files and the
    documentation read it from here.
*/
#define TIMEWHEEL_VERSION 100

/// The version of the library as a string literal, `"major.minor.patch"`.
#define TIMEWHEEL_VERSION_STRING "0.1.0"

#endif
