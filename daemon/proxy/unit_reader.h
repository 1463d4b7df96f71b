// SPDX-License-Identifier: Apache-2.0
// daemon/proxy/unit_reader.h: cuts a stream of Thrift bytes into pieces of units that can be sent.
//
// The reader passes a piece on as soon as it knows the head of the piece's unit, so large messages
// pass through and are not stored. It holds back only the bytes before the head (at most
// kHeldBytesMax).
//
// Thread   none of its own.
#pragma once

#include <cstdint>
#include <span>

#include "base/byte_queue.h"
#include "daemon/thrift/message_reader.h"

namespace hat {

using Bytes = std::span<const std::byte>;

// Takes what a UnitReader finds. on_head() and on_piece() return whether feed() may continue; if
// they return false, feed() returns at once.
class UnitSink {
 public:
  virtual ~UnitSink() = default;
  // Reports that the head of a message of the unit is known. If the sink returns false, the reader
  // holds the unit's bytes until the next feed(). That call passes them on as pieces, and does not
  // report the head again.
  virtual bool on_head(const thrift::Head& head) = 0;
  // Passes on the next bytes of the unit; `last` marks its end. A unit without a message (an empty
  // frame) is passed on without a head before it.
  virtual bool on_piece(Bytes piece, bool last) = 0;
  // Reports that no further call can be recognised: `bytes` and all bytes after them are opaque.
  virtual void on_opaque(Bytes bytes) = 0;
};

class UnitReader {
 public:
  static constexpr size_t kHeldBytesMax = 64 * 1024;

  // Returns how many of `bytes` it took: all of them, unless the sink returned false. Takes none if
  // the stream was opaque before the call.
  size_t feed(Bytes bytes, UnitSink& sink);
  // Ends the stream: bytes that are still held back, which are too few to show what they are,
  // become opaque.
  void end(UnitSink& sink);

  const thrift::MessageReader& messages() const { return reader_; }
  bool inside_unit() const { return reader_.inside_unit() || !held_.empty(); }
  // Returns true if a part of a unit has arrived and its rest has not.
  bool waits_for_rest() const { return !opaque_ && inside_unit(); }
  bool opaque() const { return opaque_; }
  size_t held_bytes() const { return held_.size(); }
  // Returns the bytes that are held back. Between two calls, they are the start of a unit whose
  // head is not known yet.
  Bytes held() const { return held_.bytes(); }

 private:
  bool release_held(UnitSink& sink);
  void become_opaque(Bytes bytes, UnitSink& sink);

  thrift::MessageReader reader_;
  ByteQueue held_;
  bool head_known_ = false;
  bool opaque_ = false;
};

}  // namespace hat
