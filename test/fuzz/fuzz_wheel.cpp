// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

// The model test of the wheel with operations from libFuzzer:
//   clang++ -std=c++20 -g -O1 -fsanitize=fuzzer,address,undefined -Iinclude -Itest/model
//       test/fuzz/fuzz_wheel.cpp -o fuzz_wheel && ./fuzz_wheel -max_len=4096 -max_total_time=60

#include <wheel_run.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <span>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    using namespace timewheel::test;

    // Eight bytes for the time when the wheel starts, one for the number of nodes.
    if (size < 9)
        return 0;
    std::span<const std::uint8_t> bytes(data, size);
    tick_type now = 0;
    for (const std::uint8_t byte : bytes.first(8))
        now = now << 8 | byte;
    now = (std::min)(now, wheel::never - 1);
    const std::size_t nodes = std::size_t{1} + bytes[8];
    const auto operations = decode(bytes.subspan(9));
    try {
        wheel_run run(now, nodes);
        run.check_thoroughly();
        run.run(operations);
    } catch (const model_failure& failure) {
        std::cerr << failure.what() << ", from " << now << " with " << nodes << " nodes:\n";
        for (const operation& op : operations)
            std::cerr << op << '\n';
        std::abort();
    }
    return 0;
}
