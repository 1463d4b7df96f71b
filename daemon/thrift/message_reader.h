// SPDX-License-Identifier: Apache-2.0
// daemon/thrift/message_reader.h: finds Thrift messages in a byte stream that arrives in pieces.
//
//   MessageReader reader;
//   for (;;) {
//     const auto step = reader.next(bytes);     // looks at bytes from the front
//     bytes = bytes.subspan(step.consumed);     // what it took belongs to the current unit
//     switch (step.event) {
//       kNeedMore: bytes is empty now; come back with more
//       kHead:     head() is set: a message of this unit has said who it is
//       kEnd:      the unit is complete; outcome() is set; the next byte begins another
//       kOpaque:   no Thrift that we can follow; see below
//     }
//   }
//
// A *unit* is what a transport hands over at once: one frame, or one unframed message. A frame may
// carry several messages (stock blocking servers answer each): each gives one kHead, and one kEnd
// closes them all. Detection repeats at each unit, because stock servers allow a connection to mix
// framings; an answer never depends on how the bytes were split.
//
// Opaque: TLS, SASL, HTTP, a zlib stream, little-endian binary, a THeader payload under transforms,
// names over kNameBytesMax, and anything unknown. Before the unit's first kHead, all its bytes so
// far are opaque. After it (an unframed message whose struct cannot be walked), the rest is. The
// reader then stays opaque: it takes no more bytes. Inside a frame nothing is ever opaque: a
// body that cannot be walked is one message up to the frame's end.
//
// Bounds   nesting 64, names kNameBytesMax, frames 0x3fffffff bytes. A frame's size against the
//          configured limit is the caller's business (Head::frame_bytes).
// Cost     no allocation, lock or exception; but for a unit's first ten, each byte is looked at
// once
//          at most, and string bodies and arrays of fixed-size elements are skipped in O(1). About
//          25 ns for a framed strict message of 64 bytes; message_reader_bench measures it.
// Thread   none of its own; one reader per stream and direction.
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
  MessageReader(const MessageReader&) = delete;  // head().name lies within
  MessageReader& operator=(const MessageReader&) = delete;

  Step next(std::span<const std::byte> bytes);

  // The newest message's head; its name lives until the next kHead.
  const Head& head() const { return head_; }
  // How the newest message ended. For requests it has no meaning.
  Outcome outcome() const;
  // Why the stream is opaque, as a stable lower-case token for metrics: "tls", "http", "sasl",
  // "zlib", "binary_le", "theader_transform", "long_name", "unknown". Set with kOpaque.
  std::string_view opaque_reason() const { return opaque_reason_; }
  // So many of the next bytes are passed over, whatever they are: the rest of a string, say.
  uint64_t unexamined() const;
  // The unit's messages, as many as have come, were followed to their last byte. False in a frame
  // with bytes that are no message: what a server makes of them is not known.
  bool understood() const { return understood_; }
  // How many of the unit's bytes have been taken. At a kHead: where the message's struct begins.
  uint64_t unit_bytes() const {
    return (framing_ == Framing::kUnframed ? kNoFrame : frame_bytes_) - frame_left_;
  }
  // True between the first byte of a unit and its kEnd.
  bool inside_unit() const { return place_ != Place::kStart || first_size_ > 0; }

 private:
  static constexpr uint64_t kNoFrame = std::numeric_limits<uint64_t>::max();

  enum class Place : uint8_t {
    kStart,      // of a unit; first_ holds what has come
    kHeader,     // THeader's own part
    kHead,       // of a message
    kBody,       // its struct
    kFrameRest,  // a frame's bytes that belong to the newest message, whatever they are
    kOpaque,
  };

  Event advance(Cursor& in);
  bool start_whole(Cursor& in);
  Event start(Cursor& in);
  Event begin_unit(const Classification& found, const uint8_t* first);
  Progress read_place(Cursor& in);
  Event at_frame_end();
  Event after_place();
  Event after_broken(Progress progress);
  void begin_head(Encoding encoding);
  void begin_body();
  Event end_unit();
  Event become_opaque(std::string_view reason);

  Place place_ = Place::kStart;
  bool head_begun_ = false;  // kHead: some of its bytes have come
  bool unit_has_head_ = false;
  bool understood_ = true;
  uint8_t first_size_ = 0;
  std::array<uint8_t, kDecisiveBytesMax> first_;
  uint64_t frame_left_ = 0;  // kNoFrame where the unit is not a frame
  Framing framing_ = Framing::kUnframed;
  Encoding encoding_ = Encoding::kBinary;
  uint32_t frame_bytes_ = 0;  // as in Head
  Head head_;
  std::string_view opaque_reason_;
  HeaderReader header_;
  HeadReader head_reader_;
  BinaryWalker binary_;
  CompactWalker compact_;
  JsonWalker json_;
  std::array<char, kNameBytesMax> name_;  // head_.name
};

}  // namespace hat::thrift
