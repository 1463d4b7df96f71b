// SPDX-License-Identifier: Apache-2.0
#include "hatctl/what_if/what_if.h"

#include <gmock/gmock.h>

#include "engine/plan/fake_costs.h"

namespace hat::hatctl {
namespace {

using testing::HasSubstr;

// Returns a configuration with the service Kv, whose function `get` has a goal and a payload.
Configuration kv(uint64_t payload_bytes, FabricKind kind = FabricKind::kAuto) {
  Configuration configuration;
  configuration.node.fabric.kind = kind;
  ServiceSpec service{.name = "Kv"};
  service.hints.both.payload_bytes = payload_bytes;
  service.functions.push_back({.name = "get"});
  configuration.manifest.services.push_back(std::move(service));
  return configuration;
}

Profile cheap_writes() {
  return {.device = "a device", .measured = "2026-11-01", .costs = *engine::cheap_writes()};
}

engine::HostFacts host(uint32_t cores) { return {cores, cores, true, ""}; }

std::vector<std::string> changed(const Configuration& configuration, const engine::HostFacts& now,
                                 const engine::HostFacts& then) {
  std::vector<std::string> texts;
  const auto answer = what_if("node.yaml", configuration, now, then);
  for (const auto& change : answer.at("changes")) {
    texts.push_back(change.at("text"));
  }
  return texts;
}

TEST(WhatIf, PlansWithTheCostsOfTheProfileOnTheOtherHost) {
  engine::HostFacts now = host(8);
  now.measured_with["host-b"] = engine::cheap_writes();
  const auto then = facts_then(now, cheap_writes(), 28, 14);
  ASSERT_TRUE(then);
  EXPECT_EQ(then->cores, 28u);
  EXPECT_EQ(then->nic_cores, 14u);
  EXPECT_EQ(then->measured->fabric, "loop");
  EXPECT_TRUE(then->measured_with.empty());
  EXPECT_EQ(facts_then(now, cheap_writes(), 28, 0)->nic_cores, 28u);
  EXPECT_EQ(facts_then(now, cheap_writes(), 0, 0)->core_counts(), now.core_counts());
  EXPECT_THAT(facts_then(now, cheap_writes(), 0, 9).error().message,
              HasSubstr("--nic-cores 9 is more than the host's 8 cores"));
}

TEST(WhatIf, ShowsTheChangedPlansWithTheirReasons) {
  const engine::HostFacts now = host(8);
  const auto then = facts_then(now, cheap_writes(), 0, 0);
  const auto answer = what_if("node.yaml", kv(16'384), now, *then);
  const std::string text = what_if_text(answer, cheap_writes(), {});
  EXPECT_THAT(
      text,
      HasSubstr("now:  8 cores; node.yaml\nthen: 8 cores; costs of loop, a device, 2026-11-01"));
  EXPECT_THAT(text, HasSubstr("Kv.get: client: hybrid_eager_rndv, adaptive → "));
  EXPECT_THAT(text, HasSubstr("\n      row none, column under"));
  EXPECT_THAT(text, HasSubstr("measured: "));
  EXPECT_THAT(text, HasSubstr("Kv._other: server: "));
  EXPECT_EQ(answer.at("functions"), 1);
}

TEST(WhatIf, LeavesOutPlansOfWhichOnlyTheReasonChanges) {
  const engine::HostFacts now = host(8);
  const auto then = facts_then(now, cheap_writes(), 0, 0);
  Configuration configuration = kv(64);
  configuration.manifest.services[0].hints.both.concurrency = 4u;  // less than 8 or 16 cores
  const auto answer =
      what_if("node.yaml", configuration, *then, *facts_then(now, cheap_writes(), 16, 0));
  EXPECT_TRUE(answer.at("changes").empty()) << answer.dump(2);
  EXPECT_THAT(what_if_text(answer, cheap_writes(), {}),
              HasSubstr("no plan would change (1 listed function"));
}

TEST(WhatIf, ComparesWithTcpOnANodeWithoutRdma) {
  const Configuration configuration = kv(64, FabricKind::kTcp);
  const engine::HostFacts now = facts_now(configuration);
  EXPECT_FALSE(now.rdma);
  const auto then = facts_then(now, cheap_writes(), 0, 0);
  EXPECT_TRUE(then->rdma);
  EXPECT_THAT(changed(configuration, now, *then),
              testing::Contains(HasSubstr("Kv.get: client: hybrid_eager_rndv, adaptive over tcp → "
                                          "hybrid_eager_rndv, adaptive")));
  EXPECT_THAT(what_if_text(what_if("node.yaml", configuration, now, *then), cheap_writes(), {}),
              HasSubstr(", without RDMA; node.yaml\n"));
}

TEST(WhatIf, UsesTheProfilesOfTheNodeForThePlansNow) {
  Configuration configuration = kv(16'384);
  configuration.profiles.push_back({.file = "a.yaml", .profile = cheap_writes()});
  configuration.profiles.push_back({.file = "b.yaml", .peer = "host-b", .profile = {}});
  const engine::HostFacts now = facts_now(configuration);
  ASSERT_NE(now.measured, nullptr);
  EXPECT_EQ(now.measured->fabric, "loop");
  EXPECT_TRUE(now.measured_with.contains("host-b"));
}

TEST(WhatIf, IgnoresTheProfilesOfAnotherFabricThanTheStatedOne) {
  for (const FabricKind kind : {FabricKind::kLoop, FabricKind::kVerbs}) {
    Configuration configuration = kv(16'384, kind);
    configuration.profiles.push_back({.file = "a.yaml", .profile = cheap_writes()});  // of `loop`
    EXPECT_EQ(facts_now(configuration).measured != nullptr, kind == FabricKind::kLoop);
  }
}

TEST(WhatIf, WarnsOfProfilesOfAnotherFabricThanTheStatedOne) {
  const auto warnings = [](FabricKind kind) {
    Configuration configuration = kv(16'384, kind);
    Profile verbs = cheap_writes();
    verbs.costs.fabric = "verbs";
    configuration.profiles.push_back({.file = "own.yaml", .profile = cheap_writes()});
    configuration.profiles.push_back({.file = "b.yaml", .peer = "host-b", .profile = verbs});
    return unused_profiles(configuration, "new.yaml", cheap_writes());
  };
  EXPECT_THAT(warnings(FabricKind::kLoop),
              testing::ElementsAre(
                  AllOf(HasSubstr("profile b.yaml: the costs of fabric verbs are not used"),
                        HasSubstr("run `hatctl calibrate host-b --write`"))));
  EXPECT_THAT(warnings(FabricKind::kVerbs),
              testing::ElementsAre(HasSubstr("profile own.yaml: the costs of fabric loop"),
                                   "new.yaml: its costs are those of fabric loop, and this node "
                                   "has `fabric: verbs`: its daemon would not use them"));
  EXPECT_THAT(warnings(FabricKind::kAuto), testing::IsEmpty());
  EXPECT_THAT(warnings(FabricKind::kTcp), testing::IsEmpty());
}

}  // namespace
}  // namespace hat::hatctl
