// SPDX-License-Identifier: Apache-2.0
// daemon/proxy/outbound/learned_calls_test.cc: two workers carry calls of a function with
// `plan: learned`, over lanes of the loop fabric.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <utility>

#include "daemon/proxy/fake_pair.h"

namespace hat {
namespace {

using namespace std::chrono_literals;

FunctionSpec learned(Hints hints = {}) {
  hints.plan = PlanSource::kLearned;
  return {.name = "get", .hints = {.both = hints, .client = {}, .server = {}}};
}

class LearnedCalls : public testing::Test {
 protected:
  // Makes `count` calls. The reply to each takes 100 ms, of which the server needs a half.
  void call(FakePair& pair, const FakePair::WirePointer& client, int count) {
    for (int i = 0; i < count; ++i) {
      ASSERT_EQ(pair.call(client, get_call(), get_reply()), get_reply()) << "call " << i;
      const LinkStatus link = pair.caller().worker->link_status().at(0);
      lanes_most_ = std::max(lanes_most_, link.lanes.size());
    }
  }
  static FunctionCounters& counters(FakePair& pair) {
    return pair.caller().metrics.find("Kv", "get").at(Side::kClient, 0);
  }
  static uint64_t fallbacks(FakePair& pair) {
    uint64_t count = 0;
    for (const Counter& one : counters(pair).fallbacks) count += one.value();
    return count;
  }
  static std::set<Carrier> carriers(FakePair& pair) {
    std::set<Carrier> all;
    CallWays::Counts counts{};
    counters(pair).ways.add_to(counts);
    for (const WayCount& way : CallWays::list(counts)) all.insert(way.way.request);
    return all;
  }
  static LearnedStatus status(FakePair& pair) {
    return pair.caller().worker->learned_status().at(0);
  }

