// SPDX-License-Identifier: Apache-2.0
// daemon/thrift/walker_binary.h: finds the end of a struct in TBinaryProtocol, in pieces.
#pragma once

#include <cstdint>
#include <optional>

#include "daemon/thrift/cursor.h"
#include "daemon/thrift/nesting.h"

namespace hat::thrift {

class BinaryWalker {
 public:
  void reset();
  // kDone: the cursor is behind the struct's end. kBroken: behind the token that can't be.
  Progress walk(Cursor& in);
  // So many of the next bytes are passed over, whatever they are.
  uint64_t unexamined() const { return skip_.left(); }
  // The outermost struct's first field; none where it has no field or is not read so far.
  std::optional<int16_t> first_field() const { return first_field_; }

 private:
  // kDone: `type` of the value that begins here; 0 where a struct or container ended instead.
  Progress next_value(Cursor& in, uint8_t& type);
  Progress begin_value(Cursor& in, uint8_t type);
  Progress begin_list(Cursor& in);
  Progress begin_map(Cursor& in);

  Skip skip_;
  Nesting nesting_;
  Token token_;
  uint8_t value_type_ = 0;  // the value whose first bytes are awaited; 0: none
  bool fields_seen_ = false;
  std::optional<int16_t> first_field_;
};

}  // namespace hat::thrift
