// SPDX-License-Identifier: Apache-2.0
#include "daemon/routing/routing_table.h"

#include <gtest/gtest.h>

#include "engine/plan/fake_costs.h"

namespace hat {
namespace {

using namespace std::chrono_literals;

const engine::HostFacts kHost{8, 8, false, "none is here"};

TEST(RoutingTable, GivesFunctionsWithoutATimeoutTheNodes) {
  FunctionSpec hurried{.name = "hurried"};
  hurried.hints.both.timeout = 50ms;
  const Manifest manifest{"", {{"Kv", {}, {{.name = "get"}, hurried}, ""}}};
  MetricsRegistry metrics{1};
  const RoutingTable none(1, manifest, {"Other"}, kHost, metrics);
  EXPECT_EQ(none.find("Kv")->find("get").client.plan.timeout, std::nullopt);
  const RoutingTable some(2, manifest, {"Other"}, kHost, metrics, {}, 3s);
  EXPECT_EQ(some.find("Kv")->find("get").client.plan.timeout, 3000ms);
  EXPECT_EQ(some.find("Kv")->find("hurried").client.plan.timeout, 50ms);
  EXPECT_EQ(some.find("Kv")->find("unlisted").client.plan.timeout, 3000ms);
  EXPECT_EQ(some.find("Other")->find("any").client.plan.timeout, 3000ms);
}

TEST(RoutingTable, KnowsTheLanesToAnotherHost) {
  FunctionSpec get{.name = "get"};
  get.hints.both.perf_goal = PerfGoal::kThroughput;
  get.hints.both.payload_bytes = 131'072;
  get.hints.both.concurrency = 9u;
  MetricsRegistry metrics{1};
  const RoutingTable table(1, {"", {{"Kv", {}, {get}, ""}}}, {}, {8, 4, true, ""}, metrics);
  EXPECT_EQ(table.cores(), (engine::CoreCounts{8, 4}));
  const Route& route = table.find("Kv")->find("get");
  const auto response = [&](engine::CoreCounts server) {
    return engine::protocol(route.client.lanes.small.at(server).response).name;
  };
  EXPECT_EQ(response(table.cores()), "rfp");
  EXPECT_EQ(response({16, 16}), "direct_write_imm");
}

TEST(RoutingTable, HasThePlanForEachPeerWithItsOwnCosts) {
  FunctionSpec learned{.name = "learned"};
  learned.hints.client.plan = PlanSource::kLearned;
  FunctionSpec forced{.name = "forced"};
  forced.hints.both.protocol = "rfp";
  forced.hints.both.polling = Polling::kEvent;
  FunctionSpec replies_alone{.name = "replies"};
  replies_alone.hints.client.protocol = "rfp";
  HintGroups of_service;
  of_service.both.payload_bytes = 16'384;
  const Manifest manifest{
      "", {{"Kv", of_service, {{.name = "get"}, learned, forced, replies_alone}, ""}}};
  engine::HostFacts host{8, 8, true, ""};
  host.measured_with["host-b"] = engine::cheap_writes();
  MetricsRegistry metrics{1};
  const RoutingTable table(1, manifest, {}, host, metrics, {}, 3s);
  const Route& get = table.find("Kv")->find("get");
  EXPECT_EQ(get.to("host-a").plan, get.client.plan);
  EXPECT_EQ(choice_words(get.client.plan), "hybrid_eager_rndv, adaptive");
  const CallPlan& to_b = get.to("host-b");
  EXPECT_EQ(engine::protocol(to_b.plan.small).name, "direct_write_imm");
  EXPECT_NE(to_b.plan.reason.find("measured"), std::string::npos) << to_b.plan.reason;
  EXPECT_EQ(to_b.plan.timeout, 3000ms);
  EXPECT_EQ(engine::protocol(to_b.lanes.small.at({8, 8}).request).name, "direct_write_imm");

  const Route& choices = table.find("Kv")->find("learned");
  EXPECT_EQ(choices.client.learned->ways[0].plan.small, get.client.plan.small);
  EXPECT_EQ(choices.to("host-b").learned->ways[0].plan.small, to_b.plan.small);
  EXPECT_TRUE(table.learns());
  EXPECT_EQ(choices.served_pollings, (std::vector{Polling::kEvent, Polling::kAdaptive}));
  EXPECT_TRUE(get.served_pollings.empty()) << "not learned";

  // The peer's costs decide only the replies.
  const Route& replies = table.find("Kv")->find("replies");
  const CallPlan& replied = replies.to("host-b");
  EXPECT_EQ(replied.plan, replies.client.plan);
  EXPECT_EQ(engine::protocol(replies.client.lanes.small.at({8, 8}).response).name,
            "hybrid_eager_rndv");
  EXPECT_EQ(engine::protocol(replied.lanes.small.at({8, 8}).response).name, "direct_write_imm");

  EXPECT_TRUE(table.find("Kv")->find("forced").client_to.empty()) << "the hints decide";
  EXPECT_EQ(table.find("Kv")->find("forced").by_peer_number, 0u);
  ASSERT_EQ(table.by_peer().size(), 4u);  // and the functions that no manifest lists
  EXPECT_EQ(table.by_peer()[get.by_peer_number - 1], &get);
}

TEST(RoutingTable, AHintIsNotIdleIfItChangesThePlanForAPeer) {
  FunctionSpec get{.name = "get"};
  get.hints.both.perf_goal = PerfGoal::kLatency;
  get.hints.both.polling = Polling::kBusy;
  engine::HostFacts host{8, 8, true, ""};
  MetricsRegistry metrics{1};
  const auto idle = [&] {
    const RoutingTable table(1, {"", {{"Kv", {}, {get}, ""}}}, {}, host, metrics);
    return table.idle_hints(table.find("Kv")->find("get"), Side::kClient, {});
  };
  ASSERT_EQ(idle().size(), 1u);
  EXPECT_EQ(idle()[0].hint, "polling: busy");
  host.measured_with["host-b"] = engine::cheap_writes();  // a wake-up makes busy polling worth it
  EXPECT_EQ(idle().size(), 1u);
  ComponentCosts cheap_wake_ups = *engine::cheap_writes();
  cheap_wake_ups.wake_up_ns = 1;
  host.measured_with["host-b"] = std::make_shared<ComponentCosts>(cheap_wake_ups);
  EXPECT_TRUE(idle().empty());
}

TEST(RoutingTable, KnowsTheHintsThatChangeNothing) {
  FunctionSpec get{.name = "get"};
  get.hints.both.perf_goal = PerfGoal::kLatency;
  get.hints.server.concurrency = 8u;
  MetricsRegistry metrics{1};
  const RoutingTable table(1, {"", {{"Kv", {}, {get}, ""}}}, {}, {8, 8, true, ""}, metrics);
  const Route& route = table.find("Kv")->find("get");
  EXPECT_TRUE(table.idle_hints(route, Side::kClient, {}).empty());
  const auto idle = table.idle_hints(route, Side::kServer, {});
  ASSERT_EQ(idle.size(), 1u);
  EXPECT_EQ(idle[0].hint, "concurrency: 8");
  const engine::CoreCounts few{2, 2};
  EXPECT_TRUE(table.idle_hints(route, Side::kServer, {{few}}).empty());
}

TEST(RoutingTable, KnowsTheRulesOfEachServer) {
  const AccessRule rule{{"host-a"}, false};
  const ServiceSpec guarded{.name = "Kv", .access = rule};
  const ServiceSpec open{.name = "Log"};
  const Address one = *parse_address("tcp:127.0.0.1:1"), two = *parse_address("tcp:127.0.0.1:2");
  MetricsRegistry metrics{1};
  const RoutingTable table(1, {"", {guarded, open}}, {}, kHost, metrics,
                           {{"Kv", one}, {"Log", two}});
  EXPECT_EQ(table.rules_at(one).rules, std::vector{rule});
  EXPECT_EQ(table.rules_at(two).rules, std::vector{rule});
  EXPECT_FALSE(table.rules_at(one).rules_differ);
}

}  // namespace
}  // namespace hat
