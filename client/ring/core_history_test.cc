// SPDX-License-Identifier: Apache-2.0
// client/ring/core_history_test.cc: tests that threads of one process see each other's records on
// the core that they share.
#include "client/ring/core_history.h"

#include <gtest/gtest.h>

#include <thread>

namespace hatrpc::ring {
namespace {

using namespace std::chrono_literals;

constexpr std::chrono::steady_clock::time_point kFirst{1h};

// Keeps the calling thread, and the threads that it starts later, on the core on which it runs.
void stay_on_this_core() {
  cpu_set_t core;
  CPU_ZERO(&core);
  CPU_SET(static_cast<size_t>(sched_getcpu()), &core);
  ASSERT_EQ(sched_setaffinity(0, sizeof core, &core), 0);
}

TEST(CoreHistory, ReturnsTheTimeSinceTheLastRecordOnTheCore) {
  std::thread([] {
    stay_on_this_core();
    CoreHistory cores;
    EXPECT_GE(cores.record(kFirst), 1h) << "there is no earlier record";
    EXPECT_EQ(cores.record(kFirst + 3ms), 3ms);
    EXPECT_EQ(cores.record(kFirst + 4ms), 1ms);
    std::thread([&] { EXPECT_EQ(cores.record(kFirst + 6ms), 2ms) << "another thread"; }).join();
    EXPECT_EQ(cores.record(kFirst + 7ms), 1ms);
  }).join();
}

}  // namespace
}  // namespace hatrpc::ring
