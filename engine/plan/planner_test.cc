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
  constexpr auto kUnder = Subscription::kUnder;
  constexpr auto kFull = Subscription::kFull;
  constexpr auto kOver = Subscription::kOver;
  struct Row {
    std::optional<PerfGoal> goal;
    Subscription column;
    const char* plan;
  };
  constexpr auto* kRfp = "≤4KiB direct_write_imm, larger rfp; event";
  constexpr auto* kRendezvous = "≤4KiB direct_write_imm, larger write_rndv; event";
  constexpr auto* kEager = "≤4KiB eager, larger write_rndv; event";
  constexpr auto* kHybrid = "hybrid_eager_rndv, adaptive";
  for (const auto& [goal, column, plan] : {
           Row{kLatency, kUnder, "direct_write_imm, busy"},
           Row{kLatency, kFull, "direct_write_imm, busy"},
           Row{kLatency, kOver, "direct_write_imm, event"},
           Row{kThroughput, kUnder, "direct_write_imm, busy"},
           Row{kThroughput, kFull, kRfp},
           Row{kThroughput, kOver, kRfp},
           Row{kResUtil, kUnder, kRendezvous},
           Row{kResUtil, kFull, kEager},
           Row{kResUtil, kOver, kEager},
           Row{kNone, kUnder, kHybrid},
           Row{kNone, kFull, kHybrid},
           Row{kNone, kOver, kHybrid},
       }) {
    Hints hints{.perf_goal = goal, .concurrency = column};
    EXPECT_EQ(describe(make_plan(hints, kHost)), plan) << "no payload_size";
    hints.payload_bytes = 131'072;
    EXPECT_EQ(describe(make_plan(hints, kHost)), plan) << make_plan(hints, kHost).reason;
  }
}

TEST(Planner, ComparesTheCallersWithTheHostsCores) {
  struct Row {
    CoreCounts host;
    uint32_t callers;
    const char* cell;
  };
  for (const auto& [host, callers, cell] : {
           Row{{28, 14},
               1,
               "under (concurrency=1 is at most the 14 near the NIC, of the 28 cores that hatrpcd "
               "may use)"},
           Row{{28, 14},
               14,
               "under (concurrency=14 is at most the 14 near the NIC, of the 28 cores that hatrpcd "
               "may use)"},
           Row{{28, 14},
               15,
               "full (concurrency=15 is more than the 14 near the NIC and at most the "
               "28 cores that hatrpcd may use)"},
           Row{{28, 14},
               28,
               "full (concurrency=28 is more than the 14 near the NIC and at most the "
               "28 cores that hatrpcd may use)"},
           Row{{28, 14},
               29,
               "over (concurrency=29 is more than the 28 cores that hatrpcd may use)"},
           Row{{28, 1},
               1,
               "under (concurrency=1 is at most the 1 near the NIC, of the 28 cores that hatrpcd "
               "may use)"},
           Row{{8, 8}, 7, "under (concurrency=7 is less than the 8 cores that hatrpcd may use)"},
           Row{{8, 8}, 8, "full (concurrency=8 is as many as the 8 cores that hatrpcd may use)"},
           Row{{8, 8}, 9, "over (concurrency=9 is more than the 8 cores that hatrpcd may use)"},
           Row{{1, 1}, 1, "full (concurrency=1 is as many as the 1 core that hatrpcd may use)"},
           Row{{1, 1}, 2, "over (concurrency=2 is more than the 1 core that hatrpcd may use)"},
       }) {
    const Plan plan = make_plan({.concurrency = callers}, kHost.with(host));
    EXPECT_EQ(plan.reason,
              "row none, column " + std::string(cell) + ": hybrid_eager_rndv, adaptive");
  }
}

TEST(Planner, NamesTheRowAndWhatSelectedTheColumn) {
  EXPECT_EQ(make_plan({.perf_goal = kLatency}, kHost).reason,
            "row perf_goal=latency, column under (no hint concurrency): direct_write_imm, busy");
  EXPECT_EQ(make_plan({.perf_goal = kResUtil, .concurrency = Subscription::kOver}, kHost).reason,
            "row perf_goal=res_util, column over (concurrency=over): ≤4KiB eager, larger "
            "write_rndv; event");
  EXPECT_EQ(make_plan({.perf_goal = kThroughput, .concurrency = 4u}, kHost).reason,
            "row perf_goal=throughput, column under (concurrency=4 is at most the 4 near the "
            "NIC, of the 8 cores that hatrpcd may use): direct_write_imm, busy");
}

