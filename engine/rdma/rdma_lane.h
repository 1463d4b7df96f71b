// SPDX-License-Identifier: Apache-2.0
// engine/rdma/rdma_lane.h: frames over one RC queue pair: a message each, moved by legs.
//
//   auto lane = RdmaLane::create(poller, {.out = my_shape, .in = its_shape}, events);
//   … exchange (*lane)->offer() …
//   (*lane)->connect(its_offer);
//
// A frame goes by the leg of the lane's shape where it fits a slot, else by the rendezvous leg;
// legs that only carry answers (fetch) leave other frames to `send`, or to the rendezvous leg.
// Frames are delivered in the order of send(), whatever moved them.
//
// Bounds   payloads of at most kMessageBytesMax; as many messages in flight as the shape has slots,
//          of them kRendezvousMax in buffers of their own. What waits for a slot is copied; beyond
//          kCongestedBytes of that congested() is true, beyond kQueuedBytesMax the lane goes down.
// Memory   from the poller's arena: its slots (kSend), a window for its peer's (kReceive); buffers
//          for messages larger than a slot while they are in flight.
// Thread   the poller's.
// Errors   on_down() once, with the reason, and never inside send(), settle() or probe(): then with
//          the next flush(). fate() says of each frame whether the other side may have seen it.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <optional>
#include <vector>

#include "base/fifo.h"
#include "engine/lane.h"
#include "engine/memory/arena.h"
#include "engine/memory/registration_cache.h"
#include "engine/rdma/leg_table.h"
#include "engine/rdma/wire.h"

namespace hat::engine {

class Poller;

struct RendezvousOptions {
  uint32_t chunk_bytes = 256 * 1024;
  uint32_t depth = 4;  // chunks of a lane and direction on their way at once
};

struct FetchOptions {
  uint32_t depth = 4;                // READs on their way at once
  uint32_t first_bytes = 512;        // of the first READ where no metadata says how long it is
  uint32_t empty_looks_max = 256;    // then the other side is asked to push
  uint32_t pushes_until_again = 64;  // messages delivered until READs are tried again; doubles when
                                     // that was in vain, up to 64 times
};

struct BitmapOptions {
  uint32_t empty_looks_max = 256;  // then the reader sleeps until it is told
  uint32_t recycle_percent = 40;   // fewer slots free than this: look at what was taken
};

struct RdmaLaneOptions {
  LaneShape out;
  LaneShape in;  // the other side's `out`
  RendezvousOptions rendezvous;
  FetchOptions fetch;
  BitmapOptions bitmap;
  uint32_t owner = 0;         // the peer, as Arena::new_owner() numbers it
  bool confirm_each = false;  // a credit for every message: for comparisons alone
  uint32_t send_entries = 128;
  uint32_t inline_bytes_max = 220;  // or what the device can
  std::chrono::nanoseconds ack_timeout = std::chrono::milliseconds(67);
  uint8_t retries = 6;
  uint8_t rnr_retries = 7;  // credits keep receives there: 7 waits, 0 finds out who overruns
};

// A message that was begun, until the other side has it.
struct Outgoing {
  uint64_t sequence = 0;
  Leg leg = Leg::kSend;
  bool exposed = false;  // the other side may have seen it
  FrameHeader frame;
  Envelope* envelope = nullptr;  // in its slot
  Segment payload;               // in its slot, or in `buffer`
  uint32_t payload_rkey = 0;
  Buffer buffer;
  bool lent = false;       // and not yet returned
  uint64_t posted = 0;     // requests, its own too: lent memory is the device's until they are done
  bool on_demand = false;  // counts as one in a buffer of its own
  uint32_t bytes() const { return static_cast<uint32_t>(sizeof(Envelope)) + payload.bytes; }
};

// A message that has come, until all before it have.
struct Arrival {
  bool here = false;
  Leg leg = Leg::kSend;
  FrameHeader frame;
  Bytes payload;
  std::optional<uint32_t> receive;  // lies in this receive of the poller's
  Buffer buffer;                    // or here
};

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
  // A frame whose payload is not copied: it is lent until LaneEvents::on_returned() names this
  // frame, or the lane is gone. Copied all the same, and returned with the next flush(): by legs
  // whose messages must lie together (fetch); and own memory by all that do not WRITE it.
  uint64_t send_lent(FrameHeader header, const Lent& payload);
  bool congested() const override { return congested_; }
  bool broken() const override { return down_; }
  bool idle() const override { return waiting_.empty() && acked_ == sent_; }
  void flush() override;
  Fate fate(uint64_t number) const override;

  // A slot is free, and nothing waits for one.
  bool takes_more() const { return !down_ && waiting_.empty() && sent_ - returned_ < out_.size(); }

  // Asks the other side to say what it has got, so that idle() comes true: it says so by itself
  // only when it sends something anyway, or half of the slots are free.
  void settle();

