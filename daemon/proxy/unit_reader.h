// SPDX-License-Identifier: Apache-2.0
// daemon/proxy/unit_reader.h: cuts a stream of Thrift bytes into pieces of units that can be sent
// on.
//
// A piece leaves as soon as its unit's head is known: large messages pass through and are not
// stored. Only the bytes before the head are held back (at most kHeldBytesMax).
//
// Thread   none of its own.
#pragma once

#include <cstdint>
#include <span>

#include "base/byte_queue.h"
#include "daemon/thrift/message_reader.h"

namespace hat {

using Bytes = std::span<const std::byte>;

// Each call returns whether to go on; false stops feed() right there.
class UnitSink {
 public:
  virtual ~UnitSink() = default;
  // A message of the unit has said who it is. After false the unit's bytes are held until the next
  // feed(), which then gives them as pieces without asking again.
  virtual bool on_head(const thrift::Head& head) = 0;
  // The next bytes of the unit; `last` ends it. A unit without any message (an empty frame) gives
  // its piece without a head before it.
  virtual bool on_piece(Bytes piece, bool last) = 0;
  // No call can be followed any more: `bytes` and all that follows are the stream's own.
  virtual void on_opaque(Bytes bytes) = 0;
};

class UnitReader {
 public:
  static constexpr size_t kHeldBytesMax = 64 * 1024;

  // Returns how many of `bytes` were taken: all, unless the sink said stop. Once opaque, takes
  // none.
  size_t feed(Bytes bytes, UnitSink& sink);
  // The stream has ended: what is held back (too short to tell what it is) is opaque.
  void end(UnitSink& sink);

  const thrift::MessageReader& messages() const { return reader_; }
  bool inside_unit() const { return reader_.inside_unit() || !held_.empty(); }
  // Part of a unit has come; its rest is still to come.
  bool waits_for_rest() const { return !opaque_ && inside_unit(); }
  bool opaque() const { return opaque_; }
  size_t held_bytes() const { return held_.size(); }
  // Between two calls: what has come of a unit whose head is not known yet.
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
