// SPDX-License-Identifier: Apache-2.0
// daemon/proxy/inbound/served_calls.h: the calls of one stream from a peer, in the order in which
// they arrived, and the bytes of their requests that the server has not received yet.
//
// The queue has the calls that have no complete reply yet, and the call whose request is arriving.
// The held bytes (request bytes that cannot be written to the server yet) of all calls are in one
// buffer, in the order of the calls.
//
// Bounds   Held bytes count towards limits.max_buffered and towards the peer's quarter of this
//          limit. The memory of the queue counts too, once it has space for more than
//          kCallsUncounted calls, because a peer can send many small calls without waiting for
//          replies.
// Thread   the worker's.
// Always   The sum of the calls' held_bytes is the size of the buffer, unless the stream is opaque.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/byte_queue.h"
#include "base/check.h"
#include "base/fifo.h"
#include "daemon/metrics/counters.h"
#include "daemon/metrics/spans.h"
#include "daemon/proxy/call.h"
#include "daemon/proxy/inbound/inbound_lane.h"
#include "daemon/proxy/inbound/peer_share.h"
#include "daemon/proxy/unit_reader.h"
#include "engine/served_times.h"

namespace hat {

class UpstreamConnection;
class Worker;

struct ServedCall {
  // How much of the request has arrived, and whether the client still waits for the reply.
  //   kArriving ──last piece──▶ kComplete ──kCancel──▶ kCancelled
  //       └───────kCancel──────▶ kCut
  enum class Request : uint8_t {
    kArriving,   // more pieces of the request will arrive
    kComplete,   // the whole request has arrived
    kCut,        // the client gave up the call before the whole request had arrived
    kCancelled,  // the whole request has arrived, and the client no longer waits for the reply
  };

  // How much the server has received and answered. The state never goes back.
  //   kWaiting ──▶ kHandedOver ──▶ kAnswering
  //       └──▶ kAnsweringEarly ──▶ kAnswering
  enum class Progress : uint8_t {
    kWaiting,  // no part of the request was written to the server
    // No part of the request was written to the server, but bytes from the server were sent to the
    // peer as the start of the reply. A server can send an empty Thrift frame at any time.
    kAnsweringEarly,
    kHandedOver,  // a part of the request was written to the server
    kAnswering,   // a part of the request was written, and a part of a reply was sent to the peer
  };

  // How this node's manifests list the function.
  enum class Listed : uint8_t { kNot, kTwoWay, kOneway };

  // Which fields of a reply must be equal to those of the call that the reply answers.
  enum class Match : uint8_t {
    kNameAndId,  // the function's name and the sequence id
    kName,       // the function's name: a peer of an older link version does not send the id
    kOrder,      // no field: of several messages in one request, only the first name is known
  };

  // The check of the request against the `allow` rules that restrict the peer.
  enum class Check : uint8_t {
    kNotNeeded,  // no `allow` rule restricts the peer
    kAwaited,    // the request is held until all of it has arrived and can be checked
    kDenied,     // the peer's kCall frame names a function that the peer may not call
    kPassed,
  };

  uint64_t ordinal = 0;
  FunctionCounters* counters = nullptr;
  TimePoint started{};
  TimePoint handed_over{};  // when the first part of the request was written to the server
  TimePoint answered{};     // when the first part of the reply had come from the server
  uint64_t request_bytes = 0;
  uint64_t response_bytes = 0;
  uint64_t name_hash = 0;
  int32_t id = 0;  // the request's sequence id, if `match` is kNameAndId
  Match match = Match::kName;
  Polling polling = Polling::kEvent;
  Priority priority = Priority::kNormal;
  uint16_t replies = 1;  // the number of expected replies; certain once the request is complete
  uint16_t replies_seen = 0;
  size_t held_bytes = 0;
  Listed listed = Listed::kNot;
  Request request = Request::kArriving;
  Progress progress = Progress::kWaiting;
  Reply reply = Reply::kCertain;
  Check check = Check::kNotNeeded;
  CallTrace trace;
  InboundLane lane;  // the lane on which the request arrives and the reply is sent

  // Handles the last piece of the request. `due` is the number of replies that the request expects;
  // `several` is true if the request is one Thrift frame with several messages.
  void on_last_piece(uint16_t due, bool several);
  // Records that the client no longer waits for the reply.
  void cancel();
  // Records that a part of the request was written to the server.
  void hand_over(TimePoint now) {
    if (is_handed_over()) return;
    handed_over = now;
    advance_to(is_answering() ? Progress::kAnswering : Progress::kHandedOver);
  }
  // Records that the first part of the reply has come from the server, if none had before.
  void note_answer(TimePoint now) {
    if (answered == TimePoint()) answered = now;
  }
  // Records that a piece of the reply is sent. Returns true if this piece is the first one, which
  // must be sent as a kReply frame.
  bool begin_reply(TimePoint now) {
    if (is_answering()) return false;
    note_answer(now);
    advance_to(is_handed_over() ? Progress::kAnswering : Progress::kAnsweringEarly);
    return true;
  }
  // Returns how long the call was at this host; nullopt if its reply began before the server had a
  // part of the request.
  std::optional<engine::ServedTimes> times() const {
    if (!is_handed_over() || answered < handed_over) return std::nullopt;
    return engine::ServedTimes{answered - started, handed_over - started};
  }

