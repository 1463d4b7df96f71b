// SPDX-License-Identifier: Apache-2.0
// engine/fabric/loop/loop_process_test.cc: tests with two threads that wake each other, with a
// process of another user, and with a process that is killed.
#include <gtest/gtest.h>
#include <poll.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <filesystem>
#include <random>
#include <thread>

#include "engine/fabric/conformance.h"
#include "engine/fabric/loop/loop_fabric.h"

namespace hat::engine {
namespace {

using namespace std::chrono_literals;

constexpr RemoteAccess kAll{.write = true, .read = true, .atomic = true};
constexpr uint32_t kReceives = 64;

// The information about its peer that a side needs in order to connect and to access memory.
struct Card {
  QueuePairAddress address;
  uint64_t memory;
  uint32_t rkey;
};

// One of two sides that connect to each other. The constructor sends this side's Card over
// `socket`, and receives the peer's Card.
struct Peer {
  explicit Peer(int socket) : side(&open_loop_fabric, kAll) {
    side.qp = side.make_queue_pair(side.options());
    const Card mine{side.qp->address(), side.region->address(), side.region->rkey()};
    EXPECT_EQ(write(socket, &mine, sizeof mine), ssize_t{sizeof mine});
    EXPECT_EQ(read(socket, &other, sizeof other), ssize_t{sizeof other});
    EXPECT_TRUE(side.qp->connect(other.address));
    for (uint64_t i = 0; i < kReceives; ++i) side.receive(i, 4096, 8);
  }
  // Writes 64 bytes to the peer's memory, with `number` as the immediate.
  bool say(uint32_t number) {
    std::memcpy(side.region->bytes().data(), &number, sizeof number);
    const Segment from = side.at(0, 64);
    const WorkRequest work{.id = number,
                           .opcode = Opcode::kWriteImm,
                           .imm = number,
                           .segments = {&from, 1},
                           .remote_address = other.memory + 1024,
                           .rkey = other.rkey};
    return side.qp->post({&work, 1}) == 1;
  }
  void iterate(std::vector<Completion>& done) {
    while (side.fabric->next_event()) {
    }
    std::array<Completion, 16> some;
    const size_t count = side.cq->poll(some);
    done.insert(done.end(), some.begin(), some.begin() + count);
  }

