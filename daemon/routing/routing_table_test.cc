// SPDX-License-Identifier: Apache-2.0
#include "daemon/routing/routing_table.h"

#include <gtest/gtest.h>

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
  EXPECT_EQ(none.find("Kv")->find("get").client.timeout, std::nullopt);
  const RoutingTable some(2, manifest, {"Other"}, kHost, metrics, {}, 3s);
  EXPECT_EQ(some.find("Kv")->find("get").client.timeout, 3000ms);
  EXPECT_EQ(some.find("Kv")->find("hurried").client.timeout, 50ms);
  EXPECT_EQ(some.find("Kv")->find("unlisted").client.timeout, 3000ms);
  EXPECT_EQ(some.find("Other")->find("any").client.timeout, 3000ms);
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
    return engine::protocol(route.lanes.small.at(server).response).name;
  };
  EXPECT_EQ(response(table.cores()), "rfp");
  EXPECT_EQ(response({16, 16}), "direct_write_imm");
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