  bool is_complete() const {
    return request == Request::kComplete || request == Request::kCancelled;
  }
  bool is_cancelled() const { return request == Request::kCut || request == Request::kCancelled; }
  bool is_handed_over() const { return progress >= Progress::kHandedOver; }
  bool is_answering() const {
    return progress == Progress::kAnsweringEarly || progress == Progress::kAnswering;
  }
  // Returns true if a reply with this hash of the function's name and this sequence id can be the
  // reply to this call.
  bool is_answered_by(uint64_t name, int32_t seqid) const {
    return is_handed_over() && (match == Match::kOrder ||
                                (name == name_hash && (match == Match::kName || seqid == id)));
  }
  // Returns true if no part of the request may be written to the server now, because the whole
  // request must be checked first, or because the request will be refused.
  bool must_wait() const { return check == Check::kAwaited || check == Check::kDenied; }
  // Returns true if the peer's RDMA lane counts a reply to this call as expected.
  bool is_due() const { return is_complete() && replies != 0; }
  // Returns true if the client gave up the call, and no part of the request was or will be written
  // to the server.
  bool is_dropped() const { return is_cancelled() && !is_handed_over() && held_bytes == 0; }
  // Returns true if nothing more of the request will be written to the server, and the server need
  // not send a reply, so that the next reply can answer a later call.
  bool may_be_done() const {
    return is_dropped() ||
           (is_complete() && is_handed_over() && held_bytes == 0 && reply != Reply::kCertain);
  }

 private:
  void advance_to(Progress next) {
    DCHECK(progress < next) << "a call only advances";
    progress = next;
  }
};

class ServedCalls {
 public:
  // A queue with space for at most this number of calls does not count towards limits.max_buffered.
  static constexpr size_t kCallsUncounted = 64;

  // Begins empty. Counts memory towards `share`, which must outlive this object.
  ServedCalls(Worker& worker, PeerShare& share) : worker_(worker), share_(share) {}
  // Counts each remaining call with the outcome `unknown`.
  ~ServedCalls();
  ServedCalls(const ServedCalls&) = delete;
  ServedCalls& operator=(const ServedCalls&) = delete;

  bool empty() const { return calls_.empty(); }
  size_t size() const { return calls_.size(); }
  ServedCall& front() { return calls_.front(); }
  const ServedCall& front() const { return calls_.front(); }
  ServedCall& back() { return calls_.back(); }
  ServedCall& operator[](size_t i) { return calls_[i]; }
  const ServedCall& operator[](size_t i) const { return calls_[i]; }

  // Returns true if a call with this ordinal can begin: no other request is arriving, and the
  // ordinal is greater than those of all earlier calls.
  bool takes(uint64_t ordinal) const { return ordinal > last_ordinal_ && !is_arriving(); }
  // Adds a call for which takes() is true.
  void add(const ServedCall& call);
  // Returns the call whose request is arriving if the call has this ordinal. Otherwise returns
  // null.
  ServedCall* arriving(uint64_t ordinal);
  // Returns true if more pieces of the newest call's request will arrive.
  bool is_arriving() const {
    return !empty() && calls_[size() - 1].request == ServedCall::Request::kArriving;
  }
  // Returns true if ServedCall::may_be_done() is true for all calls.
  bool all_may_be_done() const;

  // Counts the oldest call with this outcome and removes the call, which must not have held bytes.
  void end_front(CallOutcome outcome);
  // Counts the newest call with this outcome and removes the call, which must not have held bytes.
  void end_newest(CallOutcome outcome);
  // Counts all calls with the outcome `unknown` and removes them, because the stream becomes
  // opaque. Keeps the held bytes, which take_opaque() returns.
  void become_opaque();

  // Holds bytes of the newest call's request. `call` must be the newest call.
  void hold(ServedCall& call, Bytes bytes);
  // Returns the held bytes of `call`. The calls before `call` must not have held bytes.
  Bytes held(const ServedCall& call) const { return held_.bytes().first(call.held_bytes); }
  // Removes the held bytes of `call`, and returns their number. The calls before `call` must not
  // have held bytes.
  size_t drop_held(ServedCall& call);
  // Returns the held bytes of the newest call.
  Bytes newest_held() const { return held_.bytes().last(calls_[size() - 1].held_bytes); }
  // Removes the held bytes of the newest call, and returns their number.
  size_t drop_newest_held();
  bool holds_nothing() const { return held_.empty(); }
  // Holds bytes of an opaque stream.
  void hold_opaque(Bytes bytes);
  // Removes and returns all held bytes of an opaque stream.
  ByteQueue take_opaque();

  // Which call a reply of the server answers.
  struct Answered {
    enum class What : uint8_t { kCall, kOnewayCall, kNothing };
    What what = What::kNothing;
    size_t call = 0;  // the call's index, if `what` is kCall; the calls before it were oneway
  };
  // Finds the call that a reply on the connection `from` answers. `head` is the reply's head.
  // Servers answer in order, so a reply usually answers the oldest call. It answers a later call if
  // all calls before it may be oneway. It can also answer a oneway call, because stock servers
  // answer a oneway call of an unknown function with an exception.
  Answered answered_by(const thrift::Head& head, const UpstreamConnection& from) const;

  // Replaces the lane with this number, which is gone, by the lane `by` in all calls that use the
  // lane.
  void replace_lane(uint32_t number, const InboundLane& by);

 private:
  void count(const ServedCall& call, CallOutcome outcome) const;
  void buffered(size_t before, size_t now) const;
  size_t counted_bytes() const {
    return calls_.capacity() <= kCallsUncounted ? 0 : calls_.capacity() * sizeof(ServedCall);
  }
  void give_back_queue();
  void check_held() const;

  Worker& worker_;
  PeerShare& share_;
  Fifo<ServedCall> calls_;
  ByteQueue held_;  // request bytes that wait for a connection, or for the rest of their request
  uint64_t last_ordinal_ = 0;
};

}  // namespace hat
