// SPDX-License-Identifier: Apache-2.0
// daemon/thrift/theader.h: reads the header that THeaderTransport puts before a message; the input
// can arrive in pieces.
//
//   u16 0x0fff | u16 flags | u32 seqid | u16 header words | varint protocol | varint transforms | …
//
// The payload begins after the last header word. HeaderReader uses the protocol, the number of
// transforms, the client's time-out and its trace context (header_info.h), and skips the other
// header words. The daemon does not use libthrift's reader, because the reader of Thrift 0.17
// writes out of bounds on hostile input.
// Source: Thrift's doc/specs/HeaderFormat.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "daemon/thrift/cursor.h"
#include "daemon/thrift/header_info.h"
#include "daemon/thrift/message.h"

namespace hat::thrift {

// The size in bytes of the fixed part of the header, and the offset in it of the number of header
// words, which have 4 bytes each.
inline constexpr size_t kHeaderFixedBytes = 10;
inline constexpr size_t kHeaderWordsAt = 8;

// Returns false if a unit that begins with `start` has no THeader header: the magic number comes
// neither after one length word nor after two.
bool may_have_header(std::span<const std::byte> start);

class HeaderReader {
 public:
  // Prepares for a new header. The next byte of the input must be the first byte of the magic
  // number 0x0fff. `frame_bytes` is the size of the frame without its length words.
  void begin(uint32_t frame_bytes);
  // Continues with the bytes of `in`. After kDone, `in` is at the payload's first byte. Returns
  // kBroken if the header is invalid, or if it announces a transform of the payload (such as zlib),
  // because the daemon does not undo transforms.
  Progress read(Cursor& in);

  // Returns the payload's encoding. Valid after kDone, like the next five functions.
  Encoding encoding() const { return encoding_; }
  uint16_t flags() const { return flags_; }
  uint32_t seqid() const { return seqid_; }
  uint32_t client_timeout_ms() const { return info_.client_timeout_ms(); }
  // Returns the client's trace context; null if there is none. The object is valid until begin().
  const TraceContext* trace() const { return info_.trace(); }
  // Returns the offset of the text of the trace context from the first byte of the magic number.
  uint32_t trace_at() const { return info_at_ + info_.trace_at(); }
  // Returns true if read() returned kBroken because the payload is transformed.
  bool transformed() const { return transformed_; }

 private:
  enum class Awaited : uint8_t { kFixed, kProtocol, kTransforms, kInfo };

  Progress step(Cursor& in);
  Cursor words_in(const Cursor& in) const;
  Progress take_word_varint(Cursor& in, uint64_t& value);

  Token token_;
  Varint varint_;
  HeaderInfo info_;
  Awaited awaited_ = Awaited::kFixed;
  Encoding encoding_ = Encoding::kBinary;
  bool transformed_ = false;
  uint16_t flags_ = 0;
  uint32_t seqid_ = 0;
  uint32_t frame_bytes_ = 0;
  uint32_t words_left_ = 0;  // size in bytes of the header words that were not read yet
  uint32_t info_at_ = 0;     // offset of the first byte after the transforms
};

}  // namespace hat::thrift
