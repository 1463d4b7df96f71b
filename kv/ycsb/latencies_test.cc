// SPDX-License-Identifier: Apache-2.0
// kv/ycsb/latencies_test.cc: checks quantiles against the numbers that were added.
#include "kv/ycsb/latencies.h"

#include <gtest/gtest.h>

namespace hat::ycsb {
namespace {

TEST(Latencies, NothingIsZero) {
  const Latencies none;
  EXPECT_EQ(none.count(), 0u);
  EXPECT_EQ(none.average(), 0);
  EXPECT_EQ(none.least(), 0u);
  EXPECT_EQ(none.most(), 0u);
  EXPECT_EQ(none.quantile(0.5), 0u);
}

TEST(Latencies, QuantilesAreWithinOnePercent) {
  for (const uint64_t unit : {uint64_t{1}, uint64_t{100}, uint64_t{1'000'000}}) {
    Latencies latencies;
    for (uint64_t i = 1; i <= 10'000; ++i) latencies.add(i * unit);
    for (const double part : {0.01, 0.5, 0.95, 0.99, 0.999}) {
      const double wanted = part * 10'000 * double(unit);
      EXPECT_GE(double(latencies.quantile(part)), wanted) << part << " of " << unit;
      EXPECT_LE(double(latencies.quantile(part)), wanted * 1.01) << part << " of " << unit;
    }
    EXPECT_EQ(latencies.quantile(1), 10'000 * unit);
    EXPECT_EQ(latencies.least(), unit);
    EXPECT_EQ(latencies.most(), 10'000 * unit);
    EXPECT_DOUBLE_EQ(latencies.average(), 5000.5 * double(unit));
  }
}

TEST(Latencies, OneValueIsEveryQuantile) {
  for (const uint64_t value : {uint64_t{0}, uint64_t{255}, uint64_t{256}, uint64_t{123'456'789}}) {
    Latencies latencies;
    latencies.add(value);
    EXPECT_EQ(latencies.quantile(0.5), value);
    EXPECT_EQ(latencies.quantile(0.99), value);
  }
}

TEST(Latencies, LongerThanAllBucketsCounts) {
  Latencies latencies;
  latencies.add(uint64_t{1} << 60);
  EXPECT_EQ(latencies.count(), 1u);
  EXPECT_EQ(latencies.most(), uint64_t{1} << 60);
}

TEST(Latencies, SumsOfSeveral) {
  Latencies one, other;
  one.add(10);
  other.add(30);
  other.add(20);
  one.add(other);
  EXPECT_EQ(one.count(), 3u);
  EXPECT_EQ(one.least(), 10u);
  EXPECT_EQ(one.most(), 30u);
  EXPECT_EQ(one.quantile(0.5), 20u);
}

}  // namespace
}  // namespace hat::ycsb
