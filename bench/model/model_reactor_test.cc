// SPDX-License-Identifier: Apache-2.0
// bench/model/model_reactor_test.cc: threads that yield, connections, and the reactor, with times
// that are computed by hand.
#include "bench/model/model_reactor.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace hat::model {
namespace {

using namespace std::chrono_literals;
using Side = Connection::Side;

// Round numbers, each other than the others, so that a sum shows its parts.
constexpr Hardware kOneCore{.name = "test",
                            .cores = 1,
                            .interrupt = 2us,
                            .wake_up = 30us,
                            .switch_thread = 1us,
                            .slice = 100us,
                            .system_call = 10ns,
                            .socket_message = 200ns,
                            .tcp_message = 300ns,
                            .ring_message = 40ns,
                            .wake_call = 5us,
                            .wake_idle_call = 7us,
                            .poll_sockets = 10ns,
                            .socket_event = 20ns,
                            .iteration = 500ns,
                            .relay = 60ns,
                            .sleep_call = 3us,
                            .copied_per_ns = 1,
                            .empty_poll = 5ns,
                            .pcie_write = 200ns,
                            .pcie_read = 500ns,
                            .pcie_per_ns = 10,
                            .message = 11ns,
                            .wire = 400ns,
                            .wire_per_ns = 10,
                            .packet_bytes = 4096,
                            .packet_head_bytes = 0};
constexpr Hardware with_cores(uint32_t cores) {
  Hardware hardware = kOneCore;
  hardware.cores = cores;
  return hardware;
}
constexpr Hardware kTwoCores = with_cores(2);
constexpr Hardware kFourCores = with_cores(4);

// A thread whose step is a function.
class Actor final : public Thread {
 public:
  Actor(Machine& machine, std::function<Then(Actor&)> what)
      : Thread(machine), what_(std::move(what)) {}

