// SPDX-License-Identifier: Apache-2.0
#include "daemon/routing/lane_key.h"

#include <algorithm>
#include <bit>

#include "engine/plan/ability.h"
#include "engine/rdma/leg_table.h"

namespace hat {

using engine::Leg;
using engine::Plan;
using engine::ProtocolId;

namespace {

// The space in a slot for the bytes before the message: a CallMeta (lengths of the names, sequence
// id), and the names of the function and the service.
constexpr uint32_t kHeadBytes = 320;

// Returns the slot size in bytes for messages of `plan`: a power of two, plus kHeadBytes. Functions
// with nearly the same payload size thus get the same size, and share a lane.
uint32_t slot_bytes(const Plan& plan) {
  const uint64_t message = std::min<uint64_t>(plan.slot_bytes, engine::kPieceBytesMax);
  const uint64_t rounded = std::bit_ceil(std::max<uint64_t>(message, 64)) + kHeadBytes;
  return static_cast<uint32_t>(std::min<uint64_t>(rounded, engine::kFramePayloadBytesMax));
}

engine::LaneShape shape_of(Leg leg, Leg beyond, uint32_t slot_bytes) {
  constexpr uint32_t kSlotBytesMin = 64;
  constexpr uint32_t kSlotsFewest = 4;
  constexpr uint32_t kSlotsMost = 64;
  // If the leg is on demand (a rendezvous), the message is not in a slot but in a buffer of its
  // own, so the smallest slots are enough.
  if (engine::row(leg).on_demand) slot_bytes = kSlotBytesMin;
  if (leg == Leg::kSend) slot_bytes = std::min(slot_bytes, engine::kEagerBytesMax);
  const uint32_t slots =
      std::clamp(std::bit_floor(kLaneSideBytes / slot_bytes), kSlotsFewest, kSlotsMost);
  return {leg, beyond, static_cast<uint16_t>(slots), slot_bytes};
}

}  // namespace

LaneKeys lane_keys(const Plan& client, const Plan& server) {
  const auto lanes = client.latency ? engine::LaneClass::kLatency : engine::LaneClass::kThroughput;
  const bool small_replies = server.has_one_lane() || server.slot_bytes <= server.small_bytes_max;
  const ProtocolId response = small_replies ? server.small : server.large;
  const auto key = [&](ProtocolId request) {
    return LaneKey{request, response, lanes, slot_bytes(client), slot_bytes(server)};
  };
  return {key(client.small), key(client.has_one_lane() ? client.small : client.large)};
}

WantedLanes wanted_lanes(const Plan& client, const Hints& server, const engine::HostFacts& host) {
  WantedLanes lanes;
  lanes.small.callers = lanes.large.callers = server.concurrency;
  for (size_t column = 0; column < engine::kSubscriptionCount; ++column) {
    Hints hints = server;
    hints.concurrency = static_cast<Subscription>(column);
    const LaneKeys keys = lane_keys(client, make_plan(hints, host));
    lanes.small.by_column[column] = keys.small;
    lanes.large.by_column[column] = keys.large;
  }
  return lanes;
}

engine::LaneWish wish_of(const LaneKey& key) {
  const engine::Protocol& request = engine::protocol(key.request);
  const engine::Protocol& response = engine::protocol(key.response);
  return {.lanes = key.lanes,
          .out = shape_of(request.request, request.beyond, key.request_slot_bytes),
          .back = shape_of(response.response, response.beyond, key.response_slot_bytes)};
}

std::optional<LaneKey> reachable(LaneKey key, uint32_t legs) {
  Plan plan;
  plan.path = Path::kRdma;
  plan.small = key.request;
  plan.large = key.response;
  plan = engine::bounded(plan, {.who = "", .legs = legs});
  if (plan.path != Path::kRdma) return std::nullopt;
  key.request = plan.small;
  key.response = plan.large;
  return key;
}

}  // namespace hat
