// SPDX-License-Identifier: Apache-2.0
#include "engine/served_times.h"

#include <gtest/gtest.h>

namespace hat::engine {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;

TEST(ServedTimes, LoseLittle) {
  for (nanoseconds time = 1us; time < 24h; time += time / 7 + 1ns) {
    const nanoseconds read = time_of(time_code(time));
    EXPECT_LE(read, time);
    EXPECT_GE(read + 1us, time - time / 2048) << time.count();
  }
}

TEST(ServedTimes, EachCodeStandsForATime) {
  for (uint32_t code = 1; code <= UINT16_MAX; ++code) {
    const auto own = static_cast<uint16_t>(code);
    ASSERT_EQ(time_code(time_of(own)), own);
    ASSERT_GT(time_of(own), time_of(static_cast<uint16_t>(code - 1)));
  }
}

TEST(ServedTimes, HaveTheFirstAndTheLastCodeForAllOtherTimes) {
  EXPECT_EQ(time_code(-5s), 1);
  EXPECT_EQ(time_code(0ns), 1);
  EXPECT_EQ(time_code(999ns), 1);
  EXPECT_EQ(time_code(nanoseconds::max()), UINT16_MAX);
}

TEST(ServedTimes, TheHeaderOfAReplyHasThem) {
  for (const auto& [total, waited, read] : {std::tuple{80ms, 0ms, 0ms},
                                            {80ms, 4ms, 0ms},
                                            {80ms, 6ms, 10ms},
                                            {80ms, 70ms, 70ms},
                                            {80ms, 80ms, 70ms},
                                            {80ms, 90ms, 70ms}}) {
    FrameHeader header{.kind = FrameKind::kReply, .flags = kLastPiece, .stream = 1, .call = 1};
    set_served(header, {total, waited});
    EXPECT_EQ(invalid(header), nullptr);
    EXPECT_EQ(header.flags & kLastPiece, kLastPiece);
    const auto times = served_in(header);
    ASSERT_TRUE(times);
    EXPECT_NEAR(static_cast<double>(times->total / 1us), 80'000, 40);
    EXPECT_NEAR(static_cast<double>(times->waited / 1us), static_cast<double>(read / 1us), 40);
  }
}

TEST(ServedTimes, AreUnknownFromOlderDaemons) {
  EXPECT_FALSE(served_in({.kind = FrameKind::kReply, .flags = kLastPiece}));
  EXPECT_TRUE(served_in({.flags = UINT8_MAX, .replies = UINT16_MAX}));
}

}  // namespace
}  // namespace hat::engine
