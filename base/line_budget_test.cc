// SPDX-License-Identifier: Apache-2.0
#include "base/line_budget.h"

#include <gtest/gtest.h>

namespace hat {
namespace {

using namespace std::chrono_literals;

TEST(LineBudget, LetsSoManyLinesThroughAndSaysHowManyItLeftOut) {
  LineBudget budget;
  std::chrono::steady_clock::time_point now(1h);
  for (uint32_t i = 0; i < LineBudget::kLines; ++i) EXPECT_EQ(budget.take(now), 0u);
  for (int i = 0; i < 7; ++i) EXPECT_EQ(budget.take(now + 999ms), std::nullopt);
  EXPECT_EQ(budget.take(now + 1s), 7u);
  EXPECT_EQ(budget.take(now + 1s), 0u);
}

}  // namespace
}  // namespace hat
