// SPDX-License-Identifier: BSL-1.0
// expect: timewheel needs C++20: compile with -std=c++20 or later
// errors: 1
// options: -std=c++17

#include <timewheel/config.hpp>

int main() {}
