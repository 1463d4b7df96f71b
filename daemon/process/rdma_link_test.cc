// SPDX-License-Identifier: Apache-2.0
// daemon/process/rdma_link_test.cc: runs the tests of rdma_link_conformance.h on the loop fabric.
#include "daemon/process/rdma_link_conformance.h"
#include "engine/fabric/loop/loop_fabric.h"

namespace hat {
namespace {

Result<std::unique_ptr<engine::Fabric>> open_loop(bool) { return engine::open_loop_fabric(); }

INSTANTIATE_TEST_SUITE_P(Loop, RdmaLink, testing::Values(&open_loop));

}  // namespace
}  // namespace hat
