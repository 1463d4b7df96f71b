// SPDX-License-Identifier: Apache-2.0
// engine/rdma/verbs_protocols_test.cc: tests every protocol between two RDMA devices: the Soft-RoCE
// devices of the lab (tests/lab/devices.sh), which exchange packets.
#include "engine/fabric/verbs/verbs_fabric.h"
#include "engine/rdma/protocol_conformance.h"

namespace hat::engine {
namespace {

// Opens the first and the second device in turn. The tests create sides in pairs, so the sides of a
// pair have different devices.
Result<std::unique_ptr<Fabric>> open_next_device() {
  static int opened = 0;
  HAT_TRY(std::unique_ptr<VerbsFabric> fabric,
          open_verbs_fabric({.device = opened++ % 2 == 0 ? "rxe1" : "rxe2"}));
  return fabric;
}

INSTANTIATE_TEST_SUITE_P(Verbs, ProtocolConformance, every_protocol(&open_next_device), case_name);

}  // namespace
}  // namespace hat::engine
