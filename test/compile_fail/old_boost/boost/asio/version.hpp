// SPDX-License-Identifier: BSL-1.0

// Stands in for the last Asio that is too old: the one of Boost 1.80.

#ifndef BOOST_ASIO_VERSION_HPP
#define BOOST_ASIO_VERSION_HPP

#define BOOST_ASIO_VERSION 102400

#endif
