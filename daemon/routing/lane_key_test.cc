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
