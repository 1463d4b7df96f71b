// SPDX-License-Identifier: Apache-2.0
// engine/rdma/receive_side.h: the receiving side of one RDMA lane. It accepts the messages that
// legs have moved to this side, delivers their frames in the order of sending, and counts the
// delivered messages, to report them to the other side.
//
// Bounds   keeps early messages (which arrive before a message with a lower number), at most one
//          per slot.
// Thread   the thread of the lane.
// Errors   the lane goes down if the other side violates the protocol.
#pragma once

#include <optional>
#include <span>

#include "base/check.h"
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

  // --- For the lane ---
  // Sets the memory of the window, into which the other side WRITEs, and of the bitmap that the
  // other side READs. A buffer is empty if the leg of the lane's shape does not need it.
  void set_memory(Buffer window, Buffer extra);
  const Buffer& window() const { return window_; }
  // Adds 1 to due() if the frame `sent` completes a request that expects a reply. The lane calls
  // this for each frame before it sends the frame.
  void expect_replies(const FrameHeader& sent);
  // Accepts a message that has arrived as one SEND. `bytes` is the content of the poller's receive
  // number `receive`, and begins with `envelope`.
  void take_message(const Envelope& envelope, uint32_t receive, std::span<const std::byte> bytes);
  // Sets the fields `delivered` and `fetch_epoch` of an envelope: how many messages this side has
  // delivered, and whether this side READs replies.
  void write_report(Envelope& envelope);
  // Returns how many messages were delivered since the last report.
  uint64_t unreported() const { return unreported_; }
  // Sends a credit once the message whose number ends with `low_bits` is delivered.
  void report_when_delivered(uint32_t low_bits);
  // Returns to the poller the receives that hold messages.
  void give_back_receives();
  // Frees the memory of all messages that have arrived but are not delivered.
  void release_all();
  // Loads the slot of the next message into the processor's cache.
  void prefetch_next() const;

  // --- For leg handlers ---
  const LaneShape& shape() const { return shape_; }
  const Buffer& extra() const { return extra_; }
  uint64_t next() const { return in_.next(); }  // the message to deliver next
  Arrival& arrival(uint64_t sequence) { return in_.at(sequence); }
  // Returns true if the other side is allowed to send by this leg on this lane.
  bool receives_by(Leg leg) const;
  // Returns the full number of the message whose number ends with the `bits` bits `low_bits`.
  // Returns nullopt if that message has arrived already, or if the lane has no slot for it yet.
  std::optional<uint64_t> coming_sequence(uint64_t low_bits, uint32_t bits) const;
  // Returns the first `bytes` bytes of the slot of message `sequence` in this side's window.
  Segment slot_of(uint64_t sequence, uint32_t bytes) const;
  // Accepts message `sequence`, which has arrived in its slot of the window, and delivers all
  // messages that are now in order. Returns false if the slot does not contain the message; the
  // lane is then down.
  bool arrive_in_window(uint64_t sequence, Leg leg);
  // Records that the other side has announced message `sequence`. Returns false if it had announced
  // this message before.
  bool announce(uint64_t sequence, const FrameHeader& frame);
  // Returns true if message `sequence` was announced, has no memory yet and has not arrived.
  bool is_announced(uint64_t sequence) const {
    return in_.is_coming(sequence) && in_.at(sequence).stage == Arrival::Stage::kAnnounced;
  }
  // Records that the announced message `sequence` has memory, into which one of the sides moves it.
  void begin_to_move(uint64_t sequence) { in_.at(sequence).stage = Arrival::Stage::kMoving; }
  // Returns memory of an application for the payload of the announced message `sequence`, or no
  // memory (LaneEvents::landing_for()).
  Landing landing_for(uint64_t sequence);
  // Accepts message `sequence`, which has arrived at `payload`, and delivers all messages that are
  // now in order. `buffer` contains the payload, or is empty if landing_for() has
  // returned the memory.
  void arrive(uint64_t sequence, const FrameHeader& frame, Bytes payload, Buffer buffer, Leg leg);
  // Returns how many calls of this side have not ended yet, but at most the number of slots. The
  // result is at least 1 while an arrived message waits for a message with a lower number.
  uint32_t due() const;
  // Returns the leg that carried the frame that on_frame() handles at present.
  Leg leg_of_delivery() const {
    DCHECK(delivering_);
    return leg_of_delivery_;
  }
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
  uint64_t report_at_ = UINT64_MAX;  // the message after which the other side wants a credit
  // How many messages were delivered since the last report. Messages of a leg whose sender READs
  // which slots are free do not count.
  uint64_t unreported_ = 0;
  uint64_t due_ = 0;         // calls of this side that have not ended yet
  uint8_t fetch_epoch_ = 1;  // odd while this side READs replies
  bool delivering_ = false;
  Leg leg_of_delivery_{};  // valid while delivering_ is true
};

}  // namespace hat::engine
