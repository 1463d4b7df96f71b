// SPDX-License-Identifier: Apache-2.0
// engine/legs/legs.h: declares the functions that create leg handlers. The table in
// engine/legs/leg_table.cc has one row for each leg, with its function.
#pragma once

#include "engine/rdma/leg_handler.h"

namespace hat::engine {

std::unique_ptr<LegHandler> make_send(RdmaLane& lane, Leg leg);
std::unique_ptr<LegHandler> make_write_send(RdmaLane& lane, Leg leg);
std::unique_ptr<LegHandler> make_chained_write_send(RdmaLane& lane, Leg leg);
std::unique_ptr<LegHandler> make_write_imm(RdmaLane& lane, Leg leg);
std::unique_ptr<LegHandler> make_write_rndv(RdmaLane& lane, Leg leg);
std::unique_ptr<LegHandler> make_read_rndv(RdmaLane& lane, Leg leg);
std::unique_ptr<LegHandler> make_fetch(RdmaLane& lane, Leg leg);
std::unique_ptr<LegHandler> make_bitmap(RdmaLane& lane, Leg leg);

}  // namespace hat::engine