 private:
  Then step() override { return what_(*this); }
  std::function<Then(Actor&)> what_;
};

// --- Yielding ---

TEST(Yielding, GivesTheCoreToAThreadAsSoonAsItIsReady) {
  for (const Then then : {Then::kYield, Then::kSpin}) {
    Schedule schedule;
    Machine machine(schedule, kOneCore, 1);
    Actor polls(machine, [&](Actor&) { return then; });
    Time ran{};
    Actor works(machine, [&](Actor& self) {
      ran = self.now();
      return Then::kSleep;
    });
    machine.start(polls);
    schedule.at(10us, [&] { machine.start(works); });
    schedule.run_until(1ms);
    // A thread that spins keeps the core until the end of its slice, which began at 1 µs.
    EXPECT_EQ(ran, then == Then::kYield ? 11us : 102us);
  }
}

TEST(Yielding, TellsHowLongTheThreadHadNoCore) {
  Schedule schedule;
  Machine machine(schedule, kOneCore, 1);
  std::vector<Time> waits;
  Actor polls(machine, [&](Actor& self) {
    waits.push_back(self.take_wait());
    return Then::kYield;
  });
  Actor works(machine, [&](Actor& self) {
    self.charge(20us);
    return Then::kSleep;
  });
  machine.start(polls);
  schedule.at(10us, [&] { machine.start(works); });
  schedule.run_until(1ms);
  EXPECT_EQ(waits, (std::vector<Time>{0us, 21us})) << "a switch to the other thread, and its work";
  EXPECT_EQ(works.busy(), 21us);
  EXPECT_EQ(polls.busy(), 1ms - 21us) << "it polls whenever it has the core";
}

TEST(PollingWait, PollsAnIdleCoreForItsTime) {
  Schedule schedule;
  Machine machine(schedule, kOneCore, 1);
  std::optional<PollingWait> polling;
  Time slept{};
  Actor waits(machine, [&](Actor& self) {
    polling->begin_step(0);
    if (polling->again()) return Then::kYield;
    slept = self.now();
    return Then::kSleep;
  });
  polling.emplace(waits).start(50us);
  machine.start(waits);
  schedule.run_until(1ms);
  EXPECT_EQ(slept, 51us) << "it got its core after 1 µs";
  EXPECT_EQ(waits.busy(), 51us);
}

TEST(PollingWait, CountsTheYieldsOfACoreThatOthersUse) {
  Schedule schedule;
  Machine machine(schedule, kOneCore, 1);
  std::optional<PollingWait> polling;
  uint32_t polls = 0;
  bool slept = false;
  Actor waits(machine, [&](Actor&) {
    polling->begin_step(0);
    if (!polling->again()) {
      slept = true;
      return Then::kSleep;
    }
    ++polls;
    return Then::kYield;
  });
  polling.emplace(waits).start(50us);
  Actor works(machine, [&](Actor& self) {
    self.charge(8us);
    return Then::kYield;  // after each piece of work
  });
  machine.start(waits);
  machine.start(works);
  schedule.run_until(100ms);
  EXPECT_TRUE(slept);
  EXPECT_EQ(polls, PollingWait::Policy::kSharedYieldsMax);
}

// A wait for the core that was no yield is not taken for one.
TEST(PollingWait, DoesNotCountTheWaitAfterASleep) {
  Schedule schedule;
  Machine machine(schedule, kOneCore, 1);
  std::optional<PollingWait> polling;
  Time slept{};
  Actor waits(machine, [&](Actor& self) {
    polling->begin_step(0);
    if (polling->again()) return Then::kYield;
    slept = self.now();
    return Then::kSleep;
  });
  polling.emplace(waits).start(50us);
  Actor works(machine, [&](Actor& self) {
    self.charge(20us);
    return Then::kSleep;
  });
  machine.start(works);
  machine.start(waits);  // waits for the core
  schedule.run_until(1ms);
  EXPECT_EQ(slept, 1us + 20us + 1us + 50us);
}

// A message ends a wait before its time. The end of that time must not disturb the next wait.
TEST(PollingWait, ForgetsTheEndOfAnEarlierWait) {
  Schedule schedule;
  Machine machine(schedule, kOneCore, 1);
  std::optional<PollingWait> polling;
  std::vector<Time> steps;
  Actor waits(machine, [&](Actor& self) {
    polling->begin_step(1);
    if (steps.size() == 1) polling->start(100us);  // a message has arrived
    steps.push_back(self.now());
    return polling->again() ? Then::kYield : Then::kSleep;
  });
  polling.emplace(waits).start(50us);
  machine.start(waits);
  schedule.at(30us, [&] { waits.poke(false); });
  schedule.run_until(1ms);
  EXPECT_EQ(steps, (std::vector<Time>{1us, 30us, 130us}));
}

// --- Connections ---

// A connection between two hosts, or within one, whose ends record when news arrived.
struct Pair {
  Pair(Wire wire, const Hardware& hardware)
      : here(schedule, hardware, hardware.cores),
        there(schedule, hardware, hardware.cores),
        connection(std::make_shared<Connection>(wire, cards[0], cards[1])),
        writer(here, [this](Actor& self) { return write(self); }),
        reader(wire == Wire::kTcp ? there : here, [this](Actor& self) { return read(self); }) {
    connection->use(Side::kClient, writer, nullptr);
    connection->use(Side::kServer, reader, [this] { arrived = schedule.now(); });
  }
  Then write(Actor& self) {
    if (std::exchange(has_written, true)) return Then::kSleep;
    const iovec all{const_cast<char*>(text.data()), text.size()};
    const Time from = self.now();
    written = connection->write(Side::kClient, {&all, 1});
    writing = self.now() - from;
    return Then::kSleep;
  }
  Then read(Actor& self) {
    if (!connection->readable(Side::kServer)) return Then::kSleep;
    const Time from = self.now();
    read_at = from;
    std::vector<std::byte> into(1 << 20);
    got = connection->read(Side::kServer, into);
    reading = self.now() - from;
    return Then::kSleep;
  }

