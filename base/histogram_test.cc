// SPDX-License-Identifier: Apache-2.0
#include "base/histogram.h"

#include <gtest/gtest.h>

#include "base/counter.h"

namespace hat {
namespace {

using namespace std::chrono_literals;

TEST(Histogram, PutsEachQuantityUnderItsBound) {
  using Quantities = Histogram<SharedCounter, 4>;  // bounds 1, 2, 4, and the rest
  struct Row {
    uint64_t quantity;
    size_t bucket;
  };
  for (const auto& [quantity, bucket] :
       {Row{0, 0}, Row{1, 0}, Row{2, 1}, Row{3, 2}, Row{4, 2}, Row{5, 3}, Row{UINT64_MAX, 3}}) {
    EXPECT_EQ(Quantities::bucket_of(quantity), bucket) << quantity;
  }
}

TEST(Histogram, RoundsUpToItsUnit) {
  using Thousands = Histogram<Counter, 25, 1000>;
  struct Row {
    uint64_t quantity;
    size_t bucket;
  };
  for (const auto& [quantity, bucket] : {
           Row{0, 0},
           Row{1'000, 0},  // bounds are inclusive, like Prometheus's `le`
           Row{1'001, 1},
           Row{2'000, 1},
           Row{2'001, 2},
           Row{4'000, 2},
           Row{8'388'608'000, 23},
           Row{8'388'608'001, 24},
           Row{UINT64_MAX, 24},
       }) {
    EXPECT_EQ(Thousands::bucket_of(quantity), bucket) << quantity;
  }
}

TEST(LatencyHistogram, SumsNanoseconds) {
  LatencyHistogram<Counter, 3> times;
  for (const auto took : {-5ns, 900ns, 1'100ns, 1'000'000ns}) times.add(took);
  const HistogramSnapshot<3> read = times.read();
  EXPECT_EQ(read.buckets, (std::array<uint64_t, 3>{2, 1, 1}));
  EXPECT_EQ(read.count(), 4u);
  EXPECT_EQ(read.sum, 1'002'000u);

  HistogramSnapshot<3> twice = read;
  twice.add(read);
  EXPECT_EQ(twice.count(), 8u);
  EXPECT_EQ(twice.sum, 2'004'000u);
}

}  // namespace
}  // namespace hat
