// SPDX-License-Identifier: Apache-2.0
#include "config/duration_buckets.h"

#include <gmock/gmock.h>

#include "config/node.h"

namespace hat {
namespace {

using testing::HasSubstr;

const std::string kFile = "/etc/hatrpcd.yaml";

NodeConfig node_with(const std::string& admin, Diagnostics& diagnostics) {
  return read_node_config("node: a\nadmin: {" + admin + "}\n", kFile, diagnostics);
}

std::string buckets_of(const std::string& admin) {
  Diagnostics diagnostics;
  const NodeConfig node = node_with(admin, diagnostics);
  EXPECT_FALSE(diagnostics.any_errors()) << diagnostics.text();
  return duration_buckets_text(node.admin.duration_buckets);
}

TEST(DurationBuckets, AreAllWithoutTheKey) { EXPECT_EQ(buckets_of(""), "all"); }

TEST(DurationBuckets, AreTheListedOnes) {
  EXPECT_EQ(buckets_of("duration_buckets: [64us, 256us, 1024us, 2097152us]"),
            "[64us, 256us, 1024us, 2097152us]");
  EXPECT_EQ(buckets_of("duration_buckets: [1us]"), "[1us]");
  EXPECT_EQ(buckets_of("duration_buckets: [8388608us]"), "[8388608us]");
  EXPECT_EQ(buckets_of("duration_buckets: [8000ns, 128us]"), "[8us, 128us]");
}

TEST(DurationBuckets, MustBeBoundsInAscendingOrder) {
  const struct {
    const char* list;
    const char* error;
  } kCases[] = {
      {"[1ms]", "no bucket ends at 1ms; write 512us or 1024us"},
      {"[3us]", "no bucket ends at 3us; write 2us or 4us"},
      {"[1500ns]", "no bucket ends at 1500ns; write 1us or 2us"},
      {"[8s]", "no bucket ends at 8s; write 4194304us or 8388608us"},
      {"[10s]", "expected a time from 1us to 8388608us"},
      {"[500ns]", "expected a time from 1us to 8388608us"},
      {"[64]", "'64' has no unit"},
      {"[64us, 64us]", "64us follows 64us; list each bound once, in ascending order"},
      {"[64us, 16us]", "16us follows 64us; list each bound once, in ascending order"},
      {"[]", "the list is empty; list at least one bound, or remove the key to have all"},
      {"64us", "duration_buckets"},
  };
  for (const auto& one : kCases) {
    SCOPED_TRACE(one.list);
    Diagnostics diagnostics;
    const auto node = node_with("duration_buckets: " + std::string(one.list), diagnostics);
    EXPECT_TRUE(diagnostics.any_errors());
    EXPECT_THAT(diagnostics.text(), HasSubstr(one.error));
    EXPECT_TRUE(node.admin.duration_buckets.all());
  }
}

}  // namespace
}  // namespace hat
