// daemon/look_policy_test.cc: a worker looks while it is told to, and where yielding is cheap.
#include "daemon/look_policy.h"

#include <gtest/gtest.h>

namespace hat {
namespace {

using namespace std::chrono_literals;

constexpr TimePoint kStart{1h};

TEST(LookPolicy, SleepsUnlessItIsToldToStayAwake) {
  LookPolicy policy;
  EXPECT_FALSE(policy.looks_again(kStart));
  policy.stay_awake_until(kStart + 50us);
  EXPECT_TRUE(policy.looks_again(kStart + 49us));
  EXPECT_FALSE(policy.looks_again(kStart + 50us));
}

TEST(LookPolicy, KeepsTheLatestTime) {
  LookPolicy policy;
  policy.stay_awake_until(kStart + 10ms);
  policy.stay_awake_until(kStart + 50us);
  EXPECT_TRUE(policy.looks_again(kStart + 9ms));
}

TEST(LookPolicy, GoesOnLookingWhereApplicationsTakeTheCoreInBetween) {
  LookPolicy policy;
  policy.stay_awake_until(kStart + 10ms);
  for (TimePoint now = kStart; now < kStart + 9ms; now += 900us) policy.yielded(now, now + 900us);
  EXPECT_TRUE(policy.looks_again(kStart + 9ms));
}

TEST(LookPolicy, SleepsForASecondAfterAYieldThatCostATimeSlice) {
  LookPolicy policy;
  policy.yielded(kStart, kStart + 4ms);
  policy.stay_awake_until(kStart + 1h);
  EXPECT_FALSE(policy.looks_again(kStart + 4ms));
  EXPECT_FALSE(policy.looks_again(kStart + 1003ms));
  EXPECT_TRUE(policy.looks_again(kStart + 1004ms));
}

}  // namespace
}  // namespace hat
