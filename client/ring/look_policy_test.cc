// SPDX-License-Identifier: Apache-2.0
// client/ring/look_policy_test.cc: a thread polls while asked to, and while yielding is cheap.
#include "client/ring/look_policy.h"

#include <gtest/gtest.h>

namespace hatrpc::ring {
namespace {

using namespace std::chrono_literals;

constexpr LookPolicy::TimePoint kStart{1h};

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
  for (LookPolicy::TimePoint now = kStart; now < kStart + 9ms; now += 900us)
    policy.yielded(now, now + 900us);
  EXPECT_TRUE(policy.looks_again(kStart + 9ms));
}

TEST(LookPolicy, SleepsForAWhileAfterAYieldThatCostATimeSlice) {
  LookPolicy policy;
  policy.stay_awake_until(kStart + 1h);
  policy.yielded(kStart, kStart + 3ms);
  EXPECT_FALSE(policy.looks_again(kStart + 3ms));
  EXPECT_FALSE(policy.looks_again(kStart + 6ms));
  EXPECT_TRUE(policy.looks_again(kStart + 7ms));
}

// Makes one yield of 3 ms at `now`; returns when the policy allows polling again.
LookPolicy::TimePoint costly_yield(LookPolicy& policy, LookPolicy::TimePoint now) {
  policy.yielded(now, now + 3ms);
  now += 3ms;
  while (!policy.looks_again(now)) now += 1ms;
  return now;
}

TEST(LookPolicy, SleepsLongerWhereEveryYieldCostsATimeSlice) {
  LookPolicy policy;
  policy.stay_awake_until(kStart + 1h);
  LookPolicy::TimePoint now = kStart;
  for (const LookPolicy::Duration expected :
       {4ms, 8ms, 16ms, 32ms, 64ms, 128ms, 256ms, 512ms, 1000ms, 1000ms}) {
    const LookPolicy::TimePoint again = costly_yield(policy, now);
    EXPECT_EQ(again - now, 3ms + expected);
    now = again;
  }
}

TEST(LookPolicy, ForgetsWhoHasGone) {
  LookPolicy policy;
  policy.stay_awake_until(kStart + 1h);
  LookPolicy::TimePoint now = kStart;
  for (int i = 0; i < 5; ++i) now = costly_yield(policy, now);
  for (uint32_t i = 0; i < LookPolicy::kGoodYields; ++i, now += 1us) policy.yielded(now, now + 1us);
  EXPECT_EQ(costly_yield(policy, now) - now, 7ms);
}

}  // namespace
}  // namespace hatrpc::ring
