// SPDX-License-Identifier: Apache-2.0
// daemon/thrift/theader.h: reads what THeaderTransport puts before a message, in pieces.
//
//   u16 0x0fff | u16 flags | u32 seqid | u16 header words | varint protocol | varint transforms | …
//
// The words end where the payload begins; what they say besides is passed over. The stock reader is
// not used: that of 0.17 writes out of bounds on hostile input.
// Source: Thrift's doc/specs/HeaderFormat.md.
#pragma once

#include <cstddef>
#include <cstdint>

#include "daemon/thrift/cursor.h"
#include "daemon/thrift/message.h"

namespace hat::thrift {

// The part of fixed size, and where it counts the header words, each of 4 bytes.
inline constexpr size_t kHeaderFixedBytes = 10;
inline constexpr size_t kHeaderWordsAt = 8;

class HeaderReader {
 public:
  // The magic's first byte comes next; `frame_bytes` is the frame's length on the wire.
  void begin(uint32_t frame_bytes);
  // kDone: the cursor is at the payload. kBroken also where a transform hides the payload.
  Progress read(Cursor& in);

  // After kDone.
  Encoding encoding() const { return encoding_; }
  uint16_t flags() const { return flags_; }
  uint32_t seqid() const { return seqid_; }
  // After kBroken: whether the reason is a transform.
  bool transformed() const { return transformed_; }

 private:
  enum class Awaited : uint8_t { kFixed, kProtocol, kTransforms, kRest };

  Progress step(Cursor& in);
  Progress take_word_varint(Cursor& in, uint64_t& value);

  Token token_;
  Varint varint_;
  Skip rest_;
  Awaited awaited_ = Awaited::kFixed;
  Encoding encoding_ = Encoding::kBinary;
  bool transformed_ = false;
  uint16_t flags_ = 0;
  uint32_t seqid_ = 0;
  uint32_t frame_bytes_ = 0;
  uint32_t words_left_ = 0;  // of the header words, in bytes
};

}  // namespace hat::thrift
