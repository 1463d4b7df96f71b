// SPDX-License-Identifier: Apache-2.0
// engine/rdma/rdma_lane.h: a lane over one RC queue pair: each frame is one message, which a leg
// moves to the other side.
//
//   auto lane = RdmaLane::create(poller, {.out = my_shape, .in = its_shape}, events);
//   … exchange (*lane)->offer() …
//   (*lane)->connect(its_offer);
//
// A frame that fits a slot uses the leg of the lane's shape; a larger one uses the rendezvous leg.
// Legs that carry only replies (fetch) leave other frames to `send`, or to the rendezvous leg.
// Frames are delivered in the order of send(), whichever legs moved them.
//
// Bounds   payloads of at most kMessageBytesMax; as many messages in flight as the shape has slots,
//          at most kRendezvousMax of them in buffers of their own. The lane copies frames that wait
//          for a slot. If more than kCongestedBytes wait, congested() returns true; if more than
//          kQueuedBytesMax wait, the lane goes down.
// Memory   from the poller's arena: this side's slots (kSend), a window into which the other side
//          WRITEs (kReceive), and buffers for messages larger than a slot while they are in flight.
// Thread   the poller's.
// Errors   on_down() once, with the reason. A failure inside send(), settle() or probe() is
//          reported by the next flush(), not by that call. fate() says of each frame whether the
//          other side may have seen it.
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
  uint32_t depth = 4;  // outstanding chunks per lane and direction
};

struct FetchOptions {
  uint32_t depth = 4;              // outstanding READs
  uint32_t first_bytes = 512;      // length of the first READ if no metadata says how long it is
  uint32_t empty_polls_max = 256;  // after this many READs in vain, R asks S to push the replies
  // Messages that are delivered before R tries READs again. Doubles each time the READs were in
  // vain, up to 64 times this number.
  uint32_t pushes_until_again = 64;
};

struct BitmapOptions {
  // After this many READs that found nothing, R stops until S sends kReadBitmap. After this many
  // READs that found no free slot, S asks R for a report (kTell).
  uint32_t empty_polls_max = 256;
  // If a smaller share of the slots than this is free, S READs from R which messages R has
  // delivered.
  uint32_t recycle_percent = 40;
};

struct RdmaLaneOptions {
  LaneShape out;
  LaneShape in;  // the other side's `out`
  RendezvousOptions rendezvous;
  FetchOptions fetch;
  BitmapOptions bitmap;
  uint32_t owner = 0;         // the peer's number from Arena::new_owner()
  bool confirm_each = false;  // sends a credit for every message; for comparisons only
  uint32_t send_entries = 128;
  uint32_t inline_bytes_max = 220;  // or the fabric's limit, if that is lower
  std::chrono::nanoseconds ack_timeout = std::chrono::milliseconds(67);
  uint8_t retries = 6;
  // Credits ensure that a receive is always posted. 7 waits for one forever; 0 fails at once, which
  // reveals a sender that overruns its credits.
  uint8_t rnr_retries = 7;
};

