// SPDX-License-Identifier: Apache-2.0
#include "daemon/proxy/outbound/sent_frames.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "daemon/proxy/fake_node.h"

namespace hat {
namespace {

using engine::FrameHeader;
using engine::FrameKind;

class SentFramesTest : public testing::Test {
 protected:
  void add(FrameKind kind, uint64_t call, const std::string& payload = "") {
    const auto bytes = std::as_bytes(std::span(payload));
    const size_t half = bytes.size() / 2;
    const bool is_sync = kind == FrameKind::kSync;
    frames_.add({.kind = kind, .stream = 1, .call = call}, {bytes.first(half), bytes.subspan(half)},
                is_sync ? calls_ + 1 : calls_ = call);
  }
  // Returns the calls and payloads of the `lost` newest frames.
  std::vector<std::string> sent_again(uint64_t lost) {
    std::vector<std::string> all;
    frames_.send_again(lost, [&](const FrameHeader& header, SentFrames::Bytes bytes) {
      all.push_back(std::to_string(header.call) + ":" +
                    std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
    });
    return all;
  }
  uint64_t held() const { return node_.counters.buffered_bytes.value(); }

  FakeNode node_;
  uint64_t calls_ = 0;
  SentFrames frames_{*node_.worker};
};

TEST_F(SentFramesTest, SendsTheNewestFramesAgainInTheirOrder) {
  add(FrameKind::kCall, 1, "one");
  add(FrameKind::kMore, 1, "rest");
  add(FrameKind::kCall, 2, "two");
  EXPECT_EQ(frames_.count(), 3u);
  EXPECT_GT(held(), 0u);
  EXPECT_EQ(sent_again(2), (std::vector<std::string>{"1:rest", "2:two"}));
  EXPECT_EQ(frames_.count(), 0u);
  EXPECT_EQ(held(), 0u);
}

TEST_F(SentFramesTest, AnAnswerDropsTheFramesUpToItsCall) {
  add(FrameKind::kCall, 1, "one");
  add(FrameKind::kSync, 7);
  add(FrameKind::kCall, 2, "two");
  add(FrameKind::kCall, 3, "three");
  frames_.answered(1);
  EXPECT_EQ(frames_.count(), 3u) << "the kSync frame was sent after the call";
  frames_.answered(2);
  EXPECT_EQ(sent_again(1), std::vector<std::string>{"3:three"});
}

TEST_F(SentFramesTest, ASyncedDropsTheFramesUpToItsSync) {
  add(FrameKind::kCall, 1, "one");
  add(FrameKind::kSync, 7);
  add(FrameKind::kCall, 2, "two");
  frames_.synced(6);
  EXPECT_EQ(frames_.count(), 3u);
  frames_.synced(7);
  EXPECT_EQ(frames_.count(), 1u);
  frames_.synced(7);
  EXPECT_EQ(sent_again(1), std::vector<std::string>{"2:two"});
}

TEST_F(SentFramesTest, KeepsNothingBeforeAFrameForWhichThereIsNoSpace) {
  add(FrameKind::kCall, 1, "one");
  add(FrameKind::kCall, 2, std::string(node_.worker->node().limits.retry_request_bytes_max, 'x'));
  EXPECT_EQ(frames_.count(), 0u);
  EXPECT_EQ(held(), 0u);
  EXPECT_EQ(node_.counters.rdma.frames_not_kept.value(), 1u);
  add(FrameKind::kCall, 3, "three");
  EXPECT_EQ(sent_again(1), std::vector<std::string>{"3:three"});
}

TEST_F(SentFramesTest, AsksForAnAnswerWhenHalfOfTheSpaceIsUsed) {
  add(FrameKind::kCall, 1, "one");
  EXPECT_FALSE(frames_.needs_sync());
  add(FrameKind::kCall, 2,
      std::string(node_.worker->node().limits.retry_request_bytes_max / 2, 'x'));
  EXPECT_TRUE(frames_.needs_sync());
  add(FrameKind::kSync, 1);
  EXPECT_FALSE(frames_.needs_sync()) << "one is unanswered";
  frames_.synced(1);
  EXPECT_FALSE(frames_.needs_sync()) << "there is space";
}

}  // namespace
}  // namespace hat
