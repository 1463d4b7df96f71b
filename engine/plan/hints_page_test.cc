// SPDX-License-Identifier: Apache-2.0
// engine/plan/hints_page_test.cc: tests that docs/hints.md lists every hint key and shows the
// planner's table.
#include <gmock/gmock.h>

#include <fstream>
#include <iterator>

#include "config/hint_keys.h"
#include "engine/plan/planner.h"

namespace hat::engine {
namespace {

using testing::HasSubstr;

class HintsPage : public testing::Test {
 protected:
  static std::string read() {
    std::ifstream file(HAT_SOURCE_DIR "/docs/hints.md");
    EXPECT_TRUE(file) << "docs/hints.md";
    return {std::istreambuf_iterator<char>(file), {}};
  }
  const std::string page_ = read();
};

TEST_F(HintsPage, HasEveryKey) {
  for (const HintKey& key : kHintKeys) {
    EXPECT_THAT(page_,
                HasSubstr("\n| `" + std::string(key.name) + "` | " + std::string(key.values) +
                          " | " + std::string(key.meaning) + " | "));
    if (key.older.empty()) continue;
    EXPECT_THAT(page_,
                HasSubstr("`" + std::string(key.older) + "` is `" + std::string(key.name) + "`"));
  }
}

TEST_F(HintsPage, HasEveryProtocol) {
  for (const auto name : kProtocolWords) {
    EXPECT_THAT(page_, HasSubstr("`" + std::string(name) + "`"));
  }
}

TEST_F(HintsPage, HasThePlannersTable) {
  const HostFacts host{.cores = 8, .nic_cores = 4, .rdma = true};
  for (size_t goal = 0; goal <= kPerfGoalWords.size(); ++goal) {
    const bool none = goal == kPerfGoalWords.size();
    std::string row = "\n| `" + std::string(none ? "none" : kPerfGoalWords[goal]) + "` |";
    for (const auto column : {Subscription::kUnder, Subscription::kFull, Subscription::kOver}) {
      Hints hints{.concurrency = column};
      if (!none) hints.perf_goal = static_cast<PerfGoal>(goal);
      row += " " + describe(make_plan(hints, host)) + " |";
    }
    EXPECT_THAT(page_, HasSubstr(row + "\n"));
  }
}

}  // namespace
}  // namespace hat::engine
