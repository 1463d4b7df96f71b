// SPDX-License-Identifier: Apache-2.0
#include "engine/rdma/poller.h"

#include <gtest/gtest.h>

#include "engine/fabric/loop/loop_fabric.h"
#include "engine/rdma/lane_side.h"

namespace hat::engine {
namespace {

TEST(PollerDeathTest, TakesBackNoMoreReceivesThanHoldMessages) {
  LaneSide client(&open_loop_fabric);
  LaneSide server(&open_loop_fabric);
  join(client, server, options_for(kProtocols[0], kProtocols[0]));
  ASSERT_EQ(server.poller->receives_in_use(), 0u);
  EXPECT_DEATH(server.poller->give_back(0), "a receive was given back twice");
}

TEST(RdmaLaneDeathTest, CountsNoMessageAsDeliveredThatWasNotSent) {
  LaneSide client(&open_loop_fabric);
  LaneSide server(&open_loop_fabric);
  join(client, server, options_for(kProtocols[0], kProtocols[0]));
  ASSERT_EQ(client.lane->sender().sent(), 0u);
  EXPECT_DEATH(client.lane->sender().acknowledge(1), "delivered <= sent_");
}

// Two sides with a lane. The lane was made for messages of up to 4 MiB, but the arenas have
// registered only 1 MiB for messages, and the fabric of one side has no region left.
class LanesWithoutMemory : public testing::Test {
 protected:
  static constexpr ArenaOptions kGrowing{.bytes = {8 << 20, 8 << 20, 4 << 20}, .step = 1 << 20};

  LanesWithoutMemory() {
    join(client_, server_, options_for(kProtocols[0], kProtocols[0]));
    EXPECT_EQ(client_.lane->message_bytes_max(), size_t{4 << 20});
  }
  void use_up_regions(LaneSide& side) {
    while (auto region = side.fabric->register_memory(memory_, {}))
      regions_.push_back(std::move(*region));
  }
  void iterate() {
    for (int i = 0; i < 100; ++i) {
      client_.iterate();
      server_.iterate();
    }
  }

  LaneSide client_{&open_loop_fabric, kGrowing};
  LaneSide server_{&open_loop_fabric, kGrowing};
  const SharedMemory memory_ = *SharedMemory::create("other", 4096);
  std::vector<std::unique_ptr<MemoryRegion>> regions_;
};

constexpr const char* kRefused =
    "there is no memory for a message of 2097152 bytes; more memory was refused: loop fabric: ";

TEST_F(LanesWithoutMemory, GoDownIfTheSenderCanHaveNone) {
  use_up_regions(client_);
  client_.call(1, 2 << 20);
  iterate();
  ASSERT_EQ(client_.down.size(), 1u) << "it would wait for ever";
  EXPECT_TRUE(client_.down[0].starts_with(kRefused)) << client_.down[0];
}

TEST_F(LanesWithoutMemory, GoDownIfTheReceiverCanHaveNone) {
  use_up_regions(server_);
  client_.call(1, 2 << 20);
  iterate();
  ASSERT_EQ(server_.down.size(), 1u) << "it would wait for ever";
  EXPECT_TRUE(server_.down[0].starts_with(kRefused)) << server_.down[0];
}

TEST_F(LanesWithoutMemory, CarryWhatFits) {
  use_up_regions(client_);
  use_up_regions(server_);
  client_.call(1, 1 << 20);
  iterate();
  EXPECT_EQ(client_.frames.size(), 1u);
}

}  // namespace
}  // namespace hat::engine
