// SPDX-License-Identifier: Apache-2.0
// daemon/routing/lane_key.h: chooses the RDMA lane (RDMA connection between two daemons) for a
// call. A LaneKey has the properties of a lane that the plans of the called function require. Calls
// with equal keys share a lane.
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

// The two keys of one function: `small` for calls whose request has at most Plan::small_bytes_max
// bytes, and `large` for larger requests. The size of a reply is not known in advance, so the hint
// `payload_size` of the server's side decides which protocol and slots replies use.
struct LaneKeys {
  LaneKey small;
  LaneKey large;
};
LaneKeys lane_keys(const engine::Plan& client, const engine::Plan& server);

// The maximum memory, in bytes, for the slots (message buffers) of each side of a lane.
inline constexpr uint32_t kLaneSideBytes = 512 * 1024;
// Returns the shapes to request from the peer for a lane with this key. Each side gets as many
// slots as fit into kLaneSideBytes, but at least 4 and at most 64.
engine::LaneWish wish_of(const LaneKey& key);

// Returns `key` with protocols that the peer supports. `legs` has the peer's legs (its ways to move
// one message). A protocol that needs other legs is replaced (engine/plan/ability.h). Returns
// nullopt if no protocol is possible.
std::optional<LaneKey> reachable(LaneKey key, uint32_t legs);

}  // namespace hat