  Schedule schedule;
  std::array<Card, 2> cards;
  Machine here;
  Machine there;
  std::shared_ptr<Connection> connection;
  Actor writer;
  Actor reader;
  std::string text = std::string(100, 'x');
  bool has_written = false;
  size_t written = 0;
  size_t got = 0;
  Time arrived{}, writing{}, reading{}, read_at{};
};

TEST(Connection, OfASocketCostsSystemCallsAndAWakeUp) {
  Pair pair(Wire::kSocket, kTwoCores);
  pair.here.start(pair.reader);  // it goes to sleep at 1 µs
  pair.schedule.at(10us, [&] { pair.here.start(pair.writer); });
  pair.schedule.run_until(1ms);
  EXPECT_EQ(pair.arrived, 10us + 1us + 310ns) << "when the call has copied the bytes";
  EXPECT_EQ(pair.writing, 310ns + 7us) << "and has woken a thread that gets an idle core";
  EXPECT_EQ(pair.read_at, pair.arrived + 30us + 1us);
  EXPECT_EQ(pair.reading, 310ns);
  EXPECT_EQ(pair.got, 100u);
}

TEST(Connection, WakesAThreadSoonerIfNoCoreIsIdle) {
  Pair pair(Wire::kSocket, kOneCore);
  pair.here.start(pair.reader);
  pair.schedule.at(10us, [&] { pair.here.start(pair.writer); });
  pair.schedule.run_until(1ms);
  EXPECT_EQ(pair.writing, 310ns + 5us);
  EXPECT_EQ(pair.read_at, 10us + 1us + 310ns + 5us + 1us) << "when the writer sleeps";
}

TEST(Connection, OfARingCostsNoWakeUpIfTheReaderIsAwake) {
  Pair pair(Wire::kRing, kTwoCores);
  Actor polls(pair.here, [&](Actor& self) { return pair.read(self), Then::kSpin; });
  pair.connection->use(Side::kServer, polls, [&] { pair.arrived = pair.schedule.now(); });
  pair.here.start(polls);
  pair.schedule.at(10us, [&] { pair.here.start(pair.writer); });
  pair.schedule.run_until(1ms);
  EXPECT_EQ(pair.writing, 140ns);
  EXPECT_EQ(pair.arrived, 10us + 1us + 140ns);
  EXPECT_EQ(pair.read_at, pair.arrived);
  EXPECT_EQ(pair.reading, 140ns);
}

TEST(Connection, OfTcpUsesTheCards) {
  Pair pair(Wire::kTcp, kOneCore);
  pair.there.start(pair.reader);
  pair.schedule.at(10us, [&] { pair.here.start(pair.writer); });
  pair.schedule.run_until(1ms);
  EXPECT_EQ(pair.writing, 10ns + 300ns + 100ns) << "the card's interrupt wakes the reader";
  const Time sent = 10us + 1us + 410ns + 200ns + 500ns + 10ns;  // when the card has the bytes
  EXPECT_EQ(pair.arrived, sent + 11ns + 400ns + 200ns + 10ns) << "11 ns are the card's least";
  EXPECT_EQ(pair.read_at, pair.arrived + 2us + 30us + 1us);
}

TEST(Connection, TakesNoMoreThanItsWindow) {
  Pair pair(Wire::kSocket, kTwoCores);
  pair.text = std::string(2 * Connection::kWindowBytes, 'x');
  pair.here.start(pair.writer);
  pair.schedule.run_until(1ms);
  EXPECT_EQ(pair.written, Connection::kWindowBytes);
  EXPECT_EQ(pair.connection->space(Side::kClient), 0u);
  pair.here.start(pair.reader);
  pair.schedule.run_until(2ms);
  EXPECT_EQ(pair.got, Connection::kWindowBytes);
  EXPECT_EQ(pair.connection->space(Side::kClient), Connection::kWindowBytes);
}

// --- The reactor ---

const Address kAddress = *parse_address("tcp:127.0.0.1:1");

// One stream of a reactor. It keeps what arrives, and answers it if it echoes.
struct Peer final : StreamEvents {
  void on_readable() override {
    std::array<std::byte, 4096> some;
    const IoResult result = stream->read(some);
    if (result.kind == IoResult::Kind::kEnd) {
      has_ended = true;
      return stream->want_read(false);
    }
    got.append(reinterpret_cast<const char*>(some.data()), result.bytes);
    if (echoes) write(got.substr(got.size() - result.bytes));
  }
  void on_writable() override {
    writable = true;
    stream->want_write(false);
  }
  void write(const std::string& text) {
    const iovec all{const_cast<char*>(text.data()), text.size()};
    accepted += stream->write({&all, 1}).bytes;
  }

