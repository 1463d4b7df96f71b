// SPDX-License-Identifier: Apache-2.0
#include "daemon/proxy/inbound/opened_streams.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace hat {
namespace {

TEST(OpenedStreams, KnowsWhichNumbersWereOpened) {
  OpenedStreams streams;
  EXPECT_FALSE(streams.may_have(1));
  for (const uint32_t stream : {1u, 4u, 3u}) streams.note(stream);
  EXPECT_TRUE(streams.may_have(1));
  EXPECT_FALSE(streams.may_have(2));
  EXPECT_TRUE(streams.may_have(3));
  EXPECT_TRUE(streams.may_have(4));
  EXPECT_FALSE(streams.may_have(5));
}

TEST(OpenedStreams, ExcludesNothingOlderThanItsWindow) {
  OpenedStreams streams;
  streams.note(OpenedStreams::kWindow + 2);
  EXPECT_TRUE(streams.may_have(1));
  EXPECT_TRUE(streams.may_have(2));
  EXPECT_FALSE(streams.may_have(3));
  streams.note(1);  // older than the window
  EXPECT_FALSE(streams.may_have(OpenedStreams::kWindow + 1));
}

TEST(OpenedStreams, ForgetsNumbersThatLeaveTheWindow) {
  OpenedStreams streams;
  for (uint32_t stream = 1; stream <= 3 * OpenedStreams::kWindow; stream += 2) streams.note(stream);
  const uint32_t newest = 3 * OpenedStreams::kWindow - 1;
  for (uint32_t i = 0; i + 1 < OpenedStreams::kWindow; ++i) {
    EXPECT_EQ(streams.may_have(newest - i), i % 2 == 0) << i;
  }
  streams.note(UINT32_MAX);
  EXPECT_FALSE(streams.may_have(UINT32_MAX - 1));
  EXPECT_TRUE(streams.may_have(UINT32_MAX));
}

}  // namespace
}  // namespace hat
