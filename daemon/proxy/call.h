// SPDX-License-Identifier: Apache-2.0
// daemon/proxy/call.h: one call of a local client, from its head to its one answer.
//
// The worker's pool owns the call. The call's connection keeps it in a queue, in the order in which
// the answers must be sent.
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
#include "daemon/proxy/deadlines.h"
#include "daemon/proxy/outbound/peer_lanes.h"
#include "daemon/thrift/message.h"
#include "engine/failure.h"

namespace hat {

class ClientConnection;

// A message's head with a copy of its name. The name in the reader's own head is valid only until
// the next head.
class KeptHead {
 public:
  void keep(const thrift::Head& head) {
    head_ = head;
    std::memcpy(name_.data(), head.name.data(), head.name.size());
    head_.name = {name_.data(), head.name.size()};
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

enum class RdmaWish : uint8_t {
  kNone,     // the plan uses TCP
  kMissing,  // the plan wants RDMA, and this host has none
  kWanted,
};

// Whether the caller waits for a reply.
enum class Reply : uint8_t {
  kNone,     // oneway
  kCertain,  // a manifest lists the function as two-way
  // An ordinary call of a function that no manifest lists. The call may be oneway, because Go's
  // library sends oneway calls as ordinary ones.
  kPossible,
};

struct Call final : Deadline {
  void on_deadline() override;

  ClientConnection* connection = nullptr;
  FunctionCounters* counters = nullptr;
  uint64_t ordinal = 0;  // its number in the stream, from 1
  TimePoint started{};
  uint64_t request_bytes = 0;
  uint64_t response_bytes = 0;
  uint16_t replies = 0;  // owed to the caller; 0 if oneway, above 1 for a frame of several messages
  Reply reply = Reply::kNone;
  Polling polling = Polling::kEvent;
  RdmaWish rdma = RdmaWish::kNone;
  LaneKey lane;              // if `rdma` is kWanted
  PeerLanes::Choice choice;  // the lane that the call uses
  bool several = false;      // its frame has several messages
  bool counted = false;      // towards limits.max_buffered
  bool sent = false;         // a part of it was sent to the peer
  bool reply_started = false;
  std::optional<engine::Failure> failure;
  std::string failure_detail;
  KeptHead head;
  std::vector<KeptHead> more_heads;  // of the other two-way messages in the same frame; rare
};

// Keeps ended Call objects, and reuses them for later calls. The path of a call allocates memory
// for a call only if the pool is empty. The pool holds at most kFreeMax * sizeof(Call) bytes,
// because it deletes an ended call that owns further memory, which is rare. With AddressSanitizer
// the pool deletes every call, so that the sanitizer reports each use of a call after its end.
class CallPool {
 public:
  static constexpr size_t kFreeMax = kAddressSanitizer ? 0 : 4096;

  // Returns a call, which the caller owns until give_back().
  Call* take() {
    if (free_.empty()) return new Call;
    Call* call = free_.back().release();
    free_.pop_back();
    DCHECK(!call->failure && call->more_heads.capacity() == 0);
    return call;
  }
  void give_back(Call* call) {
    std::unique_ptr<Call> ended(call);
    call->end();
    if (free_.size() >= kFreeMax || call->failure || call->more_heads.capacity() != 0) return;
    call->counters = nullptr;
    call->request_bytes = call->response_bytes = 0;
    call->replies = 0;
    call->reply = Reply::kNone;
    call->ordinal = 0;
    call->several = call->counted = call->sent = call->reply_started = false;
    free_.push_back(std::move(ended));
  }
  size_t free() const { return free_.size(); }

 private:
  std::vector<std::unique_ptr<Call>> free_;
};

}  // namespace hat
