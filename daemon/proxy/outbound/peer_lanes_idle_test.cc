// SPDX-License-Identifier: Apache-2.0
// daemon/proxy/outbound/peer_lanes_idle_test.cc: tests which RDMA lanes two workers open for a
// call, and which of them stay open while no call is in flight.
#include "daemon/proxy/outbound/peer_lanes.h"

#include <gmock/gmock.h>

#include "daemon/proxy/fake_pair.h"

namespace hat {
namespace {

using namespace std::chrono_literals;

class TwoWorkers : public testing::Test {
 protected:
  TwoWorkers() = default;
  TwoWorkers(const FunctionSpec& function, const FakePair::Server& server)
      : pair_(function, server) {}
  void call(const FakePair::WirePointer& client) {
    EXPECT_EQ(pair_.call(client, get_call(), get_reply()), get_reply());
  }
  LinkStatus link() { return pair_.caller().worker->link_status().at(0); }
  std::vector<LaneStatus> lanes() { return link().lanes; }
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

const FunctionSpec kFourCallers{.name = "get",
                                .hints = {.both = {.perf_goal = PerfGoal::kThroughput,
                                                   .concurrency = 4u,
                                                   .payload_bytes = 128 * 1024},
                                          .client = {},
                                          .server = {}}};

struct ServerWithTwoCores : TwoWorkers {
  ServerWithTwoCores() : TwoWorkers(kFourCallers, {.cores = {2, 2}}) {}
};
struct OlderServer : TwoWorkers {
  OlderServer() : TwoWorkers(kFourCallers, {{2, 2}, engine::kLinkVersionOfCores - 1}) {}
};

// Four callers are fewer than the 8 cores of host-a, but more than the 2 cores of host-b.
TEST_F(ServerWithTwoCores, RepliesByTheColumnOfItsOwnHost) {
  call(pair_.connect_client());
  ASSERT_EQ(lanes().size(), 1u);
  EXPECT_EQ(lanes().at(0).protocol, "direct_write_imm / rfp");
  EXPECT_EQ(link().cores, (engine::CoreCounts{2, 2}));
}

TEST_F(OlderServer, RepliesByTheColumnOfTheClientsHost) {
  call(pair_.connect_client());
  ASSERT_EQ(lanes().size(), 1u);
  EXPECT_EQ(lanes().at(0).protocol, "direct_write_imm");
  EXPECT_EQ(link().cores, std::nullopt);
}

}  // namespace
}  // namespace hat
