// SPDX-License-Identifier: Apache-2.0
#include "client/preload/rules.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>

namespace hatrpc::preload {
namespace {

std::string printed(const Address& address) {
  char text[Address::kTextMax];
  address.print(text);
  return text;
}

TEST(Rules, ListsAddressesAndPaths) {
  std::string diagnostic;
  const auto rules =
      parse_rules("X", "127.0.0.1:9090=/run/a.ring,,[::1]:9091=/run/b=c.ring,", diagnostic);
  EXPECT_EQ(diagnostic, "");
  ASSERT_EQ(rules.size(), 2u);
  EXPECT_EQ(printed(rules[0].address) + rules[0].path, "127.0.0.1:9090/run/a.ring");
  EXPECT_EQ(printed(rules[1].address) + rules[1].path, "[::1]:9091/run/b=c.ring");
}

TEST(Rules, ReportsMistakesAndKeepsTheRest) {
  const std::string kLong = "/" + std::string(200, 'x');
  for (const std::string& wrong :
       {std::string("127.0.0.1:9090"), std::string("127.0.0.1=/a"), std::string("localhost:1=/a"),
        std::string("127.0.0.1:0=/a"), std::string("127.0.0.1:65536=/a"),
        std::string("127.0.0.1:80x=/a"), std::string("::1:80=/a"), std::string("[::1:80=/a"),
        std::string("127.0.0.1:80=relative"), "127.0.0.1:80=" + kLong,
        "[" + std::string(60, ':') + "]:80=/a"}) {
    std::string diagnostic;
    const auto rules = parse_rules("HATRPC_X", wrong + ",127.0.0.1:9090=/run/a.ring", diagnostic);
    EXPECT_NE(diagnostic.find("HATRPC_X: '" + wrong + "'"), diagnostic.npos) << diagnostic;
    EXPECT_EQ(rules.size(), 1u) << wrong;
  }
}

TEST(Rules, OneAddressHoweverItIsSpelt) {
  const auto four = Address::parse("127.0.0.1:9090");
  sockaddr_in6 six{.sin6_family = AF_INET6, .sin6_port = htons(9090)};
  ASSERT_EQ(inet_pton(AF_INET6, "::ffff:127.0.0.1", &six.sin6_addr), 1);
  const auto mapped = Address::of(reinterpret_cast<const sockaddr*>(&six), sizeof six);
  ASSERT_TRUE(four && mapped);
  EXPECT_EQ(*four, *mapped);
  EXPECT_EQ(printed(*mapped), "[::ffff:127.0.0.1]:9090");
  EXPECT_EQ(*Address::parse(printed(*mapped)), *four);
  EXPECT_FALSE(Address::of(reinterpret_cast<const sockaddr*>(&six), sizeof six - 1));
}

TEST(Rules, AListeningSocketIsCoveredAtItsAddressOrAtAWildcard) {
  const Rule four{*Address::parse("127.0.0.1:9090"), "/a"};
  const Rule six{*Address::parse("[::1]:9090"), "/a"};
  const Rule any{*Address::parse("0.0.0.0:9090"), "/a"};
  struct {
    const char* bound;
    bool by_four, by_six, by_any;
  } const kRows[] = {
      {"127.0.0.1:9090", true, false, false},  {"127.0.0.1:9091", false, false, false},
      {"127.0.0.2:9090", false, false, false}, {"0.0.0.0:9090", true, false, true},
      {"0.0.0.0:9091", false, false, false},   {"[::]:9090", true, true, true},
      {"[::1]:9090", false, true, false},      {"[::ffff:127.0.0.1]:9090", true, false, false},
  };
  for (const auto& row : kRows) {
    const Address bound = *Address::parse(row.bound);
    EXPECT_EQ(four.covers(bound), row.by_four) << row.bound;
    EXPECT_EQ(six.covers(bound), row.by_six) << row.bound;
    EXPECT_EQ(any.covers(bound), row.by_any) << row.bound;
  }
}

TEST(Rules, AnAddressIsGivenAsItWasSpelt) {
  sockaddr_in four{};
  socklen_t bytes = sizeof four;
  Address::parse("127.0.0.1:9090")->give(reinterpret_cast<sockaddr*>(&four), &bytes);
  EXPECT_EQ(bytes, sizeof four);
  EXPECT_EQ(four.sin_family, AF_INET);
  EXPECT_EQ(ntohs(four.sin_port), 9090);
  EXPECT_EQ(ntohl(four.sin_addr.s_addr), INADDR_LOOPBACK);
}

}  // namespace
}  // namespace hatrpc::preload
