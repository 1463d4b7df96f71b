// SPDX-License-Identifier: Apache-2.0
#include "daemon/stream_delivery.h"

#include <gtest/gtest.h>

namespace hat {
namespace {

TEST(StreamDelivery, IsShownByTheAnswerToTheLastCall) {
  StreamDelivery delivery;
  EXPECT_TRUE(delivery.all_taken());
  delivery.send(1);
  delivery.send(2);
  EXPECT_FALSE(delivery.answered(1));
  EXPECT_TRUE(delivery.answered(2));
  delivery.send(3);
  EXPECT_FALSE(delivery.all_taken());
}

TEST(StreamDelivery, IsNotShownByAnAnswerAfterACancel) {
  StreamDelivery delivery;
  delivery.send(1);
  delivery.cancel();
  EXPECT_FALSE(delivery.answered(1));
  const uint64_t number = delivery.ask();
  EXPECT_NE(number, 0u);
  EXPECT_FALSE(delivery.answered(1));
  EXPECT_TRUE(delivery.synced(number));
}

TEST(StreamDelivery, AsksOnceAndHeedsNoAnswerToAnEarlierQuestion) {
  StreamDelivery delivery;
  delivery.send(1);
  const uint64_t first = delivery.ask();
  EXPECT_EQ(delivery.ask(), 0u);
  delivery.send(2);
  EXPECT_FALSE(delivery.synced(first)) << "call 2 may still be on its way";
  const uint64_t second = delivery.ask();
  EXPECT_NE(second, first);
  EXPECT_FALSE(delivery.synced(first));
  EXPECT_TRUE(delivery.synced(second));
}

}  // namespace
}  // namespace hat
