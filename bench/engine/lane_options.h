// SPDX-License-Identifier: Apache-2.0
// bench/engine/lane_options.h: the lanes on which calls are measured, on any fabric.
#pragma once

#include "bench/engine/measure.h"
#include "engine/rdma/rdma_lane.h"

namespace hat::bench {

// Returns the options of a lane for these settings, at the client's or at the server's end.
engine::RdmaLaneOptions lane_options(const Settings& settings, bool server);

}  // namespace hat::bench
