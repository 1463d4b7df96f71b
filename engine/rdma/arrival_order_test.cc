// SPDX-License-Identifier: Apache-2.0
#include "engine/rdma/arrival_order.h"

#include <gtest/gtest.h>

namespace hat::engine {
namespace {

TEST(ArrivalOrder, ExpectsEachMessageOfTheSlotsOnce) {
  ArrivalOrder order(4);
  EXPECT_FALSE(order.has_gap());
  EXPECT_TRUE(order.is_coming(3));
  EXPECT_FALSE(order.is_coming(4));
  order.keep(3, {});
  EXPECT_TRUE(order.has_gap());
  EXPECT_FALSE(order.is_coming(3));
  EXPECT_EQ(order.advance(), 0u);
  EXPECT_FALSE(order.is_coming(0));
  EXPECT_TRUE(order.is_coming(4));
}

TEST(ArrivalOrderDeathTest, KeepsNoMessageBeyondTheSlotsOrTwice) {
  ArrivalOrder order(4);
  EXPECT_DEATH(order.keep(4, {}), "message 4 has no slot or has arrived");
  order.keep(1, {});
  EXPECT_DEATH(order.keep(1, {}), "message 1 has no slot or has arrived");
}

}  // namespace
}  // namespace hat::engine
