// SPDX-License-Identifier: Apache-2.0
// engine/link/lane_messages.h: what the two sides of a link say to make an RDMA lane: the payloads
// of the kLane… frames. docs/wire.md section 3.3 shows the bytes.
//
//   initiator: kLaneOpen ──▶      its shape, the shape it would like back, its fabric's reach
//              ◀── kLaneAccept    the other shape, and what the acceptor opens
//   initiator: kLaneReady ──▶     what the initiator opens
//              ◀── kLaneUp        both may send; a nonce
//   initiator: kLaneNonce, by the lane itself, before anything else: who speaks there is who was
//              given it on the link. Without nonces where a side is of a link version before 3.
//   both:      kLaneClose         no such lane, or no more; the reason
#pragma once

#include <array>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/lane.h"
#include "engine/rdma/rdma_host.h"
#include "engine/rdma/wire.h"

namespace hat::engine {

using LaneNonce = std::array<std::byte, 16>;

struct LaneWish {
  LaneClass lanes = LaneClass::kThroughput;
  LaneShape out;   // how the initiator sends
  LaneShape back;  // how it would like to be answered: the acceptor decides
};

struct LaneOpen {
  LaneWish wish;
  std::string reach;  // Fabric::reach()
};

struct LaneAccept {
  LaneShape back;
  LaneOffer offer;
};

std::vector<std::byte> encode(const LaneOpen& open);
std::vector<std::byte> encode(const LaneAccept& accept);
std::vector<std::byte> encode(const LaneOffer& offer);
// Errors say what is wrong with it.
Result<LaneOpen> decode_lane_open(Bytes payload);
Result<LaneAccept> decode_lane_accept(Bytes payload);
Result<LaneOffer> decode_lane_offer(Bytes payload);

}  // namespace hat::engine
