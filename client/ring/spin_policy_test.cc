// SPDX-License-Identifier: Apache-2.0
// client/ring/spin_policy_test.cc: tests how long a thread may poll on an idle core, on a core that
// other threads use, and after costly yields.
#include "client/ring/spin_policy.h"

#include <gtest/gtest.h>

namespace hatrpc::ring {
namespace {

using namespace std::chrono_literals;

constexpr SpinPolicy::TimePoint kStart{1h};

TEST(SpinPolicy, SleepsUnlessAWaitWasStarted) {
  SpinPolicy policy;
  EXPECT_FALSE(policy.polls_again(kStart));
  policy.start(0us);
  EXPECT_FALSE(policy.polls_again(kStart));
  policy.start(1ns);
  EXPECT_TRUE(policy.polls_again(kStart));
}

TEST(SpinPolicy, LimitsTheTimeOfPollsOnAnIdleCore) {
  SpinPolicy policy;
  policy.start(50us);
  for (int i = 0; i < 49; ++i) policy.yielded(400ns, 1us);
  EXPECT_TRUE(policy.polls_again(kStart));
  policy.yielded(400ns, 1us);
  EXPECT_FALSE(policy.polls_again(kStart));
  policy.start(50us);
  EXPECT_TRUE(policy.polls_again(kStart));
}

TEST(SpinPolicy, LimitsTheNumberOfPollsOnASharedCore) {
  SpinPolicy policy;
  policy.start(50us);
  for (uint32_t i = 1; i < SpinPolicy::kSharedYieldsMax; ++i) policy.yielded(900us, 901us);
  EXPECT_TRUE(policy.polls_again(kStart)) << "the yields took far longer than 50 us";
  policy.yielded(6us, 7us);
  EXPECT_FALSE(policy.polls_again(kStart));
  policy.start(50us);
  EXPECT_TRUE(policy.polls_again(kStart));
}

TEST(SpinPolicy, ExtendsAWaitToTheLongerTime) {
  SpinPolicy policy;
  policy.start(100us);
  policy.extend(10us);
  policy.yielded(1us, 50us);
  EXPECT_TRUE(policy.polls_again(kStart));
  policy.extend(80us);
  policy.yielded(1us, 79us);
  EXPECT_TRUE(policy.polls_again(kStart));
  policy.yielded(1us, 1us);
  EXPECT_FALSE(policy.polls_again(kStart));
}

TEST(SpinPolicy, SleepsForAWhileAfterACostlyYield) {
  SpinPolicy policy;
  policy.start(1h);
  policy.judge(kStart, true);
  EXPECT_FALSE(policy.polls_again(kStart));
  EXPECT_FALSE(policy.polls_again(kStart + 3ms));
  EXPECT_TRUE(policy.polls_again(kStart + 4ms));
}

// Records a costly yield that ends at `now`. Returns the time at which the policy allows polling
// again.
SpinPolicy::TimePoint costly_yield(SpinPolicy& policy, SpinPolicy::TimePoint now) {
  policy.judge(now, true);
  while (!policy.polls_again(now)) now += 1ms;
  return now;
}

TEST(SpinPolicy, SleepsLongerIfEveryYieldIsCostlyButNeverLongerThanAQuarterOfASecond) {
  SpinPolicy policy;
  policy.start(1h);
  SpinPolicy::TimePoint now = kStart;
  for (const SpinPolicy::Duration expected : {4ms, 8ms, 16ms, 32ms, 64ms, 128ms, 250ms, 250ms}) {
    const SpinPolicy::TimePoint again = costly_yield(policy, now);
    EXPECT_EQ(again - now, expected);
    now = again;
  }
}

TEST(SpinPolicy, ForgetsCostlyYieldsAfterEnoughGoodOnes) {
  SpinPolicy policy;
  policy.start(1h);
  SpinPolicy::TimePoint now = kStart;
  for (int i = 0; i < 5; ++i) now = costly_yield(policy, now);
  for (uint32_t i = 0; i < SpinPolicy::kGoodYields; ++i) policy.judge(now, false);
  EXPECT_EQ(costly_yield(policy, now) - now, 4ms);
}

}  // namespace
}  // namespace hatrpc::ring
