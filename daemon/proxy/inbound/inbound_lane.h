// SPDX-License-Identifier: Apache-2.0
// daemon/proxy/inbound/inbound_lane.h: a handle to one lane of a link from a peer, so that a frame
// is sent without a look-up of the lane's number.
//
// The handle of an RDMA lane is valid until AcceptedLink reports the loss of the lane to its
// streams, which use the session's lane from then on.
#pragma once

#include <cstdint>

#include "engine/rdma/rdma_lane.h"

namespace hat {

struct InboundLane {
  engine::Lane* frames = nullptr;    // carries the frames; never null in a stream or a call
  engine::RdmaLane* rdma = nullptr;  // the same lane if it is an RDMA lane; null: the session's
  uint32_t number = 0;               // 0: the session's
};

}  // namespace hat
