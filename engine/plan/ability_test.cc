// SPDX-License-Identifier: Apache-2.0
#include "engine/plan/ability.h"

#include <gtest/gtest.h>

namespace hat::engine {
namespace {

const HostFacts kEightCores{.cores = 8, .nic_cores = 4, .rdma = true};

TEST(Ability, BoundsThePlanAndSaysSo) {
  struct Row {
    const char* protocol;
    uint32_t missing;  // the set of legs that the peer does not support
    const char* plan;
    const char* reason;  // the text appended to the plan's reason
  };
  for (const Row& row : {
           Row{"hipower", 0, "hipower, busy", ""},
           Row{"eager", bit_of(Leg::kBitmap), "eager, busy", ""},
           Row{"hipower", bit_of(Leg::kBitmap), "direct_write_imm, busy",
               "; peer b does not support hipower: direct_write_imm is used instead"},
           Row{"rfp", bit_of(Leg::kFetch0) | bit_of(Leg::kWriteImm), "eager, busy",
               "; peer b does not support rfp: eager is used instead"},
           Row{"ar_grpc", bit_of(Leg::kReadRndv), "direct_write_imm, busy",
               "; peer b does not support ar_grpc: direct_write_imm is used instead"},
           Row{"rfp", bit_of(Leg::kWriteRndv), "rfp, busy over tcp",
               "; TCP carries the calls: peer b has none of the legs that the calls need"},
           Row{"rfp", kAllLegs, "rfp, busy over tcp",
               "; TCP carries the calls: peer b has no RDMA lanes"},
       }) {
    const Plan plan =
        make_plan({.perf_goal = PerfGoal::kLatency, .protocol = row.protocol}, kEightCores);
    const Plan made = bounded(plan, {.who = "peer b", .legs = kAllLegs & ~row.missing});
    EXPECT_EQ(describe(made), row.plan);
    EXPECT_EQ(made.reason, plan.reason + row.reason);
  }
}

TEST(Ability, BoundsEachHalfOfASplitPlan) {
  const Plan plan = make_plan({.perf_goal = PerfGoal::kThroughput, .concurrency = 9u}, kEightCores);
  const Plan made = bounded(plan, {.who = "device rxe0", .legs = kAllLegs & ~bit_of(Leg::kFetch0)});
  EXPECT_EQ(describe(made), "direct_write_imm, event");
  EXPECT_EQ(made.reason,
            plan.reason +
                "; device rxe0 does not support direct_write_imm and rfp: direct_write_imm "
                "is used instead");
}

TEST(Ability, ClipsSlots) {
  const Plan plan = make_plan({.payload_bytes = 1 << 20}, kEightCores);
  const Plan made = bounded(plan, {.who = "peer b", .slot_bytes_max = 65536});
  EXPECT_EQ(made.slot_bytes, 65536u);
  EXPECT_EQ(
      made.reason,
      plan.reason + "; peer b has slots of at most 65536 bytes: larger messages use rendezvous");
}

TEST(Ability, LeavesTcpAlone) {
  const Plan plan = make_plan({.transport = Path::kTcp}, kEightCores);
  EXPECT_EQ(bounded(plan, {.who = "peer b", .legs = 0}), plan);
}

}  // namespace
}  // namespace hat::engine
