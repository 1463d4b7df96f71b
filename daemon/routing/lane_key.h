// SPDX-License-Identifier: Apache-2.0
// daemon/routing/lane_key.h: chooses the RDMA lane for a call. A LaneKey has the properties that a
// function's plans require of a lane. Calls with equal keys share a lane.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "engine/link/lane_messages.h"
#include "engine/plan/planner.h"

namespace hat {

struct LaneKey {
  engine::ProtocolId request{};   // its request leg carries the requests
  engine::ProtocolId response{};  // its response leg carries the replies
  engine::LaneClass lanes = engine::LaneClass::kThroughput;
  uint32_t request_slot_bytes = 0;
  uint32_t response_slot_bytes = 0;

  friend bool operator==(const LaneKey&, const LaneKey&) = default;
};

// The two keys of a function: `small` for requests of at most Plan::small_bytes_max bytes, and
// `large` for larger requests. They are equal if the client's plan needs only one lane
// (Plan::has_one_lane()). If the server's plan needs only one lane, each reply is moved in the way
// for its own size. Otherwise the hint `payload_size` of the server's side decides which protocol
// the replies use, because the size of a reply is not known when its lane is chosen.
struct LaneKeys {
  LaneKey small;
  LaneKey large;
};
LaneKeys lane_keys(const engine::Plan& client, const engine::Plan& server);

// The lane that a call wants. The server's daemon sends the replies, so the cores of the server's
// host decide the column of the planner's table from which the response protocol and the size of
// its slots come.
struct WantedLane {
  std::array<LaneKey, engine::kSubscriptionCount> by_column{};
  std::optional<Concurrency> callers;  // the hint `concurrency` of the server's side

  // Returns the key of the lane to a server's host with these cores.
  const LaneKey& at(const engine::CoreCounts& server) const {
    return by_column[static_cast<size_t>(engine::subscription(callers, server))];
  }

  friend bool operator==(const WantedLane&, const WantedLane&) = default;
};
// The lanes of a function: `small` and `large` as in LaneKeys.
struct WantedLanes {
  WantedLane small;
  WantedLane large;

  friend bool operator==(const WantedLanes&, const WantedLanes&) = default;
};
// Returns the lanes of a function. `client` is the plan of the client's side, and `server` are the
// hints of the server's side. `host` has the facts about this host; its cores are not used.
WantedLanes wanted_lanes(const engine::Plan& client, const Hints& server,
                         const engine::HostFacts& host);

// The maximum memory, in bytes, for the slots of one side of a lane.
inline constexpr uint32_t kLaneSideBytes = 512 * 1024;
// Returns the shapes to request from the peer for a lane with `key`. Each direction gets as many
// slots as fit into kLaneSideBytes: a power of two, from 4 to 64.
engine::LaneWish wish_of(const LaneKey& key);

// Returns `key` with protocols that use only `legs`, the legs that the peer supports. Protocols
// that need other legs are replaced (engine/plan/ability.h). Returns nullopt if no protocol is
// possible.
std::optional<LaneKey> reachable(LaneKey key, uint32_t legs);

}  // namespace hat
