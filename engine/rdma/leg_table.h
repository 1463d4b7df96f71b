// SPDX-License-Identifier: Apache-2.0
// engine/rdma/leg_table.h: the table of all legs, one row for each.
#pragma once

#include <array>
#include <memory>
#include <string_view>

#include "engine/rdma/leg_handler.h"

namespace hat::engine {

// The properties of one leg. S is the sender of a message and R is its receiver.
// Members  Constants: each LegRow is one row of the table kLegs, which never changes.
struct LegRow {
  Leg leg;
  std::string_view name;
  std::unique_ptr<LegHandler> (*make)(RdmaLane& lane, Leg leg);
  bool window;     // R has a window: a slot in its own memory for each slot of S
  bool sums;       // messages carry a checksum, because R finds them by polling memory
  bool replies;    // carries only replies; R polls while it waits for a reply
  bool recycles;   // S READs from R which slots are free, so R need not report it
  bool late;       // the leg implements LegHandler::before_post()
  bool on_demand;  // rendezvous: the message is in a buffer of its own, not in a slot
  bool reads;      // R READs from S, so the fabric must support READs
  bool gathers;    // S can WRITE the message from any memory, and no checksum covers its bytes
  // Memory in addition to the slots, in bytes per slot: at S, for R to READ (`sender_extra`); at R,
  // for S to READ (`receiver_extra`); at the side that READs, for the bytes READ (`scratch`).
  uint32_t sender_extra;
  uint32_t receiver_extra;
  uint32_t scratch;
};

extern const std::array<LegRow, kLegCount> kLegs;
inline const LegRow& row(Leg leg) { return kLegs[static_cast<size_t>(leg)]; }

// Returns what the other side of a lane may do in this side's memory, if this side sends by `out`
// and the other side by `in`: what the legs of the two shapes need, and WRITE. Every lane needs
// WRITE, because the other side probes the lane by an empty WRITE (RdmaLane::probe()). No lane
// permits atomics.
RemoteAccess access_for(const LaneShape& out, const LaneShape& in);

// Returns the legs that a fabric with these limits can perform, as a mask of bit_of(leg).
uint32_t legs_of(const FabricLimits& limits);

}  // namespace hat::engine
