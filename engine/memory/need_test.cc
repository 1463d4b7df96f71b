// SPDX-License-Identifier: Apache-2.0
#include "engine/memory/need.h"

#include <gtest/gtest.h>

namespace hat::engine {
namespace {

MemoryNeed some_need() {
  MemoryNeed need;
  need.add("windows", 8, 266240);
  need.add("nothing", 0, 100);
  need.add("receives", 512, 4144);
  return need;
}

TEST(MemoryNeed, IsASumThatCanBeChecked) {
  EXPECT_EQ(some_need().total(), 8u * 266240 + 512 * 4144);
  EXPECT_EQ(some_need().text(), "4.05 MiB = windows 8 x 266240 B + receives 512 x 4144 B");
}

TEST(MemoryNeed, ToldWhichLimitIsTooLow) {
  struct Row {
    MemoryLimits limits;
    const char* says;  // the beginning of the expected error message; empty if no error is expected
  };
  for (const Row& row : {
           Row{{}, ""},
           Row{{.memlock = 8 << 20}, ""},
           Row{{.memlock = 64 << 10},
               "memlock allows 64 KiB, and RDMA needs 4.05 MiB of locked memory: raise "
               "LimitMEMLOCK (systemd) or `ulimit -l`, or lower fabric.max_pinned; the memory is "
               "4.05 MiB = windows"},
           Row{{.memlock = 8 << 20, .pinned = 3 << 20}, ""},
           Row{{.memlock = 8 << 20, .pinned = 6 << 20},
               "memlock allows 8 MiB, of which 6 MiB are in use, and RDMA needs 4.05 MiB of"},
           Row{{.regions = 2}, "the device has 2 memory keys and 5 are needed"},
           Row{{.available = 1 << 20},
               "RDMA needs 4.05 MiB of memory and 1 MiB are free: lower fabric.max_pinned"},
       }) {
    const auto checked = check(some_need(), row.limits);
    ASSERT_EQ(checked.has_value(), std::string(row.says).empty());
    if (checked) continue;
    EXPECT_TRUE(checked.error().message.starts_with(row.says)) << checked.error().message;
  }
}

TEST(MemoryNeed, KnowsThisHost) {
  const MemoryLimits limits = this_host_memory();
  EXPECT_GT(limits.available, 1u << 20);
}

}  // namespace
}  // namespace hat::engine
