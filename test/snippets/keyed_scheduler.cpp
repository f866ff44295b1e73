// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#include <timewheel/calendar.hpp>
#include <timewheel/keyed_scheduler.hpp>
#include <timewheel/manual_clock.hpp>

#include <boost/asio/io_context.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/test/unit_test.hpp>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace {

namespace asio = boost::asio;
using namespace std::chrono_literals;
using std::chrono::system_clock;

void make_report(const std::string&) {}

template <class... Details>
void show(const Details&...)
{}

BOOST_AUTO_TEST_SUITE(keyed_scheduler)

BOOST_AUTO_TEST_CASE(first_example)
{
    //! [keyed_scheduler] tag::keyed_scheduler[]
    asio::io_context context;
    asio::thread_pool pool{4};

    // Reports by name, with the cron expression that says when each is made.
    using reports = timewheel::keyed_scheduler<std::string, std::string>;
    reports scheduler{
        context,
        pool,
        {.next =
             [](system_clock::time_point now, const std::string&, const std::string& when) {
                 return timewheel::cron{when
                 }(now); // throws for a wrong one, which makes it invalid
             },
         .run = [](const std::string& name) { make_report(name); }}
    };
    scheduler.upsert("sales", "0 6 * * mon-fri");
    scheduler.upsert("stock", "*/10 * * * *");
    scheduler.start();
    //! [keyed_scheduler] end::keyed_scheduler[]
    //! [change] tag::change[]
    // The configuration has been read again: what is in it as before goes on undisturbed.
    const auto report =
        scheduler.replace_all({{"sales", "0 6 * * mon-fri"}, {"stock", "*/5 * * * *"}});
    // report.updated is {"stock"}, report.unchanged is 1

    scheduler.pause("sales");
    for (const auto& item : scheduler.snapshot())
        show(item.key, item.state, item.next_run, item.history);
    //! [change] end::change[]
    BOOST_TEST(report.updated == std::vector<std::string>{"stock"});
    BOOST_TEST(report.unchanged == 1u);
    BOOST_CHECK(scheduler.snapshot("sales")->state == timewheel::item_state::paused);
    scheduler.close();
}

BOOST_AUTO_TEST_CASE(virtual_time)
{
    //! [virtual_time] tag::virtual_time[]
    using clock = timewheel::manual_clock<struct snippets_of_the_scheduler>;
    asio::io_context context; // for the items and for their jobs
    int runs = 0;
    timewheel::basic_keyed_scheduler<int, std::string, clock> scheduler{
        context, context, {.next = timewheel::every{1h}, .run = [&] { ++runs; }}
    };
    scheduler.upsert(1, "an item");
    scheduler.start();
    for (int hour = 0; hour != 24; ++hour) {
        clock::advance(1h);
        context.poll();
        context.restart();
    }
    // runs == 24
    //! [virtual_time] end::virtual_time[]
    BOOST_TEST(runs == 24);
}

BOOST_AUTO_TEST_SUITE_END()

}
