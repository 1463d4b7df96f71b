// SPDX-License-Identifier: Apache-2.0
// engine/rdma/loop_protocols_test.cc: tests every protocol on the loop fabric, with and without
// delays, and with torn WRITEs and READs.
#include "engine/fabric/fake_tearing_fabric.h"
#include "engine/fabric/faulty/faulty_fabric.h"
#include "engine/fabric/loop/loop_fabric.h"
#include "engine/rdma/domain_conformance.h"
#include "engine/rdma/protocol_conformance.h"

namespace hat::engine {
namespace {

Result<std::unique_ptr<Fabric>> open_late_fabric() {
  HAT_TRY(auto loop, open_loop_fabric());
  return make_faulty(std::move(loop), {.seed = 5, .delay_max = std::chrono::microseconds(50)});
}

Result<std::unique_ptr<Fabric>> open_tearing_fabric() { return std::make_unique<TearingFabric>(7); }

INSTANTIATE_TEST_SUITE_P(Loop, ProtocolConformance, every_protocol(&open_loop_fabric), case_name);
INSTANTIATE_TEST_SUITE_P(Late, ProtocolConformance, every_protocol(&open_late_fabric), case_name);
INSTANTIATE_TEST_SUITE_P(Torn, ProtocolConformance, every_protocol(&open_tearing_fabric),
                         case_name);
INSTANTIATE_TEST_SUITE_P(Loop, DomainConformance, testing::Values(&open_loop_fabric));

}  // namespace
}  // namespace hat::engine
