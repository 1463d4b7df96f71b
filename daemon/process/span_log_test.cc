// SPDX-License-Identifier: Apache-2.0
#include "daemon/process/span_log.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "daemon/metrics/function_metrics.h"

namespace hat {
namespace {

namespace fs = std::filesystem;

class SpanLogTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "span-log-XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
    node_.node = "host-a";
    node_.tracing.path = folder_ / "spans.jsonl";
  }
  void TearDown() override { fs::remove_all(folder_); }

  void record(SpanLog& log, size_t worker) {
    Spans& spans = *log.of_worker(worker);
    spans.record(spans.begin({.is_sampled = true}, 20, {}), SpanKind::kClient,
                 {.counters = &function_.at(Side::kClient, worker)});
  }
  std::vector<nlohmann::json> lines() const {
    std::vector<nlohmann::json> all;
    std::ifstream file(node_.tracing.path);
    for (std::string line; std::getline(file, line);) all.push_back(nlohmann::json::parse(line));
    return all;
  }

  MetricsRegistry registry_{2};
  FunctionMetrics& function_ = registry_.find("Kv", "get");
  fs::path folder_;
  NodeConfig node_;
};

TEST_F(SpanLogTest, WritesTheSpansOfAllWorkers) {
  auto log = std::make_unique<SpanLog>(node_, 2, 1);
  for (int i = 0; i < 3; ++i) record(*log, 0);
  for (int i = 0; i < 4; ++i) record(*log, 1);
  EXPECT_EQ(log->lost(), 0u);
  log.reset();  // writes all spans first
  EXPECT_EQ(lines().size(), 7u);
}

TEST_F(SpanLogTest, MakesItsFileAtOnce) {
  const SpanLog log(node_, 1, 1);
  for (int i = 0; i < 2000 && !fs::exists(node_.tracing.path); ++i) usleep(5000);
  EXPECT_TRUE(fs::exists(node_.tracing.path)) << "without a span";
}

TEST_F(SpanLogTest, CountsSpansThatAreLost) {
  node_.tracing.path = "/dev/full";
  SpanLog log(node_, 1, 1);
  record(log, 0);
  for (int i = 0; i < 2000 && log.lost() == 0; ++i) usleep(5000);
  EXPECT_EQ(log.lost(), 1u);
  EXPECT_EQ(log.written(), 0u);
}

TEST_F(SpanLogTest, IsAbsentWithoutTheKey) {
  EXPECT_NE(make_span_log(node_, 1), nullptr);
  node_.tracing = {};
  EXPECT_EQ(make_span_log(node_, 1), nullptr);
}

}  // namespace
}  // namespace hat
