// SPDX-License-Identifier: Apache-2.0
// daemon/thrift/message_reader.h: finds Thrift messages in a byte stream that arrives in pieces.
//
//   MessageReader reader;
//   for (;;) {
//     const auto step = reader.next(bytes);     // consumes bytes from the front
//     bytes = bytes.subspan(step.consumed);     // the consumed bytes belong to the current unit
//     switch (step.event) {
//       kNeedMore: bytes is empty now; call next() again with more
//       kHead:     head() is set: the head of a message of this unit is complete
//       kEnd:      the unit is complete; outcome() is set; the next byte begins another unit
//       kOpaque:   the bytes are not Thrift that the reader can follow; see below
//     }
//   }
//
// A *unit* is one frame or one unframed message. A frame can have several messages, and Apache
// Thrift's blocking servers answer each of them. The reader returns one kHead for each message, and
// one kEnd for the whole unit. It detects framing and encoding anew for each unit, because those
// servers let clients mix framings on one connection. The events never depend on how the input is
// split into pieces.
//
// The stream is opaque (the daemon passes it on unread) if it has TLS, SASL, HTTP, zlib,
// little-endian binary, a THeader payload with transforms, a name longer than kNameBytesMax, or
// unknown bytes. Before the unit's first kHead, kOpaque means that all bytes of the unit are
// opaque. After the kHead of an unframed message, it means the rest of the unit. A reader that has
// returned kOpaque consumes no more bytes, and returns only kOpaque. A frame never becomes opaque
// after its first kHead: if the reader cannot parse the rest of a frame, it counts the rest as part
// of the newest message.
//
// Bounds   At most 64 levels of nesting, names of kNameBytesMax bytes, frames of 0x3fffffff bytes.
//          The caller compares a frame's size (Head::frame_bytes) with the configured limit.
// Cost     No allocation, lock or exception. The reader examines each byte at most once, except the
//          first ten of a unit, and skips strings and arrays of fixed-size elements in O(1). A
//          framed strict message of 64 bytes takes about 25 ns (message_reader_bench).
// Thread   One thread at a time. Each direction of each stream has a reader of its own.
// Source   docs/wire.md section 1; Thrift's doc/specs.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>

#include "daemon/thrift/classify.h"
#include "daemon/thrift/cursor.h"
#include "daemon/thrift/head_reader.h"
#include "daemon/thrift/message.h"
#include "daemon/thrift/theader.h"
#include "daemon/thrift/walker_binary.h"
#include "daemon/thrift/walker_compact.h"
#include "daemon/thrift/walker_json.h"

namespace hat::thrift {

class MessageReader {
 public:
  enum class Event : uint8_t { kNeedMore, kHead, kEnd, kOpaque };
  struct Step {
    size_t consumed = 0;
    Event event = Event::kNeedMore;
  };

  MessageReader() = default;
  MessageReader(const MessageReader&) = delete;  // head().name points into this object
  MessageReader& operator=(const MessageReader&) = delete;

  // Consumes bytes up to the next event. `consumed` can be 0, or the size of `bytes`.
  Step next(std::span<const std::byte> bytes);

  // Returns the newest message's head. The head's name and trace context stay valid until the next
  // kHead.
  const Head& head() const { return head_; }
  // Returns how the newest message's call ended. Has no meaning if the message is a request.
  Outcome outcome() const;
  // Returns why the stream is opaque, as a stable lower-case token for metrics: "tls", "http",
  // "sasl", "zlib", "binary_le", "theader_transform", "long_name", "unknown". Valid after kOpaque.
  std::string_view opaque_reason() const { return opaque_reason_; }
  // Returns how many of the next bytes the reader will skip without examining them, for example the
  // rest of a string.
  uint64_t unexamined() const;
  // Returns true if the reader has followed each message of the unit so far to its last byte.
  // Returns false for a frame with bytes that are not a message, which a server might read
  // differently.
  bool understood() const { return understood_; }
  // Returns how many bytes of the unit were consumed. After a kHead this is the offset of the
  // message's struct.
  uint64_t unit_bytes() const {
    return (framing_ == Framing::kUnframed ? kNoFrame : frame_bytes_) - frame_left_;
  }
  // Returns true between the first byte of a unit and its kEnd.
  bool inside_unit() const { return state_ != State::kStart || first_size_ > 0; }

 private:
  static constexpr uint64_t kNoFrame = std::numeric_limits<uint64_t>::max();

  enum class State : uint8_t {
    kStart,      // at the start of a unit; first_ has the bytes that have arrived
    kHeader,     // in the header of THeader
    kHead,       // in the head of a message
    kBody,       // in the struct of a message
    kFrameRest,  // in bytes at a frame's end that are not a message; they count as part of the
                 // newest message
    kOpaque,
  };

  Event advance(Cursor& in);
  bool start_whole(Cursor& in);
  Event start(Cursor& in);
  Event begin_unit(const Classification& found, const uint8_t* first);
  Progress read_part(Cursor& in);
  Event at_frame_end();
  Event after_part();
  Event after_broken(Progress progress);
  void begin_head(Encoding encoding);
  void begin_body();
  Event end_unit();
  Event become_opaque(std::string_view reason);

  State state_ = State::kStart;
  bool head_begun_ = false;  // in State::kHead: some bytes of the head have arrived
  bool unit_has_head_ = false;
  bool understood_ = true;
  uint8_t first_size_ = 0;
  std::array<uint8_t, kDecisiveBytesMax> first_;
  uint64_t frame_left_ = 0;  // unread bytes of the unit; counts down from kNoFrame if unframed
  Framing framing_ = Framing::kUnframed;
  Encoding encoding_ = Encoding::kBinary;
  uint32_t frame_bytes_ = 0;  // as in Head::frame_bytes
  Head head_;
  std::string_view opaque_reason_;
  HeaderReader header_;
  HeadReader head_reader_;
  BinaryWalker binary_;
  CompactWalker compact_;
  JsonWalker json_;
  std::array<char, kNameBytesMax> name_;  // the bytes of head_.name
};

}  // namespace hat::thrift
