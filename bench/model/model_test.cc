// SPDX-License-Identifier: Apache-2.0
// bench/model/model_test.cc: compares modelled times with times that are computed by hand.
#include <gtest/gtest.h>

#include <functional>
#include <utility>

#include "bench/model/model_fabric.h"

namespace hat::model {
namespace {

using namespace std::chrono_literals;
using engine::Completion;
using engine::Opcode;
using engine::Segment;

// A thread whose step is a function.
class Worker final : public Thread {
 public:
  Worker(Machine& machine, std::function<Then(Worker&)> what)
      : Thread(machine), what_(std::move(what)) {}

 private:
  Then step() override { return what_(*this); }
  std::function<Then(Worker&)> what_;
};

// A step of a thread that always computes.
Then computes(Worker& self) {
  self.charge(10us);
  return Then::kMore;
}

// Round numbers, each other than the others, so that a sum shows its parts.
constexpr Hardware kHardware{.name = "test",
                             .cores = 1,
                             .interrupt = 2us,
                             .wake_up = 3us,
                             .switch_thread = 1us,
                             .slice = 100us,
                             .copied_per_ns = 1,
                             .doorbell = 70ns,
                             .request = 30ns,
                             .empty_poll = 5ns,
                             .completion = 7ns,
                             .pcie_write = 200ns,
                             .pcie_read = 500ns,
                             .pcie_per_ns = 10,
                             .message = 11ns,
                             .wire = 400ns,
                             .wire_per_ns = 10,
                             .packet_bytes = 4096,
                             .packet_head_bytes = 0};

TEST(Schedule, RunsEventsInTheOrderOfTheirTimesAndThenOfTheirNumbers) {
  Schedule schedule;
  std::string order;
  schedule.at(20ns, [&] { order += "c"; });
  schedule.at(10ns, [&] {
    order += "a";
    schedule.at(20ns, [&] { order += "d"; });
    schedule.at(5ns, [&] { order += "b"; });  // a time in the past means now
  });
  schedule.at(30ns, [&] { order += "e"; });
  schedule.run_until(25ns);
  EXPECT_EQ(order, "abcd");
  EXPECT_EQ(schedule.now(), 25ns);
}

TEST(Machine, ThreadsOfOneCoreTakeTurnsOfASlice) {
  Schedule schedule;
  Machine machine(schedule, kHardware, 1);
  Worker one(machine, computes);
  Worker other(machine, computes);
  machine.start(one);
  machine.start(other);
  schedule.run_until(10ms);
  // Each turn is a switch of 1 µs and 10 steps of 10 µs.
  EXPECT_NEAR(double(one.busy().count()), 10e6 / 2, 0.11e6);
  EXPECT_NEAR(double(other.busy().count()), 10e6 / 2, 0.11e6);
}

TEST(Machine, ThreadsThatSpinGiveTheirCoresAtTheEndOfTheirSlices) {
  Schedule schedule;
  Machine machine(schedule, kHardware, 2);
  const auto spins = [](Worker&) { return Then::kSpin; };
  std::vector<Time> steps;
  const auto sleeps = [&](Worker& self) {
    steps.push_back(self.now());
    return Then::kSleep;
  };
  Worker sleepers[] = {{machine, sleeps}, {machine, sleeps}};
  Worker spinners[] = {{machine, spins}, {machine, spins}};
  for (Worker& one : sleepers) machine.start(one);
  schedule.at(5us, [&] {
    for (Worker& one : spinners) machine.start(one);
  });
  schedule.at(10us, [&] {
    for (Worker& one : sleepers) one.poke(true);
  });
  schedule.run_until(1ms);
  const Time later = 5us + 1us + 100us + 1us;
  EXPECT_EQ(steps, (std::vector<Time>{1us, 1us, later, later}));
  // The spinners have both cores again, less two switches and no time of the sleepers' steps.
  for (Worker& one : spinners) EXPECT_EQ(one.busy(), 1ms - 5us - 1us);
}

TEST(Machine, AThreadGetsANewSliceIfTheOldOneEndsDuringItsStep) {
  Schedule schedule;
  Machine machine(schedule, kHardware, 2);
  const auto computes_once = [](Time cost, Then then) {
    return [cost, then](Worker& self) mutable {
      self.charge(std::exchange(cost, Time(0)));
      return then;
    };
  };
  Worker one(machine, computes_once(150us, Then::kSpin));
  Worker other(machine, computes_once(120us, Then::kSleep));
  Worker third(machine, computes_once(400us, Then::kSleep));  // takes the core of `other`
  std::vector<Time> steps;
  Worker last(machine, [&](Worker& self) {
    steps.push_back(self.now());
    return Then::kSleep;
  });
  Worker fourth(machine, computes_once(0us, Then::kSleep));  // in the queue of the same core
  for (Worker* worker : {&one, &other, &third}) machine.start(*worker);
  schedule.at(200us, [&] {
    machine.start(fourth);
    machine.start(last);
  });
  schedule.run_until(1ms);
  // The slice of `one` ends after 101 µs, while `third` waits. Its new slice begins with the end of
  // its step, and it gives its core to `last` when this slice ends.
  EXPECT_EQ(steps, (std::vector<Time>{1us + 150us + 100us + 1us}));
}

TEST(Machine, AThreadThatWakesGetsAnIdleCoreOrThatOfTheThreadThatWakesIt) {
  for (const bool has_idle_core : {false, true}) {
    Schedule schedule;
    Machine machine(schedule, kHardware, has_idle_core ? 3 : 2);
    Worker yields(machine, [](Worker&) { return Then::kYield; });
    Worker computing(machine, computes);
    std::vector<Time> steps;
    Worker sleeps(machine, [&](Worker& self) {
      steps.push_back(self.now());
      return Then::kSleep;
    });
    for (Worker* worker : {&yields, &computing, &sleeps}) machine.start(*worker);
    schedule.at(50us, [&] { sleeps.wake(&computing); });
    schedule.run_until(1ms);
    // Without an idle core it waits for the end of the slice of `computing`, although the other
    // core has a thread that yields. Both have the cores since 1 µs.
    const Time then = has_idle_core ? 50us + 3us + 1us : 1us + 100us + 1us;
    ASSERT_EQ(steps.size(), 2u);
    EXPECT_EQ(steps[1], then);
  }
}

TEST(Machine, LongQueuesGiveThreadsToShortOnes) {
  Schedule schedule;
  Machine machine(schedule, kHardware, 2);
  Worker one(machine, computes);
  Worker other(machine, computes);
  bool sleep = true;
  const auto sleeps_first = [&](Worker& self) {
    self.charge(10us);
    return sleep ? Then::kSleep : Then::kMore;
  };
  Worker woken[] = {{machine, sleeps_first},
                    {machine, sleeps_first},
                    {machine, sleeps_first},
                    {machine, sleeps_first}};
  for (Worker& worker : woken) machine.start(worker);
  schedule.at(1ms, [&] {
    machine.start(one);
    machine.start(other);
  });
  schedule.at(2ms, [&] {
    sleep = false;
    for (Worker& worker : woken) worker.wake(&one);
  });
  schedule.run_until(102ms);
  for (const Worker& worker : woken) EXPECT_NEAR(double(worker.busy().count()), 100e6 / 3, 6e6);
}

TEST(Machine, AThreadThatSleepsContinuesAfterItsWakeUp) {
  Schedule schedule;
  Machine machine(schedule, kHardware, 1);
  std::vector<Time> steps;
  Worker sleeps(machine, [&](Worker& self) {
    steps.push_back(self.now());
    return Then::kSleep;
  });
  machine.start(sleeps);
  schedule.at(50us, [&] { sleeps.poke(false); });  // it waits for another event
  schedule.at(60us, [&] { sleeps.poke(true); });
  schedule.run_until(1ms);
  EXPECT_EQ(steps, (std::vector<Time>{1us, 60us + 2us + 3us + 1us}));
}

TEST(Machine, WhatArrivesDuringAStepIsFoundAfterIt) {
  Schedule schedule;
  Machine machine(schedule, kHardware, 1);
  std::vector<Time> steps;
  Worker worker(machine, [&](Worker& self) {
    steps.push_back(self.now());
    self.charge(10us);
    return Then::kSleep;
  });
  machine.start(worker);
  schedule.at(5us, [&] { worker.poke(true); });
  schedule.at(15us, [&] { worker.poke(false); });  // it does not wait for this
  schedule.run_until(1ms);
  EXPECT_EQ(steps, (std::vector<Time>{1us, 11us}));
}

// Two hosts with a queue pair each. The first one posts `work`, and both spin until they have
// completions.
class Fabrics : public testing::Test {
 protected:
  explicit Fabrics(const Hardware& of = kHardware) : hardware(of) {}

