// SPDX-License-Identifier: Apache-2.0
// daemon/thrift/walker_json.h: finds the end of a message in TJSONProtocol, from pieces of input.
//
// The walker counts brackets and skips strings. It does not interpret anything else, because
// brackets outside strings are enough to find the end of a message.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "daemon/thrift/cursor.h"
#include "daemon/thrift/nesting.h"

namespace hat::thrift {

// The maximum number of open brackets at kNestingMax levels. A struct in a struct takes two
// brackets, {"1":{"rec":{…}}}, and all other nestings take fewer. The message, the outermost struct
// and the innermost value add one bracket each.
inline constexpr size_t kJsonBracketsMax = 2 * kNestingMax + 1;

class JsonWalker {
 public:
  // Prepares to read the bytes after the head of a message: the struct, then the last bracket of
  // the message.
  void reset();
  // Does the same as BinaryWalker::walk(), but after kDone, `in` is after the last bracket of the
  // message.
  Progress walk(Cursor& in);
  // Returns the outermost struct's first key, or -1 if the key is not a number. Returns nullopt as
  // BinaryWalker does.
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
