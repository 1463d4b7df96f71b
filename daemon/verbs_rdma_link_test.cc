// daemon/verbs_rdma_link_test.cc: the suite between the lab's two Soft-RoCE devices, and what only
// a network does: it goes down, it loses packets.
#include <cstdlib>

#include "daemon/rdma_link_conformance.h"
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
  ~LabFaults() override { run("tc qdisc del dev v1 root 2>/dev/null; ip link set v2 up"); }
  static void run(const char* command) { [[maybe_unused]] const int status = std::system(command); }
};

INSTANTIATE_TEST_SUITE_P(Verbs, LabFaults, testing::Values(&open_device));

size_t small(uint64_t call) { return call % 500; }

TEST_P(LabFaults, ALinkThatGoesDownUnderLoadIsNoticedAndALaneComesBackWithIt) {
  start();
  open_lane();
  call(1, 2000, small);
  ASSERT_TRUE(client_->until([&] { return client_->answers.size() >= 100; }));
  run("ip link set v2 down");
  const auto cut = std::chrono::steady_clock::now();
  ASSERT_TRUE(client_->until([&] { return !client_->lanes_down.empty(); }, 20s));
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - cut;
  std::printf("noticed after %.2f s: %s\n", took.count(), client_->lanes_down[0].c_str());
  EXPECT_EQ(client_->answers.size() + client_->fates.size(), 2000u);
  EXPECT_TRUE(client_->link_down.empty()) << "TCP goes another way";
  run("ip link set v2 up");
  client_->answers.clear();
  client_->calls.clear();
  // The neighbours' cards may want a moment.
  for (int tries = 0; tries < 10; ++tries) {
    if (client_->lane_up == open_lane()) break;
  }
  call(5001, 50, small);
  EXPECT_TRUE(client_->until([&] { return client_->answers.size() == 50; }));
}

TEST_P(LabFaults, AnIdleLaneNoticesByItsProbes) {
  start();
  open_lane();
  run("ip link set v2 down");
  ASSERT_TRUE(client_->until([&] { return !client_->lanes_down.empty(); }, 20s));
  EXPECT_NE(client_->lanes_down[0], "it was idle");
}

TEST_P(LabFaults, LostPacketsAreSentAgain) {
  start();
  open_lane();
  run("tc qdisc add dev v1 root netem loss 2%");
  call(1, 300, small);
  EXPECT_TRUE(client_->until([&] { return client_->answers.size() == 300; }));
  EXPECT_TRUE(client_->lanes_down.empty());
}

}  // namespace
}  // namespace hat