// One lane: its sending side, its receiving side, and the queue pair to which both post requests.
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
  // Sends a frame from a borrowed range, without a copy. The lane uses the range until
  // LaneEvents::on_returned() names this frame, or until the lane is destroyed. In two cases the
  // lane copies the range and returns it with the next flush(): if the leg needs envelope and
  // payload contiguous in a slot (fetch), and if the range is own memory (BorrowedRange::rkey is 0)
  // and the leg's row does not say `gathers`.
  uint64_t send_zero_copy(FrameHeader header, const BorrowedRange& payload);
  bool congested() const override { return sender_.congested(); }
  bool broken() const override { return state_ != State::kUp; }
  bool idle() const override { return sender_.idle(); }
  void flush() override;
  Fate fate(uint64_t number) const override { return sender_.fate(number); }

  // Returns true if a slot is free and no frame waits for one.
  bool takes_more() const { return !broken() && sender_.takes_more(); }

  // Asks the other side to acknowledge the messages that it has delivered, so that idle() becomes
  // true. Unasked, it acknowledges them only in whatever else it sends, or once it has delivered
  // half as many as there are slots.
  void settle();

  // Tests whether the other side's queue pair accepts requests, by an empty WRITE after all
  // outstanding requests. Returns false if it posts none, because the lane is down, or a probe is
  // outstanding, or no send entry is free; the outstanding requests then serve as the test.
  bool probe();
  bool probe_answered() const { return !probing_; }
  void end(const std::string& reason);
  // Returns the largest payload for which both sides have memory. A larger one takes the lane down.
  size_t message_bytes_max() const { return message_bytes_max_; }
  // Returns the number of calls that have not ended yet; at least 1 while a message has arrived
  // before an earlier one.
  uint32_t due() const { return receiver_.due(); }
  // Returns how many messages this side has begun to send and has delivered, in all.
  uint64_t messages() const { return sender_.sent() + receiver_.next(); }

  // --- For its poller ---
  uint32_t number() const { return number_; }
  void on_send_completion(const Completion& done);
  void on_receive(const Completion& done, uint32_t receive, const std::byte* bytes);
  void on_queue_pair_error(const std::string& detail);
  // Loads the memory of the next message into the processor's cache.
  void expect() const { receiver_.prefetch_next(); }
  bool may_poll() const { return looking_ != 0 || sender_.starved(); }
  bool poll();
  bool wants_poll() const;
  bool wants_send_completions() const;
  void after_look();
  uint32_t receives_needed() const;
  void leave();  // fails the queue pair and leaves the poller; the lane keeps its memory
  bool settled() const;

  // --- For its two sides and its leg handlers ---
  SendSide& sender() { return sender_; }
  ReceiveSide& receiver() { return receiver_; }
  LegHandler& handler(Leg leg) { return *handlers_[static_cast<size_t>(leg)]; }
  const LaneOffer& other() const { return other_; }
  // Returns the number of the first message that was announced and has no buffer yet. Announced
  // messages get buffers in their order, whichever leg announced them.
  uint64_t first_waiting() const;
  // Returns the memory into which this side, as a receiver, READs the table or bitmap in which the
  // other side shows the messages that it has.
  std::span<std::byte> scratch_in() const;
  // Returns the memory into which this side, as a sender, READs the bitmap in which the other side
  // shows the messages that it has taken.
  std::span<std::byte> scratch_out() const;
  uint32_t scratch_lkey() const { return scratch_.lkey(); }
  // Returns how many requests may be posted now, apart from control messages.
  uint32_t space() const;
  // Appends a request to the chain, which is posted with the next flush() or when it is full.
  WorkRequest& post(Opcode opcode, const Segment& segment, const RemoteBuffer& remote = {});
  // Does the same; the leg's on_completion() is called with `cookie` once the request is done.
  WorkRequest& post_signaled(Leg leg, uint64_t cookie, Opcode opcode, const Segment& segment,
                             const RemoteBuffer& remote = {});
  void post_chain();  // posts the chain now; a later request starts another chain
  // Sends a control message.
  void send_control(ControlKind kind, Leg leg, uint64_t sequence,
                    const RemoteBuffer* remote = nullptr, const FrameHeader* frame = nullptr);
  Poller& poller() { return poller_; }
  const RdmaLaneOptions& options() const { return options_; }
  void breaks(const char* what);  // takes the lane down: the other side has broken the format
  void go_down(const std::string& reason);
  void count_looking(int more) { looking_ += more; }

 private:
  // kUp ──go_down()──▶ kFailed ──report_down()──▶ kDown
  enum class State : uint8_t {
    kUp,
    kFailed,  // carries no more frames; on_down() is due
    kDown,    // on_down() was called
  };
  struct PendingControl {
    Envelope envelope;
    RemoteBuffer remote;
    bool has_remote = false;
  };
  static constexpr size_t kPendingControlsMax = 4 * kSlotsMax;
  static constexpr uint32_t kControlReserve =
      16;  // send entries that only control messages may use

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

  // An object of this class exists while the owner of the lane is inside a call of the lane. If the
  // lane fails in such a call, it does not call on_down() from there, but in the next flush().
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
  uint32_t number_ = 0;  // of the queue pair
  State state_ = State::kUp;
  std::string why_down_;
  uint32_t in_calls_ = 0;
  bool probing_ = false;

  RequestChain chain_;
  Buffer control_bytes_;  // one control message per send entry
  Fifo<PendingControl> pending_controls_;
  Buffer scratch_;  // receives what this side's legs READ, apart from messages
  SendSide sender_;
  ReceiveSide receiver_;
  std::array<std::unique_ptr<LegHandler>, kLegCount>
      handlers_;                   // by Leg; null if neither side uses it
  std::vector<LegHandler*> used_;  // those that are not null
  int looking_ = 0;                // how many of them return may_poll()
  std::vector<LegHandler*> late_;  // those whose leg's row is `late`
  // The last member, so that it is destroyed first: no peer then writes into freed memory.
  std::unique_ptr<QueuePair> queue_pair_;
};

}  // namespace hat::engine
