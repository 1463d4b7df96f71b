// SPDX-License-Identifier: Apache-2.0
#include "daemon/routing/learned_plan.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "config/hint_keys.h"

namespace hat {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

const engine::HostFacts kRdmaHost{8, 8, true, ""};

std::shared_ptr<const LearnedPlan> plan_for(Hints hints) {
  hints.plan = PlanSource::kLearned;
  return learned_plan(make_plan(hints, kRdmaHost), hints, hints, kRdmaHost);
}

std::vector<std::string> names(const LearnedPlan& plan) {
  std::vector<std::string> all;
  for (const LearnedWay& way : plan.ways) all.push_back(way.name);
  return all;
}

TEST(LearnedPlan, BeginsWithThePlanOfTheHints) {
  const auto plan = plan_for({.perf_goal = PerfGoal::kResUtil});
  const engine::Plan hinted = make_plan({.perf_goal = PerfGoal::kResUtil}, kRdmaHost);
  EXPECT_EQ(plan->ways[0].plan.small, hinted.small);
  EXPECT_EQ(plan->ways[0].plan.large, hinted.large);
  EXPECT_EQ(plan->pollings[plan->first_polling], hinted.polling);
  EXPECT_FALSE(plan->ways[0].exact);
}

TEST(LearnedPlan, HasEachProtocolAndTcpOnce) {
  const auto plan = plan_for({.perf_goal = PerfGoal::kLatency});
  const std::vector<std::string> all = names(*plan);
  for (const std::string_view name : kProtocolWords) {
    // The plan of the hints already is direct_write_imm for all sizes, and the lanes of eager are
    // those of hybrid_eager_rndv.
    const int times = name == "direct_write_imm" || name == "eager" ? 0 : 1;
    EXPECT_EQ(std::ranges::count(all, name), times) << name;
  }
  EXPECT_THAT(all, Contains("direct_write_imm with 64KiB slots"));
  EXPECT_THAT(all, Not(Contains("write_rndv with 64KiB slots"))) << "it uses no slots";
  EXPECT_THAT(all, Not(Contains("hybrid_eager_rndv with 64KiB slots"))) << "a SEND has 4 KiB";
  EXPECT_THAT(all, Contains("tcp"));
  EXPECT_THAT(names(*plan_for({.payload_bytes = 64 * 1024})),
              Not(Contains("direct_write_imm with 64KiB slots")))
      << "its slots are as large already";
}

TEST(LearnedPlan, SparesMemoryForResUtil) {
  const auto shown = [](PerfGoal goal, uint64_t payload) {
    std::string all;
    for (const std::string& name : names(*plan_for({.perf_goal = goal, .payload_bytes = payload})))
      all += name + "; ";
    return all;
  };
  EXPECT_THAT(shown(PerfGoal::kThroughput, 64), HasSubstr("with 64KiB slots"));
  EXPECT_THAT(shown(PerfGoal::kResUtil, 64), Not(HasSubstr("slots")));
  EXPECT_THAT(shown(PerfGoal::kResUtil, 64), HasSubstr("direct_write_send; "));
}

TEST(LearnedPlan, HasOnlyWhatTheHintsAllow) {
  struct Row {
    const char* what;
    Hints hints;
    bool has_tcp;
    bool has_protocols;
    std::vector<Polling> pollings;
  };
  const std::vector<Polling> all = {Polling::kBusy, Polling::kEvent, Polling::kAdaptive};
  const std::vector<Polling> sparing = {Polling::kEvent, Polling::kAdaptive};
  const std::vector<Row> rows = {
      {"latency", {.perf_goal = PerfGoal::kLatency}, true, true, all},
      {"throughput", {.perf_goal = PerfGoal::kThroughput}, true, true, all},
      {"res_util", {.perf_goal = PerfGoal::kResUtil}, true, true, sparing},
      {"no goal", {}, true, true, sparing},
      {"polling", {.polling = Polling::kBusy}, true, true, {Polling::kBusy}},
      {"transport rdma", {.transport = Path::kRdma}, false, true, sparing},
      {"protocol", {.protocol = "rfp"}, false, false, sparing},
  };
  for (const Row& row : rows) {
    const auto plan = plan_for(row.hints);
    ASSERT_NE(plan, nullptr) << row.what;
    EXPECT_EQ(std::ranges::count(names(*plan), "tcp"), row.has_tcp ? 1 : 0) << row.what;
    EXPECT_EQ(plan->ways.size() > 2, row.has_protocols) << row.what;
    EXPECT_EQ(plan->pollings, row.pollings) << row.what;
  }
}

TEST(LearnedPlan, IsNullIfTheHintsLeaveOneChoice) {
  EXPECT_EQ(plan_for({.polling = Polling::kBusy, .protocol = "rfp"}), nullptr);
}

// The plan of the hints in its own polling mode leaves the server's daemon its own mode.
TEST(LearnedPlan, AsksTheServersDaemonForAnotherPollingMode) {
  struct Row {
    const char* what;
    Hints hints;
    std::vector<Polling> asked;  // by the choices of the first way
    bool other_ways_ask;         // also for the polling mode of the hints
  };
  const std::vector<Row> rows = {
      {"latency", {.perf_goal = PerfGoal::kLatency}, {Polling::kEvent, Polling::kAdaptive}, true},
      {"over",
       {.perf_goal = PerfGoal::kLatency, .concurrency = 64u},
       {Polling::kBusy, Polling::kAdaptive},
       true},
      {"res_util", {.perf_goal = PerfGoal::kResUtil}, {}, false},
      {"polling", {.polling = Polling::kBusy}, {}, true},
  };
  for (const Row& row : rows) {
    const auto plan = plan_for(row.hints);
    std::vector<Polling> asked;
    for (size_t choice = 0; choice < plan->choices(); ++choice) {
      const CallPolling polling = plan->polling_of(choice);
      EXPECT_EQ(polling.client, plan->pollings[choice % plan->pollings.size()]) << row.what;
      if (!polling.server) continue;
      EXPECT_EQ(*polling.server, polling.client) << row.what;
      if (choice < plan->pollings.size()) asked.push_back(*polling.server);
    }
    const CallPolling of_another_way =
        plan->polling_of(plan->pollings.size() + plan->first_polling);
    EXPECT_EQ(of_another_way.server.has_value(), row.other_ways_ask) << row.what;
    EXPECT_EQ(asked, row.asked) << row.what;
  }
}

TEST(LearnedPlan, MayOnlyBeAskedForWhatTheHintsOfBothSidesLeaveOpen) {
  using enum Polling;
  const auto may_ask = [](const Hints& client, const Hints& server) {
    return pollings_to_ask_for(plan_for(client).get(), server);
  };
  const std::vector<Polling> none;
  const Hints latency{.perf_goal = PerfGoal::kLatency};
  EXPECT_EQ(may_ask({}, {}), (std::vector{kEvent, kAdaptive}));
  EXPECT_EQ(may_ask(latency, latency), (std::vector{kBusy, kEvent, kAdaptive}));
  EXPECT_EQ(may_ask(latency, {}), (std::vector{kEvent, kAdaptive}));
  EXPECT_EQ(may_ask(latency, {.perf_goal = PerfGoal::kResUtil}), none);
  EXPECT_EQ(may_ask(latency, {.perf_goal = PerfGoal::kLatency, .polling = kBusy}), none);
  EXPECT_EQ(may_ask({.polling = kBusy}, latency), none) << "the client's daemon asks for none";
  EXPECT_EQ(pollings_to_ask_for(nullptr, latency), none) << "nothing is learned";
}

TEST(LearnedPlan, NamesItsChoices) {
  const auto plan = plan_for({.perf_goal = PerfGoal::kLatency});
  EXPECT_EQ(plan->name(0), "the plan of the hints, busy");
  EXPECT_EQ(plan->name(plan->choices() - 2), "chained_write_send with 64KiB slots, event");
}

TEST(LearnedPlan, KnowsWhetherItsChoicesHaveChanged) {
  const auto plan = plan_for({.perf_goal = PerfGoal::kLatency});
  EXPECT_TRUE(plan->has_choices_of(*plan_for({.perf_goal = PerfGoal::kLatency})));
  EXPECT_FALSE(plan->has_choices_of(*plan_for({.perf_goal = PerfGoal::kThroughput})));
  EXPECT_FALSE(
      plan->has_choices_of(*plan_for({.perf_goal = PerfGoal::kLatency, .payload_bytes = 128})));
  const auto over = plan_for({.perf_goal = PerfGoal::kLatency, .concurrency = 64u});
  EXPECT_EQ(over->pollings, plan->pollings);
  EXPECT_FALSE(plan->has_choices_of(*over)) << "another choice is that of the hints";
}

}  // namespace
}  // namespace hat
