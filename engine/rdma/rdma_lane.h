// SPDX-License-Identifier: Apache-2.0
// engine/rdma/rdma_lane.h: a lane over one RC queue pair. Each frame is one message, which a leg
// moves to the other side of the lane.
//
//   auto lane = RdmaLane::create(poller, {.out = my_shape, .in = its_shape}, events);
//   … exchange (*lane)->offer() …
//   (*lane)->connect(its_offer);
//
// A frame that fits a slot uses the leg of the lane's shape; a larger frame uses the shape's
// rendezvous leg. If the shape's leg carries only replies (the fetch legs), other frames use the
// leg `send` or the rendezvous leg. Frames are delivered in the order of send(), whichever legs
// move them.
//
// Bounds   A payload has at most kMessageBytesMax bytes. As many messages are in flight as the
//          shape has slots, and at most kRendezvousMax of them in buffers of their own. The lane
//          copies frames that wait for a slot. If more than kCongestedBytes bytes wait, congested()
//          returns true; if more than kQueuedBytesMax bytes wait, the lane goes down.
// Memory   from the poller's arena: this side's slots (kSend), a window into which the other side
//          WRITEs (kReceive), and buffers for messages larger than a slot while they are in flight.
// Thread   the thread of the poller.
// Errors   The lane calls LaneEvents::on_down() once, with the reason. If send(), settle() or
//          probe() fails, the next flush() calls on_down(). fate() returns for each frame whether
//          the other side can have seen it.
#pragma once

#include <array>
#include <chrono>
#include <memory>
#include <optional>
#include <vector>

#include "base/fifo.h"
#include "engine/lane.h"
#include "engine/memory/arena.h"
#include "engine/rdma/leg_table.h"
#include "engine/rdma/receive_side.h"
#include "engine/rdma/request_chain.h"
#include "engine/rdma/send_side.h"
#include "engine/rdma/wire.h"

namespace hat::engine {

class Poller;

struct RendezvousOptions {
  uint32_t chunk_bytes = 256 * 1024;
  uint32_t depth = 4;                             // outstanding chunks per lane and direction
  uint32_t message_bytes_max = kMessageBytesMax;  // the largest message that this side accepts
};

struct FetchOptions {
  uint32_t depth = 4;          // outstanding READs
  uint32_t first_bytes = 512;  // length of the first READ if the reply's length is not known
  // After this many READs that found no reply, the receiver asks the sender to push the replies.
  uint32_t empty_polls_max = 256;
  // After the receiver has asked for pushes: how many messages must be delivered before it READs
  // again. The number doubles each time that the READs have found no reply, up to 64 times this
  // value.
  uint32_t pushes_until_again = 64;
};

struct BitmapOptions {
  // After this many READs that found no message, the receiver READs no more until the sender sends
  // kReadBitmap. After this many READs that found no free slot, the sender asks the receiver for a
  // report (kTell).
  uint32_t empty_polls_max = 256;
  // If less than this percentage of the slots is free, the sender READs the receiver's bitmap,
  // which shows the messages that the receiver has delivered.
  uint32_t recycle_percent = 40;
};

struct RdmaLaneOptions {
  LaneShape out;
  LaneShape in;  // the other side's `out`
  RendezvousOptions rendezvous;
  FetchOptions fetch;
  BitmapOptions bitmap;
  uint32_t owner = 0;  // the number of the peer, from Arena::new_owner()
  // If true, this side sends a credit for every message, which costs more; for measurements only.
  bool confirm_each = false;
  uint32_t send_entries = 128;
  uint32_t inline_bytes_max = 220;  // the fabric's limit applies if it is lower
  std::chrono::nanoseconds ack_timeout = std::chrono::milliseconds(67);
  uint8_t retries = 6;
  // The rnr_retry of the queue pair: how often the device retries if the other side has posted no
  // receive (7: forever; 0: the lane fails at once). Because of credits, a receive is always
  // posted; tests use 0, to detect a sender that exceeds its credits.
  uint8_t rnr_retries = 7;
};

// One lane: its sending side, its receiving side, and the queue pair to which these two sides post
// requests.
class RdmaLane final : public Lane {
 public:
  static constexpr size_t kCongestedBytes = 1024 * 1024;
  static constexpr size_t kQueuedBytesMax = 128 * 1024 * 1024;

