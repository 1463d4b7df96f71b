// SPDX-License-Identifier: Apache-2.0
// engine/rdma/leg_table.h: the table of all legs, one row for each.
#pragma once

#include <array>
#include <memory>
#include <string_view>

#include "engine/rdma/leg_handler.h"

namespace hat::engine {

// The properties of one leg.
// Members  Constants: each LegRow is one row of the table kLegs, which never changes.
struct LegRow {
  Leg leg;
  std::string_view name;
  std::unique_ptr<LegHandler> (*make)(RdmaLane& lane, Leg leg);
  bool window;     // R has a slot in its own memory for each slot of S
  bool sums;       // messages carry a checksum, because R finds them by polling memory
  bool replies;    // carries only replies: R polls while it waits for one
  bool recycles;   // S finds out by itself which slots are free
  bool late;       // before_post() has work to do
  bool on_demand;  // the message is in a buffer of its own, not in a slot
  bool reads;      // R or S READs, so the fabric must support READs
  bool gathers;    // S can WRITE the message from any memory, and no checksum covers its bytes
  // Bytes per slot, in addition to the slots: in S's memory, READ by R; in R's memory, READ by S;
  // and at the side that READs them.
  uint32_t sender_extra;
  uint32_t receiver_extra;
  uint32_t scratch;
};

extern const std::array<LegRow, kLegCount> kLegs;
inline const LegRow& row(Leg leg) { return kLegs[static_cast<size_t>(leg)]; }

// Returns the bits of the legs that a fabric with these limits can perform.
uint32_t legs_of(const FabricLimits& limits);

}  // namespace hat::engine
