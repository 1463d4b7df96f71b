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
