// SPDX-License-Identifier: Apache-2.0
// engine/rdma/leg_table.h: all legs, one row each.
#pragma once

#include <array>
#include <memory>
#include <string_view>

#include "engine/rdma/mover.h"

namespace hat::engine {

struct LegRow {
  Leg leg;
  std::string_view name;
  std::unique_ptr<Mover> (*make)(RdmaLane& lane, Leg leg);
  bool window;     // R keeps a slot in its own memory for each of S's
  bool sums;       // messages carry a checksum: R finds them by looking at memory
  bool replies;    // only for what answers a call: R looks while it waits for one
  bool recycles;   // S finds out by itself which slots are free
  bool late;       // has something to do before a post
  bool on_demand;  // the message lies in a buffer of its own, not in a slot
  bool gathers;    // S WRITEs it from wherever it lies, and no checksum holds its bytes
  // Bytes per slot, beside the slots: at S, READ by R; at R, READ by S; and what is read.
  uint32_t sender_extra;
  uint32_t receiver_extra;
  uint32_t scratch;
};

extern const std::array<LegRow, kLegCount> kLegs;
inline const LegRow& row(Leg leg) { return kLegs[static_cast<size_t>(leg)]; }

}  // namespace hat::engine
