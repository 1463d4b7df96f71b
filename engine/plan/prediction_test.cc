// SPDX-License-Identifier: Apache-2.0
// engine/plan/prediction_test.cc: tests the predicted times of legs (ways to move one message), and
// how measured costs change plans.
#include "engine/plan/prediction.h"

#include <gmock/gmock.h>

#include "engine/plan/planner.h"

namespace hat::engine {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;

constexpr ProtocolId id(std::string_view name) { return *find_protocol(name); }

// Returns costs that grow linearly with the size, so that a reader can check the expected sums:
// each byte costs 0.1 ns with put, get and copy.
ComponentCosts lines() {
  return {.fabric = "loop",
          .put = {{8, 1000}, {8 + 100'000, 11'000}},
          .get = {{8, 1500}, {8 + 100'000, 11'500}},
          .message = {{8, 2000}, {8 + 100'000, 42'000}},
          .wake_up_ns = 5000,
          .copy = {{8, 0}, {8 + 100'000, 10'000}}};
}

TEST(Prediction, IsTheSumOfALegsOperations) {
  struct Row {
    Leg leg;
    // The predicted nanoseconds for a message of 8 + 10'000 B. For this size, lines() has 1000 ns
    // for a copy, 2000 for a put, 2500 for a get, and 6000 for a message and its answer.
    double busy;
    double event;  // `busy`, plus 5000 ns for each wait of one side for the other side
  };
  for (const Row& row : {
           Row{Leg::kSend, 1000 + 3000, 4000 + 5000},
           Row{Leg::kWriteImm, 1000 + 1000 + 1000, 3000 + 5000},
           Row{Leg::kWriteSend, 3000, 8000},
           Row{Leg::kWriteRndv, 1000 + 1000 + 3 * 1000, 5000 + 15'000},
           Row{Leg::kReadRndv, 1000 + 1000 + 2500, 4500 + 10'000},
           Row{Leg::kFetch0, 1000 + 2500, 3500 + 5000},
           Row{Leg::kFetch2, 1000 + 2500 + 2 * 1500, 6500 + 15'000},
       }) {
    const int leg = static_cast<int>(row.leg);
    EXPECT_NEAR(message_ns(lines(), row.leg, 10'008, Polling::kBusy), row.busy, 0.01) << leg;
    EXPECT_NEAR(message_ns(lines(), row.leg, 10'008, Polling::kAdaptive), row.busy, 0.01) << leg;
    EXPECT_NEAR(message_ns(lines(), row.leg, 10'008, Polling::kEvent), row.event, 0.01) << leg;
  }
}

TEST(Prediction, OfACallHasBothWaysAndWhatASendCannotHold) {
  const ComponentCosts costs = lines();
  const auto by = [&](const char* name, uint64_t bytes) {
    return call_ns(costs, id(name), bytes, Polling::kBusy);
  };
  EXPECT_NEAR(by("rfp", 10'008), 3000 + 3500, 0.01);
  EXPECT_NEAR(by("eager", 10'008), by("write_rndv", 10'008), 0.01);
  EXPECT_NEAR(by("ar_grpc", 10'008), by("read_rndv", 10'008), 0.01);
  EXPECT_LT(by("eager", 4096), by("write_rndv", 4096));
}

// A rendezvous takes 2000 ns longer per message than a slot. A message in a slot takes 1000 ns and
// 0.2 ns per byte, which is 8000 ns for 35,000 B. For shorter messages, a rendezvous takes more
// than 1.25 times as long (kRendezvousWorth), so a slot is worth its memory.
TEST(Prediction, TheBorderIsWhereARendezvousIsNotMuchDearer) {
  ComponentCosts costs = lines();
  const auto border = [&](const char* small, Polling polling) {
    return border_bytes(costs, id(small), id("write_rndv"), polling);
  };
  EXPECT_EQ(border("direct_write_imm", Polling::kBusy), 32768u);
  EXPECT_EQ(border("direct_write_imm", Polling::kEvent), 65536u) << "each wait costs a wake-up";
  EXPECT_EQ(border("eager", Polling::kBusy), 4096u) << "a SEND holds no more";
  costs.copy = {{8, 0}, {8 + 1000, 5000}};
  EXPECT_EQ(border("direct_write_imm", Polling::kBusy), 1024u) << "copies are dear here";
  costs.message = {{8, 1}};
  EXPECT_EQ(border("direct_write_imm", Polling::kBusy), 512u);
}

struct Case {
  const char* what;
  Hints hints;
  ComponentCosts costs;
  const char* plan;
  const char* reason;  // the end of the plan's reason
};

ComponentCosts with(void (*change)(ComponentCosts&)) {
  ComponentCosts costs = lines();
  change(costs);
  return costs;
}

// Returns costs with times of many callers' calls of 64 KiB. Those of 8 KiB take 10 µs.
ComponentCosts calls(double pushed_ns, double fetched_ns) {
  ComponentCosts costs = lines();
  costs.pushed_calls = {{8192, 10'000}, {65'536, pushed_ns}};
  costs.fetched_calls = {{8192, 10'000}, {65'536, fetched_ns}};
  return costs;
}

void expect_plan(const Case& one) {
  HostFacts host{.cores = 8, .nic_cores = 4, .rdma = true};
  host.measured = std::make_shared<const ComponentCosts>(one.costs);
  const Plan plan = make_plan(one.hints, host);
  EXPECT_EQ(describe(plan), one.plan) << one.what << ": " << plan.reason;
  EXPECT_THAT(plan.reason, HasSubstr("; measured: ")) << one.what;
  EXPECT_THAT(plan.reason, HasSubstr("a call of ")) << one.what;
  EXPECT_THAT(plan.reason, EndsWith(one.reason)) << one.what;
}

TEST(Prediction, ChangesPlansAndSaysWhy) {
  const ComponentCosts costs = lines();
  const ComponentCosts cheap_sends = with([](ComponentCosts& c) { c.message = {{8, 2000}}; });
  for (const Case& one : {
           Case{"a rendezvous between polls is two messages more",
                {.payload_bytes = 16384},
                costs,
                "≤32KiB direct_write_imm, larger write_rndv; adaptive",
                "; measured: a call of 16KiB takes 8.6 µs by direct_write_imm, 13 µs by "
                "hybrid_eager_rndv: the choice becomes ≤32KiB direct_write_imm, larger write_rndv; "
                "adaptive"},
           Case{"beyond the border memory counts",
                {.payload_bytes = 65536},
                costs,
                "hybrid_eager_rndv, adaptive",
                ": the choice stays"},
           Case{"nearly the same is no reason",
                {.payload_bytes = 64},
                costs,
                "hybrid_eager_rndv, adaptive",
                ": the choice stays"},
           Case{"who wakes up at each wait",
                {.perf_goal = PerfGoal::kResUtil},
                costs,
                "≤64KiB direct_write_imm, larger write_rndv; event",
                ": the choice becomes ≤64KiB direct_write_imm, larger write_rndv; event"},
           Case{"a hint for polling is kept, and weighed",
                {.perf_goal = PerfGoal::kResUtil, .polling = Polling::kBusy},
                costs,
                "≤32KiB direct_write_imm, larger write_rndv; busy",
                "larger write_rndv; busy"},
           Case{"SENDs of the least memory have their own bound",
                {.perf_goal = PerfGoal::kResUtil, .concurrency = Subscription::kFull},
                costs,
                "≤4KiB eager, larger write_rndv; event",
                ": the choice stays"},
           Case{"polling for what takes a millisecond",
                {.perf_goal = PerfGoal::kLatency, .payload_bytes = 1 << 20},
                costs,
                "direct_write_imm, event",
                "µs are the wake-up: the choice becomes direct_write_imm, event"},
           Case{"but not where polling was asked for",
                {.perf_goal = PerfGoal::kLatency,
                .payload_bytes = 1 << 20,
                .polling = Polling::kBusy},
                costs,
                "direct_write_imm, busy",
                ": the choice stays"},
           Case{"polling for what takes microseconds",
                {.perf_goal = PerfGoal::kLatency},
                costs,
                "direct_write_imm, busy",
                ": the choice stays"},
           Case{"SENDs that cost no more for being long",
                {.perf_goal = PerfGoal::kLatency, .payload_bytes = 4096},
                cheap_sends,
                "eager, busy",
                ": the choice becomes eager, busy"},
       }) {
    expect_plan(one);
  }
}

TEST(Prediction, ChangesPlansForManyCallers) {
  for (const Case& one : {
           Case{"many callers whose replies cost less if they are pushed",
                {.perf_goal = PerfGoal::kThroughput, .concurrency = 9u, .payload_bytes = 131'072},
                calls(20'000, 50'000),
                "direct_write_imm, event",
                "; measured: of many callers, a call of 64KiB takes 20 µs by direct_write_imm, "
                "50 µs by rfp: the choice becomes direct_write_imm, event"},
           Case{"many callers, and no clear winner",
                {.perf_goal = PerfGoal::kThroughput, .concurrency = 9u, .payload_bytes = 131'072},
                calls(46'000, 50'000),
                "≤4KiB direct_write_imm, larger rfp; event",
                ": the choice stays"},
           Case{"many callers of a size between the measured ones",
                {.perf_goal = PerfGoal::kThroughput, .concurrency = 9u, .payload_bytes = 36'864},
                calls(20'000, 50'000),
                "direct_write_imm, event",
                "a call of 36KiB takes 15 µs by direct_write_imm, 30 µs by rfp: the choice becomes "
                "direct_write_imm, event"},
       }) {
    expect_plan(one);
  }
}

TEST(Prediction, LeavesAloneWhatItDoesNotDecide) {
  HostFacts host{.cores = 8, .nic_cores = 4, .rdma = true};
  const HostFacts constants = host;
  host.measured = std::make_shared<const ComponentCosts>(lines());
  for (const Hints& hints : {Hints{.perf_goal = PerfGoal::kThroughput, .concurrency = 9u},
                             Hints{.payload_bytes = 16384, .protocol = "eager"},
                             Hints{.payload_bytes = 16384, .transport = Path::kTcp}}) {
    EXPECT_EQ(make_plan(hints, host), make_plan(hints, constants));
  }
  // Messages are small, or of an unknown size, or the polling is not that of the measured calls.
  host.measured = std::make_shared<const ComponentCosts>(calls(20'000, 50'000));
  for (const std::optional<uint64_t> bytes : {std::optional<uint64_t>(), {4096}}) {
    const Hints hints{
        .perf_goal = PerfGoal::kThroughput, .concurrency = 9u, .payload_bytes = bytes};
    EXPECT_EQ(make_plan(hints, host), make_plan(hints, constants));
  }
  const Hints busy{.perf_goal = PerfGoal::kThroughput,
                   .concurrency = 9u,
                   .payload_bytes = 131'072,
                   .polling = Polling::kBusy};
  EXPECT_EQ(make_plan(busy, host), make_plan(busy, constants));
  host.rdma = false;
  EXPECT_THAT(make_plan({}, host).reason, Not(HasSubstr("measured")));
}

}  // namespace
}  // namespace hat::engine
