// SPDX-License-Identifier: Apache-2.0
// base/fifo_test.cc: compares Fifo with std::deque over random operations.
#include "base/fifo.h"

#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <random>

namespace hat {
namespace {

TEST(Fifo, DoesAsADequeDoes) {
  std::mt19937 random(1);
  for (int round = 0; round < 20; ++round) {
    Fifo<int> fifo;
    std::deque<int> expected;
    for (int step = 0; step < 5000; ++step) {
      const uint64_t what = random() % 100;
      if (what < 55) {
        EXPECT_EQ(fifo.push_back(step), step);
        expected.push_back(step);
      } else if (what < 90 && !expected.empty()) {
        fifo.pop_front();
        expected.pop_front();
      } else if (what < 99 && !expected.empty()) {
        fifo.pop_back();
        expected.pop_back();
      } else if (what == 99 && step % 7 == 0) {
        fifo.clear();
        expected.clear();
      }
      ASSERT_EQ(fifo.size(), expected.size());
      ASSERT_EQ(fifo.empty(), expected.empty());
      if (expected.empty()) continue;
      const size_t i = random() % expected.size();
      ASSERT_EQ(fifo[i], expected[i]);
      ASSERT_EQ(fifo.front(), expected.front());
      ASSERT_EQ(fifo.back(), expected.back());
    }
  }
}

TEST(Fifo, TakesWhatCanOnlyBeMoved) {
  Fifo<std::unique_ptr<int>> fifo;
  for (int i = 0; i < 100; ++i) fifo.push_back(std::make_unique<int>(i));
  for (int i = 0; i < 100; ++i, fifo.pop_front()) ASSERT_EQ(*fifo.front(), i);
  EXPECT_TRUE(fifo.empty());
}

}  // namespace
}  // namespace hat
