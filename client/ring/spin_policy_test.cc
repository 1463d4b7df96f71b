// SPDX-License-Identifier: Apache-2.0
// client/ring/spin_policy_test.cc: tests how long a thread may poll on an idle core, on a core that
// other threads use, and after lost yields.
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

TEST(SpinPolicy, SleepsForAWhileAfterALostYield) {
  SpinPolicy policy;
  policy.start(1h);
  policy.judge(kStart, 6ms, true);
  EXPECT_FALSE(policy.polls_again(kStart));
  EXPECT_FALSE(policy.polls_again(kStart + 3ms));
  EXPECT_TRUE(policy.polls_again(kStart + 4ms));
}

struct Yields {
  const char* what;
  int count;                  // how often both yields are repeated
  SpinPolicy::Duration good;  // a yield that was not lost
  SpinPolicy::Duration lost;  // a lost yield after it
  bool sleeps;
};

TEST(SpinPolicy, SleepsIfMostOfTheTimeOfRecentYieldsWasLost) {
  const Yields tests[] = {
      {"a process computed for a few milliseconds", 1, 100us, 5ms, false},
      {"a process computed for longer", 1, 100us, 6ms, true},
      {"one slice after the other", 4, 1us, 2ms, true},
      {"less than half of the time", 100, 3ms, 2ms, false},
      {"more than half of the time", 100, 2ms, 3ms, true},
  };
  for (const Yields& test : tests) {
    SpinPolicy policy;
    policy.start(1h);
    for (int i = 0; i < test.count; ++i) {
      policy.judge(kStart, test.good, false);
      policy.judge(kStart, test.lost, true);
    }
    EXPECT_EQ(!policy.polls_again(kStart), test.sleeps) << test.what;
  }
}

TEST(SpinPolicy, OnlyRecentYieldsCount) {
  SpinPolicy policy;
  policy.start(1h);
  for (int i = 0; i < 1000; ++i) policy.judge(kStart, 1ms, false);
  int until_it_sleeps = 0;
  while (policy.polls_again(kStart) && until_it_sleeps < 1000) {
    policy.judge(kStart, 3ms, true);
    ++until_it_sleeps;
  }
  EXPECT_LE(until_it_sleeps * 3ms, SpinPolicy::kRecent) << "after a second of good yields";
  for (int i = 0; i < 7; ++i) policy.judge(kStart, 3ms, false);
  policy.judge(kStart + 1s, 3ms, true);
  EXPECT_TRUE(policy.polls_again(kStart + 1s)) << "after 21 ms of good yields";
}

// Records a lost yield that ends at `now`. Returns the time at which the policy allows polling
// again.
SpinPolicy::TimePoint lost_yield(SpinPolicy& policy, SpinPolicy::TimePoint now) {
  policy.judge(now, 6ms, true);
  while (!policy.polls_again(now)) now += 1ms;
  return now;
}

TEST(SpinPolicy, SleepsLongerIfEveryYieldIsLostButNeverLongerThanAQuarterOfASecond) {
  SpinPolicy policy;
  policy.start(1h);
  SpinPolicy::TimePoint now = kStart;
  for (const SpinPolicy::Duration expected : {4ms, 8ms, 16ms, 32ms, 64ms, 128ms, 250ms, 250ms}) {
    const SpinPolicy::TimePoint again = lost_yield(policy, now);
    EXPECT_EQ(again - now, expected);
    now = again;
  }
}

TEST(SpinPolicy, ForgetsLostYieldsAfterATimeWithoutThem) {
  SpinPolicy policy;
  policy.start(1h);
  SpinPolicy::TimePoint now = kStart;
  for (int i = 0; i < 5; ++i) now = lost_yield(policy, now);
  policy.judge(now + 50ms, 10us, false);
  now = lost_yield(policy, now + 50ms);
  EXPECT_EQ(lost_yield(policy, now + SpinPolicy::kGoodTime) - now, SpinPolicy::kGoodTime + 4ms);
}

}  // namespace
}  // namespace hatrpc::ring
