// SPDX-License-Identifier: Apache-2.0
// daemon/metrics/call_ways.h: what carried the requests and the replies of a function's calls, as
// in the labels `request_protocol` and `reply_protocol` of hatrpc_calls_total.
//
// Bounds   A function has at most kWayCount ways. The calls of one function use few of them: a
//          metrics page shows only the ways that were used, and those that the plan names.
// Memory   The counters of a function are allocated when the first call of the function ends, in
//          each worker.
// Thread   One worker calls CallWays::add(); any thread calls used() and add_to().
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "base/counter.h"
#include "engine/protocols.h"

namespace hat {

// The carrier of a request or a reply: the RDMA protocol with this number (engine::ProtocolId),
// TCP, or nothing.
enum class Carrier : uint8_t {
  kTcp = engine::kProtocols.size(),
  kNone,  // the call ended without a complete reply
};
inline constexpr size_t kCarrierCount = engine::kProtocols.size() + 2;

constexpr Carrier carrier(engine::ProtocolId protocol) { return static_cast<Carrier>(protocol); }
// Returns the name of a protocol, "tcp" or "none".
constexpr std::string_view name(Carrier carrier) {
  if (carrier == Carrier::kTcp) return "tcp";
  if (carrier == Carrier::kNone) return "none";
  return engine::protocol(static_cast<engine::ProtocolId>(carrier)).name;
}
// Returns the carrier of a message that `leg` has carried on a lane of the protocol `planned`:
// `planned`, if `leg` is `own`, the leg of this protocol for messages of this direction; otherwise
// the protocol that is named after `leg`. So a reply of an rfp lane has the carrier rfp only if it
// was READ, eager if it was pushed by a SEND, and write_rndv if it was too large for a slot.
constexpr Carrier carrier_by(engine::Leg leg, engine::ProtocolId planned, engine::Leg own) {
  return carrier(leg == own ? planned : engine::protocol_of(leg));
}

// Finds the carrier of a message that consists of several pieces: that of the largest piece, and of
// several equally large pieces, that of the first one.
class LargestPiece {
 public:
  // Adds a piece. Calls `carrier_of_piece` only if the piece is larger than all earlier pieces.
  void add(uint32_t bytes, const auto& carrier_of_piece) {
    if (carrier_ != Carrier::kNone && bytes <= bytes_) return;
    bytes_ = bytes;
    carrier_ = carrier_of_piece();
  }
  // Returns kNone if there was no piece.
  Carrier carrier() const { return carrier_; }

 private:
  uint32_t bytes_ = 0;
  Carrier carrier_ = Carrier::kNone;
};

// The way of a call: the carriers of its request and of its reply.
struct CallWay {
  Carrier request = Carrier::kNone;
  Carrier reply = Carrier::kNone;

  friend bool operator==(const CallWay&, const CallWay&) = default;
};
inline constexpr size_t kWayCount = (kCarrierCount - 1) * kCarrierCount;  // each has a request

struct WayCount {
  CallWay way;
  uint64_t calls = 0;

  friend bool operator==(const WayCount&, const WayCount&) = default;
};

// Counts the calls of one function by their way, in one worker.
class CallWays {
 public:
  using Counts = std::array<uint64_t, kWayCount>;

  CallWays() = default;
  ~CallWays() { delete counters_.load(std::memory_order_relaxed); }
  CallWays(const CallWays&) = delete;
  CallWays& operator=(const CallWays&) = delete;

  // Counts a call. way.request must not be kNone.
  void add(CallWay way) {
    Counters* counters = counters_.load(std::memory_order_relaxed);
    if (counters == nullptr) counters = make();
    (*counters)[index(way)].add();
  }
  // Returns true if a call was counted.
  bool used() const { return counters_.load(std::memory_order_acquire) != nullptr; }
  // Adds the number of calls of each way to `counts`.
  void add_to(Counts& counts) const {
    const Counters* counters = counters_.load(std::memory_order_acquire);
    if (counters == nullptr) return;
    for (size_t i = 0; i < kWayCount; ++i) counts[i] += (*counters)[i].value();
  }
  // Returns the numbers in `counts` that are not zero, in the order of the ways' carriers.
  static std::vector<WayCount> list(const Counts& counts) {
    std::vector<WayCount> all;
    for (size_t i = 0; i < kWayCount; ++i) {
      const CallWay way{static_cast<Carrier>(i / kCarrierCount),
                        static_cast<Carrier>(i % kCarrierCount)};
      if (counts[i] != 0) all.push_back({way, counts[i]});
    }
    return all;
  }

 private:
  using Counters = std::array<Counter, kWayCount>;

  static size_t index(CallWay way) {
    DCHECK(way.request != Carrier::kNone);
    return static_cast<size_t>(way.request) * kCarrierCount + static_cast<size_t>(way.reply);
  }
  Counters* make() {
    auto* counters = new Counters();
    counters_.store(counters, std::memory_order_release);
    return counters;
  }

  std::atomic<Counters*> counters_{nullptr};
};

}  // namespace hat
