// SPDX-License-Identifier: Apache-2.0
// daemon/proxy/call.h: one call of a local client, from the head of its request to its answer.
//
// The CallQueue of a client connection owns the connection's calls and keeps them in the order in
// which the client must get their answers. Each Call object comes from the worker's CallPool and
// goes back to the CallPool when the call ends.
#pragma once

#include <array>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/check.h"
#include "config/hints.h"
#include "daemon/metrics/counters.h"
#include "daemon/metrics/spans.h"
#include "daemon/proxy/deadlines.h"
#include "daemon/proxy/outbound/learned_route.h"
#include "daemon/proxy/outbound/peer_lanes.h"
#include "daemon/thrift/message.h"
#include "engine/failure.h"
#include "engine/served_times.h"

namespace hat {

class ClientConnection;
class PeerLink;

// A message's head with a copy of the message's name, and without its trace context. Both are valid
// in a head that a MessageReader returns only until the MessageReader reads the next head.
class KeptHead {
 public:
  void keep(const thrift::Head& head) {
    head_ = head;
    std::memcpy(name_.data(), head.name.data(), head.name.size());
    head_.name = {name_.data(), head.name.size()};
    head_.trace = nullptr;
  }
  const thrift::Head& get() const { return head_; }

  KeptHead() = default;
  KeptHead(const KeptHead& other) { keep(other.head_); }
  KeptHead& operator=(const KeptHead& other) {
    keep(other.head_);
    return *this;
  }

 private:
  thrift::Head head_;
  std::array<char, thrift::kNameBytesMax> name_;
};

// Whether the plan of the call's function wants RDMA.
enum class RdmaWish : uint8_t {
  kNone,     // the plan uses TCP
  kMissing,  // the hints want RDMA, but this host has none, so the plan uses TCP
  kWanted,
};

// Whether the client waits for a reply to the call.
enum class Reply : uint8_t {
  kNone,     // the call is oneway
  kCertain,  // a manifest lists the function as two-way
  // An ordinary call of a function that no manifest lists. The call may be oneway, because Go's
  // library sends oneway calls as ordinary ones.
  kPossible,
};

// Who has chosen the time after which a call fails.
enum class DeadlineOf : uint8_t {
  kPlan,    // the hints or limits of this node
  kClient,  // the client, which has sent a shorter time with the call
};

// Whether the plan of a call depends on the peer, and for which peer it was chosen last.
struct PeerPlanOfCall {
  uint32_t number = 0;             // Route::by_peer_number; 0: the plan does not depend on the peer
  const PeerLink* link = nullptr;  // to the peer; null before it is chosen. It is only compared
};

// The part of a call in what is learned about its function. `route` is null if nothing is learned.
struct LearnedCall {
  LearnedRoute* route = nullptr;
  LearnedRoute::Part part;
  TimePoint began{};
  bool exact = false;  // only a lane with exactly the protocols of the choice counts
};

// Members   many, because they are the call's state in every stage of its life.
struct Call final : Deadline {
  void on_deadline() override;

  ClientConnection* connection = nullptr;
  FunctionCounters* counters = nullptr;
  uint64_t ordinal = 0;  // the call's number in its stream, from 1
  TimePoint started{};
  uint64_t request_bytes = 0;
  uint64_t response_bytes = 0;
  // The number of replies that the client expects: 0 for a oneway call, and more than 1 for a
  // Thrift frame with several two-way messages.
  uint16_t replies = 0;
  Reply reply = Reply::kNone;
  DeadlineOf deadline_of = DeadlineOf::kPlan;
  CallPolling polling;
  RdmaWish rdma = RdmaWish::kNone;
  WantedLane lane;  // the kind of RDMA lane that the plan wants, if `rdma` is kWanted
  PeerPlanOfCall by_peer;
  LearnedCall learned;
  PeerLanes::Choice choice;  // the lane that the call uses
  CallWay way;               // what carried the request, and the reply once it is complete
  struct {
    LargestPiece request, reply;
  } pieces;
  // Of the newest attempt: when the first part of the request was sent, and the first part of the
  // reply arrived; and how long the call was at the server's host. `asked`: when the last part of
  // the request was sent, if the client had no other unanswered call then; otherwise zero.
  struct {
    TimePoint sent{};
    TimePoint asked{};
    TimePoint replied{};
    std::optional<engine::ServedTimes> there;
  } times;
  CallTrace trace;
  std::optional<thrift::TraceId> trace_id;  // if the client has sent a trace context
  bool several = false;                     // the Thrift frame of the call has several messages
  bool counted = false;        // this object's memory counts towards limits.max_buffered
  bool sent = false;           // a part of the request was sent to the peer
  bool reply_started = false;  // a part of a reply was written to the client
  std::optional<engine::Failure> failure;
  std::string failure_detail;
  // The failure after which the call was sent again although the server may have seen it.
  std::optional<engine::Failure> lost;
  KeptHead head;
  // The heads of the Thrift frame's two-way messages other than `head`; usually empty.
  std::vector<KeptHead> more_heads;
};

// Keeps ended Call objects, and reuses these objects for later calls. take() allocates memory only
// if the pool is empty. The pool keeps at most kFreeMax objects. It deletes an ended call whose
// members `failure_detail` or `more_heads` may own further memory. In a build with
// AddressSanitizer the pool deletes every ended call, so that the sanitizer reports each use of a
// call after its end.
class CallPool {
 public:
  static constexpr size_t kFreeMax = kAddressSanitizer ? 0 : 4096;

  // Returns a Call object. The caller owns the object until give_back().
  Call* take() {
    if (free_.empty()) return new Call;
    Call* call = free_.back().release();
    free_.pop_back();
    DCHECK(!call->failure && call->more_heads.capacity() == 0);
    return call;
  }
  // Takes a Call object back, and keeps the object for reuse or deletes it.
  void give_back(Call* call) {
    std::unique_ptr<Call> ended(call);
    call->end();
    if (free_.size() >= kFreeMax || call->failure || call->more_heads.capacity() != 0) return;
    call->counters = nullptr;
    call->request_bytes = call->response_bytes = 0;
    call->replies = 0;
    call->reply = Reply::kNone;
    call->deadline_of = DeadlineOf::kPlan;
    call->ordinal = 0;
    call->way = {};
    call->lost.reset();
    call->by_peer = {};
    call->learned = {};
    call->pieces = {};
    call->times = {};
    call->trace.is_recorded = false;
    call->trace_id.reset();
    call->several = call->counted = call->sent = call->reply_started = false;
    free_.push_back(std::move(ended));
  }
  // Returns the number of objects that the pool keeps for reuse.
  size_t free() const { return free_.size(); }

 private:
  std::vector<std::unique_ptr<Call>> free_;
};

}  // namespace hat
