// SPDX-License-Identifier: Apache-2.0
// base/time_slice_test.cc: tests that a thread may request short time slices, and keeps its policy
// and niceness.
#include "base/time_slice.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/resource.h>

#include <thread>

namespace hat {
namespace {

TEST(TimeSlice, IsGrantedAndChangesNothingElse) {
  std::thread([] {
    ASSERT_EQ(setpriority(PRIO_PROCESS, 0, 5), 0);
    EXPECT_TRUE(request_short_time_slices());
    EXPECT_EQ(sched_getscheduler(0), SCHED_OTHER);
    EXPECT_EQ(getpriority(PRIO_PROCESS, 0), 5);
  }).join();
}

TEST(TimeSlice, LeavesAnotherPolicyAlone) {
  std::thread([] {
    const sched_param none{};
    ASSERT_EQ(sched_setscheduler(0, SCHED_BATCH, &none), 0);
    EXPECT_TRUE(request_short_time_slices());
    EXPECT_EQ(sched_getscheduler(0), SCHED_BATCH);
  }).join();
}

}  // namespace
}  // namespace hat