  // Asks whether the other side's queue pair takes requests; behind those that are out. False: one
  // is out already, or there is no room: then what is out will tell.
  bool probe();
  bool probe_answered() const { return !probing_; }
  void end(const std::string& reason);
  // Larger payloads take the lane down: one side has no memory for them, or never will.
  size_t message_bytes_max() const { return message_bytes_max_; }
  // Begun and delivered so far.
  uint64_t messages() const { return sent_ + next_; }

  // --- For its poller ---
  uint32_t number() const { return number_; }
  void on_send_completion(const Completion& done);
  void on_receive(const Completion& done, uint32_t receive, const std::byte* bytes);
  void on_queue_pair_error(const std::string& detail);
  void expect() const {
    if (!window_) return;
    const std::byte* slot = landing(next_, 0).data;
    __builtin_prefetch(slot);
    __builtin_prefetch(slot + 64);
  }
  bool may_look() const { return looking_ != 0 || starved_; }
  bool look();
  bool looks() const;
  bool wants_send_completions() const;
  void after_look();
  uint32_t receives_needed() const;
  void leave();  // fails, and is the poller's no more; its memory stays its own
  bool settled() const;

  // --- For its legs: S ---
  void free_buffer(uint64_t sequence);  // all of it has gone to the other side
  Outgoing& outgoing(uint64_t sequence) { return out_[sequence & (out_.size() - 1)]; }
  const LaneShape& out_shape() const { return options_.out; }
  uint64_t sent() const { return sent_; }
  uint64_t acked() const { return acked_; }
  bool waits_for_slots() const { return !waiting_.empty() && sent_ - acked_ == out_.size(); }
  // Buffers go to announcements in the order of the messages, whichever leg announced them.
  uint64_t first_waiting() const;
  // The whole number of a message of this side that is in flight; none: there is none such.
  std::optional<uint64_t> sent_sequence(uint32_t low_bits) const;
  void acknowledge(uint64_t delivered);       // all messages before this
  Place other_slot(uint64_t sequence) const;  // in the other side's window
  const LaneOffer& other() const { return other_; }
  // Envelope and payload as one request's segments, posted as `opcode`.
  WorkRequest& post_message(const Outgoing& message, Opcode opcode, const Place& remote = {});
  Mover& mover(Leg leg) { return *movers_[static_cast<size_t>(leg)]; }
  uint8_t fetch_epoch_there() const { return fetch_epoch_there_; }
  const Buffer& sender_extra() const { return sender_extra_; }

  // --- For its legs: R ---
  const LaneShape& in_shape() const { return options_.in; }
  uint64_t next() const { return next_; }
  Arrival& arrival(uint64_t sequence) { return in_[sequence & (in_.size() - 1)]; }
  // Whether the other side may send by this leg here.
  bool receives_by(Leg leg) const { return (receives_by_ >> static_cast<uint32_t>(leg) & 1) != 0; }
  // The whole number of a message that is still to come; none: no sender of ours sends it now.
  std::optional<uint64_t> coming_sequence(uint64_t low_bits, uint32_t bits) const;
  Segment landing(uint64_t sequence, uint32_t bytes) const;  // its slot in this side's window
  // Message `sequence` is here: in its slot of the window (false: that does not hold it, and the
  // lane is down), or in a buffer. Delivers what is in order.
  bool arrive_in_window(uint64_t sequence, Leg leg);
  void arrive(uint64_t sequence, const FrameHeader& frame, Buffer buffer, Leg leg);
  // Of how many calls the end is due that has not come; at least 1 while a later message has.
  uint32_t due() const;
  const Buffer& receiver_extra() const { return receiver_extra_; }
  void set_fetch_epoch(uint8_t epoch) { fetch_epoch_ = epoch; }

  // --- For its legs: both ---
  // Where this side's READs of indexes and bitmaps go: of the other side's sending leg, and of
  // its memory for this side's.
  std::span<std::byte> scratch_in() const;
  std::span<std::byte> scratch_out() const;
  uint32_t scratch_lkey() const { return scratch_.lkey(); }
  // Requests that may be posted now, notes aside.
  uint32_t room() const;
  // A request at the chain's end, posted with the next flush(); with `cookie`, its completion comes
  // to that leg.
  WorkRequest& post(Opcode opcode, const Segment& segment, const Place& remote = {});
  WorkRequest& post_signaled(Leg leg, uint64_t cookie, Opcode opcode, const Segment& segment,
                             const Place& remote = {});
  void post_chain();  // now, with nothing behind it
  void note(NoteKind kind, Leg leg, uint64_t sequence, const Place* place = nullptr,
            const FrameHeader* frame = nullptr);
  Poller& poller() { return poller_; }
  const RdmaLaneOptions& options() const { return options_; }
  void breaks(const char* what);  // the other side breaks the format
  void count_looking(int more) { looking_ += more; }
  bool is_inline(uint32_t bytes) const { return bytes <= inline_bytes_max_; }

