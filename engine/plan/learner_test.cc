// SPDX-License-Identifier: Apache-2.0
#include "engine/plan/learner.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>
#include <vector>

namespace hat::engine {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using TimePoint = Learner::TimePoint;

constexpr milliseconds kEpochLength{50};
constexpr EpochCost kSteadyLoad{.cost = 1, .bytes = 128, .in_flight = 4};

// Returns the cost of a choice at a time, before noise.
using Costs = std::function<EpochCost(size_t choice, TimePoint now)>;

// Runs a learner against simulated costs, and keeps account of what was lost.
class Session {
 public:
  Session(Learner& learner, Costs costs, double noise, uint32_t seed = 1,
          milliseconds epoch = kEpochLength, size_t choices = kChoices)
      : learner_(learner),
        costs_(std::move(costs)),
        epoch_(epoch),
        choices_(choices),
        noise_(0, noise),
        random_(seed) {}

  // Runs for `time`.
  void pass(seconds time) {
    for (const TimePoint end = now_ + time; now_ < end;) {
      const std::optional<size_t> due = learner_.due(now_);
      const size_t choice = due.value_or(learner_.current());
      EpochCost measured = costs_(choice, now_);
      best_ += best_cost() * share(epoch_);
      spent_ += std::min(measured.cost, best_cost() * Learner::kLossMost) * share(epoch_);
      measured.cost *= std::exp(noise_(random_));
      ++epochs_;
      now_ += epoch_;
      if (due) {
        ++trials_;
        learner_.trial(choice, measured.cost, now_);
      } else {
        learner_.current_epoch(measured, now_);
      }
    }
  }
  // Returns by which part the cost of the whole run exceeds that of the best choice at each time.
  double regret() const { return spent_ / best_ - 1; }
  double share_of_trials() const {
    return static_cast<double>(trials_) / static_cast<double>(epochs_);
  }
  void forget() { spent_ = best_ = 0, trials_ = epochs_ = 0; }
  TimePoint now() const { return now_; }

 private:
  static double share(milliseconds time) { return static_cast<double>(time.count()); }
  double best_cost() const {
    double best = HUGE_VAL;
    for (size_t choice = 0; choice < choices_; ++choice) {
      best = std::min(best, costs_(choice, now_).cost);
    }
    return best;
  }

 public:
  static constexpr size_t kWays = 8;
  static constexpr size_t kPollings = 2;
  static constexpr size_t kChoices = kWays * kPollings;

