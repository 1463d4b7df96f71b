// SPDX-License-Identifier: Apache-2.0
#include "daemon/routing/route_changes.h"

#include <gmock/gmock.h>

#include "config/manifest.h"
#include "engine/plan/fake_costs.h"

namespace hat {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class RouteChanges : public testing::Test {
 protected:
  RoutingTable table(const Manifest& manifest) {
    const engine::HostFacts host{8, 8, false, "none is here"};
    return RoutingTable(1, manifest, {}, host, metrics_);
  }
  static Manifest kv(FunctionSpec get, HintGroups service_hints = {}) {
    get.name = "get";
    return {"", {{"Kv", service_hints, {get}, ""}}};
  }
  std::vector<std::string> between(const Manifest& before, const Manifest& after) {
    return texts_of(route_changes(table(before), table(after)));
  }

  MetricsRegistry metrics_{1};
};

TEST_F(RouteChanges, AreNoneBetweenEqualTables) { EXPECT_THAT(between(kv({}), kv({})), IsEmpty()); }

TEST_F(RouteChanges, ReportThePlanOfTheSideThatChanged) {
  FunctionSpec before;
  before.hints.both.perf_goal = PerfGoal::kLatency;
  FunctionSpec after = before;
  after.hints.server.polling = Polling::kEvent;
  EXPECT_THAT(between(kv(before), kv(after)),
              ElementsAre("Kv.get: server: direct_write_imm, busy over tcp → "
                          "direct_write_imm, event over tcp"));
}

TEST_F(RouteChanges, ReportThePlansForPeers) {
  HintGroups of_service;
  of_service.both.payload_bytes = 16'384;
  engine::HostFacts host{8, 8, true, ""};
  const RoutingTable before(1, kv({}, of_service), {}, host, metrics_);
  host.measured_with["host-b"] = engine::cheap_writes();
  const RoutingTable after(2, kv({}, of_service), {}, host, metrics_);
  const auto changed = [](const std::string& function, const std::string& change) {
    return HasSubstr("Kv." + function + ": client, to host-b: " + change);
  };
  EXPECT_THAT(texts_of(route_changes(before, after)),
              ElementsAre(changed("get", "hybrid_eager_rndv, adaptive → "),
                          changed("get", "replies: hybrid_eager_rndv → direct_write_imm"),
                          changed("_other", "hybrid_eager_rndv, adaptive → "),
                          changed("_other", "replies: hybrid_eager_rndv → direct_write_imm")));
  EXPECT_THAT(texts_of(route_changes(after, before)),
              testing::Contains(changed("get", "replies: direct_write_imm → hybrid_eager_rndv")));
  EXPECT_THAT(route_changes(after, after), IsEmpty());
}

TEST_F(RouteChanges, ReportWhatTheDescriptionLeavesOut) {
  FunctionSpec before;
  before.hints.client.timeout = std::chrono::milliseconds(100);
  FunctionSpec after;
  after.hints.client.timeout = std::chrono::milliseconds(250);
  after.hints.client.priority = Priority::kHigh;
  EXPECT_THAT(between(kv(before), kv(after)),
              ElementsAre("Kv.get: client: priority normal → high, timeout_ms 100 → 250"));
  EXPECT_THAT(between(kv({}), kv(before)), ElementsAre("Kv.get: client: timeout_ms none → 100"));
}

TEST_F(RouteChanges, ReportTheReasonWhereNothingElseDiffers) {
  FunctionSpec before;
  before.hints.client.perf_goal = PerfGoal::kLatency;
  FunctionSpec after = before;
  after.hints.client.polling = Polling::kBusy;  // the planner chose this polling mode before
  EXPECT_THAT(between(kv(before), kv(after)),
              ElementsAre(testing::AllOf(
                  HasSubstr("Kv.get: client: direct_write_imm, busy over tcp unchanged"),
                  HasSubstr("the reason is now: "), HasSubstr("polling"))));
}

TEST_F(RouteChanges, HaveTheReasonOfANewPlan) {
  FunctionSpec before;
  before.hints.client.perf_goal = PerfGoal::kLatency;
  FunctionSpec stated = before;
  stated.hints.client.polling = Polling::kBusy;  // the planner chose this polling mode before
  FunctionSpec other = before;
  other.hints.client.polling = Polling::kEvent;
  FunctionSpec limited = before;
  limited.access = AccessRule{{"host-a"}, false};
  const auto change_to = [&](const FunctionSpec& after) {
    const auto changes = route_changes(table(kv(before)), table(kv(after)));
    EXPECT_EQ(changes.size(), 1u);
    return changes.empty() ? RouteChange{} : changes[0];
  };
  EXPECT_TRUE(change_to(stated).only_reason);
  EXPECT_FALSE(change_to(other).only_reason);
  EXPECT_THAT(change_to(other).reason, HasSubstr("polling=event overrides"));
  EXPECT_EQ(change_to(limited).reason, "");
}

TEST_F(RouteChanges, ReportOtherLanesToOtherHosts) {
  FunctionSpec before;
  before.hints.both.perf_goal = PerfGoal::kThroughput;
  before.hints.both.payload_bytes = 131'072;
  before.hints.server.concurrency = 2u;
  FunctionSpec after = before;
  after.hints.server.concurrency = 3u;  // is under here too
  EXPECT_THAT(
      between(kv(before), kv(after)),
      ElementsAre(HasSubstr("Kv.get: server: direct_write_imm, busy over tcp unchanged"),
                  "Kv.get: replies from other hosts: under direct_write_imm, full rfp, over rfp "
                  "(concurrency 2) → under direct_write_imm, full rfp, over rfp (concurrency 3)"));
  before.hints.both.perf_goal = after.hints.both.perf_goal = PerfGoal::kLatency;
  EXPECT_EQ(between(kv(before), kv(after)).size(), 1u) << "all columns have the same protocol";
}

TEST_F(RouteChanges, NameNewFunctionsAndGoneOnesAndOneway) {
  Manifest more = kv({});
  more.services[0].functions.push_back({"put", false, {}, ""});
  EXPECT_THAT(between(kv({}), more),
              ElementsAre("Kv.put: new, hybrid_eager_rndv, adaptive over tcp"));
  EXPECT_THAT(between(more, kv({})), ElementsAre("Kv.put: removed from the manifests"));
  EXPECT_THAT(between(kv({}), {}), ElementsAre("Kv.get: removed from the manifests"));
  FunctionSpec oneway;
  oneway.oneway = true;
  EXPECT_THAT(between(kv({}), kv(oneway)), ElementsAre("Kv.get: oneway now"));
}

TEST_F(RouteChanges, ReportWhoMayCallNow) {
  FunctionSpec some;
  some.access = AccessRule{{"host-a", "spiffe://p/*"}, false};
  FunctionSpec tried = some;
  tried.access->dry_run = true;
  EXPECT_THAT(between(kv({}), kv(some)),
              ElementsAre("Kv.get: allow: everybody → host-a, spiffe://p/*"));
  EXPECT_THAT(between(kv(tried), kv(some)),
              ElementsAre("Kv.get: allow: host-a, spiffe://p/* (dry run) → host-a, spiffe://p/*"));
}

TEST_F(RouteChanges, ReportThatArgumentsAreOthers) {
  FunctionSpec some;
  some.arguments = FieldSpecs{};
  Manifest typed = kv({});
  typed.services[0].types = {{"Pair", {}}};
  typed.services[0].allow_unknown_fields = true;
  EXPECT_THAT(between(kv({}), kv(some)), ElementsAre("Kv.get: arguments: changed"));
  EXPECT_THAT(between(kv({}), typed),
              ElementsAre("Kv: types: changed", "Kv: allow_unknown_fields: true"));
}

TEST_F(RouteChanges, TakeAServicesRuleForFunctionsWithoutTheirOwn) {
  Manifest before = kv({});
  FunctionSpec put{.name = "put"};
  put.access = AccessRule{{"host-b"}, false};
  before.services[0].functions.push_back(put);
  Manifest after = before;
  after.services[0].access = AccessRule{{"host-a"}, false};
  EXPECT_THAT(between(before, after), ElementsAre("Kv.get: allow: everybody → host-a",
                                                  "Kv._other: allow: everybody → host-a"));
}

TEST_F(RouteChanges, ReportOfFunctionsThatNoManifestNames) {
  HintGroups event;
  event.both.polling = Polling::kEvent;
  const auto lines = between(kv({}), kv({}, event));
  ASSERT_EQ(lines.size(), 4u);  // two functions (get and _other), with two sides each
  EXPECT_THAT(lines[2], HasSubstr("Kv._other: client: hybrid_eager_rndv, adaptive over tcp → "));
}

}  // namespace
}  // namespace hat
