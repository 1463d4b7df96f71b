// SPDX-License-Identifier: Apache-2.0
// engine/fabric/verbs/verbs_fabric_test.cc: runs the conformance suite on the first RDMA device of
// this host. The lab (tests/lab) has Soft-RoCE devices.
#include "engine/fabric/verbs/verbs_fabric.h"

#include "engine/fabric/conformance.h"
#include "engine/fabric/verbs/device.h"

namespace hat::engine {
namespace {

Result<std::unique_ptr<Fabric>> open_first() {
  HAT_TRY(std::unique_ptr<VerbsFabric> fabric, open_verbs_fabric());
  return fabric;
}

TEST(VerbsFabric, SaysWhichAddressItTookAndWhy) {
  const auto fabric = open_verbs_fabric();
  ASSERT_TRUE(fabric) << fabric.error().message;
  std::printf("fabric: %s\n", (*fabric)->describe().c_str());
  EXPECT_NE((*fabric)->describe().find("RoCE v2, ::ffff:10.77.0.1"), std::string::npos);
}

TEST(VerbsFabric, ReportsWhatEachDeviceIsGoodFor) {
  const auto reports = probe_devices();
  ASSERT_EQ(reports.size(), 2u);  // the lab has two devices
  for (const DeviceReport& report : reports) {
    EXPECT_TRUE(report.usable);
    EXPECT_NE(report.detail.find(report.device + ", port 1, GID index "), std::string::npos)
        << report.detail;
  }
}

TEST(VerbsFabric, SaysWhatIsThereWhereTheDeviceIsNot) {
  const auto fabric = open_verbs_fabric({.device = "mlx5_7"});
  ASSERT_FALSE(fabric);
  EXPECT_EQ(fabric.error().message,
            "there is no RDMA device named 'mlx5_7'; `ibv_devices` lists those present, "
            "`fabric: tcp` needs none");
  const auto port = open_verbs_fabric({.port = 9});
  ASSERT_FALSE(port);
  EXPECT_NE(port.error().message.find("port 9 is not active"), std::string::npos);
  const auto gid = open_verbs_fabric({.gid_index = 200});
  ASSERT_FALSE(gid);
  EXPECT_NE(gid.error().message.find("no GID index 200"), std::string::npos);
}

}  // namespace

INSTANTIATE_TEST_SUITE_P(Verbs, FabricConformance, testing::Values(&open_first));

}  // namespace hat::engine
