// SPDX-License-Identifier: Apache-2.0
// engine/rdma/leg_pairs_test.cc: tests every leg for requests together with every leg for replies.
// Hosts with different manifests can combine any two legs.
#include <gtest/gtest.h>

#include "engine/fabric/loop/loop_fabric.h"
#include "engine/rdma/lane_side.h"
#include "engine/rdma/leg_table.h"

namespace hat::engine {
namespace {

// Checks that the lane predicts the leg of each call, and that the leg of each reply is known on
// arrival: the leg of the replies' shape if the reply fits a slot, and otherwise the rendezvous.
void expect_true_legs(const LaneSide& client, const LaneSide& server, const LaneShape& replies) {
  for (const Frame& call : server.frames) EXPECT_EQ(call.leg, client.lane->leg_for(call.header));
  const LegRow& own = row(replies.leg);
  const size_t fits =
      replies.leg == Leg::kSend ? std::min(replies.slot_bytes, kEagerBytesMax) : replies.slot_bytes;
  size_t by_own_leg = 0;
  for (const Frame& reply : client.frames) {
    if (reply.leg == replies.leg) ++by_own_leg;
    if (reply.payload.size() > fits) {
      EXPECT_EQ(reply.leg, replies.beyond);
    } else if (reply.leg != replies.leg) {
      EXPECT_TRUE(own.replies && reply.leg == Leg::kSend) << "only a fetched reply can be pushed";
    }
  }
  EXPECT_GT(by_own_leg, 0u);
}

TEST(LegPairs, EveryLegWorksWithEveryOther) {
  for (size_t there = 0; there < kLegCount; ++there) {
    for (size_t back = 0; back < kLegCount; ++back) {
      LaneSide client(&open_loop_fabric);
      LaneSide server(&open_loop_fabric);
      RdmaLaneOptions options;
      options.out = {Leg(there), Leg::kWriteRndv, 16, 512};
      options.in = {Leg(back), Leg::kReadRndv, 8, 2048};
      join(client, server, options);
      SCOPED_TRACE(std::string(row(Leg(there)).name) + ", " + std::string(row(Leg(back)).name));
      for (uint64_t i = 1; i <= 60; ++i) client.call(i, i * i);
      for (int turns = 0; client.frames.size() < 60 && turns < 100'000; ++turns) {
        client.iterate();
        server.iterate();
      }
      ASSERT_EQ(client.frames.size(), 60u);
      for (uint64_t i = 1; i <= 60; ++i) {
        ASSERT_EQ(client.frames[i - 1].header.call, i);
        ASSERT_TRUE(client.frames[i - 1].payload == pattern(i, i * i)) << i;
      }
      expect_true_legs(client, server, options.in);
    }
  }
}

// Tests the rights of each leg: the other side may READ if it is the receiver of a leg by which
// this side sends and the receiver READs, or the sender of a leg that READs which slots are free.
TEST(LegAccess, GivesTheOtherSideOnlyWhatTheLegsNeed) {
  struct Rights {
    Leg leg;
    bool receiver_reads;
    bool sender_reads;
  };
  constexpr Rights kRights[] = {
      {Leg::kSend, false, false},      {Leg::kWriteSend, false, false},
      {Leg::kWriteImm, false, false},  {Leg::kChainedWriteSend, false, false},
      {Leg::kWriteRndv, false, false}, {Leg::kReadRndv, true, false},
      {Leg::kFetch0, true, false},     {Leg::kFetch1, true, false},
      {Leg::kFetch2, true, false},     {Leg::kBitmap, true, true},
  };
  static_assert(std::size(kRights) == kLegCount);
  constexpr LaneShape kSends;  // by SEND, and larger messages by WRITE
  for (const Rights& rights : kRights) {
    SCOPED_TRACE(row(rights.leg).name);
    const LaneShape by_leg{.leg = rights.leg};
    EXPECT_EQ(access_for(by_leg, kSends).read, rights.receiver_reads) << "this side sends by it";
    EXPECT_EQ(access_for(kSends, by_leg).read, rights.sender_reads) << "the other side sends by it";
    for (const RemoteAccess access : {access_for(by_leg, kSends), access_for(kSends, by_leg)}) {
      EXPECT_TRUE(access.write) << "the other side's probes are empty WRITEs";
      EXPECT_FALSE(access.atomic);
    }
  }
  const LaneShape by_read{.beyond = Leg::kReadRndv};
  EXPECT_TRUE(access_for(by_read, kSends).read) << "the other side READs large messages";
  EXPECT_FALSE(access_for(kSends, by_read).read) << "this side READs large messages";
}

// Tests that RdmaLane::create() rejects an invalid shape of the other side, with an error that says
// why.
TEST(RdmaLane, RefusesShapesThatMakeNoSense) {
  struct Wrong {
    LaneShape shape;
    const char* says;
  };
  for (const Wrong& wrong : {
           Wrong{{.leg = Leg(200)}, "a leg that does not exist"},
           Wrong{{.beyond = Leg::kSend}, "no rendezvous leg"},
           Wrong{{.slots = 3}, "power of two"},
           Wrong{{.slots = 2048}, "power of two"},
           Wrong{{.slot_bytes = 2 << 20}, "more than 1 MiB"},
       }) {
    LaneSide side(&open_loop_fabric);
    RdmaLaneOptions options;
    options.in = wrong.shape;
    struct Nobody : LaneEvents {
      void on_frame(const FrameHeader&, Bytes) override {}
      void on_down(const std::string&) override {}
    } nobody;
    const auto lane = RdmaLane::create(*side.poller, options, nobody);
    ASSERT_FALSE(lane) << wrong.says;
    EXPECT_NE(lane.error().message.find(wrong.says), std::string::npos) << lane.error().message;
  }
}

TEST(RdmaLane, SaysWhichMemoryIsMissing) {
  LaneSide side(&open_loop_fabric, {.bytes = {64 << 10, 64 << 10, 1 << 20}});
  struct Nobody : LaneEvents {
    void on_frame(const FrameHeader&, Bytes) override {}
    void on_down(const std::string&) override {}
  } nobody;
  const auto lane =
      RdmaLane::create(*side.poller, {.out = {.slots = 64, .slot_bytes = 4096}, .in = {}}, nobody);
  ASSERT_FALSE(lane);
  EXPECT_EQ(lane.error().message,
            "RDMA lane: no memory left for 266240 bytes of its slots: raise fabric.max_pinned, or "
            "lower payload_size");
  EXPECT_EQ(side.arena->free_bytes(Purpose::kSend), size_t{64 << 10});
}

}  // namespace
}  // namespace hat::engine