  struct Side {
    explicit Side(Fabrics& of)
        : machine(of.schedule, of.hardware, 1),
          thread(machine, [this](Worker&) { return step(); }),
          fabric(thread, card, of.pairs, false),
          memory(*SharedMemory::create("hatrpc-model", 1 << 20)),
          region(*fabric.register_memory(memory, {.write = true, .read = true})),
          queue(*fabric.create_completion_queue(64)),
          receives(*fabric.create_receive_queue(64)),
          pair(create_pair()) {}

    std::unique_ptr<engine::QueuePair> create_pair() {
      return *fabric.create_queue_pair({.send_cq = *queue,
                                        .recv_cq = *queue,
                                        .srq = *receives,
                                        .inline_bytes_max = 64,
                                        .access = {.write = true, .read = true}});
    }
    Then step() {
      if (post) std::exchange(post, nullptr)();
      std::array<Completion, 8> done;
      const size_t count = queue->poll(done);
      for (size_t i = 0; i < count; ++i) completed.emplace_back(thread.now(), done[i]);
      return count == 0 ? Then::kSpin : Then::kMore;
    }
    Segment at(size_t offset, uint32_t bytes) {
      return {memory.bytes().data() + offset, bytes, region->lkey()};
    }

    Machine machine;
    Card card;
    Worker thread;
    ModelFabric fabric;
    SharedMemory memory;
    std::unique_ptr<engine::MemoryRegion> region;
    std::unique_ptr<engine::CompletionQueue> queue;
    std::unique_ptr<engine::ReceiveQueue> receives;
    std::unique_ptr<engine::QueuePair> pair;
    std::function<void()> post;
    std::vector<std::pair<Time, Completion>> completed;
  };