  static Result<std::unique_ptr<RdmaLane>> create(Poller& poller, const RdmaLaneOptions& options,
                                                  LaneEvents& events);
  ~RdmaLane() override;

  LaneOffer offer() const;
  Result<void> connect(const LaneOffer& other);

  uint64_t send(FrameHeader header, std::initializer_list<Bytes> pieces) override;
  // Sends a frame whose payload is a borrowed range, without a copy. The lane uses the range until
  // it calls LaneEvents::on_returned() for this frame, or until the lane is destroyed. In two cases
  // the lane copies the range, and returns it with the next flush(): if the leg needs envelope and
  // payload together in a slot (fetch); or if the peer cannot READ the range (BorrowedRange::rkey
  // is 0) and the leg's row in the leg table lacks `gathers`.
  uint64_t send_zero_copy(FrameHeader header, const BorrowedRange& payload);
  // Returns true also if the lane is broken, so that no stream sends frames that get lost.
  bool congested() const override { return sender_.congested() || broken(); }
  bool broken() const override { return state_ != State::kUp; }
  bool idle() const override { return sender_.idle(); }
  void flush() override;
  Fate fate(uint64_t number) const override { return sender_.fate(number); }

  // Returns true if the lane is up, a slot is free, and no frame waits for a slot.
  bool takes_more() const { return !broken() && sender_.takes_more(); }

  // Asks the other side to acknowledge all messages that it has delivered, so that idle() becomes
  // true. Without this request, the other side acknowledges messages only when it sends something
  // else, or after it has delivered half as many messages as the lane has slots.
  void settle();

  // Tests whether the other side's queue pair still answers: posts an empty WRITE, after all
  // outstanding requests. Returns false, and posts nothing, if the lane is down, if a probe is
  // outstanding, or if no send entry is free; then the outstanding requests are the test.
  bool probe();
  bool probe_answered() const { return !probing_; }
  void end(const std::string& reason);
  // Returns the leg that carries a frame with this header, if the frame is sent now.
  Leg leg_for(const FrameHeader& frame) const { return sender_.leg_for(frame); }
  // Returns the leg that carried the frame that LaneEvents::on_frame() handles at present. Call it
  // only inside on_frame().
  Leg leg_of_delivery() const { return receiver_.leg_of_delivery(); }
  // Returns the size of the largest payload for which both sides have memory. If the owner sends a
  // larger payload, the lane goes down.
  size_t message_bytes_max() const { return message_bytes_max_; }
  // Returns how many calls of this side have not ended yet. The result is at least 1 while an
  // arrived message waits for a message with a lower number.
  uint32_t due() const { return receiver_.due(); }
  // Returns the sum of the messages that this side has begun to send and those that it has
  // delivered.
  uint64_t messages() const { return sender_.sent() + receiver_.next(); }

  // --- For the poller ---
  uint32_t number() const { return number_; }
  void on_send_completion(const Completion& done);
  void on_receive(const Completion& done, uint32_t receive, const std::byte* bytes);
  void on_queue_pair_error(const std::string& detail);
  void on_receive_queue_error(const std::string& detail);
  // Loads the memory of the next message into the processor's cache.
  void expect() const { receiver_.prefetch_next(); }
  bool may_poll() const { return polling_legs_ != 0 || sender_.starved(); }
  bool poll();
  bool wants_poll() const;
  bool wants_send_completions() const;
  void after_poll();
  uint32_t receives_needed() const;
  // Moves the queue pair to its error state, and removes the lane from the poller. The lane keeps
  // its memory.
  void leave();
  bool settled() const;

