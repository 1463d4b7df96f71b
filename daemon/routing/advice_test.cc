// SPDX-License-Identifier: Apache-2.0
#include "daemon/routing/advice.h"

#include <gmock/gmock.h>

#include "config/hint_values.h"

namespace hat {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

const engine::HostFacts kEightCores{8, 8, true, ""};

// How a function was called: all calls alike.
struct Load {
  uint64_t request = 100;  // bytes
  uint64_t reply = 100;
  uint64_t callers = 1;  // calls in flight, in each sample
  uint64_t on_node = 0;  // calls in flight on the node; 0: as many as `callers`
  uint64_t calls = 1000;
  uint64_t timed_out = 0;              // of `calls`
  std::chrono::microseconds limit{0};  // how long the calls took that timed out
};

Observation observation(const Load& load) {
  MetricsRegistry functions{1};
  FunctionMetrics& function = functions.find("Kv", "get");
  FunctionCounters& counters = function.at(Side::kClient, 0);
  Observations observations{TimePoint{}};
  counters.started.add(load.callers);
  functions.find("Kv", "other")
      .at(Side::kClient, 0)
      .started.add(load.on_node == 0 ? 0 : load.on_node - load.callers);
  for (uint64_t i = 0; load.calls != 0 && i < kAdviceSamples; ++i) {
    observations.sample(TimePoint{} + 1s, functions);
  }
  for (uint64_t i = 0; i < load.calls; ++i) {
    const bool timed_out = i < load.timed_out;
    counters.started.add();
    counters
        .requests[static_cast<size_t>(timed_out ? CallOutcome::kLocalError : CallOutcome::kSuccess)]
        .add();
    counters.request_sizes.add(load.request);
    counters.reply_sizes.add(timed_out ? 0 : load.reply);
    counters.latency.add(timed_out ? load.limit : 20us);
    if (timed_out) counters.timed_out.add();
  }
  return observations.of(function, Side::kClient);
}

using Words = std::vector<std::pair<const char*, const char*>>;

Hints hints_of(const Words& words) {
  Hints hints;
  for (const auto& [key, value] : words) EXPECT_TRUE(set_hint(hints, key, value)) << key;
  return hints;
}

struct Advised {
  const char* name;
  Words both;
  Words client;
  Words server;
  Words service;  // for both sides
  Load load;      // seen on the client's side
  std::vector<std::string> expected;
};

Route route_of(const Advised& row) {
  Route route;
  route.service = "Kv";
  route.method = "get";
  route.listed = true;
  route.hints = {hints_of(row.both), hints_of(row.client), hints_of(row.server)};
  route.service_hints.both = hints_of(row.service);
  return route;
}

std::vector<std::string> edits(const std::vector<Proposal>& proposals) {
  std::vector<std::string> all;
  for (const auto& [side, change, evidence, gain] : proposals) {
    EXPECT_FALSE(evidence.empty());
    EXPECT_FALSE(gain.empty());
    all.push_back(change.group + " " + change.key + ": " + change.from.value_or("none") + " → " +
                  change.to.value_or("none"));
  }
  return all;
}

std::vector<Proposal> advise_client(const Route& route, const Load& load,
                                    const engine::HostFacts& host = kEightCores) {
  return advise(route, {observation(load), observation({.calls = 0})}, host);
}

const Advised kAdvised[] = {
    {"right: small messages, few callers", {{"perf_goal", "latency"}}, {}, {}, {}, {}, {}},
    {"right: no hints, few bytes", {}, {}, {}, {}, {}, {}},
    {"right: bulk for throughput",
     {{"perf_goal", "throughput"}, {"payload_size", "128KiB"}, {"concurrency", "16"}},
     {},
     {},
     {},
     {.request = 130'000, .reply = 130'000, .callers = 16},
     {}},
    {"right: a message is a little longer than its payload",
     {{"perf_goal", "latency"}, {"payload_size", "512"}},
     {},
     {},
     {},
     {.request = 560, .reply = 600},
     {}},
    {"right: a mixture of sizes, and slots for the larger ones",
     {{"perf_goal", "latency"}, {"payload_size", "64KiB"}},
     {},
     {},
     {},
     {.request = 20'000, .reply = 20'000},
     {}},
    {"right: many callers on the host, few of them of this function",
     {{"perf_goal", "throughput"}, {"concurrency", "64"}},
     {},
     {},
     {},
     {.callers = 2, .on_node = 64},
     {}},
    {"right: one caller for throughput, on a busy host",
     {{"perf_goal", "throughput"}, {"concurrency", "64"}},
     {},
     {},
     {},
     {.callers = 1, .on_node = 64},
     {}},
    {"right: busy polling while cores are free",
     {{"perf_goal", "throughput"}, {"concurrency", "8"}, {"polling", "busy"}},
     {},
     {},
     {},
     {.callers = 1, .on_node = 8},
     {}},
    {"right: large messages by a protocol for all sizes",
     {{"perf_goal", "throughput"}, {"protocol", "hybrid_eager_rndv"}, {"payload_size", "32KiB"}},
     {},
     {},
     {},
     {.request = 30'000, .reply = 30'000, .callers = 2},
     {}},
    {"right: exactly as many callers as cores",
     {{"perf_goal", "latency"}, {"concurrency", "8"}, {"polling", "busy"}},
     {},
     {},
     {},
     {.callers = 8},
     {}},
    {"right: a rendezvous saves memory",
     {{"perf_goal", "res_util"}, {"protocol", "write_rndv"}},
     {},
     {},
     {},
     {},
     {}},
    {"right: hardly a call is late",
     {{"perf_goal", "latency"}, {"timeout_ms", "5"}},
     {},
     {},
     {},
     {.calls = 10'000, .timed_out = 50, .limit = 5ms},
     {}},
    {"too few calls to say anything",
     {{"perf_goal", "latency"}, {"payload_size", "64KiB"}},
     {},
     {},
     {},
     {.calls = kAdviceCalls - 1},
     {}},

    {"slots for large requests and replies, which are small",
     {{"perf_goal", "latency"}, {"payload_size", "64KiB"}},
     {},
     {},
     {},
     {},
     {"hint payload_size: 64KiB → 128B"}},
    {"only the requests are small",
     {{"perf_goal", "latency"}, {"payload_size", "64KiB"}},
     {},
     {},
     {},
     {.reply = 60'000},
     {"c_hint payload_size: 64KiB → 128B"}},
    {"replies larger than their hint",
     {{"perf_goal", "latency"}},
     {},
     {{"payload_size", "512"}},
     {},
     {.reply = 30'000},
     {"s_hint payload_size: 512B → 32KiB"}},
    {"large messages without a hint",
     {{"perf_goal", "latency"}},
     {},
     {},
     {},
     {.request = 30'000, .reply = 30'000},
     {"hint payload_size: none → 32KiB"}},
    {"the service's hint is wrong for this function",
     {},
     {},
     {},
     {{"perf_goal", "latency"}, {"payload_size", "64KiB"}},
     {},
     {"hint payload_size: 64KiB → 128B"}},
    {"bulk for latency",
     {{"perf_goal", "latency"}, {"payload_size", "256KiB"}},
     {},
     {},
     {},
     {.request = 200'000},
     {"hint perf_goal: latency → throughput", "s_hint payload_size: 256KiB → 128B"}},
    {"one caller for throughput",
     {{"perf_goal", "throughput"}},
     {},
     {},
     {},
     {},
     {"c_hint perf_goal: throughput → latency"}},
    {"more callers than the hint says",
     {{"perf_goal", "throughput"}},
     {{"concurrency", "2"}},
     {},
     {},
     {.callers = 12},
     {"c_hint concurrency: 2 → 12"}},
    {"many callers without a hint",
     {{"perf_goal", "throughput"}},
     {},
     {},
     {},
     {.callers = 12},
     {"c_hint concurrency: none → 12"}},
    {"fewer callers than the hint says",
     {{"perf_goal", "latency"}, {"concurrency", "over"}},
     {},
     {},
     {},
     {.callers = 2},
     {"c_hint concurrency: over → 2"}},
    {"a rendezvous for small messages",
     {{"perf_goal", "latency"}, {"protocol", "write_rndv"}},
     {},
     {},
     {},
     {},
     {"hint protocol: write_rndv → none"}},
    {"a rendezvous for small replies only",
     {{"perf_goal", "latency"}, {"payload_size", "64KiB"}, {"protocol", "read_rndv"}},
     {},
     {{"payload_size", "512"}},
     {},
     {.request = 60'000},
     {"s_hint protocol: read_rndv → direct_write_imm"}},
    {"a rendezvous for small messages, from the service",
     {},
     {},
     {},
     {{"perf_goal", "latency"}, {"protocol", "write_rndv"}},
     {},
     {"hint protocol: write_rndv → direct_write_imm"}},
    {"messages too large for a SEND",
     {{"perf_goal", "throughput"}, {"protocol", "eager"}, {"payload_size", "32KiB"}},
     {},
     {},
     {},
     {.request = 30'000, .reply = 30'000, .callers = 2},
     {"hint protocol: eager → none"}},
    {"busy polling of an occupied host",
     {{"perf_goal", "throughput"}, {"concurrency", "16"}},
     {{"polling", "busy"}},
     {},
     {},
     {.callers = 12},
     {"c_hint polling: busy → none"}},
    {"busy polling, which the planner would choose, too",
     {{"perf_goal", "throughput"}, {"polling", "busy"}},
     {},
     {},
     {},
     {.callers = 12},
     {"c_hint polling: busy → event"}},
    {"a time that many calls exceed",
     {{"perf_goal", "latency"}, {"timeout_ms", "5"}},
     {},
     {},
     {},
     {.timed_out = 30, .limit = 5ms},
     {"hint timeout_ms: 5 → 20"}},
    {"a client's time that many calls exceed",
     {{"perf_goal", "latency"}},
     {{"timeout_ms", "5"}},
     {},
     {},
     {.timed_out = 30, .limit = 5ms},
     {"c_hint timeout_ms: 5 → 20"}},
    {"right: the calls that timed out had less time than the hint gives now",
     {{"perf_goal", "latency"}, {"timeout_ms", "20"}},
     {},
     {},
     {},
     {.timed_out = 30, .limit = 5ms},
     {}},
    {"right: no time is long enough for a server that never replies",
     {{"perf_goal", "latency"}, {"timeout_ms", "5"}},
     {},
     {},
     {},
     {.timed_out = 1000, .limit = 5ms},
     {}},
};

TEST(Advice, ProposesWhatTheCallsContradictAndNothingElse) {
  for (const Advised& row : kAdvised) {
    EXPECT_EQ(edits(advise_client(route_of(row), row.load)), row.expected) << row.name;
  }
}

// Applies the proposals as an edit of the manifest would.
void follow(HintGroups& hints, const std::vector<Proposal>& proposals) {
  for (const auto& proposal : proposals) {
    const HintChange& change = proposal.change;
    Hints& group = change.group == "hint"     ? hints.both
                   : change.group == "c_hint" ? hints.client
                                              : hints.server;
    EXPECT_TRUE(clear_hint(group, change.key)) << change.key;
    if (change.to) {
      EXPECT_TRUE(set_hint(group, change.key, *change.to)) << *change.to;
    }
  }
}

TEST(Advice, ProposesNothingMoreOnceItIsFollowed) {
  for (const Advised& row : kAdvised) {
    Route route = route_of(row);
    follow(route.hints, advise_client(route, row.load));
    EXPECT_THAT(edits(advise_client(route, row.load)), testing::IsEmpty()) << row.name;
  }
}

TEST(Advice, JudgesEachSideByItsOwnCallers) {
  Route route = route_of({.both = {{"perf_goal", "throughput"}}});
  const std::array seen = {observation({.callers = 3}), observation({.callers = 12})};
  EXPECT_EQ(edits(advise(route, seen, kEightCores)),
            std::vector<std::string>{"s_hint concurrency: none → 12"});
}

TEST(Advice, CountsCallersExactlyOnLargeHosts) {
  for (const uint32_t cores : {16u, 32u, 128u}) {
    const Route route = route_of(
        {.both = {{"perf_goal", "latency"}, {"concurrency", "full"}, {"polling", "busy"}}});
    const engine::HostFacts host{cores, cores, true, ""};
    EXPECT_TRUE(advise_client(route, {.callers = cores}, host).empty()) << cores;
    EXPECT_FALSE(advise_client(route, {.callers = cores + 1}, host).empty()) << cores;
  }
}

TEST(Advice, TakesTheShareOfLargeMessagesOfAllCalls) {
  const Route route = route_of({.both = {{"perf_goal", "latency"}, {"payload_size", "256KiB"}}});
  const Load mostly_failed{.request = 200'000, .reply = 0, .timed_out = 999, .limit = 1ms};
  Observation seen = observation(mostly_failed);
  seen.ended.request_sizes = {};
  seen.ended.request_sizes.buckets[12] = 1;  // one request of more than 128 KiB
  EXPECT_TRUE(edits(advise(route, {seen, observation({.calls = 0})}, kEightCores)).empty());
}

TEST(Advice, JudgesTheSizesOfBothSidesFromEither) {
  const Route route = route_of({.both = {{"perf_goal", "latency"}}});
  const Load load{.request = 60'000, .reply = 60'000};
  const std::vector<std::string> expected = {"hint payload_size: none → 64KiB"};
  EXPECT_EQ(edits(advise_client(route, load)), expected);
  EXPECT_EQ(edits(advise(route, {observation({.calls = 0}), observation(load)}, kEightCores)),
            expected);
}

TEST(Advice, LeavesHintsThatHaveNoEffectOnThisHost) {
  const Route route = route_of(
      {.both = {{"perf_goal", "latency"}, {"payload_size", "64KiB"}, {"protocol", "write_rndv"}}});
  EXPECT_EQ(advise_client(route, {}).size(), 2u);
  EXPECT_TRUE(advise_client(route, {}, {8, 8, false, "none is here"}).empty()) << "no RDMA";
}

TEST(Advice, IsOnlyForFunctionsOfAManifest) {
  Route route = route_of({.both = {{"perf_goal", "latency"}, {"payload_size", "64KiB"}}});
  route.listed = false;
  EXPECT_TRUE(advise_client(route, {}).empty());
}

TEST(Advice, SaysWhatWasSeenAndWhatChanges) {
  const Route slots = route_of({.both = {{"perf_goal", "latency"}, {"payload_size", "64KiB"}}});
  const Proposal smaller = advise_client(slots, {}).at(0);
  EXPECT_EQ(smaller.evidence, "99% of 1000 requests have at most 128B");
  EXPECT_THAT(smaller.gain, HasSubstr("a lane has for requests 64 slots of"));

  const Route callers = route_of({.both = {{"perf_goal", "throughput"}}});
  const Proposal more = advise_client(callers, {.callers = 12}).at(0);
  EXPECT_EQ(more.evidence,
            "half of the time at least 12 calls in flight, and 12 for a tenth of it");
  EXPECT_THAT(more.gain, HasSubstr("requests by ≤4KiB direct_write_imm, larger rfp; event in place "
                                   "of direct_write_imm, busy"));

  const Route late = route_of({.both = {{"timeout_ms", "5"}}});
  const Proposal longer = advise_client(late, {.timed_out = 30, .limit = 5ms}).at(0);
  EXPECT_EQ(longer.evidence, "30 of 1000 calls took longer than 5 ms");
  EXPECT_EQ(longer.gain, "a reply may take 20 ms in place of 5 ms");
}

}  // namespace
}  // namespace hat
