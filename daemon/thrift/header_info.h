// SPDX-License-Identifier: Apache-2.0
// daemon/thrift/header_info.h: finds the client's time-out and trace context in the info headers of
// a THeader header; the input can arrive in pieces.
//
// Info headers are pairs of a key and a value, such as `client_timeout` and `250`, which the client
// chooses. They are blocks after the transforms, up to the end of the header words:
//
//   varint 1 | varint count | count × (varint length, key, varint length, value) | next block or 0…
//
// The key `client_timeout` has the time in milliseconds that the client waits for its reply, in
// decimal digits. Clients of fbthrift send it. The key `traceparent`, in any case of its letters,
// has a trace context (trace_context.h). A block with another id than 1 ends the reading, as in
// libthrift. Bytes that break the format also end the reading; they never break the message.
//
// Bounds   Keeps no key, and of the values only the ids of the trace context: compares keys and
//          adds digits as the bytes arrive.
// Source   Thrift's doc/specs/HeaderFormat.md; the keys: fbthrift's THeader, W3C Trace Context.
#pragma once

#include <cstdint>
#include <string_view>

#include "daemon/thrift/cursor.h"
#include "daemon/thrift/trace_context.h"

namespace hat::thrift {

inline constexpr std::string_view kClientTimeoutKey = "client_timeout";
// The longest time-out, in milliseconds, and the most digits that are read: one hour. The daemon
// ignores a longer one.
inline constexpr uint32_t kClientTimeoutMsMax = 3'600'000;
inline constexpr uint32_t kClientTimeoutDigitsMax = 9;
inline constexpr std::string_view kTraceparentKey = "traceparent";

class HeaderInfo {
 public:
  // Prepares for a new header. The next byte must be the first byte after the transforms.
  void begin();
  // Continues with the next bytes of the header words, and consumes all of them.
  void read(Cursor words);
  // Returns the value of the last key `client_timeout` so far, in milliseconds. Returns 0 if there
  // is none, or if this value is not a number from 1 to kClientTimeoutMsMax.
  uint32_t client_timeout_ms() const { return client_timeout_ms_; }
  // Returns the value of the key `traceparent`; null if there is none so far, or more than one, or
  // if its value is not valid. The object is valid until begin().
  const TraceContext* trace() const { return trace_at_ == 0 ? nullptr : &trace_; }
  // Returns the offset of this value from the first byte after the transforms.
  uint32_t trace_at() const { return trace_at_; }

 private:
  enum class Awaited : uint8_t {
    kBlock,
    kCount,
    kKeyLength,
    kKey,
    kValueLength,
    kValue,
    kNothing,  // the rest of the header words is ignored
  };

  // The keys whose values are used. They have different lengths.
  enum class Key : uint8_t { kOther, kClientTimeout, kTraceparent };

  bool step(Cursor& words);
  void take_number(uint32_t number);
  bool read_string(Cursor& words);
  void compare_key(std::string_view part);
  void add_digits(const uint8_t* digits, size_t count);
  void end_value();

  Varint varint_;
  TraceparentParser traceparent_;
  TraceContext trace_;
  uint32_t trace_at_ = 0;    // 0: no trace context; the first value comes after a key
  uint32_t value_at_ = 0;    // the offset of the value that is being read
  uint32_t at_ = 0;          // the offset of the next byte from the first byte after the transforms
  uint32_t pairs_left_ = 0;  // of the block, with the pair that is being read
  uint32_t left_ = 0;        // unread bytes of the key or value
  uint32_t number_ = 0;      // the digits of the value so far
  uint32_t client_timeout_ms_ = 0;
  Awaited awaited_ = Awaited::kBlock;
  Key key_ = Key::kOther;       // the key, as far as it was read
  bool has_trace_key_ = false;  // a key `traceparent` has come
  bool is_number_ = false;  // the value has only digits, and not too many, as far as it was read
};

}  // namespace hat::thrift
