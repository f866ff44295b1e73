// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

// Boost.JSON and Boost.URL as headers, compiled here, so that no library has to be installed.
#include <boost/json/src.hpp>
#include <boost/url/src.hpp>
