// SPDX-License-Identifier: Apache-2.0
#include "engine/rdma/lane_memory.h"

#include <gtest/gtest.h>

#include "engine/fabric/loop/loop_fabric.h"
#include "engine/rdma/lane_side.h"

namespace hat::engine {
namespace {

// Tests that an arena of the planned size has space for all planned lanes and for all messages that
// these lanes can have in flight.
TEST(LaneMemory, TheSumIsEnough) {
  std::vector<LanePlan> plans;
  for (const Protocol& protocol : kProtocols) {
    RdmaLaneOptions options = options_for(protocol, protocol);
    options.out.slot_bytes = 3000;  // not a power of two
    plans.push_back({options, 2});
  }
  const ArenaPlan plan = arena_for(plans, 100'000);
  EXPECT_EQ(plan.need.total(), plan.arena.total()) << plan.need.text();
  LaneSide side(&open_loop_fabric, plan.arena);
  struct Nobody : LaneEvents {
    void on_frame(const FrameHeader&, Bytes) override {}
    void on_down(const std::string&) override {}
  } nobody;
  std::vector<std::unique_ptr<RdmaLane>> lanes;
  std::vector<Buffer> messages;
  for (const LanePlan& one : plans) {
    for (uint32_t i = 0; i < one.lanes; ++i) {
      auto lane = RdmaLane::create(*side.poller, one.options, nobody);
      ASSERT_TRUE(lane) << lane.error().message;
      lanes.push_back(std::move(*lane));
      for (uint16_t n = 0; n < kRendezvousMax; ++n) {
        for (const Purpose part : {Purpose::kReceive, Purpose::kSend}) {
          auto message = side.arena->take_message(part, 100'000);
          ASSERT_TRUE(message) << "lane " << lanes.size();
          messages.push_back(std::move(*message));
        }
      }
    }
  }
}

TEST(LaneMemory, AHostThatAllowsLessIsToldAtTheStart) {
  const LanePlan plan{options_for(kProtocols[3], kProtocols[3]), 1000};
  const ArenaPlan arena = arena_for({&plan, 1}, 1 << 20);
  const auto checked = check(arena.need, {.memlock = 8 << 20});
  ASSERT_FALSE(checked);
  EXPECT_NE(checked.error().message.find("memlock allows 8 MiB, and RDMA needs"),
            std::string::npos);
  EXPECT_NE(checked.error().message.find("slots 1000 x 32768 B"), std::string::npos)
      << checked.error().message;
}

}  // namespace
}  // namespace hat::engine
