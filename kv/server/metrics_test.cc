// SPDX-License-Identifier: Apache-2.0
// kv/server/metrics_test.cc: tests that the metrics server ends even if it has only just started.
#include "kv/server/metrics.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

namespace hat {
namespace {

// Starts and ends the server a few hundred times, because the server's thread has entered its event
// loop in some of the runs and not in others.
TEST(MetricsServer, EndsHoweverSoon) {
  std::string folder = testing::TempDir() + "hatkv-metrics-XXXXXX";
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  {
    const auto store = Store::open({.folder = folder});
    ASSERT_TRUE(store) << store.error().message;
    Operations operations;
    const Address free_port = parse_address("tcp:127.0.0.1:0").value();
    for (int i = 0; i < 300; ++i) {
      const auto server = MetricsServer::start(free_port, {**store, operations, "1", "sync"});
      ASSERT_TRUE(server) << server.error().message;
      EXPECT_NE((*server)->address().port, 0);
    }
  }
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace hat
