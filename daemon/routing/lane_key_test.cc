// SPDX-License-Identifier: Apache-2.0
#include "daemon/routing/lane_key.h"

#include <gtest/gtest.h>

#include "engine/plan/ability.h"

namespace hat {
namespace {

using engine::Leg;
using engine::ProtocolId;

constexpr ProtocolId id(std::string_view name) { return *engine::find_protocol(name); }

engine::Plan plan_of(const Hints& hints) { return engine::make_plan(hints, {8, 8, true, ""}); }

TEST(LaneKey, TakesEachSidesLegFromItsOwnPlan) {
  Hints client;
  client.protocol = "herd";
  Hints server;
  server.protocol = "rfp";
  const LaneKeys keys = lane_keys(plan_of(client), plan_of(server));
  const engine::LaneWish wish = wish_of(keys.small);
  EXPECT_EQ(wish.out.leg, Leg::kWriteImm);
  EXPECT_EQ(wish.back.leg, Leg::kFetch0);
  EXPECT_EQ(wish.lanes, engine::LaneClass::kThroughput);
}

TEST(LaneKey, IsOneForAllSizesIfLargeMessagesOnlyLeaveTheSlots) {
  struct Expected {
    Subscription column;
    std::optional<uint64_t> payload;
    Leg leg;
    uint32_t slot_bytes;
  };
  for (const auto& [column, payload, leg, slot_bytes] : {
           Expected{Subscription::kUnder, std::nullopt, Leg::kWriteImm, 4096 + 320},
           Expected{Subscription::kUnder, 128 * 1024, Leg::kWriteImm, 4096 + 320},
           Expected{Subscription::kUnder, 1000, Leg::kWriteImm, 1024 + 320},
           Expected{Subscription::kFull, std::nullopt, Leg::kSend, 4096},
           Expected{Subscription::kOver, 128 * 1024, Leg::kSend, 4096},
       }) {
    Hints hints{.perf_goal = PerfGoal::kResUtil, .concurrency = column};
    hints.payload_bytes = payload;
    const LaneKeys keys = lane_keys(plan_of(hints), plan_of(hints));
    EXPECT_EQ(keys.small, keys.large);
    const engine::LaneWish wish = wish_of(keys.small);
    for (const engine::LaneShape& shape : {wish.out, wish.back}) {
      EXPECT_EQ(shape.leg, leg);
      EXPECT_EQ(shape.beyond, Leg::kWriteRndv);
      EXPECT_EQ(shape.slot_bytes, slot_bytes);
    }
  }
}

TEST(LaneKey, OfOneSideDoesNotDependOnTheSizesOfTheOther) {
  const engine::Plan one_lane = plan_of({.perf_goal = PerfGoal::kResUtil, .payload_bytes = 1024});
  Hints hints;
  hints.perf_goal = PerfGoal::kThroughput;
  hints.concurrency = Subscription::kFull;
  hints.payload_bytes = 128 * 1024;
  LaneKeys keys = lane_keys(one_lane, plan_of(hints));
  EXPECT_EQ(keys.small, keys.large);
  EXPECT_EQ(keys.small.response, id("rfp")) << "by the hint";
  keys = lane_keys(plan_of(hints), one_lane);
  EXPECT_EQ(keys.small.request, id("direct_write_imm"));
  EXPECT_EQ(keys.large.request, id("rfp"));
  EXPECT_EQ(keys.large.response, id("direct_write_imm"));
  EXPECT_EQ(keys.large.response_slot_bytes, 1024u + 320);
}

TEST(LaneKey, SplitsRequestsByTheirSizeAndAnswersByTheHint) {
  Hints hints;
  hints.perf_goal = PerfGoal::kThroughput;
  hints.concurrency = Subscription::kFull;  // up to 4 KiB direct_write_imm, larger rfp
  LaneKeys keys = lane_keys(plan_of(hints), plan_of(hints));
  EXPECT_EQ(keys.small.request, id("direct_write_imm"));
  EXPECT_EQ(keys.large.request, id("rfp"));
  EXPECT_EQ(keys.small.response, id("direct_write_imm"));
  hints.payload_bytes = 128 * 1024;
  keys = lane_keys(plan_of(hints), plan_of(hints));
  EXPECT_EQ(keys.small.response, id("rfp"));
}

// The client's host has 8 cores near its NIC. The host of the server, whose daemon sends the
// replies, may have other cores.
TEST(LaneKey, TakesTheRepliesColumnFromTheServersHost) {
  Hints hints;
  hints.perf_goal = PerfGoal::kThroughput;
  hints.payload_bytes = 128 * 1024;
  const engine::HostFacts here{8, 8, true, ""};
  const auto response = [&](std::optional<Concurrency> callers, engine::CoreCounts server) {
    hints.concurrency = callers;
    const WantedLanes lanes = wanted_lanes(plan_of(hints), hints, here);
    const LaneKey key = lanes.large.at(server);
    EXPECT_EQ(key.request, make_plan(hints, here).large) << "the requests' leg is the client's";
    EXPECT_EQ(lanes.small.at(server).response, key.response);
    return key.response;
  };
  struct Row {
    std::optional<Concurrency> callers;
    engine::CoreCounts server;
    const char* response;
  };
  for (const auto& [callers, server, expected] : {
           Row{4u, {8, 8}, "direct_write_imm"},
           Row{4u, {8, 4}, "direct_write_imm"},
           Row{4u, {8, 3}, "rfp"},
           Row{4u, {4, 4}, "rfp"},
           Row{4u, {2, 1}, "rfp"},
           Row{100u, {128, 128}, "direct_write_imm"},
           Row{Subscription::kFull, {128, 128}, "rfp"},
           Row{std::nullopt, {1, 1}, "direct_write_imm"},
       }) {
    EXPECT_EQ(response(callers, server), id(expected)) << server.cores << " " << server.nic_cores;
  }
}

// Measured costs give the columns different borders, and so slots of different sizes.
TEST(LaneKey, TakesTheRepliesSlotsFromTheServersHost) {
  const Hints hints{.perf_goal = PerfGoal::kResUtil, .concurrency = 4u, .payload_bytes = 16 * 1024};
  engine::HostFacts here{8, 8, true, ""};
  here.measured = std::make_shared<const ComponentCosts>(ComponentCosts{.fabric = "loop",
                                                                        .put = {{8, 1000}},
                                                                        .get = {{8, 1000}},
                                                                        .message = {{8, 50'000}},
                                                                        .copy = {{8, 0}}});
  const WantedLanes lanes = wanted_lanes(make_plan(hints, here), hints, here);
  EXPECT_EQ(lanes.small.at({8, 8}).response_slot_bytes, 16'384u + 320);
  EXPECT_EQ(lanes.small.at({2, 2}).response_slot_bytes, 4096u + 320) << "SENDs hold no more";
  EXPECT_EQ(lanes.small.at({2, 2}).request_slot_bytes, 16'384u + 320);
}

TEST(LaneKey, KeepsLatencyApart) {
  Hints hints;
  hints.perf_goal = PerfGoal::kLatency;
  EXPECT_EQ(lane_keys(plan_of(hints), plan_of({})).small.lanes, engine::LaneClass::kLatency);
}

// For any hints, the memory of a lane must be bounded, and the peer must accept the lane's shapes.
TEST(LaneKey, AsksForLanesThatFit) {
  for (const engine::Protocol& protocol : engine::kProtocols) {
    for (const uint64_t payload : {1ul, 64ul, 4096ul, 4097ul, 65'536ul, 1ul << 30}) {
      SCOPED_TRACE(std::string(protocol.name) + " " + std::to_string(payload));
      Hints hints;
      hints.protocol = protocol.name;
      hints.payload_bytes = payload;
      const engine::LaneWish wish = wish_of(lane_keys(plan_of(hints), plan_of(hints)).small);
      for (const engine::LaneShape& shape : {wish.out, wish.back}) {
        EXPECT_EQ(invalid(shape), nullptr);
        EXPECT_LE(uint64_t{shape.slots} * shape.slot_bytes, kLaneSideBytes);
        EXPECT_GE(shape.slots, 4);
      }
      const bool in_slot = payload <= engine::kSmallBytesMax && wish.out.leg != Leg::kWriteRndv &&
                           wish.out.leg != Leg::kReadRndv && wish.out.leg != Leg::kSend;
      if (in_slot) {
        EXPECT_GE(wish.out.slot_bytes, payload + sizeof(engine::CallMeta) + 255)
            << "a call with its names";
      }
    }
  }
}

TEST(LaneKey, FunctionsOfNearlyTheSamePayloadShareALane) {
  const auto key = [](uint64_t payload) {
    Hints hints;
    hints.payload_bytes = payload;
    return lane_keys(plan_of(hints), plan_of(hints)).small;
  };
  EXPECT_EQ(key(65), key(128));
  EXPECT_FALSE(key(128) == key(129));
}

TEST(LaneKey, GivesWayToWhatThePeerCanDo) {
  Hints hints;
  hints.protocol = "hipower";
  const LaneKey key = lane_keys(plan_of(hints), plan_of(hints)).small;
  EXPECT_EQ(reachable(key, engine::kAllLegs), key);
  const auto less = reachable(key, engine::kAllLegs & ~engine::bit_of(Leg::kBitmap));
  ASSERT_TRUE(less);
  EXPECT_EQ(less->request, id("direct_write_imm"));
  EXPECT_EQ(less->response, id("direct_write_imm"));
  EXPECT_FALSE(reachable(key, engine::bit_of(Leg::kFetch0)));
}

}  // namespace
}  // namespace hat
