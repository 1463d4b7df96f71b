// SPDX-License-Identifier: Apache-2.0
// daemon/thrift/walker_binary.h: finds the end of a struct in TBinaryProtocol, from pieces of
// input.
#pragma once

#include <cstdint>
#include <optional>

#include "daemon/thrift/cursor.h"
#include "daemon/thrift/nesting.h"

namespace hat::thrift {

class BinaryWalker {
 public:
  void reset();
  // Continues with the bytes of `in`. After kDone, `in` is after the end of the struct; after
  // kBroken, `in` is after the invalid token.
  Progress walk(Cursor& in);
  // Returns how many of the next bytes the walker will skip, whatever their values.
  uint64_t unexamined() const { return skip_.left(); }
  // Returns the id of the outermost struct's first field, or nullopt if the struct has no field or
  // its first field has not been read yet.
  std::optional<int16_t> first_field() const { return first_field_; }

 private:
  // Finds the next value. After kDone, `type` is its type, or 0 if a struct or container has ended
  // instead.
  Progress next_value(Cursor& in, uint8_t& type);
  Progress begin_value(Cursor& in, uint8_t type);
  Progress begin_list(Cursor& in);
  Progress begin_map(Cursor& in);

  Skip skip_;
  Nesting nesting_;
  Token token_;
  uint8_t value_type_ = 0;  // the type of the value whose first bytes are awaited; 0 for none
  bool fields_seen_ = false;
  std::optional<int16_t> first_field_;
};

}  // namespace hat::thrift
