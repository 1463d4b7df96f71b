// SPDX-License-Identifier: Apache-2.0
// daemon/thrift/nesting.h: the structs and containers that a walk is inside of.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace hat::thrift {

// The outermost struct is the first. Stock readers stop at 64 as well.
inline constexpr size_t kNestingMax = 64;
// Containers' counts and strings' lengths are i32 on the wire.
inline constexpr uint32_t kCountMax = 0x7fffffff;

struct Level {
  // Values still to come. A map counts keys and values, so the count's parity tells them apart.
  uint32_t left;
  std::array<uint8_t, 2> types;  // [left % 2]: the next value's; a struct has kStructLevel

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