 private:
  struct Signaled {
    uint64_t posted = 0;  // all requests before this are done with it
    Leg leg{};
    bool to_leg = false;
    uint64_t cookie = 0;
  };
  struct PendingNote {
    Envelope envelope;
    Place place;
    bool has_place = false;
  };
  // A frame that waits for a slot: its bytes are in waiting_bytes_.
  struct Waiting {
    FrameHeader header;
    std::optional<Lent> lent;  // or there
  };
  static constexpr uint32_t kChainMax = 32;
  static constexpr size_t kPendingNotesMax = 4 * kSlotsMax;
  static constexpr uint64_t kProbe = UINT64_MAX;  // a probe's cookie
  static constexpr uint32_t kRequestsMax = 2;     // of a message's start
  static constexpr uint32_t kNoteReserve = 16;    // requests that only notes may use

  RdmaLane(Poller& poller, const RdmaLaneOptions& options, LaneEvents& events);
  Result<void> make();
  Result<void> take_memory();
  Leg leg_for(const FrameHeader& frame) const;
  uint64_t send(FrameHeader header, size_t bytes, std::span<const Bytes> pieces, const Lent* lent);
  bool begin(const FrameHeader& header, std::span<const Bytes> pieces, const Lent* lent);
  bool stage(Outgoing& message, std::span<const Bytes> pieces, const Lent* lent);
  bool may_send(size_t bytes);
  void begin_waiting();
  void return_lent();
  void give_back(Outgoing& message);
  void free_buffer(Outgoing& message);
  void keep_waiting(const FrameHeader& header, std::span<const Bytes> pieces, const Lent* lent);
  void take_message(const Envelope& envelope, uint32_t receive, const std::byte* bytes,
                    uint32_t count);
  void take_note(const Envelope& note, std::span<const std::byte> body);
  void take_imm(uint32_t imm, uint32_t bytes);
  Mover* mover_for(Leg leg);
  bool take_envelope(const Envelope& envelope);
  void put(uint64_t sequence, Arrival arrival);
  void deliver(const FrameHeader& frame, Bytes payload, Leg leg);
  void deliver_what_waited();
  void tell_if_asked();
  void release(Arrival& arrival);
  void give_back_receive(Arrival& arrival);
  size_t largest(Purpose purpose) const;
  void sign(WorkRequest& work);
  void post_note(const PendingNote& note);
  void post_notes();
  void go_down(const std::string& reason);
  void tell_down();

  // While its owner calls: what fails then is told later.
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
  uint32_t inline_bytes_max_ = 0;
  size_t message_bytes_max_ = 0;
  LaneOffer other_;
  uint32_t number_ = 0;  // of its queue pair
  bool down_ = false;
  bool told_down_ = false;
  std::string why_down_;
  uint32_t in_calls_ = 0;
  bool probing_ = false;

  // S
  Buffer slots_;
  Buffer note_bytes_;  // a note per send entry
  Buffer sender_extra_;
  std::vector<Outgoing> out_;
  uint64_t sent_ = 0;   // messages begun
  uint64_t acked_ = 0;  // of them, delivered
  uint32_t rendezvous_out_ = 0;
  uint64_t returned_ = 0;  // messages before this are delivered, and hold nothing that is lent
  uint32_t lent_ = 0;
  Fifo<uint64_t> copied_;  // were lent, and are to be returned: nothing tells when R has READ them
  bool starved_ = false;   // what waits found no buffer
  uint8_t fetch_epoch_there_ = 1;
  bool congested_ = false;
  Fifo<Waiting> waiting_;
  std::vector<std::byte> waiting_bytes_;
  size_t waiting_begin_ = 0;

  // R
  Buffer window_;
  Buffer receiver_extra_;
  Buffer scratch_;  // what both sides' legs READ, beside messages
  std::vector<Arrival> in_;
  uint64_t next_ = 0;              // to deliver
  uint64_t highest_ = 0;           // one more than the last that has come
  uint64_t tell_at_ = UINT64_MAX;  // the other side asked to be told of this message
  uint64_t to_tell_ = 0;           // delivered since that which nobody else tells
  uint64_t due_ = 0;
  uint8_t fetch_epoch_ = 1;
  bool delivering_ = false;

  // Posting
  uint64_t posted_ = 0;     // requests so far, chained ones too
  uint64_t reclaimed_ = 0;  // of them, done
  uint64_t last_signaled_ = 0;
  bool signs_ = false;    // every request
  uint32_t to_legs_ = 0;  // signaled requests out whose completion a leg waits for
  Fifo<Signaled> signaled_;
  Fifo<PendingNote> pending_notes_;
  std::vector<WorkRequest> chain_;
  std::array<std::array<Segment, 2>, kChainMax> chain_segments_;

  std::array<std::unique_ptr<Mover>, kLegCount> movers_;  // by Leg; null where neither side uses it
  uint32_t receives_by_ = 0;                              // a bit for each leg
  std::vector<Mover*> used_;
  int looking_ = 0;                        // of them, those that may look
  std::vector<Mover*> late_;               // of them, with something to do before a post
  std::unique_ptr<QueuePair> queue_pair_;  // last: gone first, so that nobody writes behind it
};

}  // namespace hat::engine
