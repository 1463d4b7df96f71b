// SPDX-License-Identifier: Apache-2.0
// daemon/thrift/header_info.h: finds the client's time-out in the info headers of a THeader header;
// the input can arrive in pieces.
//
// Info headers are pairs of a key and a value, such as `client_timeout` and `250`, which the client
// chooses. They are blocks after the transforms, up to the end of the header words:
//
//   varint 1 | varint count | count × (varint length, key, varint length, value) | next block or 0…
//
// The key `client_timeout` has the time in milliseconds that the client waits for its reply, in
// decimal digits. Clients of fbthrift send it. A block with another id than 1 ends the reading, as
// in libthrift. Bytes that break the format also end the reading; they never break the message.
//
// Bounds   Keeps no key and no value: compares keys and adds digits as the bytes arrive.
// Source   Thrift's doc/specs/HeaderFormat.md; the key: fbthrift's THeader.
#pragma once

#include <cstdint>
#include <string_view>

#include "daemon/thrift/cursor.h"

namespace hat::thrift {

inline constexpr std::string_view kClientTimeoutKey = "client_timeout";
// The longest time-out, in milliseconds, and the most digits that are read: one hour. The daemon
// ignores a longer one.
inline constexpr uint32_t kClientTimeoutMsMax = 3'600'000;
inline constexpr uint32_t kClientTimeoutDigitsMax = 9;

class HeaderInfo {
 public:
  // Prepares for a new header. The next byte must be the first byte after the transforms.
  void begin();
  // Continues with the next bytes of the header words, and consumes all of them.
  void read(Cursor words);
  // Returns the value of the last key `client_timeout` so far, in milliseconds. Returns 0 if there
  // is none, or if this value is not a number from 1 to kClientTimeoutMsMax.
  uint32_t client_timeout_ms() const { return client_timeout_ms_; }

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

  bool step(Cursor& words);
  void take_number(uint32_t number);
  bool read_string(Cursor& words);
  void add_digits(const uint8_t* digits, size_t count);
  void end_value();

  Varint varint_;
  uint32_t pairs_left_ = 0;  // of the block, with the pair that is being read
  uint32_t left_ = 0;        // unread bytes of the key or value
  uint32_t number_ = 0;      // the digits of the value so far
  uint32_t client_timeout_ms_ = 0;
  Awaited awaited_ = Awaited::kBlock;
  bool is_timeout_ = false;  // the key is kClientTimeoutKey, as far as it was read
  bool is_number_ = false;   // the value has only digits, and not too many, as far as it was read
};

}  // namespace hat::thrift
