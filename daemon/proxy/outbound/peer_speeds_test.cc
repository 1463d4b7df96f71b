// SPDX-License-Identifier: Apache-2.0
#include "daemon/proxy/outbound/peer_speeds.h"

#include <gmock/gmock.h>

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "daemon/metrics/usual_time.h"

namespace hat {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::IsEmpty;

// An endpoint with the peers "0", "1" and so on, and a clock.
class PeerSpeedsTest : public testing::Test {
 protected:
  void set_peers(size_t count) {
    names_.clear();
    for (size_t i = 0; i < count; ++i) names_.push_back(std::to_string(i));
    speeds_.set_peers(names_);
  }
  // A call of the peer takes `times` the usual time.
  void call(size_t peer, double times) {
    speeds_.note(*speeds_.find(std::to_string(peer)),
                 {.slowness = static_cast<float>(std::log2(times)), .usual = usual_, .began = now_},
                 now_);
  }
  // A call of the peer that takes this time, a millisecond of it in the network.
  void timed_call(size_t peer, Duration took) {
    if (const auto slowness = usual_.add(took - milliseconds(1))) {
      speeds_.note(*speeds_.find(std::to_string(peer)), {*slowness, usual_, now_}, now_);
    }
  }
  // Each peer has `count` calls, one every 10 ms.
  void calls(const std::vector<double>& times, int count) {
    for (int i = 0; i < count; ++i) {
      now_ += milliseconds(10);
      for (size_t peer = 0; peer < times.size(); ++peer) call(peer, times[peer]);
    }
  }
  // The peers that are not slow have calls until `end`: one every `pause`, in turn.
  void calls_of_others(Duration time, Duration pause) {
    for (const TimePoint end = now_ + time; now_ < end; now_ += pause) {
      for (size_t i = 0; i < names_.size(); ++i, ++turn_ %= names_.size()) {
        if (!speeds_.find(names_[turn_])->is_slow) break;
      }
      call(turn_, 1);
      ++turn_ %= names_.size();
    }
  }
  std::vector<size_t> slow() const {
    std::vector<size_t> all;
    for (size_t i = 0; i < names_.size(); ++i) {
      if (speeds_.find(names_[i])->is_slow) all.push_back(i);
    }
    return all;
  }