TEST(Planner, TakesTheWordForTheColumn) {
  EXPECT_EQ(describe(make_plan({.perf_goal = kLatency, .concurrency = Subscription::kOver}, kHost)),
            "direct_write_imm, event");
  EXPECT_EQ(describe(make_plan({.perf_goal = kLatency}, kHost)), "direct_write_imm, busy");
}

TEST(Planner, ExplicitHintsWinAndTheReasonSaysSo) {
  const Plan plan = make_plan(
      {.perf_goal = kLatency, .concurrency = 9u, .polling = Polling::kBusy, .protocol = "herd"},
      kHost);
  EXPECT_EQ(describe(plan), "herd, busy");
  EXPECT_EQ(plan.reason,
            "row perf_goal=latency, column over (concurrency=9 is more than the 8 cores that "
            "hatrpcd may use): "
            "direct_write_imm, event; protocol=herd overrides; polling=busy overrides");
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

TEST(Planner, LearnsOnlyWithAChoice) {
  Hints hints{.plan = PlanSource::kLearned};
  EXPECT_TRUE(make_plan(hints, kHost).learned);
  EXPECT_THAT(make_plan(hints, kHost).reason, HasSubstr("; plan=learned: measurements decide"));
  HostFacts without = kHost;
  without.rdma = false;
  EXPECT_FALSE(make_plan(hints, without).learned);
  hints.protocol = "rfp";
  EXPECT_TRUE(make_plan(hints, kHost).learned) << "the polling mode is open";
  hints.polling = Polling::kBusy;
  EXPECT_FALSE(make_plan(hints, kHost).learned);
  EXPECT_FALSE(make_plan({.plan = PlanSource::kHinted}, kHost).learned);
  EXPECT_FALSE(make_plan({}, kHost).learned);
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

// A lane of the small protocol moves larger messages by the protocol's rendezvous. Slots of at most
// the border make every large message exceed a slot.
TEST(Planner, NeedsOneLaneIfLargeMessagesUseTheRendezvousOfSmallOnes) {
  struct Expected {
    Hints hints;
    bool one_lane;
    uint64_t slot_bytes;
  };
  constexpr uint64_t kPayload = 131'072;
  for (const auto& [hints, one_lane, slot_bytes] : {
           Expected{{.perf_goal = kResUtil, .payload_bytes = kPayload}, true, 4096},
           Expected{
               {.perf_goal = kResUtil, .concurrency = 9u, .payload_bytes = kPayload}, true, 4096},
           Expected{{.perf_goal = kResUtil, .payload_bytes = 64}, true, 64},
           Expected{{.perf_goal = kThroughput, .payload_bytes = kPayload}, true, kPayload},
           Expected{{.perf_goal = kThroughput, .concurrency = 9u, .payload_bytes = kPayload},
                    false,
                    kPayload},
           Expected{{.payload_bytes = kPayload}, true, kPayload},
       }) {
    const Plan plan = make_plan(hints, kHost);
    EXPECT_EQ(plan.has_one_lane(), one_lane) << describe(plan);
    EXPECT_EQ(plan.slot_bytes, slot_bytes) << describe(plan);
  }
  Plan other;
  other.small = *find_protocol("ar_grpc");
  other.large = *find_protocol("read_rndv");
  EXPECT_TRUE(other.has_one_lane());
  other.large = *find_protocol("write_rndv");
  EXPECT_FALSE(other.has_one_lane()) << "a lane of ar_grpc moves large messages by read_rndv";
}

TEST(Protocols, AreTheNamesThatHintsMaySay) {
  ASSERT_EQ(kProtocols.size(), kProtocolWords.size());
  for (size_t i = 0; i < kProtocols.size(); ++i) EXPECT_EQ(kProtocols[i].name, kProtocolWords[i]);
}

}  // namespace
}  // namespace hat::engine
