// SPDX-License-Identifier: Apache-2.0
// daemon/thrift/walker_json.h: finds the end of a message in TJSONProtocol, in pieces.
//
// Brackets are counted and strings are passed over; nothing else is understood, as nothing else
// says where a message ends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "daemon/thrift/cursor.h"
#include "daemon/thrift/nesting.h"

namespace hat::thrift {

// A struct in a struct takes two brackets, {"1":{"rec":{…}}}, other nestings less; around them all
// are the message's own bracket and the innermost value's.
inline constexpr size_t kJsonBracketsMax = 2 * kNestingMax + 1;

class JsonWalker {
 public:
  // Expects what follows the sequence id's comma: the struct, then the message's last bracket.
  void reset();
  // As BinaryWalker's, but kDone is behind the message's last bracket.
  Progress walk(Cursor& in);
  // The outermost struct's first key, or -1 where the key is no number; none as in BinaryWalker.
  std::optional<int32_t> first_field() const { return first_field_; }

 private:
  enum class Place : uint8_t { kStruct, kFirstKey, kInFirstKey, kValues, kString, kEscape, kEnd };

  Progress step(Cursor& in);
  Progress first_key_byte(uint8_t byte);
  Progress walk_values(Cursor& in);
  void walk_string(Cursor& in);

  Place place_ = Place::kStruct;
  size_t brackets_ = 1;
  int32_t key_ = 0;
  std::optional<int32_t> first_field_;
};

}  // namespace hat::thrift
