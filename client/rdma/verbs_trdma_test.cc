// SPDX-License-Identifier: Apache-2.0
// client/rdma/verbs_trdma_test.cc: runs the tests of trdma_conformance.h between the lab's two
// Soft-RoCE devices.
#include "client/rdma/trdma_conformance.h"

namespace hatrpc {
namespace {

INSTANTIATE_TEST_SUITE_P(Verbs, Rdma,
                         testing::Values(Fabrics{"{kind: verbs, device: rxe1}",
                                                 "{kind: verbs, device: rxe2}"}));

}  // namespace
}  // namespace hatrpc
