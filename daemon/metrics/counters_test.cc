// SPDX-License-Identifier: Apache-2.0
#include "daemon/metrics/counters.h"

#include <gtest/gtest.h>

namespace hat {
namespace {

TEST(LatencyHistogram, PutsEachTimeUnderItsBound) {
  struct Row {
    int64_t ns;
    size_t bucket;
  };
  for (const auto& [ns, bucket] : {
           Row{-5, 0},
           Row{0, 0},
           Row{1'000, 0},  // bounds are inclusive, like Prometheus's `le`
           Row{1'001, 1},
           Row{2'000, 1},
           Row{2'001, 2},
           Row{4'000, 2},
           Row{8'388'608'000, 23},
           Row{8'388'609'000, 24},
           Row{INT64_MAX, 24},
       }) {
    EXPECT_EQ(LatencyHistogram::bucket(Duration(ns)), bucket) << ns;
  }
}

TEST(Counter, TakesBackWhatItAdded) {
  Counter counter;
  counter.add(3);
  counter.sub(2);
  EXPECT_EQ(counter.value(), 1u);
}

}  // namespace
}  // namespace hat
