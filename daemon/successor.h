// SPDX-License-Identifier: Apache-2.0
// daemon/successor.h: who goes on with this daemon's client connections: a new hatrpcd of the same
// node (docs/upgrade.md).
//
// Thread   any worker's, several at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>

namespace hat {

class Successor {
 public:
  enum class Answer : uint8_t {
    kTaken,  // the connection is the successor's: it is closed here, and its application sees
             // nothing
    kLater,  // there is no room now
    kNever,  // this one stays
  };
  virtual ~Successor() = default;

  // Whether the successor has that endpoint; always the same.
  virtual bool wants(size_t endpoint) const = 0;
  // Offers a connection on which no call is out: its descriptors (Stream::descriptors(), which stay
  // the stream's), and in parts what was read of it and is no call yet.
  virtual Answer take(size_t endpoint, std::span<const int> descriptors,
                      std::initializer_list<std::span<const std::byte>> read) = 0;
};

}  // namespace hat
