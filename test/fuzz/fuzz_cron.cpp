// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

// Cron expressions from libFuzzer; what the parser takes has to match when it says so:
//   clang++ -std=c++20 -g -O1 -fsanitize=fuzzer,address,undefined -Iinclude -Itest/model
//       test/fuzz/fuzz_cron.cpp -o fuzz_cron && ./fuzz_cron -max_len=64 -max_total_time=60

#include <timewheel/calendar.hpp>

#include <cron_reference.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <optional>
#include <string>

namespace {

using std::chrono::sys_seconds;
using timewheel::test::cron_reference;
using timewheel::test::plain_calendar;

[[noreturn]] void fail(const std::string& what, const std::string& text, sys_seconds now)
{
    std::cerr << what << ": \"" << text << "\" at " << now.time_since_epoch().count() << '\n';
    std::abort();
}

bool matches(const cron_reference& reference, sys_seconds time)
{
    const auto day = std::chrono::floor<std::chrono::days>(time);
    const std::chrono::year_month_day date(day);
    const auto second = static_cast<int>((time - day).count());
    plain_calendar at;
    at.month = static_cast<int>(static_cast<unsigned>(date.month()));
    at.day = static_cast<int>(static_cast<unsigned>(date.day()));
    at.weekday = static_cast<int>(std::chrono::weekday(day).c_encoding());
    at.hour = second / 3600;
    at.minute = second / 60 % 60;
    return reference.day_matches(at) && reference.minute_matches(at) &&
           reference.second_matches(second % 60);
}

}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    using namespace std::chrono_literals;

    // Five bytes for the present, two for the offset; the rest is the expression.
    if (size < 7)
        return 0;
    std::uint64_t number = 0;
    for (std::size_t i = 0; i != 5; ++i)
        number = number << 8 | data[i];
    // Within some 17000 years around 1970.
    const sys_seconds now(std::chrono::seconds(static_cast<std::int64_t>(number) - (1ll << 39)));
    const std::chrono::minutes offset((data[5] * 256 + data[6]) % 2161 - 1080);
    std::string text;
    for (std::size_t i = 7; i != size; ++i)
        text += static_cast<char>(data[i]);

    std::optional<timewheel::cron> expression;
    try {
        expression.emplace(text, offset);
    } catch (const timewheel::cron_error& e) {
        if (e.column() == 0 || e.column() > text.size() + 1)
            fail("an error in column " + std::to_string(e.column()), text, now);
        return 0;
    }
    const cron_reference reference(text);
    const auto next = (*expression)(now);
    if (!next)
        fail("there is no match", text, now);
    if (*next <= now)
        fail("the match is not later", text, now);
    if (!matches(reference, *next + offset))
        fail("what is said to match does not", text, now);
    // What is in between doesn't match: near both ends, and some minutes and days further.
    for (const auto step : {1s, 59s, 60s, 3600s, 86'400s}) {
        for (int n = 1; n <= 100; ++n) {
            for (const sys_seconds time : {now + n * step, *next - n * step}) {
                if (time > now && time < *next && matches(reference, time + offset))
                    fail("a match is skipped", text, now);
            }
        }
    }
    if ((*expression)(*next - 1s) != next)
        fail("a second before the match it is not the next one", text, now);
    return 0;
}
