// SPDX-License-Identifier: Apache-2.0
#include "engine/plan/idle_hints.h"

#include <gmock/gmock.h>

namespace hat::engine {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

const HostFacts kFourOfEight{.cores = 8, .nic_cores = 4, .rdma = true};

// Returns the idle hints as lines "hint: why".
std::vector<std::string> lines(const HintGroups& function, const HintGroups& service = {},
                               Side side = Side::kClient, const HostFacts& host = kFourOfEight) {
  std::vector<std::string> all;
  for (const IdleHint& idle : idle_hints(function, service, side, host)) {
    all.push_back(idle.hint + ": " + idle.why);
  }
  return all;
}

TEST(IdleHints, SayWhyAHintChangesNothing) {
  struct Row {
    Hints hints;
    const char* line;
  };
  for (const auto& [hints, line] : {
           Row{{.perf_goal = PerfGoal::kLatency, .concurrency = 4u},
               "concurrency: 4: it selects the column under, which also applies without the hint"},
           Row{{.perf_goal = PerfGoal::kLatency, .concurrency = 8u},
               "concurrency: 8: the column that it selects has the same plan as the column without "
               "it"},
           Row{{.concurrency = Subscription::kOver},
               "concurrency: over: without perf_goal, all columns have the same plan"},
           Row{{.perf_goal = PerfGoal::kLatency,
           .concurrency = 9u,
           .polling = Polling::kBusy,
           .protocol = "herd"},
               "concurrency: 9: the hint polling overrides the table here"},
           Row{{.perf_goal = PerfGoal::kResUtil, .concurrency = 9u, .protocol = "eager"},
               "concurrency: 9: the hint protocol overrides the table here"},
           Row{{.payload_bytes = 4096}, "payload_size: 4KiB: the plan is the same without it"},
           Row{{.perf_goal = PerfGoal::kResUtil, .payload_bytes = 131'072},
               "payload_size: 128KiB: the plan is the same without it"},
           Row{{.polling = Polling::kAdaptive},
               "polling: adaptive: the plan is the same without it"},
           Row{{.protocol = "hybrid_eager_rndv"},
               "protocol: hybrid_eager_rndv: the plan is the same without it"},
           Row{{.transport = Path::kRdma}, "transport: rdma: the plan is the same without it"},
           Row{{.plan = PlanSource::kHinted}, "plan: hinted: the plan is the same without it"},
           Row{{.polling = Polling::kBusy, .protocol = "herd", .plan = PlanSource::kLearned},
               "plan: learned: the hints protocol and polling leave no other choice"},
           Row{{.numa = NumaWord::kAny}, "numa: any: the plan is the same without it"},
           Row{{.plan = PlanSource::kLearned, .numa = NumaWord::kAny},
               "numa: any: the plan is the same without it"},
           Row{{.priority = Priority::kNormal},
               "priority: normal: the plan is the same without it"},
       }) {
    EXPECT_THAT(lines({.both = hints, .client = {}, .server = {}}), ElementsAre(line));
  }
}

TEST(IdleHints, OnlyTheClientsSideSendsCallsAgain) {
  const Hints hints{.idempotent = true};
  EXPECT_THAT(lines({.both = hints, .client = {}, .server = {}}), IsEmpty());
  EXPECT_THAT(lines({.both = {}, .client = {}, .server = hints}, {}, Side::kServer),
              ElementsAre("idempotent: true: only the client's side sends calls again"));
}

TEST(IdleHints, LeaveOutHintsThatChangeThePlan) {
  for (const Hints& hints : {
           Hints{.perf_goal = PerfGoal::kLatency},
           Hints{.perf_goal = PerfGoal::kLatency, .concurrency = 9u},
           Hints{.payload_bytes = 512},
           Hints{.priority = Priority::kHigh},
           Hints{.perf_goal = PerfGoal::kResUtil, .payload_bytes = 512},
           Hints{.perf_goal = PerfGoal::kThroughput, .payload_bytes = 131'072},
           Hints{.polling = Polling::kBusy},
           Hints{.protocol = "herd"},
           Hints{.transport = Path::kTcp},
           Hints{.plan = PlanSource::kLearned},
           Hints{.protocol = "herd", .plan = PlanSource::kLearned},
           // These hints lead to the plan that also holds without them, but they limit the choices.
           Hints{.polling = Polling::kAdaptive, .plan = PlanSource::kLearned},
           Hints{.protocol = "hybrid_eager_rndv", .plan = PlanSource::kLearned},
           Hints{.transport = Path::kRdma, .plan = PlanSource::kLearned},
           Hints{.numa = 1u},
           Hints{.timeout = std::chrono::milliseconds(5)},
       }) {
    EXPECT_THAT(lines({.both = hints, .client = {}, .server = {}}), IsEmpty());
  }
}

TEST(IdleHints, NameATimeoutOfTheServersSideAlone) {
  HintGroups function;
  function.server.timeout = std::chrono::milliseconds(5);
  EXPECT_THAT(lines(function, {}, Side::kServer),
              ElementsAre("timeout_ms: 5: only the client's side has a timeout"));
}

TEST(IdleHints, NameLearningOfTheServersSideAlone) {
  HintGroups function;
  function.server.plan = PlanSource::kLearned;
  EXPECT_THAT(lines(function, {}, Side::kServer),
              ElementsAre("plan: learned: only the client's side learns"));
}

// Each hint is judged with the others in place, so an idle hint may count without another.
TEST(IdleHints, JudgeEachHintAlone) {
  const Hints both{.perf_goal = PerfGoal::kLatency, .concurrency = 9u, .polling = Polling::kEvent};
  EXPECT_THAT(lines({.both = both, .client = {}, .server = {}}),
              ElementsAre("concurrency: 9: the hint polling overrides the table here",
                          "polling: event: the plan is the same without it"));
  Hints rest = both;
  rest.polling.reset();
  EXPECT_THAT(lines({.both = rest, .client = {}, .server = {}}), IsEmpty());
  rest = both;
  rest.concurrency.reset();
  EXPECT_THAT(lines({.both = rest, .client = {}, .server = {}}), IsEmpty());
}

TEST(IdleHints, CompareWithTheNextGroupThatHasTheHint) {
  HintGroups function;
  HintGroups service;
  service.both.concurrency = 9u;
  service.both.perf_goal = PerfGoal::kLatency;
  function.client.concurrency = 4u;
  EXPECT_THAT(lines(function, service), IsEmpty()) << "without it, the service's 9 callers hold";
  EXPECT_THAT(lines(function, service, Side::kServer), IsEmpty());
  function.client.concurrency = 10u;
  EXPECT_THAT(lines(function, service),
              ElementsAre("concurrency: 10: the plan is the same without it"));
}

TEST(IdleHints, LeaveOutAHintForBothSidesThatChangesTheOtherSide) {
  HintGroups function;
  HintGroups service;
  service.client.numa = 1u;
  function.both.numa = NumaWord::kAny;
  EXPECT_THAT(lines(function, service, Side::kServer), IsEmpty());
  function.both.numa.reset();
  function.server.numa = NumaWord::kAny;
  EXPECT_THAT(lines(function, service, Side::kServer),
              ElementsAre("numa: any: the plan is the same without it"));
}

TEST(IdleHints, LeaveOutAHintThatChangesTheRepliesOfAnotherHost) {
  const HintGroups function{
      .both = {.perf_goal = PerfGoal::kLatency, .concurrency = 4u}, .client = {}, .server = {}};
  const auto count = [&](std::initializer_list<CoreCounts> servers) {
    return idle_hints(function, {}, Side::kClient, kFourOfEight, servers).size();
  };
  EXPECT_EQ(count({}), 1u);
  EXPECT_EQ(count({{8, 8}, {4, 4}}), 1u) << "full, with the same plan as under";
  EXPECT_EQ(count({{8, 8}, {2, 2}}), 0u) << "four callers are over on a host with two cores";
}

TEST(IdleHints, SayWhenTcpCarriesTheCalls) {
  HostFacts without = kFourOfEight;
  without.rdma = false;
  without.rdma_absent_reason = "fabric: tcp";
  const HintGroups hints{
      .both = {.payload_bytes = 512, .protocol = "herd"}, .client = {}, .server = {}};
  EXPECT_THAT(lines(hints, {}, Side::kServer, without),
              ElementsAre("payload_size: 512B: TCP carries the calls: fabric: tcp",
                          "protocol: herd: TCP carries the calls: fabric: tcp"));
  HintGroups wanted = hints;
  wanted.both.transport = Path::kTcp;
  EXPECT_THAT(
      lines(wanted),
      ElementsAre("payload_size: 512B: TCP carries the calls because of the hint transport: tcp",
                  "protocol: herd: TCP carries the calls because of the hint transport: tcp"));
}

}  // namespace
}  // namespace hat::engine
