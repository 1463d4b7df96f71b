// SPDX-License-Identifier: Apache-2.0
// engine/rdma/lane_process_test.cc: for every protocol, connects two processes by a lane, and kills
// one process at a random moment. Tests that the surviving process knows the fate of every call,
// and gets all of its memory and descriptors back.
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <filesystem>
#include <random>

#include "engine/fabric/loop/loop_fabric.h"
#include "engine/rdma/lane_side.h"

namespace hat::engine {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr int kMoments = 12;  // kills per protocol and side: hundreds in all
constexpr size_t kCallsMax = 4096;

// The progress of the killed process. It is in shared memory, so that the surviving process can
// read it.
struct Seen {
  std::atomic<uint64_t> calls;  // how many calls the server had begun to serve
};

struct SharedSeen {
  SharedSeen()
      : seen(static_cast<Seen*>(mmap(nullptr, sizeof(Seen), PROT_READ | PROT_WRITE,
                                     MAP_SHARED | MAP_ANONYMOUS, -1, 0))) {}
  ~SharedSeen() { munmap(seen, sizeof(Seen)); }
  Seen* seen;
};

void exchange_offers(int socket, LaneSide& side) {
  const LaneOffer mine = side.lane->offer();
  LaneOffer other;
  ASSERT_EQ(write(socket, &mine, sizeof mine), ssize_t{sizeof mine});
  ASSERT_EQ(recv(socket, &other, sizeof other, MSG_WAITALL), ssize_t{sizeof other});
  ASSERT_TRUE(side.lane->connect(other));
}

// If a process dies before it has connected its lane, the other process notices only by a time-out
// (ack_timeout). The time-out must be longer than a process waits for a core on a busy host.
RdmaLaneOptions client_options(const Protocol& protocol) {
  RdmaLaneOptions options = options_for(protocol, protocol);
  options.ack_timeout = 100ms;
  return options;
}

RdmaLaneOptions server_options(const Protocol& protocol) {
  RdmaLaneOptions options = client_options(protocol);
  std::swap(options.out, options.in);
  return options;
}

size_t bytes_of_call(uint64_t number) {
  constexpr size_t kBytes[] = {20, 900, 3000, 100'000};
  return kBytes[number % 4];
}

// Serves calls until this process or the calling process is killed.
void serve(int socket, const Protocol& protocol, Seen& seen) {
  LaneSide side(&open_loop_fabric);
  side.make_lane(server_options(protocol));
  exchange_offers(socket, side);
  side.keeps = false;
  side.on_call = [&](const FrameHeader& header, Bytes payload) {
    seen.calls = header.call;
    side.answer(header.call, {payload.begin(), payload.end()});
  };
  while (side.down.empty()) {
    if (side.iterate() == 0) sched_yield();
  }
}

// Makes calls, several at the same time, until this process or the serving process is killed, or
// until kCallsMax calls are sent. Appends the frame number of each call to `numbers`, for fate().
void call(LaneSide& side, std::vector<uint64_t>& numbers) {
  while (side.down.empty() && numbers.size() < kCallsMax) {
    while (numbers.size() < side.frame_count + 12 && numbers.size() < kCallsMax) {
      const uint64_t number = numbers.size() + 1;
      numbers.push_back(side.call(number, bytes_of_call(number)));
    }
    if (side.iterate() == 0) sched_yield();
  }
}

size_t open_descriptors() {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return static_cast<size_t>(std::distance(begin(all), end(all)));
}

// Starts a process that runs `child`, and returns its id. `socket` is set to this side's end of a
// socket pair; `child` gets the other end.
pid_t start(const std::function<void(int)>& child, int& socket) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) throw std::runtime_error("socketpair");
  const pid_t pid = fork();
  if (pid == 0) {
    close(ends[0]);
    child(ends[1]);
    _exit(0);
  }
  close(ends[1]);
  socket = ends[0];
  return pid;
}

void kill_and_wait(pid_t pid) {
  kill(pid, SIGKILL);
  waitpid(pid, nullptr, 0);
}

class LaneProcesses : public testing::TestWithParam<size_t> {
 protected:
  const Protocol& protocol() const { return kProtocols[GetParam()]; }
  std::minstd_rand random_{static_cast<uint32_t>(GetParam()) + 1};
};