  void connect(engine::QueuePair& here, engine::QueuePair& there) {
    ASSERT_TRUE(here.connect(there.address()));
    ASSERT_TRUE(there.connect(here.address()));
    while (one.fabric.next_event()) continue;  // takes the other side's connection
    while (other.fabric.next_event()) continue;
  }
  void SetUp() override {
    connect(*one.pair, *other.pair);
    const Segment segment = other.at(0, 65536);
    for (uint64_t id = 100; id < 110; ++id) {
      ASSERT_EQ(other.receives->post({{{.id = id, .segments = {&segment, 1}}}}), 1u);
    }
  }
  void run(std::function<void()> post) {
    one.post = std::move(post);
    one.machine.start(one.thread);
    other.machine.start(other.thread);
    schedule.run_until(100us);
  }
  void post(engine::WorkRequest work, const Segment& segment) {
    work.segments = {&segment, 1};
    ASSERT_EQ(one.pair->post({&work, 1}), 1u);
  }

  const Hardware& hardware;
  Schedule schedule;
  QueuePairs pairs;
  Side one{*this};
  Side other{*this};
};

// When the first thread has posted one request: a switch, the request, the doorbell.
constexpr Time kPosted = 1us + 30ns + 70ns;
constexpr Time kFound = 5ns;  // a poll; the completion's own 7 ns are charged with it

TEST_F(Fabrics, AnInlinedSendTakesItsPartsOfTime) {
  run([&] { post({.id = 1, .opcode = Opcode::kSend, .inlined = true}, one.at(0, 40)); });
  ASSERT_EQ(other.completed.size(), 1u);
  ASSERT_EQ(one.completed.size(), 1u);
  // 40 bytes are copied into the request; the card's work is longer than 4 ns on the wire.
  const Time has = kPosted + 40ns + 200ns + 11ns + 400ns;
  EXPECT_EQ(other.completed[0].first, has + 4ns + 200ns + kFound + 7ns);
  EXPECT_EQ(one.completed[0].first, has + 400ns + 200ns + kFound + 7ns);
}

TEST_F(Fabrics, ASendThatIsNotInlinedIsFirstReadByTheCard) {
  run([&] { post({.id = 1, .opcode = Opcode::kSend}, one.at(0, 1000)); });
  ASSERT_EQ(other.completed.size(), 1u);
  // 1,000 bytes take 100 ns on PCIe, 100 ns on the wire, and again 100 ns on PCIe.
  const Time has = kPosted + 200ns + 500ns + 100ns + 100ns + 400ns;
  EXPECT_EQ(other.completed[0].first, has + 100ns + 200ns + kFound + 7ns);
}

TEST_F(Fabrics, ACardSendsForOneQueuePairWhileItReadsForAnother) {
  const auto sends = one.create_pair();
  const auto receives = other.create_pair();
  connect(*sends, *receives);
  run([&] {
    post({.id = 1, .opcode = Opcode::kSend}, one.at(0, 50'000));
    const Segment small = one.at(0, 40);
    ASSERT_EQ(sends->post(
                  {{{.id = 2, .opcode = Opcode::kSend, .inlined = true, .segments = {&small, 1}}}}),
              1u);
  });
  ASSERT_EQ(other.completed.size(), 2u);
  EXPECT_EQ(other.completed[0].second.queue_pair, receives->number());
  const Time posted = kPosted + 30ns + 40ns + 70ns;
  const Time has = posted + 200ns + 11ns + 400ns;
  EXPECT_EQ(other.completed[0].first, has + 4ns + 200ns + kFound + 7ns);
}

TEST_F(Fabrics, AReadGoesThereAndBack) {
  other.memory.bytes()[1000] = std::byte{9};
  run([&] {
    post({.id = 1,
          .opcode = Opcode::kRead,
          .remote_address = other.region->address() + 1000,
          .rkey = other.region->rkey()},
         one.at(0, 2000));
  });
  ASSERT_EQ(one.completed.size(), 1u);
  EXPECT_EQ(one.memory.bytes()[0], std::byte{9});
  const Time asked = kPosted + 200ns + 11ns + 400ns;
  const Time read = asked + 500ns + 200ns;  // the peer's card reads 2,000 bytes,
  const Time has = read + 200ns + 400ns;    // and sends them; then they are written
  EXPECT_EQ(one.completed[0].first, has + 200ns + 200ns + kFound + 7ns);
}

TEST_F(Fabrics, ManyLargeWritesFillTheWire) {
  run([&] {
    for (uint64_t id = 1; id <= 16; ++id) {
      post({.id = id,
            .opcode = Opcode::kWrite,
            .remote_address = other.region->address() + 65536,
            .rkey = other.region->rkey()},
           one.at(0, 50'000));
    }
  });
  ASSERT_EQ(one.completed.size(), 16u);
  for (size_t i = 0; i < 16; ++i) EXPECT_EQ(one.completed[i].second.id, i + 1);
  EXPECT_EQ(one.completed[15].first - one.completed[0].first, 15 * 5us);  // 50,000 bytes: 5 µs each
  // The card begins to send the first one when it has the first 4,096 bytes.
  const Time has = kPosted + 200ns + 500ns + 409ns + 5us + 400ns;
  EXPECT_EQ(one.completed[0].first, has + 409ns + 200ns + kFound + 7ns);  // after it has arrived
}

TEST_F(Fabrics, AWriteThatFollowsAReadTakesEffectAfterIt) {
  other.memory.bytes()[0] = std::byte{5};
  one.memory.bytes()[64] = std::byte{9};
  run([&] {
    post({.id = 1,
          .opcode = Opcode::kRead,
          .remote_address = other.region->address(),
          .rkey = other.region->rkey()},
         one.at(0, 8));
    post({.id = 2,
          .opcode = Opcode::kWrite,
          .inlined = true,
          .remote_address = other.region->address(),
          .rkey = other.region->rkey()},
         one.at(64, 8));
  });
  ASSERT_EQ(one.completed.size(), 2u);
  EXPECT_EQ(one.completed[0].second.id, 1u);
  EXPECT_EQ(one.completed[1].second.id, 2u);
  EXPECT_EQ(one.memory.bytes()[0], std::byte{5});
  EXPECT_EQ(other.memory.bytes()[0], std::byte{9});
}

struct Published {
  uint32_t bytes;
  double micros;
};

class PublishedLatency : public Fabrics, public testing::WithParamInterface<Published> {
 protected:
  PublishedLatency() : Fabrics(*find_hardware("broadwell-connectx4")) {}
};

// ib_send_lat reports half of the time of a round trip, and inlines messages of less than 188 B.
TEST_P(PublishedLatency, OfASend) {
  const auto [bytes, micros] = GetParam();
  run([&] { post({.id = 1, .opcode = Opcode::kSend, .inlined = bytes < 188}, one.at(0, bytes)); });
  ASSERT_EQ(other.completed.size(), 1u);
  ASSERT_EQ(one.completed.size(), 1u);
  EXPECT_EQ(one.completed[0].second.id, 1u);
  EXPECT_EQ(one.completed[0].second.queue_pair, one.pair->number());
  EXPECT_GT(one.completed[0].first, other.completed[0].first - 2 * kFound);
  const Time took = other.completed[0].first - hardware.switch_thread;
  EXPECT_NEAR(double(took.count()) / 1000, micros, 0.02 * micros);
}

// The table of ib_send_lat in D. Potter's master's thesis: RC with an MTU of 4096 bytes.
INSTANTIATE_TEST_SUITE_P(Potter, PublishedLatency,
                         testing::Values(Published{32, 0.83}, Published{1024, 1.61},
                                         Published{4096, 2.28}, Published{32768, 4.57}));

}  // namespace
}  // namespace hat::model
