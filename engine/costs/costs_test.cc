// SPDX-License-Identifier: Apache-2.0
// engine/costs/costs_test.cc: tests the interpolation of measured RDMA costs, and the measurement
// of these costs between two threads.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "engine/costs/echo_lanes.h"
#include "engine/costs/measure.h"
#include "engine/fabric/fake_fabric.h"
#include "engine/fabric/loop/loop_fabric.h"

namespace hat::engine {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

TEST(CostLines, AreStraightBetweenWhatWasMeasured) {
  const std::vector<SizedCost> costs = {{8, 100}, {108, 200}, {208, 600}};
  struct Row {
    uint32_t bytes;
    double ns;
  };
  for (const Row& row : {Row{0, 100}, Row{8, 100}, Row{58, 150}, Row{108, 200}, Row{133, 300},
                         Row{208, 600}, Row{308, 1000}}) {
    EXPECT_DOUBLE_EQ(cost_of(costs, row.bytes), row.ns) << row.bytes;
  }
  EXPECT_EQ(cost_of({}, 8), 0);
  EXPECT_EQ(cost_of(std::vector<SizedCost>{{8, 5}}, 4096), 5);
  EXPECT_EQ(cost_of(std::vector<SizedCost>{{8, 50}, {16, 10}}, 64), 0) << "never below nothing";
}

// A connected target and initiator. The initiator runs in the test's thread; a test may serve the
// target in a second thread.
struct Hosts {
  explicit Hosts(const TargetOptions& target_options,
                 const InitiatorOptions& initiator_options = {},
                 std::unique_ptr<Fabric> of_target = *open_loop_fabric())
      : target_fabric(std::move(of_target)), fabric(*open_loop_fabric()) {
    target = *Target::create(*target_fabric, target_options);
    initiator = *Initiator::create(*fabric, initiator_options);
  }
  Result<void> connect() {
    HAT_TRY(const CostCard card, target->add(initiator->card()));
    return initiator->connect(card);
  }
  std::unique_ptr<Fabric> target_fabric;
  std::unique_ptr<Fabric> fabric;
  std::unique_ptr<Target> target;
  std::unique_ptr<Initiator> initiator;
};

TEST(ComponentCosts, AreMeasuredBetweenTwoSides) {
  Hosts hosts({.memory_bytes = 64 * 1024});
  ASSERT_TRUE(hosts.connect());
  Result<void> answered;
  std::thread other([&] { answered = answer_costs(*hosts.target, 60s); });
  const auto costs = measure_costs(*hosts.initiator, {.message_bytes = {8, 4096}, .each = 1ms});
  other.join();
  ASSERT_TRUE(costs) << costs.error().message;
  ASSERT_TRUE(answered) << answered.error().message;
  EXPECT_EQ(costs->no_calls, "");
  EXPECT_EQ(costs->fabric, "loop");
  EXPECT_EQ(costs->put.back().bytes, 65536u) << "what does not fit the target is left out";
  for (const auto& sized : {costs->put, costs->get, costs->message, costs->registration,
                            costs->copy, costs->pushed_calls, costs->fetched_calls}) {
    ASSERT_FALSE(sized.empty());
    for (const SizedCost& cost : sized) EXPECT_GT(cost.ns, 0) << cost.bytes;
  }
  EXPECT_GT(costs->compare_swap_ns, 0);
  EXPECT_GT(costs->fetch_add_ns, 0);
  const auto& counts = hosts.initiator->counts();
  EXPECT_GT(std::min({counts.puts, counts.gets, counts.compare_swaps, counts.fetch_adds}), 8u);
}

TEST(ComponentCosts, WhoMeasuresIsToldThatTheOtherSideHasGone) {
  Hosts hosts({.memory_bytes = 4096}, {.patience = 100ms});
  ASSERT_TRUE(hosts.connect());
  hosts.target.reset();
  const auto costs = measure_costs(*hosts.initiator, {.each = 1ms});
  ASSERT_FALSE(costs);
  EXPECT_THAT(costs.error().message, HasSubstr("the cost of put cannot be measured: "));
}

TEST(ComponentCosts, WhoAnswersDoesNotWaitForEver) {
  Hosts silent({.memory_bytes = 4096});
  ASSERT_TRUE(silent.connect());
  const auto heard = answer_costs(*silent.target, 10ms);
  ASSERT_FALSE(heard);
  EXPECT_EQ(heard.error().message,
            "the side that measures the costs sent nothing within the time-out");
}

TEST(ComponentCosts, WhoAnswersIsToldThatTheOtherSideHasGone) {
  Hosts hosts({.memory_bytes = 4096});
  ASSERT_TRUE(hosts.connect());
  hosts.initiator.reset();
  const auto answered = answer_costs(*hosts.target, 60s);
  ASSERT_FALSE(answered);
  EXPECT_EQ(answered.error().message, "the side that measures the costs has disconnected");
  EXPECT_EQ(hosts.target->lost(), 1u);
}

TEST(ComponentCosts, WhoMeasuresStopsInTheMiddleOfACall) {
  std::stop_source stop;
  Hosts hosts({.memory_bytes = 4096}, {.patience = 60s, .stop = stop.get_token()});
  ASSERT_TRUE(hosts.connect());
  std::thread stopper([&] { stop.request_stop(); });
  EXPECT_FALSE(hosts.initiator->call(8)) << "nobody answers";
  stopper.join();
}

TEST(ComponentCosts, HaveNoTimesOfCallsIfTheOtherSideMakesNoLanes) {
  Hosts hosts({.memory_bytes = 4096});
  ASSERT_TRUE(hosts.connect());
  std::atomic<bool> done = false;
  std::thread older([&] {  // sends each message back, as a version before EchoLanes
    while (!done) {
      hosts.target->poll([](std::span<const std::byte> request, std::span<std::byte> reply) {
        std::ranges::copy(request, reply.begin());
        return request.size();
      });
      hosts.target->take_events();
    }
  });
  const auto costs = measure_costs(*hosts.initiator, {.message_bytes = {8}, .each = 1ms});
  done = true;
  older.join();
  ASSERT_TRUE(costs) << costs.error().message;
  EXPECT_FALSE(costs->put.empty());
  EXPECT_TRUE(costs->pushed_calls.empty() && costs->fetched_calls.empty());
  EXPECT_EQ(costs->no_calls, "the other side's version does not answer calls for a measurement");
}

TEST(ComponentCosts, AreKeptIfTheOtherSideCannotMakeLanes) {
  class OneDomain final : public ForwardingFabric {
    Result<std::unique_ptr<Fabric>> open_domain() override {
      return fail(ErrorCode::kExhausted, "no more\tdomains\x1b");
    }
  };
  Hosts hosts({.memory_bytes = 4096}, {}, std::make_unique<OneDomain>());
  ASSERT_TRUE(hosts.connect());
  std::thread other([&] { EXPECT_TRUE(answer_costs(*hosts.target, 60s)); });
  const auto costs = measure_costs(*hosts.initiator, {.message_bytes = {8}, .each = 1ms});
  other.join();
  ASSERT_TRUE(costs) << costs.error().message;
  EXPECT_FALSE(costs->put.empty());
  EXPECT_TRUE(costs->pushed_calls.empty() && costs->fetched_calls.empty());
  EXPECT_EQ(costs->no_calls, "the other side: no more\tdomains?");
}

// The calls take 48 · 45 ms together, and a gap between two messages much less than the patience.
TEST(ComponentCosts, CallsMayTakeLongerThanTheOtherSideWaitsForAMessage) {
  Hosts hosts({.memory_bytes = 4096});
  ASSERT_TRUE(hosts.connect());
  Result<void> answered;
  std::thread other([&] { answered = answer_costs(*hosts.target, 2s); });
  const auto costs = measure_costs(*hosts.initiator, {.transfer_bytes = {8},
                                                      .message_bytes = {8},
                                                      .registration_bytes = {},
                                                      .copy_bytes = {64},
                                                      .call_bytes = {1, 2, 3, 4, 5, 6, 7, 8},
                                                      .each = 20ms});
  other.join();
  ASSERT_TRUE(costs) << costs.error().message;
  EXPECT_TRUE(answered) << answered.error().message;
  EXPECT_EQ(costs->no_calls, "");
}

// Two connected sides, of which a test may run the answering one in a second thread.
struct Lanes {
  Lanes() {
    calls = *EchoLanes::create(*fabrics[0], EchoLanes::Side::kCalls);
    answers = *EchoLanes::create(*fabrics[1], EchoLanes::Side::kAnswers);
  }
  void connect() {
    ASSERT_TRUE(answers->connect(calls->offers()));
    ASSERT_TRUE(calls->connect(answers->offers()));
  }
  std::array<std::unique_ptr<Fabric>, 2> fabrics = {*open_loop_fabric(), *open_loop_fabric()};
  std::unique_ptr<EchoLanes> calls;
  std::unique_ptr<EchoLanes> answers;
};

TEST(EchoLanes, FailIfNobodyAnswers) {
  Lanes lanes;
  lanes.connect();
  const auto took =
      lanes.calls->call(EchoLanes::Replies::kPushed, {.bytes = 64, .time = 1ms, .patience = 20ms});
  ASSERT_FALSE(took);
  EXPECT_EQ(took.error().message, "the other side answers too slowly, or not at all");
}

TEST(EchoLanes, StopOnRequest) {
  std::stop_source stop;
  stop.request_stop();
  Lanes lanes;
  lanes.connect();
  const auto took =
      lanes.calls->call(EchoLanes::Replies::kFetched,
                        {.bytes = 64, .time = 1ms, .patience = 60s, .stop = stop.get_token()});
  ASSERT_FALSE(took);
  EXPECT_EQ(took.error().code, ErrorCode::kStopped);
}

TEST(EchoLanes, NoticeThatTheOtherSideHasGone) {
  Lanes lanes;
  lanes.connect();
  lanes.answers.reset();
  const auto took =
      lanes.calls->call(EchoLanes::Replies::kPushed, {.bytes = 64, .time = 1ms, .patience = 60s});
  ASSERT_FALSE(took);
  EXPECT_THAT(took.error().message, HasSubstr("a lane with calls has ended: "));
}

TEST(EchoLanes, AnswerAgainAndAgainWithRepliesOfBothKinds) {
  Lanes lanes;
  lanes.connect();
  std::atomic<bool> done = false;
  std::thread other([&] {
    while (!done) EXPECT_TRUE(lanes.answers->step(5ms));
  });
  for (const uint32_t bytes : {1u, 8192u, EchoLanes::kBytesMax}) {
    for (const auto replies : {EchoLanes::Replies::kPushed, EchoLanes::Replies::kFetched}) {
      const uint64_t before = lanes.calls->arrived_by(Leg::kWriteImm);
      const auto took = lanes.calls->call(replies, {.bytes = bytes, .time = 2ms, .patience = 60s});
      ASSERT_TRUE(took) << took.error().message;
      EXPECT_GT(*took, 0);
      // rfp pushes replies too, if READs find none for long, but never by this leg.
      const bool pushed = replies == EchoLanes::Replies::kPushed;
      EXPECT_EQ(lanes.calls->arrived_by(Leg::kWriteImm) != before, pushed);
    }
  }
  done = true;
  other.join();
}

TEST(Target, DoesEachOperationOnItsMemory) {
  Hosts hosts({.memory_bytes = 4096});
  ASSERT_TRUE(hosts.connect());
  Initiator& initiator = *hosts.initiator;
  std::atomic<bool> done = false;
  std::thread other([&] {  // answers each call with the bytes of its request in reverse order
    while (!done) {
      hosts.target->poll([](std::span<const std::byte> request, std::span<std::byte> reply) {
        std::reverse_copy(request.begin(), request.end(), reply.begin());
        return request.size();
      });
      std::this_thread::yield();
    }
  });
  const auto say = [](std::span<std::byte> to, const std::string& words) {
    std::memcpy(to.data(), words.data(), words.size());
  };
  const auto heard = [](std::span<const std::byte> from, size_t bytes) {
    return std::string(reinterpret_cast<const char*>(from.data()), bytes);
  };
  say(initiator.local(), "component");
  EXPECT_TRUE(initiator.put(100, 9));
  say(initiator.local(), "---------");
  EXPECT_TRUE(initiator.get(103, 4));
  EXPECT_EQ(heard(initiator.local(), 9), "pone-----");
  EXPECT_EQ(initiator.fetch_add(8, 5), 0u);
  EXPECT_EQ(initiator.compare_swap(8, 5, 7), 5u);
  EXPECT_EQ(initiator.compare_swap(8, 5, 9), 7u) << "not swapped";
  EXPECT_EQ(initiator.fetch_add(8, 0), 7u);
  for (int i = 0; i < 20; ++i) {
    say(initiator.request(), "abc");
    const auto reply = initiator.call(3);
    ASSERT_TRUE(reply);
    EXPECT_EQ(heard(*reply, reply->size()), "cba");
  }
  done = true;
  other.join();
}

TEST(Target, SaysWhomItDoesNotTake) {
  Hosts hosts({.memory_bytes = 4096, .message_bytes_max = 64});
  const auto refused = hosts.target->add(hosts.initiator->card());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message,
            "an initiator sends calls of up to 65536 B, but the target takes at most 64");
  Hosts full({.memory_bytes = 4096});
  ASSERT_TRUE(full.connect());
  const auto second = *Initiator::create(*full.fabric, {});
  const auto one_more = full.target->add(second->card());
  ASSERT_FALSE(one_more);
  EXPECT_EQ(one_more.error().message,
            "the target takes at most 1 initiators, and another one connected");
}

