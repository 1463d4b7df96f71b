// SPDX-License-Identifier: Apache-2.0
#include "config/profile.h"

#include <gtest/gtest.h>

namespace hat {
namespace {

constexpr const char* kText = R"(hatrpc_profile: 1
node: host-a
peer: host-b
fabric: loop
device: "loop: memory: shared"
measured: 2026-11-22T12:00:00Z
costs_ns:
  put: {8: 61.25, 4096: 310}
  get: {8: 60, 4096: 305}
  message: {8: 800}
  copy: {64: 8, 4096: 190}
  wake_up: 5300
  pushed_calls: {8192: 10100, 65536: 15200}
  fetched_calls: {8192: 10000, 65536: 25400}
)";

TEST(Profile, IsReadAsItStandsAndWrittenAsItIsRead) {
  Diagnostics diagnostics;
  const Profile profile = read_profile(kText, "p.yaml", diagnostics);
  EXPECT_EQ(diagnostics.text(), "");
  EXPECT_EQ(profile.peer, "host-b");
  EXPECT_EQ(profile.device, "loop: memory: shared");
  EXPECT_EQ(profile.measured, "2026-11-22T12:00:00Z");
  EXPECT_EQ(profile.costs.fabric, "loop");
  ASSERT_EQ(profile.costs.put.size(), 2u);
  EXPECT_EQ(profile.costs.put[1].bytes, 4096u);
  EXPECT_EQ(profile.costs.put[0].ns, 61.25);
  EXPECT_EQ(profile.costs.wake_up_ns, 5300);
  EXPECT_EQ(profile.costs.fetch_add_ns, 0);
  EXPECT_TRUE(profile.costs.registration.empty());
  EXPECT_EQ(profile.costs.pushed_calls[1].ns, 15'200);
  EXPECT_EQ(profile.costs.fetched_calls[1].ns, 25'400);

  const std::string written = write_profile(profile);
  const Profile again = read_profile(written, "again.yaml", diagnostics);
  EXPECT_EQ(diagnostics.text(), "");
  EXPECT_EQ(write_profile(again), written);
  EXPECT_EQ(again.costs.copy[1].ns, 190);
  EXPECT_EQ(again.device, profile.device);
}

TEST(Profile, MistakesAreNamedWithTheirPlace) {
  const std::string front = "hatrpc_profile: 1\nfabric: loop\ncosts_ns:\n";
  const std::string rest = "  get: {8: 1}\n  message: {8: 1}\n  copy: {8: 1}\n  wake_up: 1\n";
  struct Row {
    std::string text;
    const char* diagnostics;
  };
  for (const Row& row : {
           Row{front + "  put: {8: fast}\n" + rest,
               "p.yaml:4:12: error: put: 'fast'; expected nanoseconds from 0 to 1000000000000, "
               "such as 61.2\n"},
           Row{front + "  put: {8: 1}\n" + rest + "  pushed_calls: {8192: 1}\n",
               "p.yaml:4:3: error: costs_ns: pushed_calls and fetched_calls are compared with each "
               "other; give both with the same sizes, or none\n"},
           Row{front + "  put: {8: -1}\n" + rest,
               "p.yaml:4:12: error: put: '-1'; expected nanoseconds from 0 to 1000000000000, such "
               "as 61.2\n"},
           Row{front + "  put: {8: nan}\n" + rest,
               "p.yaml:4:12: error: put: 'nan'; expected nanoseconds from 0 to 1000000000000, "
               "such as 61.2\n"},
           Row{front + "  put: {0: 1}\n" + rest,
               "p.yaml:4:9: error: put: size '0'; expected bytes from 1 to 1073741824\n"},
           Row{front + "  put: {64: 1, 8: 2}\n" + rest,
               "p.yaml:4:16: error: put: size 8 follows 64; expected ascending sizes\n"},
           Row{front + "  put: {}\n" + rest,
               "p.yaml:4:8: error: put is empty; expected {BYTES: NANOSECONDS, …}\n"},
           Row{front + rest, "p.yaml:4:3: error: costs_ns has no 'put'\n"},
           Row{"fabric: loop\ncosts_ns:\n  put: {8: 1}\n" + rest,
               "p.yaml:1:1: error: profile has no 'hatrpc_profile'\n"},
           Row{"hatrpc_profile: 2\nfabric: loop\ncosts_ns:\n  put: {8: 1}\n" + rest,
               "p.yaml:1:17: error: hatrpc_profile: '2'; expected a number from 1 to 1\n"},
       }) {
    Diagnostics diagnostics;
    read_profile(row.text, "p.yaml", diagnostics);
    EXPECT_EQ(diagnostics.text(), row.diagnostics) << row.text;
  }
  Diagnostics diagnostics;
  load_profile("/nowhere/profile.yaml", diagnostics);
  EXPECT_TRUE(diagnostics.any_errors());
}

}  // namespace
}  // namespace hat
