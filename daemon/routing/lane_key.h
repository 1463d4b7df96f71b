// SPDX-License-Identifier: Apache-2.0
// daemon/routing/lane_key.h: the RDMA lane that a call's plans lead to: calls with equal keys share
// a lane.
#pragma once

#include <cstdint>
#include <optional>

#include "engine/link/lane_messages.h"
#include "engine/plan/planner.h"

namespace hat {

struct LaneKey {
  engine::ProtocolId request{};   // the request leg of this protocol carries the calls
  engine::ProtocolId response{};  // the response leg of this protocol carries the answers
  engine::LaneClass lanes = engine::LaneClass::kThroughput;
  uint32_t request_slot_bytes = 0;
  uint32_t response_slot_bytes = 0;

  friend bool operator==(const LaneKey&, const LaneKey&) = default;
};

// The keys of one function: for calls of up to the plan's small_bytes_max, and for larger ones. The
// size of an answer is not known in advance, so `payload_size` of the server's side decides.
struct LaneKeys {
  LaneKey small;
  LaneKey large;
};
LaneKeys lane_keys(const engine::Plan& client, const engine::Plan& server);

// The slots of each side of a lane take at most this much memory.
inline constexpr uint32_t kLaneSideBytes = 512 * 1024;
// Returns the wish for a lane with that key. Each side gets as many slots as fit into
// kLaneSideBytes, from 4 to 64.
engine::LaneWish wish_of(const LaneKey& key);

// Returns the key with protocols that the peer's legs allow: a protocol with missing legs is
// replaced (engine/plan/ability.h). Returns nothing if no protocol remains.
std::optional<LaneKey> reachable(LaneKey key, uint32_t legs);

}  // namespace hat
