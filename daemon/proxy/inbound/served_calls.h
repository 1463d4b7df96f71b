// SPDX-License-Identifier: Apache-2.0
// daemon/proxy/inbound/served_calls.h: the calls of one stream from a peer, in the order in which
// they arrived, and the bytes of requests that are held here.
//
// The queue has the two-way calls without a whole reply, and the call that is arriving. The held
// bytes of all calls are in one buffer, in the order of the calls.
//
// Bounds   Held bytes count towards limits.max_buffered and the peer's share of it. So does the
//          memory of the queue once it has space for more than kCallsUncounted calls: a peer may
//          send calls of a few bytes each as fast as its server takes them, without waiting for
//          answers.
// Thread   the worker's.
// Always   The sum of the calls' held_bytes is the size of the buffer, unless the stream is opaque.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/byte_queue.h"
#include "base/check.h"
#include "base/fifo.h"
#include "daemon/metrics/counters.h"
#include "daemon/proxy/call.h"
#include "daemon/proxy/inbound/inbound_lane.h"
#include "daemon/proxy/inbound/peer_share.h"
#include "daemon/proxy/unit_reader.h"

namespace hat {

class UpstreamConnection;
class Worker;

struct ServedCall {
  // How much of the request has arrived, and whether the client waits for the reply.
  //   kArriving ──last piece──▶ kComplete ──kCancel──▶ kCancelled
  //       └───────kCancel──────▶ kCut
  enum class Request : uint8_t {
    kArriving,   // more pieces of it will arrive
    kComplete,   // all of it has arrived
    kCut,        // the client gave up before all of it had arrived
    kCancelled,  // all of it has arrived, and the client no longer waits for its reply
  };

  // How far the call has come. It only advances.
  //   kWaiting ──▶ kHandedOver ──▶ kAnswering
  //       └──▶ kAnsweringEarly ──▶ kAnswering
  enum class Progress : uint8_t {
    kWaiting,         // the server has received nothing of the request
    kAnsweringEarly,  // as kWaiting, but bytes of the server were sent to the peer as the start of
                      // a reply: a server can send an empty frame before it receives anything
    kHandedOver,      // a part of the request was written to the server's connection
    kAnswering,       // as kHandedOver, and the first piece of a reply was sent to the peer
  };

  // How this node's manifest lists a function.
  enum class Listed : uint8_t { kNot, kTwoWay, kOneway };

  // How the stream knows that a reply of the server answers a call.
  enum class Match : uint8_t {
    kNameAndId,
    kName,   // the peer's link version does not send the id
    kOrder,  // the request is a frame of several messages; the call names only the first
  };

  // The check of one request, if `allow` restricts the peer.
  enum class Check : uint8_t {
    kNotNeeded,  // the peer is not restricted
    kAwaited,    // the request is held until it is whole
    kDenied,     // the peer's kCall names a function that the peer may not call
    kPassed,
  };

  uint64_t ordinal = 0;
  FunctionCounters* counters = nullptr;
  TimePoint started{};
  uint64_t request_bytes = 0;
  uint64_t response_bytes = 0;
  uint64_t name_hash = 0;
  int32_t id = 0;  // if match is kNameAndId
  Match match = Match::kName;
  Polling polling = Polling::kEvent;
  uint16_t replies = 1;  // the expected number; certain once the request is complete
  uint16_t replies_seen = 0;
  size_t held_bytes = 0;
  Listed listed = Listed::kNot;
  Request request = Request::kArriving;
  Progress progress = Progress::kWaiting;
  Reply reply = Reply::kCertain;
  Check check = Check::kNotNeeded;
  InboundLane lane;  // on which it arrived, and on which its answer is sent

  // Handles the last piece, which has the number of replies that the request calls for; `several`
  // says that the request is a frame of several messages.
  void on_last_piece(uint16_t due, bool several);
  void cancel();
  void hand_over() {
    if (!is_handed_over())
      advance_to(is_answering() ? Progress::kAnswering : Progress::kHandedOver);
  }
  // Returns true if the reply begins now, so that kReply must be sent.
  bool begin_reply() {
    if (is_answering()) return false;
    advance_to(is_handed_over() ? Progress::kAnswering : Progress::kAnsweringEarly);
    return true;
  }

