// SPDX-License-Identifier: Apache-2.0
// engine/lane.h: an ordered, reliable carrier of frames between two daemons.
//
// The TCP lane (engine/link/tcp_lane.h) is one; each RDMA protocol's lane is another. Whoever uses
// a lane knows frames alone.
#pragma once

#include <initializer_list>
#include <span>
#include <string>

#include "engine/frame.h"

namespace hat::engine {

using Bytes = std::span<const std::byte>;

// What became of a frame by the time that its lane went down.
enum class Fate : uint8_t {
  kDelivered,     // the other side has said so
  kUnknown,       // it may have come
  kNotDelivered,  // it has not, for certain
};

// Told by a lane, on its worker's thread. No call may destroy the lane; bury it instead.
class LaneEvents {
 public:
  virtual ~LaneEvents() = default;
  // `payload` lives until the return.
  virtual void on_frame(const FrameHeader& header, Bytes payload) = 0;
  // After congested() was true: it no longer is.
  virtual void on_uncongested() = 0;
  // What was lent for this frame is its owner's again (RdmaLane::send_lent()); in any order.
  virtual void on_returned([[maybe_unused]] uint64_t number) {}
  // Once; the lane carries nothing more. Lane::fate() says which frames may have arrived.
  virtual void on_down(const std::string& reason) = 0;
};

class Lane {
 public:
  virtual ~Lane() = default;
  // Takes a frame, copying `pieces`; sets payload_bytes to their sum. Never refuses (a lane that is
  // down drops it), so control always gets through: who sends messages looks at congested() first.
  // Returns a number for fate(), above those of all frames before it.
  virtual uint64_t send(FrameHeader header, std::initializer_list<Bytes> pieces) = 0;
  virtual Fate fate(uint64_t number) const = 0;
  // More is queued than the other side takes; come back at on_uncongested().
  virtual bool congested() const = 0;
  // It takes no more; on_down() follows, once what had come is read.
  virtual bool broken() const = 0;
  // Nothing of what send() took is left here.
  virtual bool idle() const = 0;
  // Pushes what send() took; the worker calls it once a turn.
  virtual void flush() = 0;
};

}  // namespace hat::engine
