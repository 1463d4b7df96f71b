// SPDX-License-Identifier: Apache-2.0
// daemon/process/verbs_rdma_link_test.cc: runs the tests of rdma_link_conformance.h between the
// lab's two Soft-RoCE devices, and adds faults that only a network has: a network link that goes
// down, and lost packets.
#include <cstdlib>
#include <string>

#include "daemon/process/rdma_link_conformance.h"
#include "engine/fabric/verbs/verbs_fabric.h"

namespace hat {
namespace {

using namespace std::chrono_literals;

Result<std::unique_ptr<engine::Fabric>> open_device(bool server) {
  HAT_TRY(std::unique_ptr<engine::VerbsFabric> fabric,
          engine::open_verbs_fabric({.device = server ? "rxe2" : "rxe1"}));
  return fabric;
}

INSTANTIATE_TEST_SUITE_P(Verbs, RdmaLink, testing::Values(&open_device));

class LabFaults : public RdmaLink {
 protected:
  LabFaults() { start(kArena, std::chrono::minutes(5)); }  // 5 min: no lane is closed as idle
  ~LabFaults() override {
    run("ip link set v2 up; ! tc qdisc show dev v1 | grep -q netem || "
        "tc qdisc del dev v1 root");
  }
  static void run(const std::string& command) {
    EXPECT_EQ(std::system(command.c_str()), 0) << command;
  }
};

INSTANTIATE_TEST_SUITE_P(Verbs, LabFaults, testing::Values(&open_device));

size_t small(uint64_t call) { return call % 500; }

TEST_P(LabFaults, ALinkThatGoesDownUnderLoadIsNoticedAndALaneComesBackWithIt) {
  open_lane();
  call(1, 2000, small);
  ASSERT_TRUE(client_->until([&] { return client_->answers.size() >= 100; }));
  ASSERT_LT(client_->answers.size(), 2000u) << "all was answered before the cut";
  run("ip link set v2 down");
  const auto cut = std::chrono::steady_clock::now();
  ASSERT_TRUE(client_->until([&] { return !client_->lanes_down.empty(); }, 20s));
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - cut;
  std::printf("noticed after %.2f s: %s\n", took.count(), client_->lanes_down[0].c_str());
  expect_true_fates(2000);
  EXPECT_TRUE(client_->link_down.empty()) << "TCP goes another way";
  run("ip link set v2 up");
  client_->answers.clear();
  client_->calls.clear();
  // Tries several times: the devices can need a moment until they reach each other again.
  for (int tries = 0; tries < 10; ++tries) {
    if (client_->lane_up == open_lane()) break;
  }
  call(5001, 50, small);
  EXPECT_TRUE(client_->until([&] { return client_->answers.size() == 50; }));
}

TEST_P(LabFaults, AnIdleLaneNoticesByItsProbes) {
  open_lane();
  call(1, 1, small);
  ASSERT_TRUE(client_->until([&] { return client_->answers.size() == 1; }));
  run("ip link set v2 down");
  ASSERT_TRUE(client_->until([&] { return !client_->lanes_down.empty(); }, 20s));
}

TEST_P(LabFaults, LostPacketsAreSentAgain) {
  open_lane();
  run("tc qdisc add dev v1 root netem loss 2%");
  call(1, 600, small);
  EXPECT_TRUE(client_->until([&] { return client_->answers.size() == 600; }));
  EXPECT_TRUE(client_->lanes_down.empty());
  run("tc -s qdisc show dev v1 | grep -q 'dropped [1-9]'");
}

}  // namespace
}  // namespace hat
