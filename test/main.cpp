// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#define BOOST_TEST_MODULE timewheel
#include <boost/test/unit_test.hpp>
