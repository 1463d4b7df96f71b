// SPDX-License-Identifier: Apache-2.0
// daemon/thrift/walker_binary.h: finds the end of a struct in Thrift's TBinaryProtocol. The bytes
// can arrive in several pieces.
#pragma once

#include <cstdint>
#include <optional>

#include "daemon/thrift/cursor.h"
#include "daemon/thrift/nesting.h"

namespace hat::thrift {

class BinaryWalker {
 public:
  void reset();
  // Continues with the bytes of `in`. Returns kDone at the struct's end; `in` is then after the
  // struct's last byte. Returns kBroken at a token that is invalid or exceeds a limit of
  // daemon/thrift/nesting.h; `in` is then after the token.
  Progress walk(Cursor& in);
  // Returns how many of the next bytes the walker will skip without examining them.
  uint64_t unexamined() const { return skip_.left(); }
  // Returns the id of the first field of the outermost struct. Returns nullopt if the struct has no
  // field, or if its first field was not read yet.
  std::optional<int16_t> first_field() const { return first_field_; }

 private:
  // Finds the next value. After kDone, `type` is the value's type, or 0 if a struct or container
  // has ended instead.
  Progress next_value(Cursor& in, uint8_t& type);
  Progress begin_value(Cursor& in, uint8_t type);
  Progress begin_list(Cursor& in);
  Progress begin_map(Cursor& in);

  Skip skip_;
  Nesting nesting_;
  Token token_;
  uint8_t value_type_ = 0;  // type of the value whose first bytes come next; 0 if none
  bool fields_seen_ = false;
  std::optional<int16_t> first_field_;
};

}  // namespace hat::thrift
