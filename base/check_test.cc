// SPDX-License-Identifier: Apache-2.0
// base/check_test.cc: tests that each kind of assertion ends the process if its condition is false.
#include "base/check.h"

#include <gtest/gtest.h>

#include <thread>

namespace hat {
namespace {

void check_credit(int credit) { CHECK(credit >= 0) << "credit is " << credit; }
void check_order(int first, int second) { CHECK_LE(first, second); }
void dcheck_credit(int credit) { DCHECK(credit >= 0) << "credit is " << credit; }
void enter_from_another_thread(const LoopThread& loop) {
  std::thread([&loop] { loop.assert_in_loop(); }).join();
}

TEST(CheckDeathTest, EndsTheProcessIfItsConditionDoesNotHold) {
  check_credit(0);
  EXPECT_DEATH(check_credit(-1), "credit >= 0.*credit is -1");
  EXPECT_DEATH(check_order(2, 1), "first <= second \\(2 vs. 1\\)");
}

TEST(CheckDeathTest, DchecksAreOnInTheBuildsThatAreTested) {
  dcheck_credit(0);
  EXPECT_DEATH(dcheck_credit(-1), "credit >= 0.*credit is -1");
}

TEST(CheckDeathTest, KnowsTheThreadOfALoop) {
  LoopThread loop;
  enter_from_another_thread(loop);  // allowed, because no thread runs the loop yet
  loop.enter();
  loop.assert_in_loop();
  EXPECT_DEATH(loop.enter(), "another thread runs this event loop");
  EXPECT_DEATH(enter_from_another_thread(loop), "only the thread that runs this event loop");
  loop.leave();
  enter_from_another_thread(loop);
}

}  // namespace
}  // namespace hat
