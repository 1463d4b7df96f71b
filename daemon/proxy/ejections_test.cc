// SPDX-License-Identifier: Apache-2.0
#include "daemon/proxy/ejections.h"

#include <gtest/gtest.h>

namespace hat {
namespace {

class EjectionsTest : public testing::Test {
 protected:
  bool avoids(const char* name) const { return all_.avoids(name, now_); }
  Duration eject(const char* name) { return all_.eject(name, now_); }
  // Lets a use fail that begins and ends now.
  Duration fail(const char* name) {
    now_ += std::chrono::milliseconds(1);
    return all_.note_failure(name, now_, now_);
  }
  void use(const char* name) { all_.note_use(name, now_); }

  Ejections all_;
  TimePoint now_{std::chrono::hours(1)};
};

TEST_F(EjectionsTest, AMemberIsAvoidedUntilItsTimeIsOver) {
  EXPECT_FALSE(avoids("a"));
  EXPECT_EQ(eject("a"), Ejections::kFirst);
  EXPECT_TRUE(avoids("a"));
  EXPECT_TRUE(all_.ejects("a", now_));
  EXPECT_FALSE(avoids("b"));
  now_ += Ejections::kFirst / 2;
  EXPECT_EQ(eject("a"), Duration::zero()) << "a failure of an earlier use does not make it longer";
  now_ += Ejections::kFirst / 2;
  EXPECT_FALSE(avoids("a"));
}

TEST_F(EjectionsTest, OneUserAtATimeTriesTheMember) {
  eject("a");
  now_ += Ejections::kFirst;
  use("a");
  EXPECT_TRUE(avoids("a")) << "by the others";
  EXPECT_FALSE(all_.ejects("a", now_)) << "the one that tries it may stay";
  now_ += Ejections::kTrial;
  EXPECT_FALSE(avoids("a"));
  use("a");
  EXPECT_TRUE(avoids("a")) << "the first trial has not succeeded";
}

TEST_F(EjectionsTest, ASuccessEndsTheTrial) {
  eject("a");
  now_ += Ejections::kFirst;
  use("a");
  all_.note_success("a");
  EXPECT_FALSE(avoids("a"));
  EXPECT_TRUE(all_.empty());
  EXPECT_EQ(eject("a"), Ejections::kFirst);
}

TEST_F(EjectionsTest, ASuccessOfAnEarlierUseDoesNotEndAnEjection) {
  eject("a");
  use("a");
  all_.note_success("a");
  EXPECT_TRUE(avoids("a"));
}

TEST_F(EjectionsTest, EachFailedTrialDoublesTheTime) {
  Duration expected = Ejections::kFirst;
  for (int i = 0; i < 8; ++i) {
    const Duration length = i % 2 == 0 ? eject("a") : fail("a");
    EXPECT_EQ(length, expected) << i;
    expected = std::min(2 * expected, Ejections::kLongest);
    now_ += length;
    use("a");
    now_ += 2 * Ejections::kTrial;  // a trial can take longer than kTrial
  }
}

TEST_F(EjectionsTest, AMemberThatIsNotUsedIsForgotten) {
  eject("a");
  now_ += Ejections::kForget - Duration(1);
  EXPECT_EQ(eject("a"), 2 * Ejections::kFirst);
  now_ += Ejections::kForget;
  EXPECT_EQ(eject("a"), Ejections::kFirst);
}

TEST_F(EjectionsTest, FailuresInARowEject) {
  for (uint32_t i = 1; i < Ejections::kFailuresInARow; ++i) EXPECT_EQ(fail("a"), Duration::zero());
  all_.note_success("a");
  for (uint32_t i = 1; i < Ejections::kFailuresInARow; ++i) EXPECT_EQ(fail("a"), Duration::zero());
  EXPECT_FALSE(avoids("a"));
  EXPECT_EQ(fail("a"), Ejections::kFirst);
  EXPECT_TRUE(avoids("a"));
}

TEST_F(EjectionsTest, UsesThatFailTogetherCountOnce) {
  const TimePoint began = now_;
  for (int i = 0; i < 20; ++i) {
    now_ += std::chrono::milliseconds(1);
    EXPECT_EQ(all_.note_failure("a", began, now_), Duration::zero());
  }
  EXPECT_FALSE(avoids("a"));
}

TEST_F(EjectionsTest, FailuresDuringTheEjectionDoNotCountAfterIt) {
  eject("a");
  for (uint32_t i = 1; i < Ejections::kFailuresInARow; ++i) fail("a");
  now_ += Ejections::kFirst;
  use("a");
  all_.note_success("a");
  EXPECT_EQ(fail("a"), Duration::zero());
}

TEST_F(EjectionsTest, TheStatusHasTheStateAndTheLastFailure) {
  using State = EjectionStatus::State;
  EXPECT_FALSE(all_.status("a", now_));
  all_.note_failure("a", now_, now_, "upstream_closed");
  EXPECT_EQ(all_.status("a", now_)->state, State::kFailing);
  EXPECT_EQ(all_.status("a", now_)->failures, 1u);
  EXPECT_EQ(all_.status("a", now_)->why, "upstream_closed");
  all_.eject("a", now_, "upstream_unreachable");
  now_ += Ejections::kFirst / 4;
  EXPECT_EQ(all_.status("a", now_)->state, State::kEjected);
  EXPECT_EQ(all_.status("a", now_)->left, Ejections::kFirst * 3 / 4);
  EXPECT_EQ(all_.status("a", now_)->why, "upstream_unreachable");
  now_ += Ejections::kFirst;
  EXPECT_EQ(all_.status("a", now_)->state, State::kDue);
  EXPECT_EQ(all_.status("a", now_)->left, Duration::zero());
  use("a");
  EXPECT_EQ(all_.status("a", now_)->state, State::kTried);
  EXPECT_EQ(all_.status("a", now_)->left, Ejections::kTrial);
  now_ += Ejections::kForget;
  EXPECT_FALSE(all_.status("a", now_)) << "it is as if it had never failed";
}

}  // namespace
}  // namespace hat
