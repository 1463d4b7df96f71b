// SPDX-License-Identifier: Apache-2.0
// daemon/thrift/nesting.h: the stack of open structs and containers, for code that reads through
// the bytes of a Thrift message.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace hat::thrift {

// The largest number of structs and containers that may be open at once, counting the outermost
// struct. Thrift's own readers have the same limit.
inline constexpr size_t kNestingMax = 64;
// The largest number of elements in a container, and the largest size of a string in bytes; both
// are signed 32-bit integers on the wire.
inline constexpr uint32_t kCountMax = 0x7fffffff;

struct Level {
  // The number of values in the container that were not read yet. In a map, keys and values both
  // count: the number is even before a key and odd before a value.
  uint32_t left;
  std::array<uint8_t, 2> types;  // types[left % 2] is the next value's type; kStructLevel if this
                                 // level is a struct

  uint8_t next_type() const { return types[left % 2]; }
};

inline constexpr uint8_t kStructLevel = 0xff;

class Nesting {
 public:
  bool empty() const { return depth_ == 0; }
  size_t depth() const { return depth_; }
  bool full() const { return depth_ == kNestingMax; }
  Level& top() { return levels_[depth_ - 1]; }

  void enter(Level level) { levels_[depth_++] = level; }
  void enter_struct() { enter({.left = 0, .types = {kStructLevel, kStructLevel}}); }
  void leave() { --depth_; }
  void reset() { depth_ = 0; }

 private:
  std::array<Level, kNestingMax> levels_;
  uint8_t depth_ = 0;
};

}  // namespace hat::thrift
