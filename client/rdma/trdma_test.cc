// SPDX-License-Identifier: Apache-2.0
// client/rdma/trdma_test.cc: runs the tests of trdma_conformance.h on the fabrics `loop` and `tcp`.
#include <gmock/gmock.h>
#include <thrift/transport/TTransportException.h>

#include <functional>

#include "client/rdma/trdma_conformance.h"

namespace hatrpc {
namespace {

using apache::thrift::transport::TTransportException;

INSTANTIATE_TEST_SUITE_P(Fabrics, Rdma,
                         testing::Values(Fabrics{"loop", "loop"}, Fabrics{"tcp", "tcp", false}));

TEST(RdmaOptions, WrongOnesAreBadArguments) {
  TRdma client("127.0.0.1", 9090, {.config = "fabric: warp"});
  TServerRdma server("127.0.0.1", 0, {.config = "fabric: warp"});
  for (const auto& open : {std::function<void()>([&] { client.open(); }),
                           std::function<void()>([&] { server.listen(); })}) {
    try {
      open();
      FAIL() << "`warp` is no fabric";
    } catch (const TTransportException& error) {
      EXPECT_EQ(error.getType(), TTransportException::BAD_ARGS);
      EXPECT_THAT(error.what(), testing::HasSubstr("warp"));
    }
  }
}

}  // namespace
}  // namespace hatrpc
