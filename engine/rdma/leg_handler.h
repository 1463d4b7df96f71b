// SPDX-License-Identifier: Apache-2.0
// engine/rdma/leg_handler.h: the interface of a leg handler, which performs one leg of a protocol
// on one lane: it moves messages from their sender S to their receiver R. A lane has a leg handler
// for each leg by which either side sends. Each handler does S's part for the messages that this
// side sends, and R's part for those that this side receives.
//
// To add a leg: add a value of Leg and raise kLegCount (engine/protocols.h); write a file in
// engine/legs/ with its leg handler; declare the function that creates it (engine/legs/legs.h); add
// its row (engine/legs/leg_table.cc) and its operations (engine/plan/prediction.cc), and a protocol
// that names it. The conformance suite then tests the protocol. docs/protocols.md says more.
//
// Thread   the thread of the lane. A function of a leg handler must not destroy the lane.
// Errors   a leg handler calls RdmaLane::breaks() if the other side breaks the format.
#pragma once

#include <memory>
#include <span>

#include "engine/rdma/wire.h"

namespace hat::engine {

class RdmaLane;
class ReceiveSide;
class SendSide;
struct Outgoing;

class LegHandler {
 public:
  LegHandler(RdmaLane& lane, Leg leg);
  virtual ~LegHandler() = default;
  LegHandler(const LegHandler&) = delete;
  LegHandler& operator=(const LegHandler&) = delete;

  // Starts to move a message; called at its sender S, in the order of the messages' numbers. The
  // message is in its slot, in a buffer of its own or in a borrowed range.
  virtual void start(Outgoing& message) = 0;
  // Handles a control message for this leg; called at the sender or the receiver. `body` has the
  // bytes after the envelope `control`.
  virtual void on_control(const Envelope& control, std::span<const std::byte> body);
  // Handles a WRITE_WITH_IMM of this leg; called at the receiver of message `sequence`, which the
  // immediate names. `bytes` is the number of bytes that the WRITE has written.
  virtual void on_imm(uint64_t sequence, uint32_t bytes);
  // Handles the completion of a request that RdmaLane::post_signaled() posted with `cookie`.
  virtual void on_completion([[maybe_unused]] uint64_t cookie) {}
  // Handles the delivery of message `sequence`; called at the receiver. The lane calls this for
  // every message, whichever leg moved the message, but only in the handler of LaneShape::leg.
  virtual void on_delivered([[maybe_unused]] uint64_t sequence) {}
  // Polls for messages that arrive without a completion, and retries work that lacked buffers or
  // send entries. Returns true if it found something. The poller calls poll() only if may_poll()
  // and wants_poll() return true.
  virtual bool poll() { return false; }
  virtual bool wants_poll() const { return false; }
  bool may_poll() const { return may_poll_; }
  // Returns the number of the first message that its sender has announced but that has no buffer at
  // this side yet; UINT64_MAX if there is none.
  virtual uint64_t first_waiting() const { return UINT64_MAX; }
  // Adds the requests that must be the last of a chain; called before the chain is posted. A leg
  // that implements this sets `late` in its row of the leg table.
  virtual void before_post() {}

 protected:
  void set_may_poll(bool may);

  RdmaLane& lane_;
  SendSide& sender_;       // the lane's sending side
  ReceiveSide& receiver_;  // the lane's receiving side
  const Leg leg_;

 private:
  bool may_poll_ = false;
};

}  // namespace hat::engine
