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
// Thread   the lane's. No call may destroy the lane.
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

  // Starts to move a message, at S. The message is in its slot, in a buffer of its own or in a
  // borrowed range. Messages are started in their order.
  virtual void start(Outgoing& message) = 0;
  // Handles a control message for this leg, at S or R. `body` is what follows the envelope.
  virtual void on_control(const Envelope& control, std::span<const std::byte> body);
  // Handles an immediate of this leg, at R. The other side wrote `bytes` bytes with it.
  virtual void on_imm(uint64_t sequence, uint32_t bytes);
  // Handles the completion of a request that RdmaLane::post_signaled() posted with `cookie`.
  virtual void on_completion([[maybe_unused]] uint64_t cookie) {}
  // Handles the delivery of message `sequence`, at R, whichever leg moved that message. The lane
  // calls only the handler of its shape's leg.
  virtual void on_delivered([[maybe_unused]] uint64_t sequence) {}
  // Polls for messages that arrive without a completion, and retries work that lacked buffers or
  // send entries, at S or R. Returns true if it found something. The poller calls it in every poll
  // in which looks() returns true, and calls looks() only while may_poll() returns true.
  virtual bool poll() { return false; }
  virtual bool wants_poll() const { return false; }
  bool may_poll() const { return may_poll_; }
  // Returns the number of the first message that is announced and has no buffer yet, at R.
  virtual uint64_t first_waiting() const { return UINT64_MAX; }
  // Does what must be done before the chain is posted. Legs whose row says `late` implement it.
  virtual void before_post() {}

 protected:
  void set_may_poll(bool may);

  RdmaLane& lane_;
  SendSide& sender_;       // the lane's, for S's part
  ReceiveSide& receiver_;  // the lane's, for R's part
  const Leg leg_;

 private:
  bool may_poll_ = false;
};

}  // namespace hat::engine
