// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#include <timewheel/manual_clock.hpp>

#include <timewheel/basic_waitable_timer.hpp>

#include <boost/asio/io_context.hpp>
#include <boost/test/unit_test.hpp>

#include <chrono>
#include <memory>

namespace {

namespace asio = boost::asio;
using boost::system::error_code;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(manual_clock)

BOOST_AUTO_TEST_CASE(advance)
{
    //! [advance] tag::advance[]
    using clock = timewheel::manual_clock<struct advance_test>;
    asio::io_context context;
    timewheel::basic_waitable_timer<clock> timer{context, 30s};
    bool expired = false;
    timer.async_wait([&](error_code ec) { expired = !ec; });

    clock::advance(29s);
    context.poll();
    BOOST_TEST(!expired);

    clock::advance(1s);
    context.poll();
    BOOST_TEST(expired);
    //! [advance] end::advance[]
}

BOOST_AUTO_TEST_CASE(advance_to_next)
{
    // tag::advance_to_next[]
    using clock = timewheel::manual_clock<struct advance_to_next_test>;
    asio::io_context context;
    timewheel::basic_waitable_timer<clock> first{context, 10min};
    timewheel::basic_waitable_timer<clock> second{context, 24h};
    first.async_wait([&](error_code) {
        first.expires_after(1h);
        first.async_wait([](error_code) {});
    });
    second.async_wait([](error_code) {});

    int steps = 0;
    while (clock::advance_to_next()) { // while anything waits
        context.poll();
        ++steps;
    }
    BOOST_TEST(steps == 3);
    BOOST_TEST((clock::now().time_since_epoch() == 24h));
    // end::advance_to_next[]
}

// A component that takes its clock as a parameter can be tested with this one.
// tag::component[]
template <class Clock>
class watchdog
{
public:
    explicit watchdog(asio::io_context& context) : timer_{context} { feed(); }

    void feed()
    {
        timer_.expires_after(30s);
        timer_.async_wait([barked = barked_](error_code ec) {
            if (!ec)
                *barked = true;
        });
    }

    bool barked() const { return *barked_; }

private:
    std::shared_ptr<bool> barked_ = std::make_shared<bool>(false);
    timewheel::basic_waitable_timer<Clock> timer_;
};
// end::component[]

BOOST_AUTO_TEST_CASE(component)
{
    // tag::component_test[]
    using clock = timewheel::manual_clock<struct component_test>;
    asio::io_context context;
    watchdog<clock> dog{context};

    clock::advance(29s);
    dog.feed();
    clock::advance(29s);
    context.poll();
    BOOST_TEST(!dog.barked());

    clock::advance(1s);
    context.poll();
    BOOST_TEST(dog.barked());
    // end::component_test[]
    static_assert(sizeof(watchdog<std::chrono::steady_clock>) > 0);
}

BOOST_AUTO_TEST_SUITE_END()

}
