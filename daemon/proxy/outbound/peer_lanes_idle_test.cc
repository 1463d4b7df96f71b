// SPDX-License-Identifier: Apache-2.0
// daemon/proxy/outbound/peer_lanes_idle_test.cc: tests which RDMA lanes stay open while no call is
// in flight.
#include "daemon/proxy/outbound/peer_lanes.h"

#include <gmock/gmock.h>

#include "daemon/proxy/fake_pair.h"

namespace hat {
namespace {

using namespace std::chrono_literals;

class TwoWorkers : public testing::Test {
 protected:
  void call(const FakePair::WirePointer& client) {
    EXPECT_EQ(pair_.call(client, get_call(), get_reply()), get_reply());
  }
  std::vector<LaneStatus> lanes() { return pair_.caller().worker->link_status().at(0).lanes; }
  uint64_t fallbacks() {
    uint64_t count = 0;
    for (FunctionMetrics& function : pair_.caller().metrics.all()) {
      for (const Counter& one : function.at(Side::kClient, 0).fallbacks) count += one.value();
    }
    return count;
  }

  FakePair pair_;
};

// The first call finds no lane, opens one, and uses TCP. The lane is then idle for 40 s, and must
// still be open for the second call.
TEST_F(TwoWorkers, KeepALaneWhileAClientOfItsServiceIsConnected) {
  const FakePair::WirePointer client = pair_.connect_client();
  call(client);
  ASSERT_EQ(lanes().size(), 1u);
  ASSERT_EQ(lanes()[0].state, "up");
  pair_.pass(40s);
  EXPECT_EQ(lanes().size(), 1u);
  call(client);
  EXPECT_EQ(fallbacks(), 1u) << "the call after the pause missed RDMA";
}

TEST_F(TwoWorkers, GiveALaneBackAfterTheLastClientHasLeft) {
  const FakePair::WirePointer client = pair_.connect_client();
  call(client);
  client->end = true;
  FakeNode::read(client);
  pair_.pass(25s);
  EXPECT_EQ(lanes().size(), 1u) << "a client that comes soon finds it";
  pair_.pass(10s);
  EXPECT_EQ(lanes().size(), 0u);
}

}  // namespace
}  // namespace hat
