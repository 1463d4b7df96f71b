// SPDX-License-Identifier: Apache-2.0
// client/ring/core_history_test.cc: tests that threads learn whether their own process or something
// else has used the core that they share.
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

// Calls record() in another thread on the same core.
bool record_in_thread(CoreHistory& cores, CoreHistory::TimePoint from, CoreHistory::TimePoint now) {
  bool result = false;
  std::thread([&] { result = cores.record(from, now, 1ms); }).join();
  return result;
}

TEST(CoreHistory, KnowsWhetherItsProcessUsedTheCore) {
  std::thread([] {
    stay_on_this_core();
    CoreHistory cores;
    EXPECT_FALSE(cores.record(kFirst, kFirst + 900us, 1ms)) << "a short yield";
    EXPECT_TRUE(cores.record(kFirst + 1ms, kFirst + 3ms, 1ms)) << "no thread ran in 2 ms";

    const auto from = kFirst + 10ms;
    EXPECT_FALSE(record_in_thread(cores, from, from + 800us));
    EXPECT_FALSE(record_in_thread(cores, from + 800us, from + 1600us));
    EXPECT_FALSE(cores.record(from, from + 2400us, 1ms)) << "other threads took turns";
  }).join();
}

TEST(CoreHistory, ShowsOneLossToAllThreadsThatWaited) {
  std::thread([] {
    stay_on_this_core();
    CoreHistory cores;
    const auto from = kFirst + 10ms;
    EXPECT_TRUE(record_in_thread(cores, from, from + 3ms));
    EXPECT_TRUE(cores.record(from + 1ms, from + 3100us, 1ms)) << "this yield lost the time, too";
    EXPECT_FALSE(cores.record(from + 3100us, from + 3200us, 1ms)) << "this yield began later";
  }).join();
}

}  // namespace
}  // namespace hatrpc::ring
