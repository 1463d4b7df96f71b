// SPDX-License-Identifier: Apache-2.0
#include "daemon/metrics/series_limit.h"

#include <gtest/gtest.h>

#include "daemon/metrics/function_metrics.h"

namespace hat {
namespace {

class SeriesLimits : public testing::Test {
 protected:
  bool has_own(const std::string& method, size_t most, SeriesGroup group = SeriesGroup::kClient) {
    return limit_.has_own(registry_.find("Kv", method), method, group, most);
  }

  MetricsRegistry registry_{1};
  SeriesLimit limit_;
};

TEST_F(SeriesLimits, GivesSeriesToTheFunctionsThatComeFirst) {
  EXPECT_TRUE(has_own("z", 2));
  EXPECT_TRUE(has_own("y", 2));
  EXPECT_FALSE(has_own("a", 2));
  EXPECT_EQ(limit_.summed(SeriesGroup::kClient), 1u);
  EXPECT_FALSE(has_own("a", 2)) << "asked again";
  EXPECT_EQ(limit_.summed(SeriesGroup::kClient), 1u);
}

TEST_F(SeriesLimits, NeverMovesAFunction) {
  EXPECT_TRUE(has_own("a", 1));
  EXPECT_FALSE(has_own("b", 1));
  EXPECT_TRUE(has_own("c", 10)) << "a higher limit counts for functions that come later";
  EXPECT_FALSE(has_own("b", 10));
  EXPECT_TRUE(has_own("a", 0));
  EXPECT_TRUE(has_own("c", 0));
}

TEST_F(SeriesLimits, CountEachGroupSeparately) {
  EXPECT_TRUE(has_own("a", 1, SeriesGroup::kClient));
  EXPECT_TRUE(has_own("b", 1, SeriesGroup::kServer));
  EXPECT_FALSE(has_own("b", 1, SeriesGroup::kClient));
  EXPECT_EQ(limit_.summed(SeriesGroup::kServer), 0u);
}

// Otherwise the page would have two series with the same labels.
TEST_F(SeriesLimits, SumAFunctionWithTheNameOfASum) { EXPECT_FALSE(has_own("_more", 9)); }

}  // namespace
}  // namespace hat