  std::unique_ptr<ByteStream> stream;
  std::string got;
  size_t accepted = 0;
  bool echoes = false;
  bool has_ended = false;
  bool writable = false;
};

class ModelReactorTest : public testing::Test {
 protected:
  ModelReactorTest() {
    network_.listen(
        kAddress,
        {.wire = Wire::kRing, .card = &card_, .on_connection = [this](const auto& connection) {
           there_.accept(connection, [this](const auto& accept) {
             server_.stream = accept(server_);
             server_.stream->want_read(true);
           });
         }});
    here_.start();
    there_.start();
    here_.post([this] {
      client_.stream = here_.connect(kAddress, client_);
      client_.stream->want_read(true);
    });
    schedule_.run_until(1ms);
  }

  Schedule schedule_;
  Machine machine_{schedule_, kFourCores, 4};
  Card card_;
  Network network_;
  ModelReactor here_{machine_, card_, network_};
  ModelReactor there_{machine_, card_, network_};
  Peer client_;
  Peer server_;
};

TEST_F(ModelReactorTest, CarriesBytesInBothDirectionsAndTheEnd) {
  server_.echoes = true;
  here_.post([&] { client_.write("hello"); });
  schedule_.run_until(2ms);
  EXPECT_EQ(server_.got, "hello");
  EXPECT_EQ(client_.got, "hello");
  here_.post([&] { client_.stream->shutdown_write(); });
  schedule_.run_until(3ms);
  EXPECT_TRUE(server_.has_ended);
  EXPECT_FALSE(client_.has_ended);
}

TEST_F(ModelReactorTest, ReportsSpaceOnceTheOtherSideHasRead) {
  server_.stream->want_read(false);
  here_.post([&] {
    client_.write(std::string(Connection::kWindowBytes, 'x'));
    client_.write("more");
    client_.stream->want_write(true);
  });
  schedule_.run_until(2ms);
  EXPECT_EQ(client_.accepted, Connection::kWindowBytes);
  EXPECT_FALSE(client_.writable);
  there_.post([&] { server_.stream->want_read(true); });
  schedule_.run_until(20ms);
  EXPECT_TRUE(client_.writable);
  EXPECT_EQ(server_.got.size(), Connection::kWindowBytes);
}

TEST_F(ModelReactorTest, CallsATimerOnceAtItsTime) {
  std::vector<TimePoint> rang;
  const auto timer = here_.timer([&] { rang.push_back(here_.now()); });
  timer->set(TimePoint(5ms));
  schedule_.run_until(10ms);
  ASSERT_EQ(rang.size(), 1u);
  // The thread wakes on an idle core; its iteration begins with a switch and a system call.
  EXPECT_EQ(rang[0], TimePoint(5ms + 30us + 1us + 500ns + 10ns));
  timer->set(TimePoint(11ms));
  timer->cancel();
  schedule_.run_until(20ms);
  EXPECT_EQ(rang.size(), 1u);
}

TEST_F(ModelReactorTest, PollsForAWhileBeforeItSleeps) {
  const Duration before = here_.cpu_time();
  here_.post([&] { here_.poll_for(400us); });
  schedule_.run_until(2ms);
  const Duration polled = here_.cpu_time() - before;
  // The switch, an iteration with the work, two more iterations with a system call each, and the
  // way to sleep.
  EXPECT_EQ(polled, 1us + 3 * 510ns + 400us + 3us);
  schedule_.run_until(3ms);
  EXPECT_EQ(here_.cpu_time() - before, polled) << "it sleeps";
}

// Counts iterations. An iteration in which it may not sleep is followed by another one.
struct Iterations final : IterationEvents {
  void on_iteration_end() override { ++count; }
  bool may_sleep() override { return ++asked >= 3; }
  int count = 0;
  int asked = 0;
};

TEST_F(ModelReactorTest, SleepsOnlyIfAllMay) {
  Iterations iterations;
  here_.add_iteration_events(iterations);
  here_.post([] {});
  schedule_.run_until(2ms);
  EXPECT_EQ(iterations.asked, 3);
  const int count = iterations.count;
  schedule_.run_until(3ms);
  EXPECT_EQ(iterations.count, count);
  here_.remove_iteration_events(iterations);
}

}  // namespace
}  // namespace hat::model
