// SPDX-License-Identifier: Apache-2.0
// daemon/proxy/inbound/inbound_lane.h: pointers to one lane of a link from a peer, which save the
// look-up of the lane by its number when a frame is sent.
//
// The pointers to an RDMA lane are valid until the lane is lost. AcceptedLink then calls
// ServerStream::leave_lane() of each stream, which replaces the pointers by those of the link's TCP
// lane.
#pragma once

#include <cstdint>

#include "engine/rdma/rdma_lane.h"

namespace hat {

struct InboundLane {
  engine::Lane* frames = nullptr;    // sends the frames; never null in a stream or a call
  engine::RdmaLane* rdma = nullptr;  // the same lane if it is an RDMA lane; null: the TCP lane
  uint32_t number = 0;               // 0: the TCP lane
};

}  // namespace hat
