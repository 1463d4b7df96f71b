// SPDX-License-Identifier: Apache-2.0
// engine/rdma/send_side.h: the sending side of one RDMA lane. It puts each frame into a slot or a
// buffer, starts the leg that moves the message, and keeps the message until the other side has
// delivered it. Frames for which no slot is free wait, in their order.
//
//   waiting ──a slot is free──▶ begun (its leg moves it) ──acknowledge()──▶ delivered
//
// Bounds   as many begun messages as there are slots, at most kRendezvousMax of them in buffers of
//          their own. The bytes of waiting frames: RdmaLane::kQueuedBytesMax.
// Thread   its lane's.
// Errors   the lane goes down.
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

// A message that this side has begun to send; kept until the other side has delivered it.
struct Outgoing {
  uint64_t sequence = 0;
  Leg leg = Leg::kSend;
  bool exposed = false;  // the other side may have seen it
  FrameHeader frame;
  Envelope* envelope = nullptr;  // in its slot
  Segment payload;               // in its slot, in `buffer`, or a borrowed range
  uint32_t payload_rkey = 0;
  Buffer buffer;
  bool borrowed = false;  // the payload is a borrowed range that has not been returned yet
  // Requests that the lane had posted, up to the last one that started this message. The device may
  // read the borrowed range until they are done.
  uint64_t posted = 0;
  bool on_demand = false;  // counts towards kRendezvousMax
  uint32_t bytes() const { return static_cast<uint32_t>(sizeof(Envelope)) + payload.bytes; }
};

class SendSide {
 public:
  static constexpr uint32_t kRequestsMax = 2;  // how many requests start one message, at most

  // Creates the sending side of `lane`, which posts to the lane's `chain`. `shape` describes the
  // messages that this side sends.
  SendSide(RdmaLane& lane, RequestChain& chain, const LaneShape& shape, LaneEvents& events);

  // --- For its lane ---
  // Sets the memory of the slots, and the index or bitmap that the other side READs, if the leg of
  // the lane's shape has one.
  void set_memory(Buffer slots, Buffer extra);
  void set_other_window(const RemoteBuffer& window) { other_window_ = window; }
  const Buffer& slots() const { return slots_; }
  // Sends a frame, or lets it wait. Its payload is `pieces`, or *borrowed if that is not null.
  void send(const FrameHeader& header, std::span<const Bytes> pieces,
            const BorrowedRange* borrowed);
  // Returns the number of the next frame.
  uint64_t next_number() const { return sent_ + waiting_.size(); }
  // Begins waiting frames while slots are free. Returns true if it began one.
  bool begin_waiting();
  // Returns true if begin_waiting() has work: frames wait, or on_uncongested() is due.
  bool has_waiting() const { return !waiting_.empty() || congested_; }
  // Returns true if the first waiting frame found no buffer.
  bool starved() const { return starved_; }
  // Returns true if a slot is free and no frame waits for one.
  bool takes_more() const { return waiting_.empty() && sent_ - returned_ < out_.size(); }
  bool congested() const { return congested_; }
  bool idle() const { return waiting_.empty() && acked_ == sent_; }
  Fate fate(uint64_t number) const;
  // Takes the report that every envelope of the other side carries (ReceiveSide::write_report()).
  // Returns false if the report is impossible; the lane is then down.
  bool take_report(const Envelope& envelope);
  // Returns the borrowed ranges that this side's device has finished reading.
  void return_borrowed();
  // Returns the borrowed ranges that the lane has copied.
  void return_copied();
  bool has_borrowed() const { return borrowed_ != 0; }

  // --- For leg handlers ---
  const LaneShape& shape() const { return shape_; }
  const Buffer& extra() const { return extra_; }
  uint64_t sent() const { return sent_; }    // messages begun
  uint64_t acked() const { return acked_; }  // of them, those that the other side has delivered
  bool waits_for_slots() const { return !waiting_.empty() && sent_ - acked_ == out_.size(); }
  // Returns the other side's fetch epoch, from its last report. The epoch is odd while that side
  // READs replies; an even epoch means that this side must push them.
  uint8_t fetch_epoch_there() const { return fetch_epoch_there_; }
  bool other_side_reads() const { return fetch_epoch_there_ % 2 == 1; }
  Outgoing& outgoing(uint64_t sequence) { return out_[sequence & (out_.size() - 1)]; }
  // Returns the full number of the message in flight that has these low bits, if there is one.
  std::optional<uint64_t> sent_sequence(uint32_t low_bits) const;
  // Returns the slot of message `sequence` in the other side's window.
  RemoteBuffer other_slot(uint64_t sequence) const;
  // Appends one request with the envelope and the payload of `message` to the lane's chain.
  WorkRequest& post_message(const Outgoing& message, Opcode opcode,
                            const RemoteBuffer& remote = {});
  // Frees the buffer or the borrowed range of message `sequence`. Call it once all of the message
  // is at the other side.
  void free_buffer(uint64_t sequence);
  // Marks all messages before number `delivered` as delivered.
  void acknowledge(uint64_t delivered);

 private:
  Leg leg_for(const FrameHeader& frame) const;
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
  std::vector<Outgoing> out_;  // one for each slot
  uint64_t sent_ = 0;
  uint64_t acked_ = 0;
  uint64_t returned_ = 0;   // messages before this are delivered, and their ranges are returned
  uint32_t on_demand_ = 0;  // begun messages that count towards kRendezvousMax
  uint32_t borrowed_ = 0;   // messages whose borrowed range is not returned yet
  Fifo<uint64_t> copied_;   // messages whose borrowed range was copied: on_returned() is due
  bool starved_ = false;
  bool congested_ = false;
  uint8_t fetch_epoch_there_ = 1;
  WaitingFrames waiting_;
};

}  // namespace hat::engine