  PeerSpeeds speeds_;
  UsualTime usual_;
  std::vector<std::string> names_;
  TimePoint now_{std::chrono::hours(1)};
  size_t turn_ = 0;
};

TEST_F(PeerSpeedsTest, APeerIsSlowThatTakesThreeTimesAsLongAsTheMedian) {
  const struct {
    const char* why;
    std::vector<double> times;  // by peer, in usual times
    std::vector<size_t> slow;
  } cases[] = {
      {"a peer alone has no competitor", {10}, {}},
      {"equal peers", {1, 1, 1, 1}, {}},
      {"one is ten times slower", {1, 1, 1, 10}, {3}},
      {"the function's usual time is that of the slow peer", {0.1, 0.1, 0.1, 1}, {3}},
      {"twice as slow, such as an older host", {1, 1, 1, 2}, {}},
      {"two of four", {10, 1, 10, 1}, {0, 2}},
      {"three of four, and one must not carry all calls", {1, 10, 10, 10}, {}},
      {"one is much faster, and gets no more calls", {0.01, 1, 1, 1}, {}},
      {"one of two", {1, 5}, {1}},
      {"one of three", {1, 5, 1}, {1}},
      {"two of three", {1, 5, 5}, {}},
  };
  for (const auto& one : cases) {
    SCOPED_TRACE(one.why);
    speeds_ = {};
    set_peers(one.times.size());
    calls(one.times, 40);
    EXPECT_THAT(slow(), testing::ElementsAreArray(one.slow));
  }
}

TEST_F(PeerSpeedsTest, FewSlowCallsAreEnoughAndOneIsNot) {
  set_peers(4);
  calls({1, 1, 1, 1}, 40);
  call(3, 10'000);
  calls({1, 1, 1, 1}, 8);
  EXPECT_THAT(slow(), IsEmpty());
  int count = 0;
  for (; slow().empty() && count < 100; ++count) calls({1, 1, 1, 10}, 1);
  EXPECT_GE(count, 3);
  EXPECT_LE(count, 10);
}

TEST_F(PeerSpeedsTest, ASlowPeerGetsATrialAfterAPauseAndManyCalls) {
  set_peers(4);
  calls({1, 1, 1, 10}, 40);
  ASSERT_THAT(slow(), ElementsAre(3));
  const auto is_avoided = [&] {
    return speeds_.burden(3, now_) > 1 && !speeds_.wants_trial(3, now_);
  };
  EXPECT_TRUE(is_avoided());
  calls_of_others(PeerSpeeds::kTrialPause - milliseconds(100), milliseconds(10));
  EXPECT_TRUE(is_avoided()) << "the pause has not ended";
  EXPECT_FALSE(speeds_.wants_trial(now_));
  calls_of_others(milliseconds(200), milliseconds(10));
  EXPECT_FALSE(is_avoided());
  EXPECT_TRUE(speeds_.wants_trial(3, now_));
  EXPECT_FALSE(speeds_.wants_trial(0, now_));
  EXPECT_TRUE(speeds_.wants_trial(now_));

  speeds_.note_use(*speeds_.find("3"), now_);
  EXPECT_TRUE(is_avoided()) << "one client is enough";
  calls_of_others(PeerSpeeds::kTrialLatest - seconds(1), milliseconds(10));
  EXPECT_TRUE(is_avoided()) << "the trial has no answer";
  call(3, 10);
  calls_of_others(PeerSpeeds::kTrialPause, milliseconds(10));
  EXPECT_TRUE(speeds_.wants_trial(3, now_)) << "the trial had an answer, so the next one follows";
}

TEST_F(PeerSpeedsTest, TrialsAreFewerThanOneCallInTwoHundred) {
  for (const int pause_ms : {1, 10, 20}) {
    speeds_ = {};
    set_peers(4);
    calls({1, 1, 10, 10}, 40);
    int trials = 0;
    constexpr int kCalls = 3'000;
    for (int i = 0; i < kCalls; ++i) {
      calls_of_others(milliseconds(pause_ms), milliseconds(pause_ms));
      for (const size_t peer : {2u, 3u}) {
        if (!speeds_.wants_trial(peer, now_)) continue;
        speeds_.note_use(*speeds_.find(names_[peer]), now_);
        call(peer, 10);
        ++trials;
      }
    }
    EXPECT_THAT(slow(), ElementsAre(2, 3));
    EXPECT_LE(trials, kCalls / 200) << "with a call in each " << pause_ms << " ms";
    if (pause_ms > 1) {
      EXPECT_GE(trials, 2);
    }
  }
}

TEST_F(PeerSpeedsTest, WithFewCallsATrialComesLater) {
  set_peers(2);
  calls({1, 10}, 40);
  calls_of_others(PeerSpeeds::kTrialLatest - seconds(2), seconds(1));
  EXPECT_FALSE(speeds_.wants_trial(1, now_));
  calls_of_others(seconds(3), seconds(1));
  EXPECT_TRUE(speeds_.wants_trial(1, now_));
}

TEST_F(PeerSpeedsTest, OneFastCallAfterAPauseShowsThatAPeerHasRecovered) {
  set_peers(4);
  calls({1, 1, 1, 10}, 40);
  calls_of_others(PeerSpeeds::kTrialPause, milliseconds(10));
  call(3, 1);
  EXPECT_THAT(slow(), IsEmpty());
  for (int i = 0; i < 20; ++i) calls({1, 1, 1, 10}, 1);
  EXPECT_THAT(slow(), ElementsAre(3)) << "it is slow again";
}

TEST_F(PeerSpeedsTest, APeerRecoversWithinSecondsWhateverTheRateOfItsCalls) {
  for (const int pause_ms : {10, 100, 1'000, 4'000}) {
    speeds_ = {};
    set_peers(4);
    calls({1, 1, 1, 10}, 40);
    const TimePoint began = now_;
    while (!slow().empty() && now_ < began + seconds(60)) {
      calls_of_others(milliseconds(pause_ms), milliseconds(10));
      call(3, 1);
    }
    EXPECT_LE(now_ - began, seconds(12)) << "with a call in each " << pause_ms << " ms";
  }
}

// All peers are equal, but calls of the function differ: some find their answer in a cache.
TEST_F(PeerSpeedsTest, EqualPeersAreSeldomSlowHoweverMuchCallsDiffer) {
  for (const unsigned in_cache_percent : {0u, 10u, 50u, 90u}) {
    speeds_ = {};
    set_peers(4);
    UsualTime usual;
    std::mt19937 random(5);
    size_t slow_sum = 0;
    constexpr size_t kCalls = 40'000;
    for (size_t i = 0; i < kCalls; ++i) {
      now_ += milliseconds(2);
      if (speeds_.burden(i % names_.size(), now_) > 1 &&
          !speeds_.wants_trial(i % names_.size(), now_))
        continue;
      const auto peer = speeds_.find(names_[i % names_.size()]);
      speeds_.note_use(*peer, now_);
      const auto took = milliseconds(random() % 100 < in_cache_percent ? 5 : 50 + random() % 100);
      if (const auto slowness = usual.add(took)) {
        speeds_.note(*peer, {*slowness, usual, now_}, now_);
      }
      slow_sum += slow().size();
    }
    EXPECT_LE(slow_sum, kCalls * names_.size() / 20)
        << "with " << in_cache_percent << "% of the calls in a cache";
  }
}

TEST_F(PeerSpeedsTest, OneVeryFastTrialDoesNotMakeTheOtherPeerSlow) {
  set_peers(2);
  calls({1, 10}, 40);
  for (int i = 0; i < 10; ++i) {
    calls_of_others(PeerSpeeds::kTrialPause, milliseconds(10));
    call(1, 0.001);
    calls_of_others(seconds(1), milliseconds(10));
    EXPECT_THAT(slow(), IsEmpty()) << "trial " << i << " got its answer from a cache";
    calls({1, 10}, 40);
    EXPECT_THAT(slow(), ElementsAre(1));
  }
}

TEST_F(PeerSpeedsTest, APeerHasNotRecoveredBecauseTheOthersBecomeSlow) {
  set_peers(4);
  calls({1, 1, 1, 10}, 40);
  calls({10, 10, 10}, 20);
  EXPECT_THAT(slow(), ElementsAre(3)) << "it was not measured since";
  call(3, 10);
  calls({10, 10, 10}, 8);
  EXPECT_THAT(slow(), IsEmpty());
}

TEST_F(PeerSpeedsTest, WhenTheOtherOfTwoPeersBecomesSlowerClientsReturnToTheFirst) {
  set_peers(2);
  calls({1, 10}, 40);
  ASSERT_THAT(slow(), ElementsAre(1));
  calls({100}, 40);
  EXPECT_THAT(slow(), ElementsAre(0)) << "the other one was not measured since";
  EXPECT_GT(speeds_.burden(0, now_), 1);
  EXPECT_EQ(speeds_.burden(1, now_), 1);
}

// The usual time follows the calls of the only peer in use, so that these seem to be as fast as
// usual when they have become slower step by step.
TEST_F(PeerSpeedsTest, WhenTheOtherOfTwoPeersBecomesSlowerByAndByClientsReturnToTheFirst) {
  set_peers(2);
  for (int i = 0; i < 100; ++i) {
    now_ += milliseconds(10);
    timed_call(0, milliseconds(10));
    timed_call(1, milliseconds(80));
  }
  ASSERT_THAT(slow(), ElementsAre(1));
  const auto slower_calls = [this](double first, double last) {
    constexpr int kCalls = 500;
    for (int i = 0; i < kCalls; ++i) {
      now_ += milliseconds(10);
      const std::chrono::duration<double, std::milli> took(first *
                                                           std::pow(last / first, i / 499.0));
      timed_call(0, std::chrono::duration_cast<Duration>(took));
    }
  };
  slower_calls(10, 100);
  EXPECT_THAT(slow(), ElementsAre(1)) << "it may be overloaded";
  slower_calls(100, 1'000);
  EXPECT_THAT(slow(), ElementsAre(0));
  EXPECT_EQ(speeds_.burden(1, now_), 1);
}

TEST_F(PeerSpeedsTest, ASlowPeerWithoutCallsStaysSlowWhileHalfOfThePeersAreNot) {
  set_peers(4);
  calls({1, 1, 10, 10}, 40);
  ASSERT_THAT(slow(), ElementsAre(2, 3));
  calls({2, 2}, 40);
  EXPECT_THAT(slow(), ElementsAre(2, 3));
  calls({100, 2}, 40);
  EXPECT_THAT(slow(), ElementsAre(0)) << "three of four would be slow";
}

TEST_F(PeerSpeedsTest, AtMostHalfOfThePeersAreSlowWhateverTheirCallsTake) {
  constexpr double kTimes[] = {1, 10, 100, 1'000};
  std::mt19937 random(9);
  for (size_t peers = 2; peers <= 7; ++peers) {
    speeds_ = {};
    set_peers(peers);
    std::vector<double> times(peers, 1);
    for (int i = 0; i < 20'000; ++i) {
      now_ += milliseconds(5);
      if (random() % 100 == 0) times[random() % peers] = kTimes[random() % 4];
      const size_t peer = random() % peers;
      const bool is_avoided = speeds_.burden(peer, now_) > 1 && !speeds_.wants_trial(peer, now_);
      if (!is_avoided || random() % 50 == 0) call(peer, times[peer]);
      ASSERT_LE(slow().size(), peers / 2) << "of " << peers << " peers, after " << i << " calls";
    }
  }
}

TEST_F(PeerSpeedsTest, CallsThatBeganBeforeAPeerRecoveredDoNotCount) {
  set_peers(2);
  calls({1, 10}, 40);
  const TimePoint before = now_;
  calls_of_others(PeerSpeeds::kTrialPause, milliseconds(10));
  call(1, 1);
  ASSERT_THAT(slow(), IsEmpty());
  now_ += milliseconds(1);
  for (int i = 0; i < 40; ++i) {
    speeds_.note(*speeds_.find("0"), {.slowness = 4, .usual = usual_, .began = before}, now_);
    call(1, 1);
  }
  EXPECT_THAT(slow(), IsEmpty()) << "they waited in the queue of the peer that did all the work";
}

TEST_F(PeerSpeedsTest, TheBurdenIsInProportionToTheSlownessAndLimited) {
  for (const auto& [times, burden] : {std::pair{8.0, 8.0}, {100.0, 16.0}, {10'000.0, 16.0}}) {
    speeds_ = {};
    set_peers(4);
    calls({1, 1, 1, times}, 300);
    EXPECT_NEAR(speeds_.burden(3, now_), burden, burden / 20) << times << " times as slow";
    EXPECT_EQ(speeds_.burden(0, now_), 1);
  }
}

TEST_F(PeerSpeedsTest, APeerWithoutMeasuredCallsIsNotSlowForLong) {
  set_peers(2);
  calls({1, 10}, 40);
  EXPECT_GT(speeds_.burden(1, now_), 1);
  now_ += PeerSpeeds::kForget - seconds(1);
  EXPECT_GT(speeds_.burden(1, now_), 1);
  EXPECT_TRUE(speeds_.wants_trial(1, now_));
  now_ += seconds(1);
  EXPECT_EQ(speeds_.burden(1, now_), 1);
  EXPECT_FALSE(speeds_.wants_trial(1, now_));
}

TEST_F(PeerSpeedsTest, APeerWithoutCallsIsForgotten) {
  set_peers(4);
  calls({1, 1, 1, 10}, 40);
  calls_of_others(PeerSpeeds::kForget + seconds(1), milliseconds(100));
  EXPECT_THAT(slow(), IsEmpty());
  EXPECT_FALSE(speeds_.wants_trial(3, now_));
}

TEST_F(PeerSpeedsTest, AReloadKeepsTheSpeedsOfPeersThatStay) {
  set_peers(4);
  calls({1, 1, 1, 10}, 40);
  names_ = {"3", "7", "0"};
  const auto removed = speeds_.find("1");
  speeds_.set_peers(names_);
  EXPECT_THAT(slow(), ElementsAre(0));
  EXPECT_GT(speeds_.burden(0, now_), 1);
  EXPECT_EQ(speeds_.find("1"), nullptr);
  speeds_.note(*removed, {1, usual_, now_}, now_);  // a stream still uses it
  names_ = {"7", "0"};
  speeds_.set_peers(names_);
  EXPECT_EQ(speeds_.burden(0, now_), 1);
  EXPECT_EQ(speeds_.burden(1, now_), 1);
}

TEST(UsualTimeTest, TimesAreComparedWithTheMeanOfTheFunction) {
  UsualTime usual;
  for (uint32_t i = 0; i < UsualTime::kUnsure; ++i) {
    EXPECT_EQ(usual.add(milliseconds(i == 0 ? 5'000 : 99)), std::nullopt);
  }
  EXPECT_NEAR(*usual.add(milliseconds(99)), 0, 0.4) << "the first call counts little";
  for (int i = 0; i < 300; ++i) usual.add(milliseconds(99));
  EXPECT_NEAR(*usual.add(milliseconds(199)), 1, 0.03);
  EXPECT_NEAR(*usual.add(milliseconds(49)), -1, 0.03);
  for (int i = 0; i < 300; ++i) usual.add(milliseconds(999));
  EXPECT_NEAR(*usual.add(milliseconds(999)), 0, 0.1) << "the function has become slower";
}

TEST(UsualTimeTest, DifferencesBelowAMillisecondCountLittle) {
  UsualTime usual;
  for (int i = 0; i < 300; ++i) usual.add(std::chrono::microseconds(10));
  EXPECT_LT(*usual.add(std::chrono::microseconds(500)), PeerSpeeds::kSlow);
  EXPECT_GT(*usual.add(milliseconds(3)), PeerSpeeds::kSlow);
}

}  // namespace
}  // namespace hat
