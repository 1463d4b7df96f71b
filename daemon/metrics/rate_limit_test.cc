// SPDX-License-Identifier: Apache-2.0
#include "daemon/metrics/rate_limit.h"

#include <gtest/gtest.h>

namespace hat {
namespace {

using namespace std::chrono_literals;

TEST(RateLimit, PermitsANumberOfEventsInEachSecond) {
  RateLimit limit(2);
  for (const Duration begin : {Duration(1h), Duration(1h + 1s), Duration(2h)}) {
    EXPECT_TRUE(limit.permits(TimePoint(begin)));
    EXPECT_TRUE(limit.permits(TimePoint(begin + 500ms)));
    EXPECT_FALSE(limit.permits(TimePoint(begin + 500ms)));
    EXPECT_FALSE(limit.permits(TimePoint(begin + 999ms)));
  }
}

TEST(RateLimit, ASecondBeginsWithItsFirstEvent) {
  RateLimit limit(1);
  EXPECT_TRUE(limit.permits(TimePoint(10'900ms)));
  EXPECT_FALSE(limit.permits(TimePoint(11'800ms)));
  EXPECT_TRUE(limit.permits(TimePoint(11'900ms)));
}

}  // namespace
}  // namespace hat
