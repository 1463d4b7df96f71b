// SPDX-License-Identifier: Apache-2.0
#include "engine/rdma/leg_table.h"

#include "engine/legs/legs.h"

namespace hat::engine {

constexpr std::array<LegRow, kLegCount> kLegs = {{
    LegRow{.leg = Leg::kSend, .name = "send", .make = &make_send},
    LegRow{.leg = Leg::kWriteSend,
           .name = "write_send",
           .make = &make_write_send,
           .window = true,
           .gathers = true},
    LegRow{.leg = Leg::kChainedWriteSend,
           .name = "chained_write_send",
           .make = &make_chained_write_send,
           .window = true,
           .gathers = true},
    LegRow{.leg = Leg::kWriteImm,
           .name = "write_imm",
           .make = &make_write_imm,
           .window = true,
           .gathers = true},
    LegRow{.leg = Leg::kWriteRndv,
           .name = "write_rndv",
           .make = &make_write_rndv,
           .on_demand = true,
           .gathers = true},
    LegRow{.leg = Leg::kReadRndv,
           .name = "read_rndv",
           .make = &make_read_rndv,
           .on_demand = true,
           .reads = true},
    LegRow{.leg = Leg::kFetch0,
           .name = "fetch",
           .make = &make_fetch,
           .window = true,
           .sums = true,
           .replies = true,
           .reads = true},
    LegRow{.leg = Leg::kFetch1,
           .name = "fetch, 1 metadata READ",
           .make = &make_fetch,
           .window = true,
           .sums = true,
           .replies = true,
           .reads = true,
           .sender_extra = 8,
           .scratch = 8},
    LegRow{.leg = Leg::kFetch2,
           .name = "fetch, 2 metadata READs",
           .make = &make_fetch,
           .window = true,
           .sums = true,
           .replies = true,
           .reads = true,
           .sender_extra = 16,
           .scratch = 8},
    LegRow{.leg = Leg::kBitmap,
           .name = "bitmap",
           .make = &make_bitmap,
           .window = true,
           .sums = true,
           .recycles = true,
           .late = true,
           .reads = true,
           .sender_extra = 2,
           .receiver_extra = 2,
           .scratch = 8},
}};

namespace {

constexpr bool in_order() {
  for (size_t i = 0; i < kLegs.size(); ++i) {
    if (static_cast<size_t>(kLegs[i].leg) != i) return false;
  }
  return true;
}
static_assert(in_order(), "a leg's row stands where its value says");

}  // namespace

RemoteAccess access_for(const LaneShape& out, const LaneShape& in) {
  RemoteAccess access{.write = true};  // for RdmaLane::probe() of the other side
  for (const Leg leg : {out.leg, out.beyond}) access.read |= row(leg).reads;
  for (const Leg leg : {in.leg, in.beyond}) access.read |= row(leg).recycles;
  return access;
}

uint32_t legs_of(const FabricLimits& limits) {
  uint32_t legs = 0;
  for (const LegRow& one : kLegs) {
    if (!one.reads || limits.reads_max != 0) legs |= bit_of(one.leg);
  }
  return legs;
}

}  // namespace hat::engine
