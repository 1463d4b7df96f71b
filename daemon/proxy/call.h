// SPDX-License-Identifier: Apache-2.0
// daemon/proxy/call.h: one call of a local client, from its head to its one answer.
//
// Owned by the worker's pool; held by its connection, in the order in which answers must leave.
#pragma once

#include <array>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "config/hints.h"
#include "daemon/metrics/counters.h"
#include "daemon/proxy/deadlines.h"
#include "daemon/proxy/outbound/peer_lanes.h"
#include "daemon/thrift/message.h"
#include "engine/failure.h"

namespace hat {

class ClientConnection;

// A message's head with its name kept: the reader's own lives only until the next one.
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
  kNone,     // transport: tcp
  kMissing,  // its plan wants RDMA, and this host has none
  kWanted,
};

// Whether the caller waits for a reply.
enum class Reply : uint8_t {
  kNone,      // oneway
  kCertain,   // a manifest lists the function as two-way
  kPossible,  // an ordinary call of a function that no manifest lists: Go sends oneway calls so
};

struct Call final : Deadline {
  void on_deadline() override;

  ClientConnection* connection = nullptr;
  FunctionCounters* counters = nullptr;
  uint64_t ordinal = 0;  // in its stream
  TimePoint started{};
  uint64_t request_bytes = 0;
  uint64_t response_bytes = 0;
  uint16_t replies = 0;  // owed to the caller: 0 for oneway, 1, or more for a frame of several
  Reply reply = Reply::kNone;
  Polling polling = Polling::kEvent;
  RdmaWish rdma = RdmaWish::kNone;
  LaneKey lane;              // where RDMA is wanted
  PeerLanes::Choice choice;  // the way that was found
  bool several = false;      // its frame has more messages than one
  bool counted = false;      // towards limits.max_buffered
  bool sent = false;         // some of it is with the peer daemon
  bool reply_started = false;
  std::optional<engine::Failure> failure;
  std::string failure_detail;
  KeptHead head;
  std::vector<KeptHead> more_heads;  // of the other two-way messages in the same frame; rare
};

// Calls that have ended keep their memory for the next ones: none is allocated on the path of a
// call, but where more are out than ever lately.
class CallPool {
 public:
  static constexpr size_t kFreeMax = 16 * 1024;

  // The caller owns it until give_back().
  Call* take() {
    if (free_.empty()) return new Call;
    Call* call = free_.back().release();
    free_.pop_back();
    return call;
  }
  void give_back(Call* call) {
    call->end();
    call->counters = nullptr;
    call->request_bytes = call->response_bytes = 0;
    call->replies = 0;
    call->reply = Reply::kNone;
    call->ordinal = 0;
    call->several = call->counted = call->sent = call->reply_started = false;
    call->failure.reset();
    call->failure_detail.clear();
    call->more_heads.clear();
    std::unique_ptr<Call> ended(call);
    if (free_.size() < kFreeMax) free_.push_back(std::move(ended));
  }
  size_t free() const { return free_.size(); }

 private:
  std::vector<std::unique_ptr<Call>> free_;
};

}  // namespace hat
