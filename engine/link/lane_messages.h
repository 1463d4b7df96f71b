// SPDX-License-Identifier: Apache-2.0
// engine/link/lane_messages.h: the payloads of the kLane… frames, by which two daemons create an
// RDMA lane (one RDMA connection between them) over the TCP connection of their link. A LaneShape
// says how one side sends on the lane; a LaneOffer has the address of a side's queue pair and
// memory. docs/link.md ("RDMA lanes") shows the bytes.
//
//   initiator: kLaneOpen     the shape for what the initiator sends, the shape that it would like
//                            for what the acceptor sends, and the reach of its fabric
//   acceptor:  kLaneAccept   the shape for what the acceptor sends, and the acceptor's LaneOffer
//   initiator: kLaneReady    the initiator's LaneOffer
//   acceptor:  kLaneUp       both sides may send from now on; the payload is a nonce
//   initiator: kLaneNonce    the same nonce, as the first frame on the lane itself. The nonce
//                            proves that the sender on the lane is the peer of the link
//   both:      kLaneClose    the lane is refused or ended; the payload is the reason
//
// If one of the two daemons has a link version below 3, they use no nonces.
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
  LaneShape back;  // how the initiator would like the acceptor to send; the acceptor decides
};

struct LaneOpen {
  LaneWish wish;
  std::string reach;  // Fabric::reach() of the initiator: text that says whom its fabric can reach
};

struct LaneAccept {
  LaneShape back;  // how the acceptor sends
  LaneOffer offer;
};

// Returns the payload of a kLaneOpen, kLaneAccept or kLaneReady frame.
std::vector<std::byte> encode(const LaneOpen& open);
std::vector<std::byte> encode(const LaneAccept& accept);
std::vector<std::byte> encode(const LaneOffer& offer);
// Decodes the payload of a kLaneOpen, kLaneAccept or kLaneReady frame. An error says how the
// payload is wrong.
Result<LaneOpen> decode_lane_open(Bytes payload);
Result<LaneAccept> decode_lane_accept(Bytes payload);
Result<LaneOffer> decode_lane_offer(Bytes payload);

}  // namespace hat::engine
