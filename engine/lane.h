// SPDX-License-Identifier: Apache-2.0
// engine/lane.h: an ordered, reliable carrier of frames between two daemons.
//
// The TCP lane (engine/link/tcp_lane.h) is one; the lane of each RDMA protocol is another. The
// users of a lane see only frames.
#pragma once

#include <initializer_list>
#include <span>
#include <string>

#include "engine/frame.h"

namespace hat::engine {

using Bytes = std::span<const std::byte>;

// What became of a frame by the time that its lane went down.
enum class Fate : uint8_t {
  kDelivered,     // the other side has confirmed it
  kUnknown,       // it may have arrived
  kNotDelivered,  // it has certainly not arrived
};

// Called by a lane, on its worker's thread. A callback must not destroy the lane; it defers the
// deletion.
class LaneEvents {
 public:
  virtual ~LaneEvents() = default;
  // Called for each frame; `payload` is valid until the call returns.
  virtual void on_frame(const FrameHeader& header, Bytes payload) = 0;
  // Called when congested() has become false again.
  virtual void on_uncongested() = 0;
  // Called when the lane no longer uses the range that frame `number` borrowed
  // (RdmaLane::send_zero_copy()); in any order.
  virtual void on_returned([[maybe_unused]] uint64_t number) {}
  // Called once; the lane carries nothing more. Lane::fate() says which frames may have arrived.
  virtual void on_down(const std::string& reason) = 0;
};

class Lane {
 public:
  virtual ~Lane() = default;
  // Queues a frame with a copy of `pieces`; sets payload_bytes to the sum of their sizes. Never
  // refuses a frame (a lane that is down drops it), so control frames always get through; a caller
  // that sends messages checks congested() first. Returns a number for fate(), above those of all
  // earlier frames.
  virtual uint64_t send(FrameHeader header, std::initializer_list<Bytes> pieces) = 0;
  virtual Fate fate(uint64_t number) const = 0;
  // Returns true if more is queued than the other side takes; the caller then waits for
  // on_uncongested().
  virtual bool congested() const = 0;
  // Returns true if the lane carries no more frames; on_down() follows once the bytes that had
  // arrived are read.
  virtual bool broken() const = 0;
  // Returns true if the lane holds nothing that send() accepted: on TCP, the socket has taken every
  // byte; on RDMA, the other side has acknowledged every frame.
  virtual bool idle() const = 0;
  // Sends what is queued; the worker calls it once per event-loop iteration.
  virtual void flush() = 0;
};

}  // namespace hat::engine
