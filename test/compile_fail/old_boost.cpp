// SPDX-License-Identifier: BSL-1.0
// expect: timewheel needs Boost 1.81 or later
// errors: 1
// options: -std=c++20 -Iold_boost

#include <timewheel/config.hpp>

int main() {}
