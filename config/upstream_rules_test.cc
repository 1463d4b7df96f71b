// SPDX-License-Identifier: Apache-2.0
#include "config/upstream_rules.h"

#include <gtest/gtest.h>

namespace hat {
namespace {

const Address kServer = *parse_address("tcp:127.0.0.1:1");
const Address kOther = *parse_address("tcp:127.0.0.1:2");
const std::vector<ServedConfig> kServes = {{"A", kServer}, {"B", kServer}, {"C", kOther}};
const AccessRule kAdmins{{"admin"}, false};
const AccessRule kHosts{{"host-*"}, false};
const AccessRule kTrial{{"admin"}, true};

ServiceSpec service(const std::string& name, std::optional<AccessRule> access,
                    std::vector<std::optional<AccessRule>> functions = {}) {
  ServiceSpec spec{.name = name, .access = std::move(access)};
  for (auto& rule : functions) {
    spec.functions.push_back(
        {.name = "f" + std::to_string(spec.functions.size()), .access = std::move(rule)});
  }
  return spec;
}

struct Row {
  const char* name;
  std::vector<ServiceSpec> services;
  std::vector<AccessRule> rules;
  bool differ;
};
std::ostream& operator<<(std::ostream& out, const Row& row) { return out << row.name; }

class UpstreamRulesOf : public testing::TestWithParam<Row> {};

TEST_P(UpstreamRulesOf, AllThatIsBehindTheAddress) {
  const Manifest manifest{"", GetParam().services};
  const UpstreamRules found = rules_at(kServer, kServes, manifest);
  EXPECT_EQ(found.rules, GetParam().rules);
  EXPECT_EQ(found.rules_differ, GetParam().differ);
}

// After a reload, a service can be at its new address and, for streams that exist, at its old one.
TEST(UpstreamRulesTest, AServiceCanHaveTwoAddresses) {
  const Address other = *parse_address("tcp:127.0.0.1:9");
  const Manifest manifest{"", {service("A", kAdmins), service("B", {})}};
  const std::vector<ServedConfig> serves = {{"A", other}, {"A", kServer}, {"B", kServer}};
  EXPECT_EQ(rules_at(kServer, serves, manifest).services, (std::vector<std::string>{"A", "B"}));
  EXPECT_TRUE(rules_at(kServer, serves, manifest).rules_differ);
  EXPECT_EQ(rules_at(other, serves, manifest).services, std::vector<std::string>{"A"});
  EXPECT_FALSE(rules_at(other, serves, manifest).rules_differ);
}

INSTANTIATE_TEST_SUITE_P(
    Rows, UpstreamRulesOf,
    testing::Values(
        Row{"none", {service("A", {}), service("B", {})}, {}, false},
        Row{"the_same_for_both", {service("A", kAdmins), service("B", kAdmins)}, {kAdmins}, false},
        Row{"one_service_of_two", {service("A", kAdmins), service("B", {})}, {kAdmins}, true},
        Row{"one_that_no_manifest_lists", {service("A", kAdmins)}, {kAdmins}, true},
        Row{"two_rules", {service("A", kAdmins), service("B", kHosts)}, {kAdmins, kHosts}, true},
        Row{"one_function", {service("A", {}, {{}, kAdmins}), service("B", {})}, {kAdmins}, true},
        Row{"a_function_with_its_services_rule",
            {service("A", kAdmins, {kAdmins}), service("B", kAdmins)},
            {kAdmins},
            false},
        Row{"a_function_on_trial",
            {service("A", kAdmins, {kTrial}), service("B", kAdmins)},
            {kAdmins},
            true},
        Row{"all_on_trial", {service("A", kTrial), service("B", kTrial)}, {}, false},
        Row{"another_server",
            {service("A", {}), service("B", {}), service("C", kAdmins)},
            {kAdmins},
            false},
        Row{"served_nowhere",
            {service("A", {}), service("B", {}), service("D", kAdmins)},
            {kAdmins},
            false}),
    [](const auto& row) { return row.param.name; });

}  // namespace
}  // namespace hat