  size_t lanes_most_ = 0;
};

TEST_F(LearnedCalls, TryTheProtocolsWithoutLosingACall) {
  FakePair pair(learned());
  call(pair, pair.connect_client(), 2'000);
  EXPECT_GT(status(pair).trials, 20u);
  EXPECT_GE(carriers(pair).size(), 8u);
  EXPECT_EQ(fallbacks(pair), 1u) << "the first call of all; a trial waits for its lane";
  // The lane of a choice that is no longer the current one counts as a lane for trials, but it is
  // closed only when the next trial needs room.
  EXPECT_LE(lanes_most_, 2 + PeerLanes::kTrialLanesMost);
  EXPECT_EQ(counters(pair).latency.read().count(), 2'000u);
}

TEST_F(LearnedCalls, AreNotLearnedWithoutTheHint) {
  FakePair pair({.name = "get"});
  call(pair, pair.connect_client(), 300);
  EXPECT_TRUE(pair.caller().worker->learned_status().empty());
  EXPECT_EQ(carriers(pair).size(), 2u) << "TCP while the lane opens, and the plan's protocol";
}

// With the hint protocol, only polling modes are tried: of each the worker polls for another time.
TEST_F(LearnedCalls, TryThePollingModes) {
  FakePair pair(learned({.perf_goal = PerfGoal::kLatency, .protocol = "rfp"}));
  const FakePair::WirePointer client = pair.connect_client();
  call(pair, client, 20);
  const size_t at_first = pair.reactor().polled_for.size();
  call(pair, client, 500);
  EXPECT_GT(status(pair).trials, 0u);
  EXPECT_LT(at_first, 3u);
  EXPECT_EQ(pair.reactor().polled_for.size(), 4u) << "the workers' limits.spin differ";
  EXPECT_LE(lanes_most_, 1u);
}

// Returns how many calls asked the server's daemon for a polling mode: those that got it, and those
// that its hints do not allow.
std::pair<uint64_t, uint64_t> asked_pollings(FakePair& pair) {
  const auto& asked = pair.server().counters.asked_pollings;
  return {asked[0].value(), asked[1].value()};
}

TEST_F(LearnedCalls, AskTheServersDaemonForTheirPollingMode) {
  FakePair pair(learned({.perf_goal = PerfGoal::kLatency, .protocol = "rfp"}));
  call(pair, pair.connect_client(), 500);
  const auto [followed, not_allowed] = asked_pollings(pair);
  EXPECT_GT(followed, 50u);
  EXPECT_LT(followed, 300u) << "the calls with the plan of the hints do not ask";
  EXPECT_EQ(not_allowed, 0u);
  EXPECT_TRUE(pair.reactor().polled_for.contains(FakePair::kServerSpin));
}

TEST_F(LearnedCalls, AskInVainIfTheServersHintsNameAPollingMode) {
  FunctionSpec get = learned({.perf_goal = PerfGoal::kLatency, .protocol = "rfp"});
  get.hints.server.polling = Polling::kBusy;
  FakePair pair(get);
  call(pair, pair.connect_client(), 500);
  EXPECT_EQ(asked_pollings(pair).first, 0u);
  EXPECT_GT(asked_pollings(pair).second, 50u);
  EXPECT_FALSE(pair.reactor().polled_for.contains(FakePair::kServerSpin));
}

// With more callers than cores the plan of the hints is event polling in both daemons.
TEST_F(LearnedCalls, AskForBusyPollingToo) {
  FakePair pair(learned({.perf_goal = PerfGoal::kLatency, .concurrency = 64u, .protocol = "rfp"}));
  call(pair, pair.connect_client(), 500);
  EXPECT_GT(asked_pollings(pair).first, 50u);
  EXPECT_EQ(asked_pollings(pair).second, 0u);
}

TEST_F(LearnedCalls, AskNoDaemonOfAnOlderLinkVersion) {
  FakePair pair(learned({.perf_goal = PerfGoal::kLatency, .protocol = "rfp"}),
                {.link_version = engine::kLinkVersionOfPollings - 1});
  call(pair, pair.connect_client(), 500);
  EXPECT_GT(status(pair).trials, 0u);
  EXPECT_EQ(asked_pollings(pair), std::pair(uint64_t{0}, uint64_t{0}));
}

TEST_F(LearnedCalls, AskForNoPollingModeToSaveProcessorTime) {
  FakePair pair(learned({.perf_goal = PerfGoal::kResUtil, .protocol = "rfp"}));
  call(pair, pair.connect_client(), 500);
  EXPECT_GT(status(pair).trials, 0u);
  EXPECT_EQ(asked_pollings(pair), std::pair(uint64_t{0}, uint64_t{0}));
}

// A client that never waits for all its answers moves to the lane of the current choice, as without
// `plan: learned`, and takes no part in trials.
TEST_F(LearnedCalls, ThatArePipelinedUseTheCurrentChoice) {
  FakePair pair(learned());
  const FakePair::WirePointer client = pair.connect_client();
  pair.send(client, get_call());
  pair.pass(10ms);
  std::string got;
  int over_tcp = 1;
  for (int i = 0; i < 100; ++i) {
    over_tcp += pair.send(client, get_call()) ? 1 : 0;
    pair.pass(10ms);
    got += pair.answer(client, get_reply());
  }
  EXPECT_EQ(got.size(), 100 * get_reply().size());
  EXPECT_LE(over_tcp, 3);
  EXPECT_EQ(status(pair).trials, 0u);
  EXPECT_EQ(carriers(pair).size(), 2u) << "TCP while the lane opens, and the plan's protocol";
}

// The server replies sooner to requests that come over TCP.
TEST_F(LearnedCalls, MoveToTheBestWay) {
  // The calls of unlisted functions, which are not learned about, want another lane.
  FakePair pair(learned({.payload_bytes = 1000}));
  const FakePair::WirePointer client = pair.connect_client();
  bool over_tcp = false;
  int last_over_tcp = 0;  // of the last 100 calls
  // At the end, makes a call with the current choice: a connection keeps the lane of its last call.
  for (int i = 0; i < 3'000 || (!over_tcp && i < 3'020); ++i) {
    over_tcp = pair.send(client, get_call());
    last_over_tcp += over_tcp && i >= 2'900 ? 1 : 0;
    pair.pass(over_tcp ? 10ms : 60ms);
    ASSERT_EQ(pair.answer(client, get_reply()), get_reply()) << "call " << i;
  }
  EXPECT_GE(last_over_tcp, 75) << "at most a quarter are trials";
  EXPECT_TRUE(status(pair).choice.starts_with("tcp, ")) << status(pair).choice;
  EXPECT_GE(status(pair).changes, 1u);
  EXPECT_TRUE(over_tcp);
  EXPECT_FALSE(pair.caller().worker->link_status().at(0).lanes.empty());
  pair.pass(40s);
  EXPECT_TRUE(pair.caller().worker->link_status().at(0).lanes.empty())
      << "calls want none, although the client is connected";
}

// The first call waits for no lane. Then its lane is up, without a trial.
TEST_F(LearnedCalls, BeginWithTheChoiceOfAnEarlierProcess) {
  FakePair pair(learned());
  pair.caller().worker->set_kept(std::make_shared<const LearnedChoices>(
      LearnedChoices{{{"host-b", "Kv", "get"}, "rfp, event"}}));
  call(pair, pair.connect_client(), 20);
  EXPECT_EQ(status(pair).choice, "rfp, event");
  EXPECT_TRUE(status(pair).is_kept);
  EXPECT_EQ(fallbacks(pair), 1u);
  EXPECT_EQ(std::ranges::count(carriers(pair), "rfp", [](Carrier one) { return name(one); }), 1);
}

// A lane on which an idle client's stream is stays open, because its end would end the stream, and
// with it the client's connection to the server.
TEST_F(LearnedCalls, KeepTheLaneOfAnIdleClient) {
  FakePair pair(learned());
  const FakePair::WirePointer client = pair.connect_client();
  for (int i = 0; i < 30; ++i) {
    call(pair, client, 20 + i);
    pair.pass(40s);
    EXPECT_FALSE(client->closed);
  }
  EXPECT_EQ(fallbacks(pair), 1u);
}

}  // namespace
}  // namespace hat
