// SPDX-License-Identifier: Apache-2.0
// engine/rdma/send_side.h: the sending side of one RDMA lane. It copies each frame into a slot or a
// buffer (except the payload of a zero-copy send), starts the leg that moves this message, and
// keeps the message until the other side has delivered it. If no slot is free, frames wait, in the
// order of send().
//
//   waiting ──a slot is free──▶ begun (its leg moves it) ──acknowledge()──▶ delivered
//
// Bounds   at most as many begun messages as the lane has slots, and at most kRendezvousMax of them
//          in buffers of their own; at most RdmaLane::kQueuedBytesMax bytes of waiting frames.
// Thread   the thread of the lane.
// Errors   on an error, the lane goes down.
// Always   returned_ <= acked_ <= sent_ <= returned_ + slots
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "base/fifo.h"
#include "engine/lane.h"
#include "engine/memory/arena.h"
#include "engine/memory/borrowed_range.h"
#include "engine/rdma/request_chain.h"
#include "engine/rdma/waiting_frames.h"
#include "engine/rdma/wire.h"

namespace hat::engine {

class RdmaLane;

// A message that this side has begun to send. SendSide keeps the message until the other side has
// delivered it.
struct Outgoing {
  uint64_t sequence = 0;
  Leg leg = Leg::kSend;
  bool exposed = false;  // true if the other side can have seen the message
  FrameHeader frame;
  Envelope* envelope = nullptr;  // in the message's slot
  Segment payload;               // in the message's slot, in `buffer`, or in a borrowed range
  uint32_t payload_rkey = 0;
  Buffer buffer;
  bool borrowed = false;  // true if the payload is a borrowed range that is not returned yet
  // The value of RequestChain::posted() after the leg had started this message. The device can read
  // the borrowed range until RequestChain::done() reaches this value.
  uint64_t posted = 0;
  bool on_demand = false;  // true if the message counts towards kRendezvousMax
  uint32_t bytes() const { return static_cast<uint32_t>(sizeof(Envelope)) + payload.bytes; }
};

class SendSide {
 public:
  // The most work requests that a leg posts to start one message.
  static constexpr uint32_t kRequestsMax = 2;

  // Creates the sending side of `lane`, which posts to the lane's `chain`. `shape` describes the
  // messages that this side sends.
  SendSide(RdmaLane& lane, RequestChain& chain, const LaneShape& shape, LaneEvents& events);

  // --- For the lane ---
  // Sets the memory of the slots, and the memory of the index or bitmap that the other side READs;
  // `extra` is empty if the leg of the lane's shape has neither.
  void set_memory(Buffer slots, Buffer extra);
  void set_other_window(const RemoteBuffer& window) { other_window_ = window; }
  const Buffer& slots() const { return slots_; }
  // Sends a frame, or lets it wait for a slot. The frame's payload is `pieces`, or *borrowed if
  // `borrowed` is not null.
  void send(const FrameHeader& header, std::span<const Bytes> pieces,
            const BorrowedRange* borrowed);
  // Returns the number that the next frame will get.
  uint64_t next_number() const { return sent_ + waiting_.size(); }
  // Begins to send waiting frames, while slots are free. Returns true if at least one frame was
  // begun.
  bool begin_waiting();
  // Returns true if begin_waiting() has work: frames wait, or streams wait for their turns.
  bool has_waiting() const { return !waiting_.empty() || congested_; }
  // Returns true if the first waiting frame waits for a buffer in the arena.
  bool starved() const { return starved_; }
  // Returns true if a slot is free and no frame waits for a slot.
  bool takes_more() const { return waiting_.empty() && sent_ - returned_ < out_.size(); }
  bool congested() const { return congested_; }
  bool idle() const { return waiting_.empty() && acked_ == sent_; }
  // Returns the leg that carries a frame with this header, if the frame is sent now. For requests,
  // the leg depends only on the frame's size, because no protocol fetches requests (protocols.h).
  Leg leg_for(const FrameHeader& frame) const;
  Fate fate(uint64_t number) const;
  // Reads the report in an envelope of the other side: how many messages the other side has
  // delivered, and whether it READs replies. Returns false if the report is impossible; the lane is
  // then down.
  bool take_report(const Envelope& envelope);
  // Calls on_returned() for the borrowed ranges that this side's device no longer reads.
  void return_borrowed();
  // Calls on_returned() for the borrowed ranges that the lane has copied.
  void return_copied();
  bool has_borrowed() const { return borrowed_ != 0; }

  // --- For leg handlers ---
  const LaneShape& shape() const { return shape_; }
  const Buffer& extra() const { return extra_; }
  uint64_t sent() const { return sent_; }  // the number of messages begun
  // Returns the number of messages that the other side has delivered.
  uint64_t acked() const { return acked_; }
  bool waits_for_slots() const { return !waiting_.empty() && sent_ - acked_ == out_.size(); }
  // Returns the `fetch_epoch` of the other side's last report. An odd number means that the other
  // side READs replies; an even number means that this side must push replies.
  uint8_t fetch_epoch_there() const { return fetch_epoch_there_; }
  bool other_side_reads() const { return fetch_epoch_there_ % 2 == 1; }
  Outgoing& outgoing(uint64_t sequence) { return out_[sequence & (out_.size() - 1)]; }
  // Returns the full number of the message in flight whose number ends with `low_bits`, or nullopt
  // if there is no such message.
  std::optional<uint64_t> sent_sequence(uint32_t low_bits) const;
  // Returns the slot of message `sequence` in the other side's window.
  RemoteBuffer other_slot(uint64_t sequence) const;
  // Appends one request with the envelope and the payload of `message` to the lane's chain.
  WorkRequest& post_message(const Outgoing& message, Opcode opcode,
                            const RemoteBuffer& remote = {});
  // Frees the buffer or the borrowed range of message `sequence`. Call this once the whole message
  // has arrived at the other side.
  void free_buffer(uint64_t sequence);
  // Marks all messages before number `delivered` as delivered.
  void acknowledge(uint64_t delivered);

 private:
  bool begin(const FrameHeader& header, std::span<const Bytes> pieces,
             const BorrowedRange* borrowed);
  bool stage(Outgoing& message, std::span<const Bytes> pieces, const BorrowedRange* borrowed);
  void keep_waiting(const FrameHeader& header, std::span<const Bytes> pieces,
                    const BorrowedRange* borrowed);
  void give_back(Outgoing& message);
  void free_buffer(Outgoing& message);

  RdmaLane& lane_;
  RequestChain& chain_;
  const LaneShape shape_;
  LaneEvents& events_;
  Buffer slots_;
  Buffer extra_;
  RemoteBuffer other_window_;
  std::vector<Outgoing> out_;  // the index is a slot
  uint64_t sent_ = 0;
  uint64_t acked_ = 0;
  // Messages before this number are delivered, and their ranges are returned.
  uint64_t returned_ = 0;
  uint32_t on_demand_ = 0;  // how many messages count towards kRendezvousMax
  uint32_t borrowed_ = 0;   // how many messages have a borrowed range that is not returned yet
  // The copied borrowed ranges for which on_returned() must still be called.
  Fifo<uint64_t> copied_;
  bool starved_ = false;
  bool congested_ = false;
  uint8_t fetch_epoch_there_ = 1;
  WaitingFrames waiting_;
};

}  // namespace hat::engine
