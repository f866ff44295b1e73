// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

// Requests with a timeout: of twenty timers, nineteen are cancelled when the response comes, and one
// expires.

#include "population.hpp"

#include <memory>

namespace timewheel::bench {

namespace {

template <class Timer>
class requests
{
public:
    explicit requests(std::size_t n)
    {
        requests_.reserve(n);
        for (std::size_t i = 0; i != n; ++i)
            start(requests_.emplace_back(context_));
    }

    void some()
    {
        for (std::size_t i = 0; i != polled_every; ++i) {
            request* next = &requests_[next_];
            while (next->gets_no_response) // until its timer has expired
                next = &advance();
            ++cancelled_;
            start(*next);
            advance();
            context_.poll_one();
        }
        context_.poll();
        require(
            aborted_ == cancelled_ && expired_ <= silent_, "a completion was lost or came twice"
        );
    }

private:
    struct request
    {
        explicit request(asio::io_context& context) : timer(context) {}

        Timer timer;
        bool gets_no_response = false;
    };

    struct handler
    {
        requests* self;
        request* of;

        void operator()(const error_code& ec) const
        {
            if (ec) {
                ++self->aborted_;
                return;
            }
            ++self->expired_;
            self->start(*of);
        }
    };

    // Cancels the request's timer, if it has one pending.
    void start(request& one)
    {
        one.gets_no_response = ++count_ % 20 == 0;
        silent_ += one.gets_no_response;
        one.timer.expires_after(one.gets_no_response ? 2ms : 10s);
        one.timer.async_wait(handler{this, &one});
    }

    request& advance()
    {
        next_ = next_ + 1 == requests_.size() ? 0 : next_ + 1;
        return requests_[next_];
    }

    asio::io_context context_{1};
    std::uint64_t count_ = 0;
    std::uint64_t silent_ = 0;
    std::uint64_t cancelled_ = 0;
    std::uint64_t aborted_ = 0;
    std::uint64_t expired_ = 0;
    std::size_t next_ = 0;
    std::vector<request> requests_;
};

void timeouts(session& session)
{
    for (const std::size_t n : session.sizes({1'000, 10'000, 100'000, 1'000'000})) {
        requests<asio_timer> asio(n);
        requests<wheel_timer> wheel(n);
        const auto sample = [&](auto& all) {
            return [&] { return session.time(polled_every, [&] { all.some(); }); };
        };
        session.compare("timeouts", n, {{"asio", sample(asio)}, {"wheel", sample(wheel)}});
    }
}

const benchmark known("timeouts", timeouts);

}

}
