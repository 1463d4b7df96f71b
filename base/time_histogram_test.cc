// SPDX-License-Identifier: Apache-2.0
#include "base/time_histogram.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace hat {
namespace {

TEST(TimeHistogram, KeepsEachTimeToWithinFourThousandths) {
  for (uint64_t ns = 1; ns < TimeHistogram::kMaxNs; ns += 1 + ns / 50) {
    for (const uint64_t time : {ns - 1, ns, ns + 1}) {
      TimeHistogram histogram;
      histogram.record(time);
      histogram.record(TimeHistogram::kMaxNs);  // so that quantile_ns() is not bounded by `time`
      const double found = histogram.quantile_ns(0.5);
      ASSERT_NEAR(found, static_cast<double>(time), 0.004 * static_cast<double>(time)) << time;
    }
  }
}

TEST(TimeHistogram, QuantilesAreThoseOfTheSortedTimes) {
  std::minstd_rand random(7);
  std::lognormal_distribution<double> distribution(10, 2);
  std::vector<uint64_t> times;
  TimeHistogram histogram;
  for (int i = 0; i < 20'000; ++i) {
    times.push_back(static_cast<uint64_t>(distribution(random)));
    histogram.record(times.back());
  }
  std::ranges::sort(times);
  for (const size_t percent : {1u, 25u, 50u, 90u, 99u, 100u}) {
    const auto exact = static_cast<double>(times[times.size() * percent / 100 - 1]);
    EXPECT_NEAR(histogram.quantile_ns(static_cast<double>(percent) / 100), exact, 0.004 * exact + 1)
        << percent;
  }
  EXPECT_EQ(histogram.max_ns(), times.back());
}

TEST(TimeHistogram, SumsAreExact) {
  TimeHistogram histogram;
  for (const uint64_t ns : {1'000'001u, 2'000'002u, 6'000'006u}) histogram.record(ns);
  EXPECT_EQ(histogram.count(), 3u);
  EXPECT_DOUBLE_EQ(histogram.mean_ns(), 3'000'003);
  EXPECT_EQ(histogram.min_ns(), 1'000'001u);
  EXPECT_EQ(histogram.max_ns(), 6'000'006u);
}

TEST(TimeHistogram, OneAddedToAnotherHoldsBoth) {
  TimeHistogram low;
  TimeHistogram high;
  for (int i = 0; i < 99; ++i) low.record(100);
  high.record(1'000'000);
  low.add(high);
  EXPECT_EQ(low.count(), 100u);
  EXPECT_EQ(low.quantile_ns(0.99), 100);
  EXPECT_EQ(low.quantile_ns(1), 1'000'000);
  EXPECT_EQ(low.min_ns(), 100u);
  EXPECT_EQ(low.max_ns(), 1'000'000u);
}

TEST(TimeHistogram, NothingHasNoTimes) {
  const TimeHistogram histogram;
  EXPECT_EQ(histogram.quantile_ns(0.5), 0);
  EXPECT_EQ(histogram.mean_ns(), 0);
  EXPECT_EQ(histogram.min_ns(), 0u);
  EXPECT_EQ(histogram.max_ns(), 0u);
}

TEST(TimeHistogram, WhatIsBeyondItsRangeCountsAsItsEnd) {
  TimeHistogram histogram;
  histogram.record(~0ull);
  EXPECT_EQ(histogram.max_ns(), TimeHistogram::kMaxNs);
  EXPECT_NEAR(histogram.quantile_ns(0.5), static_cast<double>(TimeHistogram::kMaxNs), 1e10);
}

}  // namespace
}  // namespace hat
