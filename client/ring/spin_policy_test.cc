// SPDX-License-Identifier: Apache-2.0
// client/ring/spin_policy_test.cc: tests that a thread polls for the requested time, but stops
// earlier if yielding the core takes long.
#include "client/ring/spin_policy.h"

#include <gtest/gtest.h>

namespace hatrpc::ring {
namespace {

using namespace std::chrono_literals;

constexpr SpinPolicy::TimePoint kStart{1h};

TEST(SpinPolicy, SleepsUnlessItIsToldToStayAwake) {
  SpinPolicy policy;
  EXPECT_FALSE(policy.polls_again(kStart));
  policy.stay_awake_until(kStart + 50us);
  EXPECT_TRUE(policy.polls_again(kStart + 49us));
  EXPECT_FALSE(policy.polls_again(kStart + 50us));
}

TEST(SpinPolicy, KeepsTheLatestTime) {
  SpinPolicy policy;
  policy.stay_awake_until(kStart + 10ms);
  policy.stay_awake_until(kStart + 50us);
  EXPECT_TRUE(policy.polls_again(kStart + 9ms));
}

TEST(SpinPolicy, GoesOnLookingWhereApplicationsTakeTheCoreInBetween) {
  SpinPolicy policy;
  policy.stay_awake_until(kStart + 10ms);
  for (SpinPolicy::TimePoint now = kStart; now < kStart + 9ms; now += 900us)
    policy.yielded(now, now + 900us);
  EXPECT_TRUE(policy.polls_again(kStart + 9ms));
}

TEST(SpinPolicy, SleepsForAWhileAfterAYieldThatCostATimeSlice) {
  SpinPolicy policy;
  policy.stay_awake_until(kStart + 1h);
  policy.yielded(kStart, kStart + 3ms);
  EXPECT_FALSE(policy.polls_again(kStart + 3ms));
  EXPECT_FALSE(policy.polls_again(kStart + 6ms));
  EXPECT_TRUE(policy.polls_again(kStart + 7ms));
}

// Records a yield of 3 ms that begins at `now`. Returns the time at which the policy allows polling
// again.
SpinPolicy::TimePoint costly_yield(SpinPolicy& policy, SpinPolicy::TimePoint now) {
  policy.yielded(now, now + 3ms);
  now += 3ms;
  while (!policy.polls_again(now)) now += 1ms;
  return now;
}

TEST(SpinPolicy, SleepsLongerWhereEveryYieldCostsATimeSlice) {
  SpinPolicy policy;
  policy.stay_awake_until(kStart + 1h);
  SpinPolicy::TimePoint now = kStart;
  for (const SpinPolicy::Duration expected :
       {4ms, 8ms, 16ms, 32ms, 64ms, 128ms, 256ms, 512ms, 1000ms, 1000ms}) {
    const SpinPolicy::TimePoint again = costly_yield(policy, now);
    EXPECT_EQ(again - now, 3ms + expected);
    now = again;
  }
}

TEST(SpinPolicy, ForgetsWhoHasGone) {
  SpinPolicy policy;
  policy.stay_awake_until(kStart + 1h);
  SpinPolicy::TimePoint now = kStart;
  for (int i = 0; i < 5; ++i) now = costly_yield(policy, now);
  for (uint32_t i = 0; i < SpinPolicy::kGoodYields; ++i, now += 1us) policy.yielded(now, now + 1us);
  EXPECT_EQ(costly_yield(policy, now) - now, 7ms);
}

}  // namespace
}  // namespace hatrpc::ring
