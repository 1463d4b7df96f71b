// SPDX-License-Identifier: Apache-2.0
// daemon/proxy/unit_reader.h: finds the units in a stream of Thrift bytes and passes their bytes on
// in pieces. A unit is a Thrift frame or an unframed message.
//
// A UnitReader passes a piece on as soon as it has read the head of a message in the piece's unit,
// so it does not store large messages. Until the head is complete it holds back the bytes of the
// unit, at most kHeldBytesMax. So the first piece of a unit has the whole head of a message.
//
// Thread   the caller's; one thread at a time.
#pragma once

#include <cstdint>
#include <span>

#include "base/byte_queue.h"
#include "daemon/thrift/message_reader.h"

namespace hat {

using Bytes = std::span<const std::byte>;

// Receives the heads and pieces that a UnitReader finds. If on_head() or on_piece() returns false,
// UnitReader::feed() stops and returns at once.
class UnitSink {
 public:
  virtual ~UnitSink() = default;
  // Reports the head of a message in the unit. If the sink returns false, the reader keeps the
  // unit's bytes until the next feed(). The next feed() passes these bytes to on_piece(), and does
  // not report the head again.
  virtual bool on_head(const thrift::Head& head) = 0;
  // Receives the next bytes of the unit. `last` is true if the unit ends with `piece`. For a unit
  // without a message (an empty Thrift frame), no on_head() comes before on_piece().
  virtual bool on_piece(Bytes piece, bool last) = 0;
  // Reports that no further message can be recognised: `bytes` and all bytes after them are opaque.
  virtual void on_opaque(Bytes bytes) = 0;
};

class UnitReader {
 public:
  static constexpr size_t kHeldBytesMax = 64 * 1024;

  // Reads `bytes` and calls `sink`. Returns how many of `bytes` it took: all of them, unless `sink`
  // returned false. Returns 0 if the stream was opaque before the call.
  size_t feed(Bytes bytes, UnitSink& sink);
  // Ends the stream. If bytes without a complete head are still held back, reports these bytes to
  // `sink` as opaque.
  void end(UnitSink& sink);

  const thrift::MessageReader& messages() const { return reader_; }
  // Returns true if the bytes read so far end inside a unit.
  bool inside_unit() const { return reader_.inside_unit() || !held_.empty(); }
  // Returns true if a part of a unit has arrived, and the rest of this unit has not.
  bool waits_for_rest() const { return !opaque_ && inside_unit(); }
  bool opaque() const { return opaque_; }
  size_t held_bytes() const { return held_.size(); }
  // Returns the bytes that are held back: the start of a unit whose head is not complete, or, if
  // UnitSink::on_head() has returned false, all bytes of the unit that were read.
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