  // --- For the sending side, the receiving side and the leg handlers ---
  SendSide& sender() { return sender_; }
  ReceiveSide& receiver() { return receiver_; }
  LegHandler& handler(Leg leg) { return *handlers_[static_cast<size_t>(leg)]; }
  const LaneOffer& other() const { return other_; }
  // Returns the number of the first message that the other side has announced and that has no
  // buffer yet; UINT64_MAX if there is none. Announced messages get buffers in the order of their
  // numbers, whichever leg announced them.
  uint64_t first_waiting() const;
  // Returns the memory into which this side, as a receiver, READs the table or bitmap in which the
  // sender shows which messages are ready.
  std::span<std::byte> scratch_in() const;
  // Returns the memory into which this side, as a sender, READs the other side's bitmap of
  // delivered messages.
  std::span<std::byte> scratch_out() const;
  uint32_t scratch_lkey() const { return scratch_.lkey(); }
  // Returns how many requests can be posted now. Excludes the send entries that are reserved for
  // control messages.
  uint32_t space() const;
  // Appends a work request to the chain. The lane posts the chain with the next flush(), or when
  // the chain is full.
  WorkRequest& post(Opcode opcode, const Segment& segment, const RemoteBuffer& remote = {});
  // Appends a signaled work request to the chain, as post() does. When the request completes, the
  // lane calls on_completion(cookie) of the leg's handler.
  WorkRequest& post_signaled(Leg leg, uint64_t cookie, Opcode opcode, const Segment& segment,
                             const RemoteBuffer& remote = {});
  void post_chain();  // posts the chain now; the next request starts a new chain
  // Sends a control message.
  void send_control(ControlKind kind, Leg leg, uint64_t sequence,
                    const RemoteBuffer* remote = nullptr, const FrameHeader* frame = nullptr);
  Poller& poller() { return poller_; }
  const RdmaLaneOptions& options() const { return options_; }
  // Takes the lane down because the other side violates the lane protocol; `what` describes how.
  void breaks(const char* what);
  void go_down(const std::string& reason);
  // Takes the lane down if a message of `bytes` bytes, for which the arena has no memory now, can
  // have none either when all other messages have ended, because the fabric refused it.
  void check_refusal(Purpose purpose, size_t bytes);
  void count_polling(int more) { polling_legs_ += more; }

 private:
  // kUp ──go_down()──▶ kFailed ──report_down()──▶ kDown
  enum class State : uint8_t {
    kUp,
    kFailed,  // carries no more frames; on_down() must still be called
    kDown,    // on_down() was called
  };
  struct PendingControl {
    Envelope envelope;
    RemoteBuffer remote;
    bool has_remote = false;
  };
  static constexpr size_t kPendingControlsMax = 4 * kSlotsMax;
  // The number of send entries that only control messages may use.
  static constexpr uint32_t kControlReserve = 16;

  RdmaLane(Poller& poller, const RdmaLaneOptions& options, LaneEvents& events);
  Result<void> make();
  Result<void> take_memory();
  uint64_t send(FrameHeader header, size_t bytes, std::span<const Bytes> pieces,
                const BorrowedRange* borrowed);
  bool may_send(size_t bytes);
  void take_control(const Envelope& control, std::span<const std::byte> body);
  void take_imm(uint32_t imm, uint32_t bytes);
  LegHandler* handler_for(Leg leg);
  size_t largest(Purpose purpose) const;
  void post_control(const PendingControl& control);
  void post_controls();
  void report_down();

  // An object of this class exists while the lane's owner is inside send(), settle() or probe(). If
  // the lane fails meanwhile, it does not call on_down() from inside that function, but in the next
  // flush().
  class InCall {
   public:
    explicit InCall(RdmaLane& lane) : lane_(lane) { ++lane_.in_calls_; }
    ~InCall() { --lane_.in_calls_; }
    InCall(const InCall&) = delete;
    InCall& operator=(const InCall&) = delete;

   private:
    RdmaLane& lane_;
  };

  Poller& poller_;
  const RdmaLaneOptions options_;
  LaneEvents& events_;
  size_t message_bytes_max_ = 0;
  LaneOffer other_;
  uint32_t number_ = 0;  // the number of the queue pair
  State state_ = State::kUp;
  std::string why_down_;
  uint32_t in_calls_ = 0;
  bool probing_ = false;

  RequestChain chain_;
  Buffer control_bytes_;  // has space for one control message per send entry
  Fifo<PendingControl> pending_controls_;
  Buffer scratch_;  // the tables and bitmaps that this side's legs READ
  SendSide sender_;
  ReceiveSide receiver_;
  std::array<std::unique_ptr<LegHandler>, kLegCount>
      handlers_;                   // the index is a Leg; null if neither side uses the leg
  std::vector<LegHandler*> used_;  // the elements of `handlers_` that are not null
  int polling_legs_ = 0;           // how many handlers return true from may_poll()
  std::vector<LegHandler*> late_;  // the handlers whose row in the leg table has `late`
  // The last member, so that C++ destroys it first: then the peer cannot write into freed memory.
  std::unique_ptr<QueuePair> queue_pair_;
};

}  // namespace hat::engine