  bool is_complete() const {
    return request == Request::kComplete || request == Request::kCancelled;
  }
  bool is_cancelled() const { return request == Request::kCut || request == Request::kCancelled; }
  bool is_handed_over() const { return progress >= Progress::kHandedOver; }
  bool is_answering() const {
    return progress == Progress::kAnsweringEarly || progress == Progress::kAnswering;
  }
  bool is_answered_by(uint64_t name, int32_t seqid) const {
    return is_handed_over() && (match == Match::kOrder ||
                                (name == name_hash && (match == Match::kName || seqid == id)));
  }
  // Returns true if the whole request must be checked before the server receives any part of it.
  bool must_wait() const { return check == Check::kAwaited || check == Check::kDenied; }
  // Returns true if the peer's end of the lane counts the call's reply as due.
  bool is_due() const { return is_complete() && replies != 0; }
  // Returns true if the server has received nothing of the call, and will receive nothing.
  bool is_dropped() const { return is_cancelled() && !is_handed_over() && held_bytes == 0; }
  // Returns true if the server has everything of the call that it will receive, and later calls
  // may be answered first.
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
  // A queue with space for no more calls than this does not count towards limits.max_buffered.
  static constexpr size_t kCallsUncounted = 64;

  // Counts memory towards `share`, which must outlive the object.
  ServedCalls(Worker& worker, PeerShare& share) : worker_(worker), share_(share) {}
  // Counts the calls that are left with the outcome `unknown`.
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

  // Returns true if a call of this ordinal may begin: no other call is arriving, and the ordinal is
  // above those of all earlier calls.
  bool takes(uint64_t ordinal) const { return ordinal > last_ordinal_ && !is_arriving(); }
  // Adds a call for which takes() is true.
  void add(const ServedCall& call);
  // Returns the call that is arriving if it has this ordinal, or null.
  ServedCall* arriving(uint64_t ordinal);
  // Returns true if more pieces of the newest call will arrive.
  bool is_arriving() const {
    return !empty() && calls_[size() - 1].request == ServedCall::Request::kArriving;
  }
  // Returns true if the server may have done everything that all calls want.
  bool all_may_be_done() const;

  // Counts the call at the front, or the newest call, with this outcome, and removes it. It must
  // not have held bytes.
  void end_front(CallOutcome outcome);
  void end_newest(CallOutcome outcome);
  // Counts all calls as `unknown` and removes them, because the stream becomes opaque. Their held
  // bytes stay, and belong to no call.
  void become_opaque();

  // Holds bytes of a call. All bytes held for later calls must have been dropped.
  void hold(ServedCall& call, Bytes bytes);
  // Returns the held bytes of a call. No earlier call may have held bytes.
  Bytes held(const ServedCall& call) const { return held_.bytes().first(call.held_bytes); }
  // Removes these bytes, and returns how many they were.
  size_t drop_held(ServedCall& call);
  // Returns or removes the held bytes of the newest call.
  Bytes newest_held() const { return held_.bytes().last(calls_[size() - 1].held_bytes); }
  size_t drop_newest_held();
  bool holds_nothing() const { return held_.empty(); }
  // Holds bytes of an opaque stream.
  void hold_opaque(Bytes bytes);
  // Removes and returns all held bytes, of an opaque stream.
  ByteQueue take_opaque();

  // The call that a reply of the server answers.
  struct Answered {
    enum class What : uint8_t { kCall, kOnewayCall, kNothing };
    What what = What::kNothing;
    size_t call = 0;  // kCall: its index; the calls before it were oneway
  };
  // Finds the call that the reply with this head answers. Servers answer in order, so it is the
  // front call. There are two exceptions: the front call is oneway, or the server has answered a
  // oneway call. Stock servers answer a oneway call of a function that they do not know with an
  // exception.
  Answered answered_by(const thrift::Head& head, const UpstreamConnection& from) const;

  // Replaces the lane of that number, which is gone, by another one.
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
  ByteQueue held_;  // bytes of requests that wait for a connection, or until they are whole
  uint64_t last_ordinal_ = 0;
};

}  // namespace hat
