// SPDX-License-Identifier: Apache-2.0
// daemon/thrift/head_reader.h: reads the head of one Thrift message (its type, name and sequence
// id) from input that arrives in pieces.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "daemon/thrift/cursor.h"
#include "daemon/thrift/message.h"

namespace hat::thrift {

class HeadReader {
 public:
  // Prepares to read a message in `encoding`. The next byte of the input must be the message's
  // first byte.
  void begin(Encoding encoding);
  // Continues to read with the bytes of `in`. After kDone, `in` is at the message's struct.
  Progress read(Cursor& in);

  MessageType type() const { return type_; }
  int32_t seqid() const { return seqid_; }
  // Returns the length of the name in bytes. Also valid after kLongName, except in JSON.
  uint32_t name_bytes() const { return name_bytes_; }
  std::string_view name() const { return {name_.data(), name_filled_}; }

 private:
  enum class Awaited : uint8_t {
    // Binary
    kVersion,
    kNameLength,
    kName,
    kSeqid,
    kTypeAndSeqid,
    // Compact
    kProtocolAndType,
    kVarintSeqid,
    kVarintNameLength,
    // JSON
    kStart,
    kNameByte,
    kEscapeByte,
    kEscapeDigits,
    kTypeDigit,
    kSeqidDigits,
    kDone,
  };

  Progress step(Cursor& in);
  Progress binary_step(Cursor& in);
  Progress compact_step(Cursor& in);
  Progress json_step(Cursor& in);
  Progress set_type(uint8_t type);
  Progress set_name_length(uint32_t bytes);
  Progress read_name(Cursor& in);
  Progress json_name_byte(uint8_t byte);
  Progress json_escape_byte(uint8_t byte);
  Progress json_escape_digits(Cursor& in);
  Progress json_seqid_byte(uint8_t byte);
  Progress append_to_name(uint8_t byte);

  Encoding encoding_ = Encoding::kBinary;
  Awaited awaited_ = Awaited::kVersion;
  MessageType type_ = MessageType::kCall;
  Token token_;
  Varint varint_;
  int32_t seqid_ = 0;
  uint32_t name_bytes_ = 0;
  uint32_t name_filled_ = 0;
  // The digits and the sign of a JSON sequence id, as far as they were read.
  int64_t digits_ = 0;
  uint8_t digit_count_ = 0;
  bool negative_ = false;
  std::array<char, kNameBytesMax> name_;
};

}  // namespace hat::thrift
