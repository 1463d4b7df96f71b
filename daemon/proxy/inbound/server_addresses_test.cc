// SPDX-License-Identifier: Apache-2.0
#include "daemon/proxy/inbound/server_addresses.h"

#include <gtest/gtest.h>

#include <string>

namespace hat {
namespace {

constexpr TimePoint kNow{std::chrono::hours(1)};

Address server(int number) {
  return *parse_address("tcp:10.0.0." + std::to_string(number) + ":9091");
}

class ServerAddressesTest : public testing::Test {
 protected:
  ServerAddressesTest() {
    for (int number = 1; number <= 3; ++number) served_.addresses.push_back(server(number));
  }
  // Returns the number of the address for a new connection, which is in use from now on.
  int use() {
    const Address* chosen = addresses_.choose(served_, {}, kNow);
    addresses_.begin_use(*chosen);
    return chosen->host.back() - '0';
  }

  ServedConfig served_{.service = "Kv", .kind = NameKind::kAllOfHost};
  ServerAddresses addresses_{0};
};

TEST_F(ServerAddressesTest, OneServerIsUsedAtItsFirstAddress) {
  served_.kind = NameKind::kAddress;
  for (int i = 0; i < 3; ++i) EXPECT_EQ(use(), 1);
}

TEST_F(ServerAddressesTest, SeveralServersTakeTurns) {
  for (const int number : {1, 2, 3, 1, 2, 3}) EXPECT_EQ(use(), number);
}

TEST_F(ServerAddressesTest, TheTurnsOfAnotherWorkerBeginAtAnotherServer) {
  const ServerAddresses others(5);
  EXPECT_EQ(*others.choose(served_, {}, kNow), server(3));
  served_.kind = NameKind::kAddress;
  EXPECT_EQ(*others.choose(served_, {}, kNow), server(1));
}

TEST_F(ServerAddressesTest, TheServerWithTheFewestConnectionsInUseIsNext) {
  for (int i = 0; i < 6; ++i) use();
  addresses_.end_use(server(2));
  EXPECT_EQ(use(), 2);
  addresses_.end_use(server(3));
  addresses_.end_use(server(3));
  EXPECT_EQ(use(), 3);
  EXPECT_EQ(use(), 3);
}

TEST_F(ServerAddressesTest, ShortConnectionsTakeTurnsToo) {
  for (const int number : {1, 2, 3, 1}) {
    EXPECT_EQ(use(), number);
    addresses_.end_use(server(number));
  }
}

TEST_F(ServerAddressesTest, AnEjectedServerIsUsedOnlyIfNoOtherIsLeft) {
  addresses_.ejections().eject(to_string(server(1)), kNow);
  for (const int number : {2, 3, 2, 3}) EXPECT_EQ(use(), number);
  addresses_.ejections().eject(to_string(server(2)), kNow);
  addresses_.ejections().eject(to_string(server(3)), kNow);
  EXPECT_EQ(use(), 1);
}

TEST_F(ServerAddressesTest, AnAddressThatWasTriedIsNotChosenAgain) {
  const std::vector<Address> tried = {server(1), server(3)};
  EXPECT_EQ(*addresses_.choose(served_, tried, kNow), server(2));
  EXPECT_EQ(addresses_.choose(served_, served_.addresses, kNow), nullptr);
}

TEST_F(ServerAddressesTest, ANewAddressGetsConnections) {
  for (int i = 0; i < 6; ++i) use();
  served_.addresses.push_back(server(4));
  EXPECT_EQ(use(), 4);
  EXPECT_EQ(use(), 4);
}

}  // namespace
}  // namespace hat
