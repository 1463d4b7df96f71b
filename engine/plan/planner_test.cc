// SPDX-License-Identifier: Apache-2.0
#include "engine/plan/planner.h"

#include <gmock/gmock.h>

#include "config/hint_keys.h"

namespace hat::engine {
namespace {

using testing::HasSubstr;

constexpr auto kNone = std::nullopt;
constexpr auto kLatency = PerfGoal::kLatency;
constexpr auto kThroughput = PerfGoal::kThroughput;
constexpr auto kResUtil = PerfGoal::kResUtil;
const HostFacts kHost{.cores = 8, .nic_cores = 4, .rdma = true};

TEST(Planner, FollowsThePapersTable) {
  struct Row {
    std::optional<PerfGoal> goal;
    uint32_t callers;
    const char* plan;
  };
  for (const auto& [goal, callers, plan] : {
           Row{kLatency, 4, "direct_write_imm, busy"},
           Row{kLatency, 8, "direct_write_imm, busy"},
           Row{kLatency, 9, "direct_write_imm, event"},
           Row{kThroughput, 4, "direct_write_imm, busy"},
           Row{kThroughput, 5, "≤4KiB direct_write_imm, larger rfp; event"},
           Row{kThroughput, 9, "≤4KiB direct_write_imm, larger rfp; event"},
           Row{kResUtil, 1, "≤4KiB direct_write_imm, larger write_rndv; event"},
           Row{kResUtil, 8, "≤4KiB eager, larger write_rndv; event"},
           Row{kResUtil, 9, "≤4KiB eager, larger write_rndv; event"},
           Row{kNone, 1, "hybrid_eager_rndv, adaptive"},
           Row{kNone, 8, "hybrid_eager_rndv, adaptive"},
           Row{kNone, 9, "hybrid_eager_rndv, adaptive"},
       }) {
    const Plan made = make_plan({.perf_goal = goal, .concurrency = callers}, kHost);
    EXPECT_EQ(describe(made), plan) << callers << " callers: " << made.reason;
  }
}

TEST(Planner, TakesTheWordForTheColumn) {
  EXPECT_EQ(describe(make_plan({.perf_goal = kLatency, .concurrency = Subscription::kOver}, kHost)),
            "direct_write_imm, event");
  EXPECT_EQ(describe(make_plan({.perf_goal = kThroughput}, kHost)), "direct_write_imm, busy");
}

TEST(Planner, ExplicitHintsWinAndTheReasonSaysSo) {
  const Plan plan = make_plan(
      {.perf_goal = kLatency, .concurrency = 9u, .polling = Polling::kBusy, .protocol = "herd"},
      kHost);
  EXPECT_EQ(describe(plan), "herd, busy");
  EXPECT_EQ(plan.reason,
            "perf_goal=latency and concurrency=9: over, the host has 8 cores: direct_write_imm, "
            "event; protocol=herd overrides; polling=busy overrides");
}

TEST(Planner, SaysWhyTcpCarriesIt) {
  HostFacts without = kHost;
  without.rdma = false;
  without.rdma_absent_reason = "fabric: tcp";
  const Plan lacking = make_plan({.perf_goal = kLatency}, without);
  EXPECT_EQ(lacking.path, Path::kTcp);
  EXPECT_EQ(describe(lacking), "direct_write_imm, busy over tcp");
  EXPECT_THAT(lacking.reason, HasSubstr("TCP carries the calls: fabric: tcp"));

  const Plan wanted = make_plan({.perf_goal = kLatency, .transport = Path::kTcp}, kHost);
  EXPECT_EQ(describe(wanted), "tcp, busy");
  EXPECT_THAT(wanted.reason, HasSubstr("transport=tcp overrides"));
}

TEST(Planner, CarriesWhatIsNoChoice) {
  const Plan plan = make_plan({.payload_bytes = 131072,
                               .numa = 1u,
                               .priority = Priority::kHigh,
                               .timeout = std::chrono::milliseconds(250),
                               .idempotent = true},
                              kHost);
  EXPECT_EQ(plan.slot_bytes, 131072u);
  EXPECT_EQ(plan.numa, Numa(1u));
  EXPECT_EQ(plan.priority, Priority::kHigh);
  EXPECT_EQ(plan.timeout, std::chrono::milliseconds(250));
  EXPECT_TRUE(plan.idempotent);
}

TEST(Protocols, AreTheNamesThatHintsMaySay) {
  ASSERT_EQ(kProtocols.size(), kProtocolWords.size());
  for (size_t i = 0; i < kProtocols.size(); ++i) EXPECT_EQ(kProtocols[i].name, kProtocolWords[i]);
}

}  // namespace
}  // namespace hat::engine
