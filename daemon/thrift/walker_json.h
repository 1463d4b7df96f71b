// SPDX-License-Identifier: Apache-2.0
// daemon/thrift/walker_json.h: finds the end of a message in Thrift's TJSONProtocol. The bytes can
// arrive in several pieces.
//
// The walker counts brackets, and skips strings, which can contain brackets. It reads the first
// field's id, and no other syntax: brackets and strings suffice to find the end of a message.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "daemon/thrift/cursor.h"
#include "daemon/thrift/nesting.h"

namespace hat::thrift {

// The largest number of brackets that may be open at once. A struct in a struct opens two brackets,
// {"1":{"rec":{…}}}; no other nesting opens more. The message, the outermost struct and the
// innermost value open one more bracket each.
inline constexpr size_t kJsonBracketsMax = 2 * kNestingMax + 1;

class JsonWalker {
 public:
  // Prepares for a new message. The input must begin after the comma that follows the message's
  // sequence id, and has the message's struct and then the message's last bracket.
  void reset();
  // Continues with the bytes of `in`, as BinaryWalker::walk() does. After kDone, `in` is after the
  // message's last bracket, and not after the struct.
  Progress walk(Cursor& in);
  // Returns the first key of the outermost struct, which is a field id; -1 if the key is not a
  // number. Returns nullopt if the struct has no field, or if the key was not read yet.
  std::optional<int32_t> first_field() const { return first_field_; }

 private:
  enum class State : uint8_t { kStruct, kFirstKey, kInFirstKey, kValues, kString, kEscape, kEnd };

  Progress step(Cursor& in);
  Progress first_key_byte(uint8_t byte);
  Progress walk_values(Cursor& in);
  void walk_string(Cursor& in);

  State state_ = State::kStruct;
  size_t brackets_ = 1;
  int32_t key_ = 0;
  std::optional<int32_t> first_field_;
};

}  // namespace hat::thrift
