// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#ifndef TIMEWHEEL_TEST_MODEL_RANDOM_STEPS_HPP
#define TIMEWHEEL_TEST_MODEL_RANDOM_STEPS_HPP

#include <test_common/random_source.hpp>

#include <boost/test/unit_test.hpp>

#include <cstdint>
#include <string>

namespace timewheel::test {

/** @brief Makes models from seeds and takes 200 steps with each, until one says what is wrong.

    A model is made anew that often so that the seed of a failure leads to it in a moment.
*/
template <class Model>
void take_random_steps(const char* test, std::uint64_t usual_number)
{
    const std::uint64_t seed = test_seed(test);
    const std::uint64_t number = number_from_environment("TIMEWHEEL_OPERATIONS", usual_number);
    for (std::uint64_t i = 0; i * 200 < number; ++i) {
        Model model(seed + i);
        for (int step = 0; step != 200; ++step) {
            const std::string wrong = model.step();
            if (!wrong.empty()) {
                BOOST_ERROR("step " << step << ": " << wrong << "\n  TIMEWHEEL_SEED=" << seed + i);
                return;
            }
        }
    }
}

}

#endif
