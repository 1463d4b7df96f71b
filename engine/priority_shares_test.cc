// SPDX-License-Identifier: Apache-2.0
#include "engine/priority_shares.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

namespace hat::engine {
namespace {

using enum Priority;

// Serves the priorities that wait, `count` times, with `amount` each time. Returns the first letter
// of each that was served.
std::string serve(PriorityShares& shares, const std::set<Priority>& waiting, int count,
                  uint64_t amount = 1) {
  std::string served;
  for (int i = 0; i < count; ++i) {
    const Priority next = shares.next([&](Priority one) { return waiting.contains(one); });
    EXPECT_TRUE(waiting.contains(next));
    shares.serve(next);
    shares.use(next, amount);
    served += "lnh"[static_cast<size_t>(next)];
  }
  return served;
}

size_t count(const std::string& served, char letter) {
  return static_cast<size_t>(std::ranges::count(served, letter));
}

TEST(PriorityShares, TheHighestIsServedFirst) {
  PriorityShares shares;
  EXPECT_EQ(serve(shares, {kLow, kNormal, kHigh}, 3), "hnl");
  EXPECT_EQ(serve(shares, {kLow}, 3), "lll") << "nothing waits for its part if it is alone";
}

TEST(PriorityShares, AllGetTheirPartsWhileAllWait) {
  for (const uint64_t amount : {uint64_t{1}, uint64_t{262'144}}) {
    PriorityShares shares;
    const std::string served = serve(shares, {kLow, kNormal, kHigh}, 21 * 100, amount);
    EXPECT_NEAR(static_cast<double>(count(served, 'h')), 1600, 2);
    EXPECT_NEAR(static_cast<double>(count(served, 'n')), 400, 2);
    EXPECT_NEAR(static_cast<double>(count(served, 'l')), 100, 2);
  }
}

TEST(PriorityShares, TwoGetTheirPartsWithoutTheThird) {
  PriorityShares shares;
  const std::string served = serve(shares, {kLow, kNormal}, 500);
  EXPECT_NEAR(static_cast<double>(count(served, 'n')), 400, 2);
}

TEST(PriorityShares, OneThatComesLaterIsSoonServedIfItIsHigher) {
  PriorityShares shares;
  serve(shares, {kLow, kNormal}, 1000);
  shares.begin_to_wait(kHigh);
  EXPECT_EQ(serve(shares, {kLow, kNormal, kHigh}, 1), "h");
}

TEST(PriorityShares, OneThatDidNotWaitSavesNothing) {
  PriorityShares shares;
  serve(shares, {kHigh}, 10'000);
  shares.begin_to_wait(kLow);
  shares.begin_to_wait(kNormal);
  const std::string served = serve(shares, {kLow, kNormal, kHigh}, 210);
  EXPECT_NEAR(static_cast<double>(count(served, 'h')), 160, 3);
  EXPECT_NEAR(static_cast<double>(count(served, 'l')), 10, 2);
}

// One that has had much more than its part, because it was alone, does not pay for this later.
TEST(PriorityShares, OneThatWasAloneIsNotInDebt) {
  PriorityShares shares;
  serve(shares, {kLow}, 10'000);
  shares.begin_to_wait(kHigh);
  const std::string served = serve(shares, {kLow, kHigh}, 170);
  EXPECT_NEAR(static_cast<double>(count(served, 'l')), 10, 2);
}

TEST(PriorityShares, LargeUsesCountForMore) {
  PriorityShares shares;
  uint64_t normal = 0;
  uint64_t high = 0;
  for (int i = 0; i < 10'000; ++i) {
    const Priority next = shares.next([](Priority one) { return one != kLow; });
    const uint64_t amount = next == kHigh ? 1000 : 10;
    (next == kHigh ? high : normal) += amount;
    shares.serve(next);
    shares.use(next, amount);
  }
  EXPECT_NEAR(static_cast<double>(high) / static_cast<double>(normal), 4, 0.2);
}

TEST(PrioritySharesDeathTest, OneMustWait) {
  PriorityShares shares;
  EXPECT_DEATH(serve(shares, {}, 1), "no priority waits");
}

}  // namespace
}  // namespace hat::engine
