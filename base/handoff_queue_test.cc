// SPDX-License-Identifier: Apache-2.0
#include "base/handoff_queue.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>

namespace hat {
namespace {

TEST(HandoffQueue, ReturnsTheValuesInTheirOrder) {
  HandoffQueue<std::string> queue(4);
  EXPECT_EQ(queue.pop(), std::nullopt);
  for (int round = 0; round < 3; ++round) {
    EXPECT_TRUE(queue.push("one"));
    EXPECT_TRUE(queue.push("two"));
    EXPECT_TRUE(queue.push("three"));
    EXPECT_EQ(queue.pop(), "one");
    EXPECT_EQ(queue.pop(), "two");
    EXPECT_EQ(queue.pop(), "three");
    EXPECT_EQ(queue.pop(), std::nullopt);
  }
}

TEST(HandoffQueue, TakesNoMoreThanItsCapacity) {
  HandoffQueue<std::unique_ptr<int>> queue(3);  // rounded up to 4
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(queue.push(std::make_unique<int>(i)));
  EXPECT_FALSE(queue.push(std::make_unique<int>(4)));
  EXPECT_EQ(**queue.pop(), 0);
  EXPECT_TRUE(queue.push(std::make_unique<int>(5)));
  EXPECT_FALSE(queue.push(std::make_unique<int>(6)));
  for (const int expected : {1, 2, 3, 5}) EXPECT_EQ(**queue.pop(), expected);
}

TEST(HandoffQueue, PassesValuesBetweenTwoThreads) {
  constexpr int kValues = 20'000;
  HandoffQueue<std::string> queue(16);
  std::thread producer([&] {
    for (int i = 0; i < kValues; ++i) {
      while (!queue.push(std::to_string(i))) std::this_thread::yield();
    }
  });
  int wrong = 0;
  for (int i = 0; i < kValues; ++i) {
    std::optional<std::string> value;
    while (!(value = queue.pop())) std::this_thread::yield();
    if (*value != std::to_string(i)) ++wrong;
  }
  producer.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace hat
