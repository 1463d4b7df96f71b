// SPDX-License-Identifier: Apache-2.0
#include "engine/receive_window.h"

#include <gtest/gtest.h>

namespace hat::engine {
namespace {

TEST(ReceiveWindow, GrantsWhatWasPassedOnAndRefusesMoreThanTwoWindows) {
  ReceiveWindow window;
  EXPECT_TRUE(window.take(kStreamWindowBytes));
  EXPECT_FALSE(window.worth_a_frame());
  window.pass_on(kStreamWindowBytes / 2);
  EXPECT_TRUE(window.worth_a_frame());
  EXPECT_EQ(window.grant(), kStreamWindowBytes / 2);
  EXPECT_EQ(window.grant(), 0u);
  EXPECT_TRUE(window.take(ReceiveWindow::kOutstandingBytesMax - kStreamWindowBytes / 2));
  EXPECT_FALSE(window.take(1));
}

TEST(ReceiveWindow, WithholdsCreditForBytesThatTheApplicationHasNotRead) {
  ReceiveWindow window;
  window.take(kStreamWindowBytes);
  window.pass_on(kStreamWindowBytes);
  EXPECT_FALSE(window.withholds_much());
  window.withhold(kStreamWindowBytes / 2 + 1);
  EXPECT_TRUE(window.withholds_much());
  EXPECT_TRUE(window.worth_a_frame()) << "the sender has no credit";
  EXPECT_EQ(window.grant(), kStreamWindowBytes / 2 - 1);
  EXPECT_EQ(window.grant(), 0u);
  EXPECT_FALSE(window.worth_a_frame());
  window.withhold(1);
  EXPECT_TRUE(window.worth_a_frame());
  EXPECT_EQ(window.grant(), kStreamWindowBytes / 2);
  window.withhold(0);
  EXPECT_EQ(window.grant(), 1u);
  window.withhold(5);  // more than was passed on
  EXPECT_EQ(window.grant(), 0u);
}

// The reactor reports that a ring is half free only if three quarters of it were used. Up to this
// use, a sender without credit must get a frame with credit.
TEST(ReceiveWindow, NeverLeavesASenderWithoutCreditUnlessARingIsNearlyFull) {
  for (uint32_t unread = 0; unread <= kStreamWindowBytes * 3 / 4; unread += 1024) {
    ReceiveWindow window;
    window.take(kStreamWindowBytes);
    window.pass_on(kStreamWindowBytes);
    window.withhold(unread);
    EXPECT_TRUE(window.worth_a_frame()) << unread;
  }
}

TEST(ReceiveWindowDeathTest, PassesOnNoMoreThanHasArrived) {
  ReceiveWindow window;
  window.take(10);
  window.pass_on(10);
  EXPECT_DEATH(window.pass_on(1), "more was passed on than has arrived");
}

}  // namespace
}  // namespace hat::engine
