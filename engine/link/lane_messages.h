// SPDX-License-Identifier: Apache-2.0
// engine/link/lane_messages.h: the payloads of the kLane… frames, by which the two sides of a link
// create an RDMA lane. docs/wire.md section 3.3 shows the bytes.
//
//   initiator: kLaneOpen ──▶      its shape, the shape it would like back, its fabric's reach
//              ◀── kLaneAccept    the acceptor's shape and its LaneOffer
//   initiator: kLaneReady ──▶     the initiator's LaneOffer
//              ◀── kLaneUp        both sides may send; a nonce
//   initiator: kLaneNonce         the same nonce, as the first frame on the lane itself: it proves
//                                 that the sender on the lane is the peer of the link
//   both:      kLaneClose         the lane is refused or ended; the reason
//
// If either side has a link version below 3, the two sides use no nonces.
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
  LaneShape back;  // how it would like the acceptor to send; the acceptor decides
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
// Decodes a payload; an error says what is wrong with it.
Result<LaneOpen> decode_lane_open(Bytes payload);
Result<LaneAccept> decode_lane_accept(Bytes payload);
Result<LaneOffer> decode_lane_offer(Bytes payload);

}  // namespace hat::engine
