// SPDX-License-Identifier: Apache-2.0
// engine/rdma/mover.h: one leg of a protocol on one lane: how a message moves from its sender S to
// its receiver R. A lane has movers for what it sends by and for what its peer sends by; each
// does S's part for the one and R's for the other direction.
//
// To add a leg: a value of Leg and kLegCount (engine/protocols.h), a file in engine/legs/ with its
// mover, what makes it (engine/legs/legs.h), its row (engine/legs/table.cc), and a protocol that
// names it; the conformance suite runs on it by itself. docs/protocols.md says more.
//
// Thread   the lane's. No call may destroy the lane.
// Errors   what the other side does against the format goes to RdmaLane::breaks().
#pragma once

#include <memory>
#include <span>

#include "engine/rdma/wire.h"

namespace hat::engine {

class RdmaLane;
struct Outgoing;

class Mover {
 public:
  Mover(RdmaLane& lane, Leg leg) : lane_(lane), leg_(leg) {}
  virtual ~Mover() = default;
  Mover(const Mover&) = delete;
  Mover& operator=(const Mover&) = delete;

  // S: moves a message; it lies staged, in its slot or in a buffer of its own. In order.
  virtual void start(Outgoing& message) = 0;
  // Both: a note for this leg. `body` is what came behind the envelope.
  virtual void on_note(const Envelope& note, std::span<const std::byte> body);
  // R: an immediate of this leg; `bytes` were written with it.
  virtual void on_imm(uint64_t sequence, uint32_t bytes);
  // A signaled request of this leg is done.
  virtual void on_completion([[maybe_unused]] uint64_t cookie) {}
  // R: message `sequence` has been delivered, whatever had brought it; told to the leg of the
  // shape.
  virtual void on_delivered([[maybe_unused]] uint64_t sequence) {}
  // Both: what nobody announces; and what could not be done before, for want of room. Called at
  // every look while looks(), which is asked while may_look(). True: something was found.
  virtual bool look() { return false; }
  virtual bool looks() const { return false; }
  bool may_look() const { return may_look_; }
  // R: the first message that is announced and has no buffer yet.
  virtual uint64_t first_waiting() const { return UINT64_MAX; }
  // Before what was queued is posted: legs whose row is late.
  virtual void before_post() {}

 protected:
  void set_may_look(bool may);

  RdmaLane& lane_;
  const Leg leg_;

 private:
  bool may_look_ = false;
};

}  // namespace hat::engine
