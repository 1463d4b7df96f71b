// SPDX-License-Identifier: Apache-2.0
// config/access_log_test.cc: the key `access_log` of hatrpcd.yaml.
#include <gmock/gmock.h>

#include "config/node.h"

namespace hat {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

NodeConfig node_with_log(const std::string& log, Diagnostics& diagnostics) {
  return read_node_config("node: a\n" + log + "\n", "/etc/n.yaml", diagnostics);
}

AccessLogConfig log_of(const std::string& log) {
  Diagnostics diagnostics;
  const NodeConfig node = node_with_log(log, diagnostics);
  EXPECT_FALSE(diagnostics.any_errors()) << diagnostics.text();
  return node.access_log;
}

TEST(AccessLogConfig, IsOffWithoutTheKey) { EXPECT_EQ(log_of("").path, ""); }

TEST(AccessLogConfig, HasDefaultsForAllButThePath) {
  const AccessLogConfig log = log_of("access_log: {path: logs/a.jsonl}");
  EXPECT_EQ(log.path, "/etc/logs/a.jsonl");
  EXPECT_EQ(log.sample_one_in, 100u);
  EXPECT_EQ(log.slower_than, std::nullopt);
  EXPECT_TRUE(log.failed);
}

TEST(AccessLogConfig, HasTheValuesOfTheFile) {
  const AccessLogConfig log = log_of(
      "access_log: {path: /var/log/a.jsonl, sample_one_in: 0, slower_than: 100ms, failed: false}");
  EXPECT_EQ(log.path, "/var/log/a.jsonl");
  EXPECT_EQ(log.sample_one_in, 0u);
  EXPECT_EQ(log.slower_than, 100ms);
  EXPECT_FALSE(log.failed);
}

TEST(AccessLogConfig, RefusesOtherValues) {
  const struct {
    const char* text;
    const char* error;
  } kCases[] = {
      {"access_log: {sample_one_in: 10}", "path"},
      {"access_log: {path: ''}", "path"},
      {"access_log: {path: a, slower_than: 0s}", "expected a time from 1us to"},
      {"access_log: {path: a, sample_one_in: 1000001}", "sample_one_in"},
      {"access_log: {path: n.yaml}", "appends to '/etc/n.yaml', but also uses '/etc/n.yaml'"},
      {"learned: l.yaml\naccess_log: {path: l.yaml}", "but also uses '/etc/l.yaml'"},
      {"manifests: [m/]\naccess_log: {path: m/a.jsonl}", "but also uses '/etc/m'"},
  };
  for (const auto& one : kCases) {
    SCOPED_TRACE(one.text);
    Diagnostics diagnostics;
    node_with_log(one.text, diagnostics);
    EXPECT_TRUE(diagnostics.any_errors());
    EXPECT_THAT(diagnostics.text(), HasSubstr(one.error));
  }
}

}  // namespace
}  // namespace hat
