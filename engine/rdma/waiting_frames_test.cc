// SPDX-License-Identifier: Apache-2.0
#include "engine/rdma/waiting_frames.h"

#include <gtest/gtest.h>

namespace hat::engine {
namespace {

constexpr uint32_t kPayloadBytes = 100;

FrameHeader header_of(uint64_t call) {
  return {.payload_bytes = kPayloadBytes, .kind = FrameKind::kCall, .stream = 1, .call = call};
}

TEST(WaitingFrames, KeepsCopiesAndBorrowedRangesInOrder) {
  std::vector<std::byte> memory(kPayloadBytes, std::byte{'b'});
  const BorrowedRange range{.segment = {memory.data(), kPayloadBytes, 7}, .rkey = 8};
  WaitingFrames frames;
  for (uint64_t call = 0; call < 20; ++call) {
    std::vector<std::byte> payload(kPayloadBytes, static_cast<std::byte>(call));
    const Bytes half(payload.data(), kPayloadBytes / 2);
    const std::array<Bytes, 2> pieces = {half, half};
    if (call % 3 == 0) {
      frames.push_back(header_of(call), {}, &range);
    } else {
      frames.push_back(header_of(call), pieces, nullptr);
    }
    // Every second iteration removes a frame, so the queue moves the copied bytes to the front
    // several times.
    if (call % 2 == 1) frames.pop_front();
  }
  ASSERT_EQ(frames.size(), 10u);
  for (uint64_t call = 10; call < 20; ++call) {
    EXPECT_EQ(frames.header().call, call);
    if (call % 3 == 0) {
      ASSERT_NE(frames.borrowed(), nullptr);
      EXPECT_EQ(frames.borrowed()->segment.data, memory.data());
      EXPECT_TRUE(frames.copied().empty());
    } else {
      EXPECT_EQ(frames.borrowed(), nullptr);
      const Bytes copied = frames.copied();
      EXPECT_EQ(std::vector<std::byte>(copied.begin(), copied.end()),
                std::vector<std::byte>(kPayloadBytes, static_cast<std::byte>(call)));
    }
    frames.pop_front();
  }
  EXPECT_TRUE(frames.empty());
  EXPECT_EQ(frames.bytes(), 0u);
}

TEST(WaitingFramesDeathTest, HasThePayloadThatAHeaderStates) {
  WaitingFrames frames;
  frames.push_back(header_of(1), {}, nullptr);
  EXPECT_DEATH(frames.copied(), "a waiting frame has lost its payload");
}

}  // namespace
}  // namespace hat::engine
