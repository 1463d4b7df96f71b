// SPDX-License-Identifier: Apache-2.0
#include "daemon/proxy/outbound/learned_route.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "tests/fake_reactor.h"

namespace hat {
namespace {

using namespace std::chrono_literals;

const engine::HostFacts kHost{8, 8, true, ""};

std::shared_ptr<const LearnedPlan> plan_of(Hints hints) {
  hints.plan = PlanSource::kLearned;
  return learned_plan(make_plan(hints, kHost), hints, hints, kHost);
}

struct FakeLanes final : TrialLanes {
  Readiness prepare(const LearnedWay& way) override {
    asked.insert(way.name);
    return readiness;
  }
  void release(const LearnedWay& way) override { released.push_back(way.name); }

  Readiness readiness = Readiness::kUp;
  std::set<std::string> asked;
  std::vector<std::string> released;
};

class LearnedRouteTest : public testing::Test {
 protected:
  using Cost = std::function<Duration(const LearnedRoute::Choice&)>;

  // Makes one call after the other for `time`; each takes the time that `cost` returns.
  void call(LearnedRoute& route, Duration time, const Cost& cost, bool as_chosen = true) {
    for (const TimePoint end = reactor_.now() + time; reactor_.now() < end;) {
      const LearnedRoute::Choice choice = route.begin(reactor_, lanes_);
      trials_ += choice.part.is_trial ? 1 : 0;
      ++calls_;
      const TimePoint began = reactor_.now();
      reactor_.advance(cost(choice));
      route.end(choice.part, began, reactor_.now(), 128, as_chosen);
    }
  }
  // Makes calls that never find the lane of rfp up.
  void call_without_rfp(LearnedRoute& route, Duration time) {
    for (const TimePoint end = reactor_.now() + time; reactor_.now() < end;) {
      const LearnedRoute::Choice choice = route.begin(reactor_, lanes_);
      const TimePoint began = reactor_.now();
      reactor_.advance(100us);
      route.end(choice.part, began, reactor_.now(), 128, choice.way->name != "rfp");
    }
  }
  static Cost by_way(const char* best, Duration cost, Duration others) {
    return [=](const LearnedRoute::Choice& choice) {
      return choice.way->name == best ? cost : others;
    };
  }
  static Cost equal() {
    return [](const LearnedRoute::Choice&) { return 100us; };
  }