TEST_P(LaneProcesses, WhoseServerIsKilledKnowsWhatBecameOfEachCall) {
  LaneSide client(&open_loop_fabric);
  const auto memory = [&] {
    return client.arena->free_bytes(Purpose::kSend) + client.arena->free_bytes(Purpose::kReceive);
  };
  const size_t memory_before = memory();
  const size_t descriptors_before = open_descriptors();
  for (int moment = 0; moment < kMoments; ++moment) {
    const SharedSeen shared;
    int socket = -1;
    const pid_t server = start([&](int end) { serve(end, protocol(), *shared.seen); }, socket);
    client.frames.clear();
    client.frame_count = 0;
    client.down.clear();
    client.make_lane(client_options(protocol()));
    exchange_offers(socket, client);
    const auto kill_at = Clock::now() + std::chrono::microseconds(random_() % 4000);
    std::vector<uint64_t> numbers;
    bool alive = true;
    while (client.down.empty()) {
      if (alive && Clock::now() >= kill_at) {
        kill_and_wait(server);
        alive = false;
      }
      while (numbers.size() < client.frame_count + 12) {
        const uint64_t number = numbers.size() + 1;
        numbers.push_back(client.call(number, bytes_of_call(number)));
      }
      client.iterate();
      ASSERT_LT(Clock::now(), kill_at + 20s) << "it never noticed";
    }
    close(socket);
    const uint64_t answered = client.frames.size();
    const uint64_t seen = shared.seen->calls;
    EXPECT_LE(answered, seen);
    for (uint64_t number = 1; number <= numbers.size(); ++number) {
      const Fate fate = client.lane->fate(numbers[number - 1]);
      if (number <= answered) {
        const Frame& frame = client.frames[number - 1];
        ASSERT_EQ(frame.header.call, number);
        ASSERT_TRUE(frame.payload == pattern(number, bytes_of_call(number)));
      }
      if (number <= seen) {
        ASSERT_NE(fate, Fate::kNotDelivered) << number << " of " << seen;
      } else {
        ASSERT_NE(fate, Fate::kDelivered) << number << " of " << seen;
      }
    }
    client.lane.reset();
    ASSERT_EQ(memory(), memory_before);
    ASSERT_EQ(client.poller->receives_in_use(), 0u);
  }
  while (client.fabric->next_event()) {
  }
  EXPECT_LE(open_descriptors(), descriptors_before);
}

TEST_P(LaneProcesses, WhoseClientIsKilledServesTheNextOne) {
  LaneSide server(&open_loop_fabric);
  server.keeps = false;
  const auto memory = [&] {
    return server.arena->free_bytes(Purpose::kSend) + server.arena->free_bytes(Purpose::kReceive);
  };
  const size_t memory_before = memory();
  for (int moment = 0; moment < kMoments; ++moment) {
    int socket = -1;
    const pid_t client = start(
        [&](int end) {
          LaneSide side(&open_loop_fabric);
          side.make_lane(client_options(protocol()));
          exchange_offers(end, side);
          std::vector<uint64_t> numbers;
          call(side, numbers);
        },
        socket);
    server.down.clear();
    server.make_lane(server_options(protocol()));
    exchange_offers(socket, server);
    // The client is killed within 4 ms. In odd rounds, this time begins only after the server has
    // received some of its calls; in even rounds, the client can die before it has sent anything.
    const uint64_t served = server.frame_count + random_() % 40;
    while (moment % 2 == 1 && server.frame_count <= served) server.iterate();
    const auto kill_at = Clock::now() + std::chrono::microseconds(random_() % 4000);
    while (Clock::now() < kill_at) server.iterate();
    kill_and_wait(client);
    while (server.down.empty()) {
      server.iterate();
      server.lane->probe();  // the client can have died before it connected its lane
      ASSERT_LT(Clock::now(), kill_at + 20s) << "it never noticed";
    }
    close(socket);
    server.lane.reset();
    ASSERT_EQ(memory(), memory_before);
    ASSERT_EQ(server.poller->receives_in_use(), 0u);
  }
  EXPECT_GT(server.frame_count, 0u);
}

INSTANTIATE_TEST_SUITE_P(Killed, LaneProcesses, testing::Range(size_t{0}, kProtocols.size()),
                         [](const auto& row) { return std::string(kProtocols[row.param].name); });

}  // namespace
}  // namespace hat::engine
