// Copyright (c) 2026 the timewheel authors
// SPDX-License-Identifier: BSL-1.0
// Distributed under the Boost Software License, Version 1.0. (See accompanying file LICENSE.)

#ifndef TIMEWHEEL_DETAIL_INTRUSIVE_LIST_HPP
#define TIMEWHEEL_DETAIL_INTRUSIVE_LIST_HPP

#include <boost/assert.hpp>

namespace timewheel::detail {

// A link of a circular doubly linked list. Elements derive from it; a list is a link whose
// neighbours are its last and its first element, so that an element leaves without knowing its list.
class list_link
{
public:
    list_link() = default;
    list_link(const list_link&) = delete;
    list_link& operator=(const list_link&) = delete;

    bool is_linked() const noexcept { return next_ != nullptr; }
    list_link* next() const noexcept { return next_; }

    // Takes this element out of its list. Returns the list's anchor if the list is empty now.
    list_link* unlink() noexcept
    {
        BOOST_ASSERT(is_linked());
        list_link* const before = prev_;
        list_link* const after = next_;
        before->next_ = after;
        after->prev_ = before;
        prev_ = next_ = nullptr;
        return before == after ? before : nullptr;
    }

    // Puts this unlinked element where `other` is, which is unlinked by that.
    void take_place_of(list_link& other) noexcept
    {
        BOOST_ASSERT(!is_linked() && other.is_linked());
        prev_ = other.prev_;
        next_ = other.next_;
        prev_->next_ = next_->prev_ = this;
        other.prev_ = other.next_ = nullptr;
    }

    // Completes take_only().
    void forget_list() noexcept { prev_ = next_ = nullptr; }

private:
    friend class list_anchor;

    list_link* prev_ = nullptr;
    list_link* next_ = nullptr;
};

// The anchor of a list: first in, first out.
class list_anchor : public list_link
{
public:
    list_anchor() noexcept { reset(); }

    bool empty() const noexcept { return next_ == this; }
    list_link* front() const noexcept { return next_; }
    list_link* back() const noexcept { return prev_; }

    void push_back(list_link& element) noexcept
    {
        BOOST_ASSERT(!element.is_linked());
        list_link* const last = prev_;
        element.prev_ = last;
        element.next_ = this;
        last->next_ = &element;
        prev_ = &element;
    }

    list_link& pop_front() noexcept
    {
        BOOST_ASSERT(!empty());
        list_link& first = *next_;
        first.unlink();
        return first;
    }

    // If there is one element only, takes it out without touching it, and otherwise does nothing.
    list_link* take_only() noexcept
    {
        if (next_ != prev_ || empty())
            return nullptr;
        list_link* const only = next_;
        reset();
        return only;
    }

    // Appends all elements of `other`, in their order.
    void splice_back(list_anchor& other) noexcept
    {
        if (other.empty())
            return;
        prev_->next_ = other.next_;
        other.next_->prev_ = prev_;
        prev_ = other.prev_;
        prev_->next_ = this;
        other.reset();
    }

private:
    void reset() noexcept { prev_ = next_ = this; }
};

}

#endif
