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

}  // namespace
}  // namespace hat::engine