  FakeReactor reactor_;
  FakeLanes lanes_;
  uint64_t trials_ = 0;  // calls
  uint64_t calls_ = 0;
};

TEST_F(LearnedRouteTest, FindsTheFastestWay) {
  for (const auto goal : {std::optional<PerfGoal>(), std::optional(PerfGoal::kLatency),
                          std::optional(PerfGoal::kThroughput)}) {
    LearnedRoute route(plan_of({.perf_goal = goal}), 1);
    call(route, 20s, by_way("rfp", 60us, 100us));
    EXPECT_TRUE(route.status().choice.starts_with("rfp, ")) << route.status().choice;
    EXPECT_EQ(route.status().costs.at(0).choice, route.status().choice);
    EXPECT_NEAR(route.status().costs.at(0).ns, 60'000, 600);
  }
  EXPECT_EQ(lanes_.released, (std::vector<std::string>(3, "the plan of the hints")));
}

TEST_F(LearnedRouteTest, FindsTheWayWithTheLeastProcessorTime) {
  LearnedRoute route(plan_of({.perf_goal = PerfGoal::kResUtil}), 1);
  call(route, 20s, [this](const LearnedRoute::Choice& choice) {
    reactor_.use_cpu(choice.way->name == "rfp" ? 5us : 8us);
    return choice.way->name == "rfp" ? 120us : 100us;
  });
  EXPECT_TRUE(route.status().choice.starts_with("rfp, ")) << route.status().choice;
}

// With rfp, most calls are faster, but one of 50 takes 20 ms.
TEST_F(LearnedRouteTest, CountsSlowCallsAsLatency) {
  LearnedRoute route(plan_of({.perf_goal = PerfGoal::kLatency}), 1);
  uint64_t number = 0;
  call(route, 30s, [&](const LearnedRoute::Choice& choice) -> Duration {
    if (choice.way->name != "rfp") return 100us;
    return ++number % 50 == 0 ? 20ms : 80us;
  });
  EXPECT_FALSE(route.status().choice.starts_with("rfp, "));
}

// Several clients: each begins its next call when its last one has ended.
TEST_F(LearnedRouteTest, MeasuresCallsThatOverlap) {
  struct Client {
    LearnedRoute::Choice choice;
    TimePoint began;
    TimePoint ends;
  };
  for (const auto goal : {std::optional<PerfGoal>(), std::optional(PerfGoal::kThroughput)}) {
    LearnedRoute route(plan_of({.perf_goal = goal}), 1);
    std::vector<Client> clients(64);
    for (Client& client : clients) client.ends = reactor_.now();
    bool first = true;
    for (const TimePoint end = reactor_.now() + 60s; reactor_.now() < end; first = false) {
      for (Client& client : clients) {
        if (client.ends > reactor_.now()) continue;
        if (!first) route.end(client.choice.part, client.began, reactor_.now(), 128, true);
        client.choice = route.begin(reactor_, lanes_);
        client.began = reactor_.now();
        client.ends = client.began + (client.choice.way->name == "rfp" ? 4ms : 6ms);
      }
      reactor_.advance(1ms);
    }
    EXPECT_TRUE(route.status().choice.starts_with("rfp, ")) << route.status().choice;
    const double expected = goal ? 4e6 / 64 : 4e6;
    EXPECT_NEAR(route.status().costs.at(0).ns, expected, expected / 5);
  }
}

TEST_F(LearnedRouteTest, CallsOfTrialsAreAQuarterAtMost) {
  LearnedRoute route(plan_of({}), 1);
  call(route, 60s, equal());
  EXPECT_GT(trials_, 0u);
  EXPECT_LE(trials_ * engine::Learner::kEpochsPerTrial, calls_);
}

TEST_F(LearnedRouteTest, CallsOfTrialsThatCannotBeMeasuredAreAQuarterAtMost) {
  LearnedRoute route(plan_of({}), 1);
  for (const TimePoint end = reactor_.now() + 60s; reactor_.now() < end;) {
    const LearnedRoute::Choice choice = route.begin(reactor_, lanes_);
    trials_ += choice.part.is_trial ? 1 : 0;
    ++calls_;
    const TimePoint began = reactor_.now();
    reactor_.advance(100us);
    route.end(choice.part, began, reactor_.now(), 128, !choice.part.is_trial);
  }
  EXPECT_GT(trials_, 0u);
  EXPECT_LE(trials_ * engine::Learner::kEpochsPerTrial, calls_);
  EXPECT_EQ(route.status().changes, 0u);
}

TEST_F(LearnedRouteTest, EndsATrialEarlyWhoseCallsTakeMuchLonger) {
  for (const Duration slow : {Duration(1ms), Duration(50ms)}) {
    LearnedRoute route(plan_of({}), 1);
    uint64_t longest = 0;
    uint64_t row = 0;
    call(route, 60s, [&](const LearnedRoute::Choice& choice) -> Duration {
      row = choice.part.is_trial ? row + 1 : 0;
      longest = std::max(longest, row);
      return choice.part.is_trial ? slow : 100us;
    });
    // Four calls of 100 µs would take 1.2 ms for three times as long. The longest call does not
    // count, and the other calls count with at most this time.
    EXPECT_EQ(longest, 3u) << slow.count();
    EXPECT_FALSE(route.status().searching) << "all were rejected";
  }
}

// The first call of each trial takes as long as 50 others.
TEST_F(LearnedRouteTest, OneSlowCallEndsNoTrial) {
  LearnedRoute route(plan_of({}), 1);
  bool was_trial = false;
  call(route, 20s, [&](const LearnedRoute::Choice& choice) -> Duration {
    const bool slow = choice.part.is_trial && !was_trial;
    was_trial = choice.part.is_trial;
    return slow ? 5ms : choice.way->name == "rfp" ? 60us : 100us;
  });
  EXPECT_TRUE(route.status().choice.starts_with("rfp, ")) << route.status().choice;
}

// In a trial each call takes longer than the pause after which an epoch has no result.
TEST_F(LearnedRouteTest, CountsVerySlowCallsOfATrial) {
  LearnedRoute route(plan_of({}), 1);
  call(route, 600s, by_way("the plan of the hints", 150ms, LearnedRoute::kPauseMost + 500ms));
  ASSERT_GT(route.status().costs.size(), 1u);
  EXPECT_GT(route.status().costs.back().ns, 400e6) << "the trials were measured";
  EXPECT_TRUE(route.status().choice.starts_with("the plan of the hints"));
}

TEST_F(LearnedRouteTest, ShowsTheCheapestChoices) {
  LearnedRoute route(plan_of({}), 1);
  call(route, 60s, equal());
  const std::vector<LearnedStatus::Cost> costs = route.status().costs;
  ASSERT_EQ(costs.size(), 1 + LearnedRoute::kCostsMost);
  EXPECT_EQ(costs.front().choice, route.status().choice);
  EXPECT_TRUE(std::ranges::is_sorted(costs.begin() + 1, costs.end(), {}, &LearnedStatus::Cost::ns));
}

TEST_F(LearnedRouteTest, PutsOffAWayWhoseLanesDoNotComeUp) {
  LearnedRoute route(plan_of({}), 1);
  lanes_.readiness = TrialLanes::Readiness::kOpening;
  call(route, 1s, equal());
  EXPECT_EQ(lanes_.asked.size(), 1u) << "it waits for the first one";
  call(route, 9s, equal());
  EXPECT_GT(lanes_.asked.size(), 2u) << "but not for ever";
  lanes_.readiness = TrialLanes::Readiness::kUnable;
  call(route, 5s, equal());
  EXPECT_GT(lanes_.asked.size(), 10u) << "it goes on with the next one at once";
  EXPECT_EQ(trials_, 0u);
}

TEST_F(LearnedRouteTest, ReturnsToThePlanOfTheHintsIfItsLaneIsMissing) {
  LearnedRoute route(plan_of({}), 1);
  call(route, 20s, by_way("rfp", 60us, 100us));
  ASSERT_TRUE(route.status().choice.starts_with("rfp, "));
  call_without_rfp(route, 1s);
  EXPECT_TRUE(route.status().choice.starts_with("rfp, ")) << "the lane has 2 s to come up";
  call_without_rfp(route, 3s);
  EXPECT_TRUE(route.status().choice.starts_with("the plan of the hints")) << route.status().choice;
}

TEST_F(LearnedRouteTest, BeginsWithTheChoiceOfAnEarlierProcess) {
  LearnedRoute route(plan_of({}), 1, "rfp, event");
  EXPECT_EQ(route.status().choice, "rfp, event");
  EXPECT_TRUE(route.status().is_kept);
  EXPECT_EQ(route.status().to_keep, "rfp, event");
  call_without_rfp(route, 1500ms);  // its lane is not up yet; TCP carries these calls, but slower
  EXPECT_EQ(route.status().trials, 0u) << "they are not measured";
  call(route, 20s, by_way("rfp", 60us, 100us));
  EXPECT_EQ(route.status().choice, "rfp, event");
  EXPECT_TRUE(route.status().is_kept);
  call(route, 60s, by_way("tcp", 30us, 60us));
  EXPECT_TRUE(route.status().choice.starts_with("tcp, ")) << route.status().choice;
  EXPECT_FALSE(route.status().is_kept);
}

TEST_F(LearnedRouteTest, BeginsWithThePlanOfTheHintsIfThereIsNoSuchChoice) {
  for (const char* kept : {"", "rfp", "no_protocol, event", "rfp, event (latency)"}) {
    const LearnedRoute route(plan_of({}), 1, kept);
    EXPECT_TRUE(route.status().choice.starts_with("the plan of the hints"));
    EXPECT_EQ(route.status().to_keep, "");
    EXPECT_FALSE(route.status().is_kept);
  }
  const LearnedRoute route(plan_of({.perf_goal = PerfGoal::kLatency}), 1, "rfp, event (latency)");
  EXPECT_EQ(route.status().choice, "rfp, event");
}

TEST_F(LearnedRouteTest, MeasuresTheHintsPlanOverTcpIfItsLaneNeverComesUp) {
  LearnedRoute route(plan_of({}), 1);
  for (const TimePoint end = reactor_.now() + 30s; reactor_.now() < end;) {
    const LearnedRoute::Choice choice = route.begin(reactor_, lanes_);
    const TimePoint began = reactor_.now();
    reactor_.advance(choice.way->name == "rfp" ? 60us : 100us);
    route.end(choice.part, began, reactor_.now(), 128, choice.part.is_trial || choice.way->exact);
  }
  EXPECT_TRUE(route.status().choice.starts_with("rfp, ")) << route.status().choice;
}

TEST_F(LearnedRouteTest, GivesUpWhatLosesALane) {
  const auto plan = plan_of({});
  LearnedRoute route(plan, 1);
  const auto rfp = std::ranges::find(plan->ways, "rfp", &LearnedWay::name);
  const engine::CoreCounts server{8, 8};
  bool again = false;
  // The load changes all the time, so the search begins again and again.
  const Cost cost = [&](const LearnedRoute::Choice& choice) -> Duration {
    again = again || choice.way->name == "rfp";
    const bool busy = reactor_.now().time_since_epoch() / 15s % 2 == 1;
    return (choice.way->name == "rfp" ? 60us : 100us) * (busy ? 5 : 1);
  };
  call(route, 20s, cost);
  ASSERT_TRUE(route.status().choice.starts_with("rfp, "));
  for (const Duration pause : {10s, 20s, 40s}) {
    lanes_.released.clear();
    route.on_lane_failed(rfp->lanes.small.at(server), server, reactor_.now(), lanes_);
    EXPECT_TRUE(route.status().choice.starts_with("the plan of the hints"));
    EXPECT_EQ(lanes_.released, (std::vector<std::string>{"rfp"}));
    again = false;
    call(route, pause - 1s, cost);
    EXPECT_FALSE(again);
    call(route, 60s, cost);
    ASSERT_TRUE(route.status().choice.starts_with("rfp, ")) << route.status().choice;
  }
}

TEST_F(LearnedRouteTest, ACallThatTakesNoPartUsesTheCurrentChoice) {
  LearnedRoute route(plan_of({}), 1);
  bool was_trial = false;
  for (int i = 0; i < 20'000; ++i) {
    const LearnedRoute::Choice one = route.begin(reactor_, lanes_);
    const LearnedRoute::Choice other = route.current();
    const TimePoint began = reactor_.now();
    was_trial = was_trial || one.part.is_trial;
    EXPECT_EQ(other.way->name, "the plan of the hints");
    reactor_.advance(100us);
    route.end(one.part, began, reactor_.now(), 128, true);
    route.end(other.part, began, reactor_.now() + 1h, 128, true);
  }
  EXPECT_TRUE(was_trial);
  EXPECT_NEAR(route.status().costs.at(0).ns, 100'000, 1'000);
}

TEST_F(LearnedRouteTest, LearnsNothingFromRareCalls) {
  LearnedRoute route(plan_of({}), 1);
  for (int i = 0; i < 200; ++i) {
    call(route, 1ms, equal());
    reactor_.advance(2s);
  }
  EXPECT_EQ(trials_, 0u);
}

// A pause of a rejected choice lasts longer than all these bursts together.
TEST_F(LearnedRouteTest, SearchesNotAgainInEachBurstOfCalls) {
  LearnedRoute route(plan_of({}), 1);
  const auto cost = by_way("the plan of the hints", 100us, 120us);
  while (route.status().searching) call(route, 1s, cost);
  const uint64_t before = route.status().trials;
  for (int i = 0; i < 20; ++i) {
    reactor_.advance(60s);
    call(route, 100ms, cost);
  }
  EXPECT_EQ(route.status().trials, before);
}

// Another function can lose the lane of a choice while this function makes no calls.
TEST_F(LearnedRouteTest, AWayThatFailsWhileNoCallIsMadeIsTriedSoon) {
  LearnedRoute route(plan_of({.transport = Path::kRdma}), 1);
  call(route, 20s, by_way("rfp", 60us, 100us));
  ASSERT_TRUE(route.status().choice.starts_with("rfp, ")) << route.status().choice;
  reactor_.advance(3h);
  route.on_lane_failed(route.current_way().lanes.small.at({8, 8}), {8, 8}, reactor_.now(), lanes_);
  ASSERT_FALSE(route.status().choice.starts_with("rfp, "));
  call(route, 60s, by_way("rfp", 60us, 100us));
  EXPECT_TRUE(route.status().choice.starts_with("rfp, ")) << route.status().choice;
}

TEST_F(LearnedRouteTest, NeverMeasuresCallsThatFail) {
  LearnedRoute route(plan_of({}), 1);
  for (int i = 0; i < 10'000; ++i) {
    const LearnedRoute::Choice choice = route.begin(reactor_, lanes_);
    const TimePoint began = reactor_.now();
    reactor_.advance(1ms);
    route.drop(choice.part, began, reactor_.now());
  }
  EXPECT_TRUE(route.status().costs.empty());
  call(route, 5s, equal());
  EXPECT_NEAR(route.status().costs.at(0).ns, 100'000, 1'000) << "nor later as calls in flight";
}

TEST_F(LearnedRouteTest, OnlyAReloadWithOtherChoicesBeginsAnew) {
  LearnedRoute route(plan_of({.perf_goal = PerfGoal::kLatency}), 1);
  call(route, 20s, by_way("rfp", 60us, 100us));
  route.set_plan(plan_of({.perf_goal = PerfGoal::kLatency, .timeout = 1s}));
  EXPECT_TRUE(route.status().choice.starts_with("rfp, ")) << "a time-out is no choice";

  const LearnedRoute::Choice before = route.begin(reactor_, lanes_);
  const TimePoint began = reactor_.now();
  route.set_plan(plan_of({.perf_goal = PerfGoal::kThroughput}));
  EXPECT_EQ(route.status().choice, "the plan of the hints, busy");
  EXPECT_EQ(route.status().trials, 0u);
  for (int i = 0; i < 100; ++i) {  // at the same time
    const LearnedRoute::Choice after = route.begin(reactor_, lanes_);
    route.end(after.part, reactor_.now(), reactor_.now(), 128, true);
  }
  route.end(before.part, began, reactor_.now(), 128, true);
  EXPECT_TRUE(route.status().costs.empty());
  call(route, 5s, equal());
  EXPECT_NEAR(route.status().costs.at(0).ns, 100'000, 1'000);
}

}  // namespace
}  // namespace hat
