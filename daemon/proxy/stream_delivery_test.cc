// SPDX-License-Identifier: Apache-2.0
#include "daemon/proxy/stream_delivery.h"

#include <gtest/gtest.h>

namespace hat {
namespace {

TEST(StreamDelivery, IsShownByTheAnswerToTheLastCall) {
  StreamDelivery delivery;
  EXPECT_TRUE(delivery.all_taken());
  delivery.send(1);
  delivery.send(2);
  delivery.answered(1);
  EXPECT_FALSE(delivery.all_taken());
  delivery.answered(2);
  EXPECT_TRUE(delivery.all_taken());
  delivery.send(3);
  EXPECT_FALSE(delivery.all_taken());
}

TEST(StreamDelivery, IsNotShownByAnAnswerAfterACancel) {
  StreamDelivery delivery;
  delivery.send(1);
  delivery.send_unanswered();
  delivery.answered(1);
  EXPECT_FALSE(delivery.all_taken());
  const uint64_t number = delivery.ask();
  EXPECT_NE(number, 0u);
  delivery.answered(1);
  EXPECT_FALSE(delivery.all_taken());
  delivery.synced(number);
  EXPECT_TRUE(delivery.all_taken());
}

TEST(StreamDelivery, AsksOnceAndHeedsNoAnswerToAnEarlierQuestion) {
  StreamDelivery delivery;
  delivery.send(1);
  const uint64_t first = delivery.ask();
  EXPECT_EQ(delivery.ask(), 0u);
  delivery.send(2);
  delivery.synced(first);
  EXPECT_FALSE(delivery.all_taken()) << "call 2 may still be on its way";
  const uint64_t second = delivery.ask();
  EXPECT_NE(second, first);
  delivery.synced(first);
  EXPECT_FALSE(delivery.all_taken());
  delivery.synced(second);
  EXPECT_TRUE(delivery.all_taken());
}

}  // namespace
}  // namespace hat
