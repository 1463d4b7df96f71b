// SPDX-License-Identifier: Apache-2.0
#include "bench/engine/idle_policy.h"

#include <gtest/gtest.h>

namespace hat::bench {
namespace {

using namespace std::chrono_literals;

IdlePolicy::Clock::time_point clock_now;
uint32_t clock_reads;
IdlePolicy::Clock::time_point now() {
  ++clock_reads;
  return clock_now;
}

TEST(IdlePolicy, BusyNeverSleepsAndReadsNoClock) {
  clock_reads = 0;
  IdlePolicy policy(Polling::kBusy, 0ns, false);
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(policy.idle(&now), Idle::kPoll);
  EXPECT_EQ(clock_reads, 0u);
}

TEST(IdlePolicy, BusyYieldsWhereCoresAreShort) {
  IdlePolicy policy(Polling::kBusy, 0ns, cores_are_short(2, 2));
  int yields = 0;
  for (int i = 0; i < 320; ++i) yields += policy.idle(&now) == Idle::kYield;
  EXPECT_EQ(yields, 10);
  EXPECT_FALSE(cores_are_short(1, 2));
}

TEST(IdlePolicy, EventSleepsAtOnce) {
  IdlePolicy policy(Polling::kEvent, 1s, true);
  EXPECT_EQ(policy.idle(&now), Idle::kSleep);
}

TEST(IdlePolicy, AdaptiveSleepsAfterItsSpinFromTheLastFind) {
  IdlePolicy policy(Polling::kAdaptive, 50us, false);
  const auto looks_until_sleep = [&](std::chrono::nanoseconds each) {
    int wants_poll = 1;
    while (policy.idle(&now) != Idle::kSleep && wants_poll < 10'000) {
      clock_now += each;
      ++wants_poll;
    }
    return wants_poll;
  };
  const int wants_poll = looks_until_sleep(1us);
  EXPECT_GE(wants_poll, 50);
  EXPECT_LE(wants_poll, 50 + int{IdlePolicy::kLooksPerClock} + 1);
  policy.found();
  EXPECT_GE(looks_until_sleep(1us), 50) << "a find begins the spin again";
}

}  // namespace
}  // namespace hat::bench
