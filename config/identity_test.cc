// SPDX-License-Identifier: Apache-2.0
#include "config/identity.h"

#include <gtest/gtest.h>

#include <vector>

namespace hat {
namespace {

struct MatchRow {
  const char* name;
  const char* rule;
  const char* identity;
  bool matches;
};
std::ostream& operator<<(std::ostream& out, const MatchRow& row) { return out << row.name; }

class IdentityRule : public testing::TestWithParam<MatchRow> {};

TEST_P(IdentityRule, MeansExactlyWhatItSays) {
  ASSERT_TRUE(check_identity_rule(GetParam().rule)) << GetParam().rule;
  EXPECT_EQ(identity_matches(GetParam().rule, GetParam().identity), GetParam().matches);
}

INSTANTIATE_TEST_SUITE_P(
    Rows, IdentityRule,
    testing::Values(
        MatchRow{"the_same_uri", "spiffe://p/host-a", "spiffe://p/host-a", true},
        MatchRow{"a_longer_uri", "spiffe://p/host-a", "spiffe://p/host-ab", false},
        MatchRow{"a_uri_below", "spiffe://p/host-a", "spiffe://p/host-a/x", false},
        MatchRow{"a_uri_of_another_case", "spiffe://p/host-a", "spiffe://p/Host-a", false},
        MatchRow{"below_a_path", "spiffe://p/hosts/*", "spiffe://p/hosts/a", true},
        MatchRow{"deep_below_a_path", "spiffe://p/hosts/*", "spiffe://p/hosts/a/b", true},
        MatchRow{"the_path_itself", "spiffe://p/hosts/*", "spiffe://p/hosts", false},
        MatchRow{"the_path_with_nothing_below", "spiffe://p/hosts/*", "spiffe://p/hosts/", false},
        MatchRow{"a_path_that_begins_so", "spiffe://p/hosts/*", "spiffe://p/hosts2/a", false},
        MatchRow{"a_whole_trust_domain", "spiffe://p/*", "spiffe://p/x", true},
        MatchRow{"a_domain_that_begins_so", "spiffe://p/*", "spiffe://p.evil/x", false},
        MatchRow{"the_same_dns_name", "host-a.example", "host-a.example", true},
        MatchRow{"dns_without_case", "Host-A.example", "host-a.EXAMPLE", true},
        MatchRow{"another_dns_name", "host-a", "host-b", false},
        MatchRow{"a_dns_name_that_begins_so", "host-a", "host-a.evil", false},
        MatchRow{"one_label_more", "*.example", "host-a.example", true},
        MatchRow{"two_labels_more", "*.example", "a.b.example", false},
        MatchRow{"no_label_more", "*.example", "example", false},
        MatchRow{"a_name_that_ends_so", "*.example", "host.badexample", false},
        MatchRow{"a_uri_for_a_dns_rule", "*.example", "spiffe://x.example", false},
        MatchRow{"a_dns_name_for_a_uri_rule", "spiffe://p/host-a", "host-a", false}),
    [](const auto& row) { return row.param.name; });

TEST(Identity, RulesThatMeanNobodyAreRefused) {
  for (const char* rule :
       {"", "*", "*.", "a..b", ".a", "a b", "a*", "*.*.a", "spiffe://", "spiffe://*", "://x",
        "spiffe://a/*/b", "spiffe://a/b*", "spiffe://a /b", "ho/st", "a:b"}) {
    EXPECT_FALSE(check_identity_rule(rule)) << rule;
  }
  const auto refused = check_identity_rule("a b");
  EXPECT_NE(refused.error().message.find("spiffe://prod.example/host-a"), std::string::npos);
}

TEST(Identity, EntriesOfCertificatesCannotPassForTheOtherKind) {
  EXPECT_FALSE(is_dns_name("spiffe://p/host-a"));
  EXPECT_FALSE(is_dns_name("*.example"));
  EXPECT_FALSE(is_dns_name(std::string_view("host-a\0.evil", 12)));
  EXPECT_FALSE(is_uri("host-a"));
  EXPECT_FALSE(is_uri("spiffe://p/*"));
  EXPECT_FALSE(is_uri(std::string_view("spiffe://p/a\0b", 14)));
  EXPECT_TRUE(is_uri("spiffe://p/host-a"));
}

TEST(Identity, SomeRuleMustMeanSomeName) {
  const std::vector<std::string> names = {"host-a", "spiffe://p/host-a"};
  EXPECT_TRUE(any_identity_matches(std::vector<std::string>{"x", "spiffe://p/*"}, names));
  EXPECT_FALSE(any_identity_matches(std::vector<std::string>{"x"}, names));
  EXPECT_FALSE(any_identity_matches({}, names));
  EXPECT_FALSE(any_identity_matches(std::vector<std::string>{"host-a"}, {}));
}

}  // namespace
}  // namespace hat
