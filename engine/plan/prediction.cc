// SPDX-License-Identifier: Apache-2.0
#include "engine/plan/prediction.h"

#include <algorithm>
#include <array>

#include "engine/frame.h"
#include "engine/rdma/wire.h"

namespace hat::engine {
namespace {

constexpr uint64_t kSendBytesMax = kEagerBytesMax;
constexpr uint64_t kBorderMin = 512;
constexpr uint64_t kBorderMax = kPieceBytesMax;
constexpr uint32_t kShort = 8;

// Counts the operations that move one message by `leg`. No two operations overlap in time, so their
// costs add up.
struct Operations {
  Leg leg;
  double copies = 0;   // copies of the payload by a processor
  double sends = 0;    // SENDs of the payload
  double writes = 0;   // WRITEs of the payload; the signal after a WRITE announces its arrival
  double reads = 0;    // READs of the payload
  double glances = 0;  // READs of a single word
  double signals = 0;  // short messages without payload: SENDs, notices, immediates
};

constexpr std::array<Operations, kLegCount> kOperations = {{
    {.leg = Leg::kSend, .copies = 1, .sends = 1},
    {.leg = Leg::kWriteSend, .copies = 1, .writes = 1, .signals = 1},
    {.leg = Leg::kChainedWriteSend, .copies = 1, .writes = 1, .signals = 1},
    {.leg = Leg::kWriteImm, .copies = 1, .writes = 1, .signals = 1},
    // The three signals are the sender's announcement, the receiver's offer of a buffer, and the
    // immediate of the last chunk.
    {.leg = Leg::kWriteRndv, .copies = 1, .writes = 1, .signals = 3},
    {.leg = Leg::kReadRndv, .copies = 1, .reads = 1, .signals = 1},
    {.leg = Leg::kFetch0, .copies = 1, .reads = 1},
    {.leg = Leg::kFetch1, .copies = 1, .reads = 1, .glances = 1},
    {.leg = Leg::kFetch2, .copies = 1, .reads = 1, .glances = 2},
    {.leg = Leg::kBitmap, .copies = 1, .writes = 1, .signals = 1},
}};

constexpr bool rows_in_order() {
  for (size_t i = 0; i < kOperations.size(); ++i) {
    if (static_cast<size_t>(kOperations[i].leg) != i) return false;
  }
  return true;
}
static_assert(rows_in_order(), "a leg's row stands where its value says");

Leg leg_within(Leg leg, Leg beyond, uint64_t bytes) {
  return leg == Leg::kSend && bytes > kSendBytesMax ? beyond : leg;
}

}  // namespace

double message_ns(const ComponentCosts& costs, Leg leg, uint64_t bytes, Polling polling) {
  const Operations& each = kOperations[static_cast<size_t>(leg)];
  const auto size = static_cast<uint32_t>(std::min<uint64_t>(bytes, UINT32_MAX));
  const double signal = cost_of(costs.message, kShort) / 2;
  // A WRITE and the short message that announces it (its signal) travel together. The cost of the
  // signal is counted separately, so a WRITE of the payload adds only what it costs more than a
  // short WRITE.
  const double write = std::max(0.0, cost_of(costs.put, size) - cost_of(costs.put, kShort));
  const double waits = each.sends + each.reads + each.glances + each.signals;
  return each.copies * cost_of(costs.copy, size) + each.sends * cost_of(costs.message, size) / 2 +
         each.writes * write + each.reads * cost_of(costs.get, size) +
         each.glances * cost_of(costs.get, kShort) + each.signals * signal +
         (polling == Polling::kEvent ? waits * costs.wake_up_ns : 0);
}

double call_ns(const ComponentCosts& costs, ProtocolId id, uint64_t bytes, Polling polling) {
  const Protocol& one = protocol(id);
  return message_ns(costs, leg_within(one.request, one.beyond, bytes), bytes, polling) +
         message_ns(costs, leg_within(one.response, one.beyond, bytes), bytes, polling);
}

uint64_t border_bytes(const ComponentCosts& costs, ProtocolId small, ProtocolId large,
                      Polling polling) {
  const bool sends = protocol(small).request == Leg::kSend;
  uint64_t border = kBorderMin;
  for (uint64_t bytes = 2 * kBorderMin; bytes <= (sends ? kSendBytesMax : kBorderMax); bytes *= 2) {
    const double in_slot = call_ns(costs, small, bytes, polling);
    if (call_ns(costs, large, bytes, polling) > kRendezvousWorth * in_slot) border = bytes;
  }
  return border;
}

}  // namespace hat::engine