 private:
  Learner& learner_;
  Costs costs_;
  milliseconds epoch_;
  size_t choices_;
  std::normal_distribution<double> noise_;
  std::mt19937 random_;
  TimePoint now_{};
  double spent_ = 0;
  double best_ = 0;
  uint64_t trials_ = 0;
  uint64_t epochs_ = 0;
};

Learner learner(uint64_t seed = 1) { return Learner(Session::kWays, Session::kPollings, 0, seed); }

// A load that never changes. `costs` has one cost for each choice.
Costs steady(std::vector<double> costs) {
  return [costs = std::move(costs)](size_t choice, TimePoint) {
    return EpochCost{costs[choice], kSteadyLoad.bytes, kSteadyLoad.in_flight};
  };
}

constexpr size_t kBest = 11;  // way 5, polling 1: two steps from choice 0

std::vector<double> one_best(double cost) {
  std::vector<double> costs(Session::kChoices, 1.0);
  for (size_t i = 0; i < costs.size(); ++i) costs[i] += 0.05 * static_cast<double>(i % 7);
  costs[10] = (1 + cost) / 2;  // way 5 is better with either polling
  costs[kBest] = cost;
  return costs;
}

TEST(Learner, FindsAChoiceThatDiffersInBothWayAndPolling) {
  for (uint32_t seed = 1; seed <= 5; ++seed) {
    Learner learns = learner(seed);
    Session run(learns, steady(one_best(0.6)), 0.05, seed);
    run.pass(seconds(10));
    EXPECT_EQ(learns.current(), kBest) << "seed " << seed;
  }
}

TEST(Learner, CanBeginWithAChoiceThatWasLearnedBefore) {
  Learner keeps = learner();
  keeps.begin_with(kBest);
  EXPECT_FALSE(keeps.is_at_first());
  Session(keeps, steady(one_best(0.6)), 0.05).pass(seconds(60));
  EXPECT_EQ(keeps.current(), kBest);
  EXPECT_EQ(keeps.changes(), 0u);

  Learner corrects = learner();
  corrects.begin_with(4);  // was better before
  Session(corrects, steady(one_best(0.6)), 0.05).pass(seconds(10));
  EXPECT_EQ(corrects.current(), kBest);

  Learner loses = learner();
  loses.begin_with(kBest);
  loses.give_up(kBest, {});
  EXPECT_TRUE(loses.is_at_first());
}

TEST(Learner, KeepsTheChoiceOfTheHintsIfItIsTheBest) {
  for (uint32_t seed = 1; seed <= 5; ++seed) {
    std::vector<double> costs(Session::kChoices, 1.1);
    costs[0] = 1;
    Learner learns = learner(seed);
    Session run(learns, steady(costs), 0.1, seed);
    run.pass(seconds(600));
    EXPECT_EQ(learns.changes(), 0u) << "seed " << seed;
  }
}

TEST(Learner, TriesRarelyOnceAllOthersWereRejected) {
  Learner learns = learner();
  Session run(learns, steady(one_best(0.6)), 0.05);
  run.pass(seconds(600));
  EXPECT_FALSE(learns.searching());
  run.forget();
  run.pass(seconds(600));
  EXPECT_LT(run.share_of_trials(), 0.01);
  EXPECT_LT(run.regret(), 0.01);
}

TEST(Learner, NeverTriesMoreThanItsShare) {
  for (const double noise : {0.01, 0.1, 0.5}) {
    Learner learns = learner();
    Session run(learns, steady(one_best(0.97)), noise);
    run.pass(seconds(60));
    EXPECT_LE(run.share_of_trials(), 1.0 / Learner::kEpochsPerTrial) << "noise " << noise;
    EXPECT_GT(learns.trials(), 10u);
  }
}

TEST(Learner, LosesAtMostItsShareWhileItSearches) {
  for (const double worse : {1.2, 1.5, 2.0, 3.0}) {
    std::vector<double> costs(Session::kChoices, worse);
    costs[0] = 1;
    Learner learns = learner();
    Session run(learns, steady(costs), 0.1);
    for (int i = 0; i < 60; ++i) {
      run.forget();
      run.pass(seconds(5));
      EXPECT_LT(run.regret(), 1.1 * Learner::kLossShare) << worse << ", from " << 5 * i << " s on";
    }
    EXPECT_GT(learns.trials(), Session::kWays) << worse;
  }
}

// With much noise a choice needs several trials before it is rejected, and each of the choices is
// soon tried again. So without the lower share the loss would be near kLossShare for minutes.
TEST(Learner, LosesLessOnceEachChoiceWasTried) {
  constexpr size_t kWays = 30;
  constexpr size_t kPollings = 3;
  for (const double worse : {1.3, 3.0}) {
    std::vector<double> costs(kWays * kPollings, worse);
    costs[0] = 1;
    Learner learns(kWays, kPollings, 0, 1);
    Session run(learns, steady(costs), 0.25, 1, kEpochLength, costs.size());
    run.pass(seconds(60));
    const uint64_t before = learns.trials();
    run.forget();
    run.pass(seconds(60));
    EXPECT_LT(run.regret(), 1.25 * Learner::kLossShareLater) << worse << ", with the noise";
    EXPECT_GT(learns.trials(), before + 10) << worse;
  }
}

// The load changes soon after a very bad trial, which was the only one left.
TEST(Learner, ABadTrialDoesNotDelayASearchThatBegins) {
  Learner learns = learner();
  TimePoint now{};
  const auto current = [&](double bytes) {
    now += kEpochLength;
    learns.current_epoch(EpochCost{1, bytes, 4}, now);
  };
  uint64_t worst = 0;  // epochs between two trials before the change
  uint64_t rest = 0;
  for (const TimePoint end = now + seconds(60); now < end;) {
    if (const auto due = learns.due(now)) {
      worst = std::max(worst, std::exchange(rest, 0));
      now += kEpochLength;
      learns.trial(*due, Learner::kLossMost, now);
    } else {
      ++rest;
      current(64);
    }
  }
  EXPECT_GE(worst, (Learner::kLossMost - 1) / Learner::kLossShareLater) << "else nothing is tested";
  const uint64_t trials = learns.trials();
  for (int epochs = 0; learns.trials() == trials; ++epochs) {
    if (const auto due = learns.due(now)) {
      learns.trial(*due, 1, now);
    } else {
      ASSERT_LT(epochs, 50) << "the search has not begun";
      current(65'536);
    }
  }
}

TEST(Learner, SeldomReplacesAChoiceByOneThatIsHardlyBetter) {
  for (uint32_t seed = 1; seed <= 5; ++seed) {
    std::vector<double> costs(Session::kChoices, 1.0);
    for (size_t choice = 1; choice < costs.size(); choice += 2) costs[choice] = 0.98;
    Learner learns = learner(seed);
    Session run(learns, steady(costs), 0.2, seed);
    for (int i = 0; i < 6; ++i) {
      const uint64_t before = learns.changes();
      run.pass(seconds(600));
      EXPECT_LE(learns.changes() - before, 10u) << "seed " << seed << ", 10 minutes " << i;
    }
    EXPECT_LT(run.share_of_trials(), 0.05) << "seed " << seed;
  }
}

TEST(Learner, FollowsAChangeOfTheLoadWithinTenSeconds) {
  // Small messages are best by choice 2, messages of 64 KiB by choice 8.
  static constexpr TimePoint kChange = TimePoint() + seconds(60);
  const Costs costs = [](size_t choice, TimePoint now) {
    const bool large = now >= kChange;
    const size_t best = large ? 8 : 2;
    return EpochCost{(large ? 4.0 : 1.0) * (choice == best ? 1.0 : 1.5), large ? 65'536.0 : 64.0,
                     4};
  };
  for (uint32_t seed = 1; seed <= 5; ++seed) {
    Learner learns = learner(seed);
    Session run(learns, costs, 0.1, seed);
    run.pass(seconds(60));
    ASSERT_EQ(learns.current(), 2u) << "seed " << seed;
    run.pass(seconds(10));
    EXPECT_EQ(learns.current(), 8u) << "seed " << seed;
  }
}

TEST(Learner, IsNotMisledByALoadThatAlternatesWithTheEpochs) {
  // With any choice, some epochs cost twice as much, in turn. Choice 4 is the best, and choice 2 is
  // worse than choice 0, with which the learner begins.
  for (const int64_t period : {2, 3, 4, 5, 7}) {
    const Costs costs = [period](size_t choice, TimePoint now) {
      const int64_t epoch = now.time_since_epoch() / kEpochLength;
      const double load = epoch % period == 0 ? 2 : 1;
      const double own = choice == 4 ? 0.6 : choice == 2 ? 1.3 : 1.0;
      return EpochCost{load * own, 128, 4};
    };
    Learner learns = learner();
    Session run(learns, costs, 0.05);
    for (int i = 0; i < 24; ++i) {
      run.pass(seconds(5));
      EXPECT_NE(learns.current(), 2u) << "period " << period;
    }
    EXPECT_EQ(learns.current(), 4u) << "period " << period;
  }
}

TEST(Learner, SearchesAgainAtMostEveryTenSecondsAndTriesAllChoices) {
  // The load changes every second. The last choice is the best with any load.
  const Costs costs = [](size_t choice, TimePoint now) {
    const bool odd = now.time_since_epoch() / seconds(1) % 2 == 1;
    return EpochCost{(odd ? 8.0 : 1.0) * (choice == 14 ? 0.7 : 1.0), odd ? 65'536.0 : 64.0, 4};
  };
  Learner learns = learner();
  Session run(learns, costs, 0.05);
  run.pass(seconds(120));
  EXPECT_EQ(learns.current(), 14u);
  EXPECT_LE(run.share_of_trials(), 1.0 / Learner::kEpochsPerTrial);
}

TEST(Learner, HasTimeToSearchIfEpochsAreLong) {
  // The load changes every 15 s, in which only about 5 trials are made.
  const Costs costs = [](size_t choice, TimePoint now) {
    const bool odd = now.time_since_epoch() / seconds(15) % 2 == 1;
    return EpochCost{(odd ? 8.0 : 1.0) * (choice == 14 ? 0.7 : 1.0), 128, 4};
  };
  Learner learns = learner();
  Session run(learns, costs, 0.05, 1, milliseconds(500));
  run.pass(seconds(600));
  EXPECT_EQ(learns.current(), 14u);
}

TEST(Learner, LosesLittleIfTheBestChoiceAlternates) {
  for (const int64_t half_period : {1, 3, 10, 30}) {  // seconds
    const Costs costs = [half_period](size_t choice, TimePoint now) {
      const bool odd = now.time_since_epoch() / seconds(half_period) % 2 == 1;
      if (choice == 0) return EpochCost{odd ? 1.5 : 1.0, 128, 4};
      if (choice == 2) return EpochCost{odd ? 1.0 : 1.5, 128, 4};
      return EpochCost{2, 128, 4};
    };
    Learner learns = learner();
    Session run(learns, costs, 0.05);
    run.pass(seconds(600));
    // A fixed choice loses 25 %. The loads of 1, 3 and 10 s change sooner than the learner follows.
    EXPECT_LT(run.regret(), half_period < 30 ? 0.26 : 0.23) << "half period " << half_period;
  }
}

TEST(Learner, RejectsAtOnceWhatIsMuchWorse) {
  Learner learns = learner();
  std::vector<double> costs(Session::kChoices, 50.0);
  costs[0] = 1;
  Session run(learns, steady(costs), 0.05);
  run.pass(seconds(9));  // less than the pause after the first rejection
  EXPECT_GT(learns.trials(), 5u);
  for (size_t choice = 1; choice < Session::kChoices; ++choice) {
    EXPECT_LE(learns.record(choice).trials, 1u) << choice;
    EXPECT_EQ(learns.record(choice).rejected, learns.record(choice).trials == 1) << choice;
  }
}

TEST(Learner, SkipsTimeOnlyInThePausesOfChoicesThatLostTrials) {
  Learner learns = learner();
  std::vector<double> costs(Session::kChoices, 1.5);
  costs[0] = 1;
  Session run(learns, steady(costs), 0.05);
  while (learns.searching()) run.pass(seconds(1));
  ASSERT_TRUE(learns.record(1).rejected);
  const TimePoint lost = learns.record(1).retry_at;
  learns.give_up(1, run.now());
  EXPECT_EQ(learns.record(1).retry_at, lost) << "it still has to wait because it lost trials";
  const TimePoint broken_until = learns.record(1).broken_until;
  learns.put_off(2, run.now());
  const TimePoint put_off = learns.record(2).retry_at;
  learns.skip(run.now(), seconds(60));
  EXPECT_EQ(learns.record(1).retry_at, lost + seconds(60));
  EXPECT_EQ(learns.record(1).broken_until, broken_until);
  EXPECT_EQ(learns.record(2).retry_at, put_off);
  learns.skip(lost + seconds(60), seconds(60));
  EXPECT_EQ(learns.record(1).retry_at, lost + seconds(60)) << "its pause had ended";
}

// Ends epochs with the current choice until a trial is due, and returns its choice.
size_t next_due(Learner& learner, TimePoint now) {
  for (int i = 0; i < 20; ++i) {
    if (const std::optional<size_t> due = learner.due(now)) return *due;
    learner.current_epoch(kSteadyLoad, now);
  }
  ADD_FAILURE() << "no trial is due";
  return 0;
}

TEST(Learner, ForgetsATrialWithoutAKnownCostBesideIt) {
  Learner learns = learner();
  const TimePoint now{};
  const size_t choice = next_due(learns, now);
  learns.trial(choice, 0.1, now);
  learns.current_epoch(std::nullopt, now);
  EXPECT_EQ(learns.record(choice).trials, 0u);
  EXPECT_FALSE(learns.due(now)) << "a trial needs a known cost before it";
}

TEST(Learner, KeepsTheDistanceOfTrialsIfTheirCostIsUnknown) {
  Learner learns = learner();
  const TimePoint now{};
  const size_t choice = next_due(learns, now);
  for (uint32_t i = 0; i < Learner::kUnknownMost; ++i) {
    EXPECT_FALSE(learns.record(choice).rejected);
    EXPECT_EQ(next_due(learns, now), choice);
    learns.trial(choice, std::nullopt, now);
    EXPECT_FALSE(learns.due(now));
    learns.current_epoch(kSteadyLoad, now);
    EXPECT_FALSE(learns.due(now));
  }
  EXPECT_TRUE(learns.record(choice).rejected) << "nothing can be learned of it";
  EXPECT_NE(next_due(learns, now), choice);
  EXPECT_EQ(learns.trials(), Learner::kUnknownMost);
}

TEST(Learner, PutsOffWhatCannotBeTried) {
  Learner learns = learner();
  const TimePoint now{};
  const size_t first = next_due(learns, now);
  learns.put_off(first, now);
  EXPECT_NE(learns.due(now), first);
  EXPECT_NE(learns.due(now + Learner::kPauseMin - milliseconds(1)), first);
  std::vector<size_t> order;  // it comes after all others
  const TimePoint after = now + Learner::kPauseMin;
  for (size_t i = 0; i < Session::kWays - 1 + Session::kPollings - 1; ++i) {
    order.push_back(next_due(learns, after));
    learns.put_off(order.back(), after);
  }
  EXPECT_EQ(order.back(), first);
}

TEST(Learner, GivesUpWhatBreaksCalls) {
  std::vector<double> costs(Session::kChoices, 1.0);
  costs[4] = 0.5;
  Learner learns = learner();
  Session run(learns, steady(costs), 0.05);
  run.pass(seconds(10));
  ASSERT_EQ(learns.current(), 4u);
  for (const seconds pause : {seconds(10), seconds(20), seconds(40)}) {
    learns.give_up(4, run.now());
    EXPECT_EQ(learns.current(), 0u) << "the choice of the hints";
    const uint32_t tried = learns.record(4).trials;
    run.pass(pause - seconds(1));
    EXPECT_EQ(learns.record(4).trials, tried) << "not tried during a pause of " << pause;
    run.pass(seconds(30));
    ASSERT_EQ(learns.current(), 4u) << "tried again after a pause of " << pause;
  }
  learns.give_up(4, run.now());
  learns.give_up(0, run.now());
  EXPECT_EQ(learns.current(), 0u) << "calls need a choice";
}

TEST(Learner, EqualSeedsGiveEqualDecisions) {
  Learner one = learner(7);
  Learner other = learner(7);
  Session(one, steady(one_best(0.9)), 0.2).pass(seconds(120));
  Session(other, steady(one_best(0.9)), 0.2).pass(seconds(120));
  EXPECT_EQ(one.current(), other.current());
  EXPECT_EQ(one.trials(), other.trials());
  EXPECT_EQ(one.changes(), other.changes());
}

}  // namespace
}  // namespace hat::engine