TEST(Target, GivesTheReplyBufferOfALostPeerToTheNextOneAlone) {
  Hosts first({.memory_bytes = 4096, .peers_max = 2});
  Target& target = *first.target;
  ASSERT_TRUE(first.connect());
  const auto join = [&](Initiator& initiator) {
    const auto card = target.add(initiator.card());
    ASSERT_TRUE(card) << card.error().message;
    ASSERT_TRUE(initiator.connect(*card));
  };
  const auto reply_buffer_of = [&](Initiator& initiator) {
    const std::byte* buffer = nullptr;
    std::thread caller([&] { EXPECT_TRUE(initiator.call(8)); });
    const auto answer = [&](std::span<const std::byte>, std::span<std::byte> reply) {
      buffer = reply.data();
      return size_t{8};
    };
    while (target.poll(answer) == 0) std::this_thread::yield();
    caller.join();
    return buffer;
  };
  const auto fabric = *open_loop_fabric();
  const auto second = *Initiator::create(*fabric, {});
  join(*second);
  first.initiator.reset();
  while (target.lost() == 0) target.take_events();
  const auto third = *Initiator::create(*fabric, {});
  join(*third);
  EXPECT_NE(reply_buffer_of(*second), reply_buffer_of(*third));
}

TEST(Initiator, FailsBeyondTheTargetsMemory) {
  Hosts hosts({.memory_bytes = 4096});
  ASSERT_TRUE(hosts.connect());
  hosts.target->take_events();
  const auto beyond = hosts.initiator->put(4090, 8);
  ASSERT_FALSE(beyond);
  EXPECT_EQ(beyond.error(), Status::kRemoteAccess);
}

}  // namespace
}  // namespace hat::engine
