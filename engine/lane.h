// SPDX-License-Identifier: Apache-2.0
// engine/lane.h: the interface of a lane, an ordered and reliable connection that carries frames
// between two daemons.
//
// There are two implementations: over TCP (engine/link/tcp_lane.h) and over RDMA
// (engine/rdma/rdma_lane.h).
#pragma once

#include <initializer_list>
#include <span>
#include <string>

#include "engine/frame.h"
#include "engine/send_turns.h"

namespace hat::engine {

using Bytes = std::span<const std::byte>;

// Says whether a frame has arrived at the other side, for example after its lane has gone down.
enum class Fate : uint8_t {
  kDelivered,     // the other side has confirmed that the frame arrived
  kUnknown,       // the frame may or may not have arrived
  kNotDelivered,  // the frame has certainly not arrived
};

// The answer to LaneEvents::landing_for().
struct Landing {
  std::byte* data = nullptr;  // memory of an application; null: no memory
  uint32_t lkey = 0;          // the memory's key, from Fabric::register_own()
  bool later = false;         // no memory now, but perhaps once all earlier frames are handled
};

// The callbacks of a lane, which run on the thread of the lane's worker. A callback must not
// destroy the lane; the lane's owner must defer the deletion until the callback has returned.
class LaneEvents {
 public:
  virtual ~LaneEvents() = default;
  // Handles a received frame. `payload` is valid until this function returns.
  virtual void on_frame(const FrameHeader& header, Bytes payload) = 0;
  // Returns the memory for the payload of a frame that the lane is about to READ, or no memory: the
  // lane then READs the payload into a buffer of its own. `is_next` is true if every earlier frame
  // of the same stream has been passed to on_frame(), or has a landing itself. If it is false, the
  // function returns no memory, and may return `later`: the lane then asks again, if it can be sure
  // that the earlier frames arrive meanwhile. The lane writes to the memory until it passes the
  // frame to on_frame(), with the payload in this memory, or until the lane is destroyed.
  virtual Landing landing_for([[maybe_unused]] const FrameHeader& header,
                              [[maybe_unused]] bool is_next) {
    return {};
  }
  // Reports that the lane no longer uses the memory that frame `number` borrowed from an
  // application (RdmaLane::send_zero_copy()). The reports for several frames can come in any order.
  virtual void on_returned([[maybe_unused]] uint64_t number) {}
  // Reports that the lane carries no more frames. Called once. Lane::fate() says which of the sent
  // frames may have arrived.
  virtual void on_down(const std::string& reason) = 0;
};

class Lane {
 public:
  virtual ~Lane() = default;
  // Queues a frame. The payload is a copy of all `pieces`, and the lane sets the header's
  // payload_bytes. A lane queues a frame even if the lane is congested, so that control frames are
  // always sent; a caller that sends messages must ask turns() first. A lane that is down
  // drops the frame. Returns the frame's number for fate(), which is greater than the numbers of
  // all earlier frames.
  virtual uint64_t send(FrameHeader header, std::initializer_list<Bytes> pieces) = 0;
  // Returns whether the frame `number` has arrived at the other side, as far as this side knows.
  virtual Fate fate(uint64_t number) const = 0;
  // Returns true if the queue is so full that no more messages should be sent. turns() calls the
  // streams that wait when this has changed.
  virtual bool congested() const = 0;
  // Returns the order in which streams send on this lane.
  SendTurns& turns() { return turns_; }
  // Returns true if the lane can send no more frames, even if on_down() was not called yet: the
  // lane first reads the bytes that have already arrived.
  virtual bool broken() const = 0;
  // Returns true if the lane no longer holds any queued frame. On TCP this means that the socket
  // has accepted every byte; on RDMA it means that the other side has acknowledged every frame.
  virtual bool idle() const = 0;
  // Sends the queued frames. The worker calls this function once per event-loop iteration.
  virtual void flush() = 0;

 private:
  SendTurns turns_{*this};
};

}  // namespace hat::engine
