// SPDX-License-Identifier: Apache-2.0
// engine/rdma/receive_side.h: the receiving side of one RDMA lane. It takes the messages that legs
// have moved here, delivers their frames in the order of sending, and counts what it has to report
// to the other side.
//
// Bounds   as many messages that arrived before an earlier one as there are slots.
// Thread   its lane's.
// Errors   the lane goes down if the other side breaks the format.
#pragma once

#include <optional>
#include <span>

#include "engine/lane.h"
#include "engine/memory/arena.h"
#include "engine/rdma/arrival_order.h"
#include "engine/rdma/wire.h"

namespace hat::engine {

class RdmaLane;

class ReceiveSide {
 public:
  // Creates the receiving side of `lane`. `shape` describes the messages that the other side sends.
  ReceiveSide(RdmaLane& lane, const LaneShape& shape, LaneEvents& events);

  // --- For its lane ---
  // Sets the memory of the window, into which the other side WRITEs, and of the bitmap that the
  // other side READs. Either is empty if the leg of the lane's shape has none.
  void set_memory(Buffer window, Buffer extra);
  const Buffer& window() const { return window_; }
  // Counts the replies that a frame asks for; its lane is about to send it.
  void expect_replies(const FrameHeader& sent);
  // Takes a message that arrived as one SEND: `bytes` is the contents of the poller's receive
  // number `receive`, and begins with `envelope`.
  void take_message(const Envelope& envelope, uint32_t receive, std::span<const std::byte> bytes);
  // Writes into an envelope what every envelope reports to the other side: the number of delivered
  // messages, and whether this side READs replies.
  void write_report(Envelope& envelope);
  // Returns how many messages were delivered since the last report.
  uint64_t unreported() const { return unreported_; }
  // Sends a credit once the message with these low bits of its number is delivered.
  void report_when_delivered(uint32_t low_bits);
  // Gives the poller's receives back.
  void give_back_receives();
  // Gives all memory of messages back.
  void release_all();
  // Loads the slot of the next message into the processor's cache.
  void prefetch_next() const;

  // --- For leg handlers ---
  const LaneShape& shape() const { return shape_; }
  const Buffer& extra() const { return extra_; }
  uint64_t next() const { return in_.next(); }  // the number of the next message to deliver
  Arrival& arrival(uint64_t sequence) { return in_.at(sequence); }
  // Returns true if the other side may send by this leg on this lane.
  bool receives_by(Leg leg) const;
  // Returns the full number of the message that has these low bits and may arrive now. Returns
  // nullopt if it has arrived already, or is so far ahead that no sender of ours sends it now.
  std::optional<uint64_t> coming_sequence(uint64_t low_bits, uint32_t bits) const;
  // Returns the first `bytes` bytes of the slot of message `sequence` in this side's window.
  Segment landing(uint64_t sequence, uint32_t bytes) const;
  // Takes message `sequence`, which has arrived in its slot of the window, and delivers all
  // messages that are now in order. Returns false if the slot does not hold the message; the lane
  // is then down.
  bool arrive_in_window(uint64_t sequence, Leg leg);
  // Does the same for a message that has arrived in `buffer`.
  void arrive(uint64_t sequence, const FrameHeader& frame, Buffer buffer, Leg leg);
  // Returns the number of calls that have not ended yet; at least 1 while a message has arrived
  // before an earlier one.
  uint32_t due() const;
  void set_fetch_epoch(uint8_t epoch) { fetch_epoch_ = epoch; }

 private:
  void put(uint64_t sequence, Arrival arrival);
  void deliver(const FrameHeader& frame, Bytes payload, Leg leg);
  void deliver_what_waited();
  void report_if_asked();
  void release(Arrival& arrival);
  void give_back_receive(Arrival& arrival);

  RdmaLane& lane_;
  const LaneShape shape_;
  LaneEvents& events_;
  Buffer window_;
  Buffer extra_;
  ArrivalOrder in_;
  uint64_t report_at_ = UINT64_MAX;  // the other side asked for a credit after this message
  uint64_t unreported_ = 0;          // except for messages whose slots the sender recycles itself
  uint64_t due_ = 0;                 // calls sent that have not ended yet
  uint8_t fetch_epoch_ = 1;          // odd while this side READs replies
  bool delivering_ = false;
};

}  // namespace hat::engine
