// SPDX-License-Identifier: Apache-2.0
// daemon/thrift/nesting.h: a stack of the structs and containers that a reader has entered and not
// yet left.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace hat::thrift {

// The maximum number of nested structs and containers, including the outermost struct. Stock
// readers have the same limit.
inline constexpr size_t kNestingMax = 64;
// The maximum count of a container and the maximum length of a string; both are an i32 on the wire.
inline constexpr uint32_t kCountMax = 0x7fffffff;

struct Level {
  // The number of values that remain. A map counts keys and values, so the number is even before a
  // key and odd before a value.
  uint32_t left;
  std::array<uint8_t, 2> types;  // [left % 2] is the next value's type; kStructLevel for a struct

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
