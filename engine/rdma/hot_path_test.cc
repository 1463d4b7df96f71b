// SPDX-License-Identifier: Apache-2.0
// engine/rdma/hot_path_test.cc: tests for every protocol that in steady state the code on the path
// of a message allocates no memory and takes no lock, and in busy mode makes no system call.
//
// This program counts all of its allocations and locks. A system call ends the process that makes
// it: seccomp's strict mode allows only read, write and exit.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>

#include "engine/fabric/loop/loop_fabric.h"
#include "engine/rdma/lane_side.h"
#include "tests/counting_new.h"

namespace {
std::atomic<uint64_t> locks;
}  // namespace

extern "C" int pthread_mutex_lock(pthread_mutex_t* mutex) {
  static const auto real =
      reinterpret_cast<int (*)(pthread_mutex_t*)>(dlsym(RTLD_NEXT, "pthread_mutex_lock"));
  ++locks;
  return real(mutex);
}

namespace hat::engine {
namespace {

class HotPath : public testing::TestWithParam<size_t> {
 protected:
  HotPath() {
    const Protocol& protocol = kProtocols[GetParam()];
    client_.keeps = server_.keeps = false;
    join(client_, server_, options_for(protocol, protocol));
    server_.on_call = [this](const FrameHeader& header, Bytes payload) {
      server_.lane->send(
          {.kind = FrameKind::kReply, .flags = kLastPiece, .stream = 1, .call = header.call},
          {payload});
    };
    events();
  }

  void events() {
    for (LaneSide* side : {&client_, &server_}) {
      while (side->fabric->next_event()) {
      }
    }
  }
  // Makes `count` calls of `bytes` bytes, with at most `at_once` calls in flight, and returns when
  // all calls are answered. Does not handle fabric events, which needs system calls and is not on
  // the path of a message.
  void calls(uint64_t count, size_t bytes, uint64_t at_once) {
    uint64_t sent = client_.frame_count;
    const uint64_t end = sent + count;
    while (client_.frame_count < end) {
      while (sent < end && sent - client_.frame_count < at_once) {
        client_.lane->send({.kind = FrameKind::kCall,
                            .flags = kLastPiece,
                            .replies = 1,
                            .stream = 1,
                            .call = ++sent},
                           {Bytes(payload_).first(bytes)});
      }
      client_.lane->flush();
      client_.poller->poll();
      server_.poller->poll();
    }
  }
  void all_sizes(uint64_t rounds) {
    for (const size_t bytes : {size_t{64}, size_t{900}, size_t{5000}, size_t{200'000}}) {
      calls(rounds, bytes, 6);
    }
  }

  LaneSide client_{&open_loop_fabric};
  LaneSide server_{&open_loop_fabric};
  const std::vector<std::byte> payload_ = std::vector<std::byte>(200'000);
};

TEST_P(HotPath, AllocatesNothingAndTakesNoLock) {
  all_sizes(300);
  const uint64_t allocated = allocation_count();
  const uint64_t locked = locks;
  all_sizes(300);
  EXPECT_EQ(std::pair(allocation_count() - allocated, locks - locked), std::pair(0ul, 0ul));
}

// The calls run in a child process. The kernel kills this process if it makes a system call other
// than read, write and exit (seccomp).
TEST_P(HotPath, MakesNoSystemCallWhileBusy) {
  all_sizes(300);
  const pid_t child = fork();
  if (child == 0) {
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) != 0) _exit(2);
    calls(300, 64, 6);
    calls(300, 900, 6);
    calls(100, 200'000, 2);
    syscall(SYS_exit, 0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status)) << "ended by signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

// Returns a size that the compiler cannot know, because otherwise the compiler would omit the
// allocation.
size_t payload_bytes() {
  volatile size_t bytes = 100;
  return bytes;
}

// Checks that this program counts allocations and locks, and that seccomp kills a process that
// makes a system call.
TEST(HotPathCounters, SeeAllocationsLocksAndSystemCalls) {
  const uint64_t allocated = allocation_count();
  const uint64_t locked = locks;
  std::vector<std::byte> some(payload_bytes());
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_mutex_lock(&mutex);
  pthread_mutex_unlock(&mutex);
  EXPECT_EQ(std::pair(allocation_count() - allocated, locks - locked), std::pair(1ul, 1ul));
  const pid_t child = fork();
  if (child == 0) {
    prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
    sched_yield();
    syscall(SYS_exit, 0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFSIGNALED(status));
}

INSTANTIATE_TEST_SUITE_P(Loop, HotPath, testing::Range(size_t{0}, kProtocols.size()),
                         [](const auto& row) { return std::string(kProtocols[row.param].name); });

}  // namespace
}  // namespace hat::engine