  FabricSide side;
  Card other{};
};

// Answers each WRITE from the peer with a WRITE to the peer, until the peer has taken `rounds`
// answers. Sleeps while it waits, if `sleeps` is true; else polls.
void echo(int socket, uint32_t rounds, bool sleeps) {
  Peer peer(socket);
  std::vector<Completion> done;
  for (uint32_t taken = 0; taken < rounds;) {  // `taken`: the answers that the peer has taken
    peer.iterate(done);
    for (const Completion& completion : std::exchange(done, {})) {
      if (completion.status != Status::kSuccess) return;
      if (completion.opcode != Opcode::kReceiveWriteImm) {
        ++taken;
        continue;
      }
      peer.side.receive(completion.id, 4096, 8);
      peer.say(completion.imm);
    }
    if (!sleeps) {
      sched_yield();
      continue;
    }
    peer.side.cq->arm(false);
    peer.iterate(done);
    if (!done.empty() || taken == rounds) continue;
    std::array<pollfd, 2> wait{pollfd{peer.side.cq->event_fd(), POLLIN, 0},
                               pollfd{peer.side.fabric->event_fd(), POLLIN, 0}};
    if (poll(wait.data(), wait.size(), 10'000) == 0) {
      ADD_FAILURE() << "nobody woke it after " << taken << " rounds";
      return;
    }
    peer.side.cq->take_events();
  }
}

size_t open_descriptors() {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return static_cast<size_t>(std::distance(begin(all), end(all)));
}

TEST(LoopThreads, WhoSleepsIsAlwaysWoken) {
  constexpr uint32_t kRounds = 3000;
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  std::thread other([&] { echo(ends[1], kRounds, true); });
  {
    Peer peer(ends[0]);
    std::vector<Completion> done;
    for (uint32_t round = 0; round < kRounds; ++round) {
      ASSERT_TRUE(peer.say(round));
      for (bool answered = false; !answered;) {
        peer.side.cq->arm(false);
        peer.iterate(done);
        if (done.empty()) {
          std::array<pollfd, 2> wait{pollfd{peer.side.cq->event_fd(), POLLIN, 0},
                                     pollfd{peer.side.fabric->event_fd(), POLLIN, 0}};
          ASSERT_NE(poll(wait.data(), wait.size(), 10'000), 0)
              << "nobody woke it in round " << round;
          peer.side.cq->take_events();
        }
        for (const Completion& completion : std::exchange(done, {})) {
          ASSERT_EQ(completion.status, Status::kSuccess) << "round " << round;
          if (completion.opcode != Opcode::kReceiveWriteImm) continue;
          EXPECT_EQ(completion.imm, round);
          peer.side.receive(completion.id, 4096, 8);
          answered = true;
        }
      }
    }
    other.join();
  }
  close(ends[0]);
  close(ends[1]);
}

// Becomes a process of another user, opens fabrics with listeners, and sends the address of a queue
// pair over `socket`. This process sends the largest of many addresses, because the side with the
// smaller address connects, and in this test that must be the side of the test's process.
[[noreturn]] void listen_as_nobody(int socket) {
  constexpr uid_t kNobody = 65534;
  if (setresuid(kNobody, kNobody, kNobody) != 0) _exit(1);
  std::vector<std::unique_ptr<FabricSide>> sides;
  for (int i = 0; i < 32; ++i) {
    sides.push_back(std::make_unique<FabricSide>(&open_loop_fabric, kAll));
    sides.back()->qp = sides.back()->make_queue_pair(sides.back()->options());
  }
  const FabricSide& side =
      **std::ranges::max_element(sides, {}, [](const auto& one) { return one->qp->address(); });
  const Card card{side.qp->address(), side.region->address(), side.region->rkey()};
  if (write(socket, &card, sizeof card) != ssize_t{sizeof card}) _exit(1);
  char end = 0;
  [[maybe_unused]] const auto closed = read(socket, &end, sizeof end);
  _exit(0);
}

// Tests that a peer cannot make this process share its memory with a process of another user. The
// peer could try that, because it names the socket to which this process connects.
TEST(LoopProcesses, NothingIsSharedWithAnotherUsersProcess) {
  if (geteuid() != 0) GTEST_SKIP() << "wants root, to be another user";
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    close(ends[0]);
    listen_as_nobody(ends[1]);
  }
  close(ends[1]);
  Card other{};
  ASSERT_EQ(read(ends[0], &other, sizeof other), ssize_t{sizeof other});
  std::string refused;
  for (int i = 0; i < 64 && refused.empty(); ++i) {
    FabricSide side(&open_loop_fabric, kAll);
    side.qp = side.make_queue_pair(side.options());
    if (other.address < side.qp->address()) continue;
    const auto connected = side.qp->connect(other.address);
    ASSERT_FALSE(connected);
    refused = connected.error().message;
  }
  EXPECT_EQ(refused,
            "loop fabric: the other daemon belongs to another user; run both daemons as the same "
            "user");
  close(ends[0]);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

// Tests that every request of the surviving process completes, with success or with an error, after
// its peer was killed at a random moment.
TEST(LoopProcesses, ADeathAtAnyMomentIsNoticedAndLeavesNothing) {
  constexpr int kDeaths = 200;
  std::minstd_rand random(20261121);
  size_t descriptors_before = 0;
  for (int death = 0; death < kDeaths; ++death) {
    if (death == 1) descriptors_before = open_descriptors();
    int ends[2];
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      close(ends[0]);
      echo(ends[1], UINT32_MAX, death % 2 == 0);
      _exit(0);
    }
    close(ends[1]);
    {
      Peer peer(ends[0]);
      const auto dies_at =
          std::chrono::steady_clock::now() + std::chrono::microseconds(random() % 2000);
      const auto end = dies_at + 20s;
      std::vector<Completion> done;
      uint32_t posted = 0;
      uint32_t completed = 0;
      bool killed = false;
      while (peer.side.qp->state() != QueuePairState::kError || completed < posted) {
        if (!killed && std::chrono::steady_clock::now() >= dies_at) {
          kill(child, SIGKILL);
          killed = true;
        }
        ASSERT_LT(std::chrono::steady_clock::now(), end)
            << completed << " of " << posted << " requests completed";
        const bool talks = peer.side.qp->state() == QueuePairState::kConnected;
        if (talks && posted - completed < 32 && peer.say(posted)) ++posted;
        peer.iterate(done);
        for (const Completion& completion : std::exchange(done, {})) {
          if (completion.opcode == Opcode::kReceiveWriteImm) {
            peer.side.receive(completion.id, 4096, 8);
          } else {
            EXPECT_EQ(completion.id, completed) << "in the order of posting";
            ++completed;
          }
        }
      }
      EXPECT_EQ(completed, posted);
    }
    close(ends[0]);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status)) << "it ended before it was killed";
  }
  EXPECT_EQ(open_descriptors(), descriptors_before);
}

}  // namespace
}  // namespace hat::engine
