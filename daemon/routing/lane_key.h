// SPDX-License-Identifier: Apache-2.0
// daemon/routing/lane_key.h: which RDMA lane a call's plans lead to: calls with equal keys share a
// lane.
#pragma once

#include <cstdint>
#include <optional>

#include "engine/link/lane_messages.h"
#include "engine/plan/planner.h"

namespace hat {

struct LaneKey {
  engine::ProtocolId request{};   // its request leg carries the calls
  engine::ProtocolId response{};  // its response leg carries the answers
  engine::LaneClass lanes = engine::LaneClass::kThroughput;
  uint32_t request_slot_bytes = 0;
  uint32_t response_slot_bytes = 0;

  friend bool operator==(const LaneKey&, const LaneKey&) = default;
};

// The keys of one function: of calls up to the plan's small_bytes_max, and of larger ones. Answers
// go by what `payload_size` says of the server's side, for nobody knows them beforehand.
struct LaneKeys {
  LaneKey small;
  LaneKey large;
};
LaneKeys lane_keys(const engine::Plan& client, const engine::Plan& server);

// How such a lane is asked for: as many slots of each side as kLaneSideBytes hold, 4 to 64.
inline constexpr uint32_t kLaneSideBytes = 512 * 1024;
engine::LaneWish wish_of(const LaneKey& key);

// The key's protocols as far as the peer has the legs for them, else what stands in their place;
// none: it has none that would do.
std::optional<LaneKey> reachable(LaneKey key, uint32_t legs);

}  // namespace hat
