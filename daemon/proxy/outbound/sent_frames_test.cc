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

Limits with_copies_of(uint64_t bytes) {
  Limits limits = default_limits();
  limits.retry_request_bytes_max = bytes;
  return limits;
}

class SentFramesTest : public testing::Test {
 protected:
  explicit SentFramesTest(const Limits& limits = default_limits()) : node_(limits) {}

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
    const auto text = [](SentFrames::Bytes bytes) {
      return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    };
    frames_.send_again(
        lost, [&](const FrameHeader& header, SentFrames::Bytes payload, SentFrames::Bytes rest) {
          EXPECT_EQ(header.payload_bytes, payload.size() + rest.size());
          all.push_back(std::to_string(header.call) + ":" + text(payload) + text(rest));
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

TEST_F(SentFramesTest, UsesNoMoreMemoryThanTheLimit) {
  const uint64_t most = node_.worker->node().limits.retry_request_bytes_max;
  for (uint64_t call = 1; call <= 300; ++call) {
    add(FrameKind::kCall, call, std::string(1 + call * 37 % 1500, 'x'));
    EXPECT_LE(held(), most);
    if (call > 8) frames_.answered(call - 8);
    EXPECT_EQ(frames_.count(), std::min<uint64_t>(call, 8)) << "the memory is used again";
  }
  EXPECT_GT(held(), most / 4) << "memory counts, and not only the bytes of copies";
}

// The payloads have all lengths, so that headers and payloads are cut at the end of the ring.
TEST_F(SentFramesTest, FramesCanContinueAtTheBeginningOfTheRing) {
  const auto payload = [](uint64_t call) {
    std::string text;
    for (uint64_t i = 0; i < call * 7 % 101; ++i) text += static_cast<char>('a' + (call + i) % 26);
    return text;
  };
  uint64_t call = 0;
  for (int round = 0; round < 200; ++round) {
    for (int i = 0; i < 5; ++i) {
      ++call;
      add(FrameKind::kCall, call, payload(call));
      frames_.answered(call - std::min<uint64_t>(call, 3));
    }
    if (round % 7 != 6) continue;
    std::vector<std::string> expected;
    for (uint64_t kept = call - 2; kept <= call; ++kept) {
      expected.push_back(std::to_string(kept) + ":" + payload(kept));
    }
    EXPECT_EQ(sent_again(3), expected);
  }
}

TEST_F(SentFramesTest, TakesNoMemoryWhileHalfOfMaxBufferedIsUsed) {
  const auto half = static_cast<int64_t>(node_.worker->node().limits.buffered_bytes_max / 2);
  add(FrameKind::kCall, 1, "one");
  node_.worker->buffered(half);
  add(FrameKind::kCall, 2, "two");
  EXPECT_EQ(frames_.count(), 2u) << "the memory of the first has space";
  add(FrameKind::kCall, 3, std::string(5000, 'x'));
  EXPECT_EQ(frames_.count(), 0u);
  add(FrameKind::kCall, 4, "four");
  EXPECT_EQ(frames_.count(), 0u);
  EXPECT_EQ(node_.counters.rdma.frames_not_kept.value(), 2u);
  node_.worker->buffered(-half);
  EXPECT_EQ(held(), 0u);
}

TEST_F(SentFramesTest, AReloadCanLowerTheLimit) {
  add(FrameKind::kCall, 1, std::string(6000, 'x'));
  NodeConfig smaller = node_.worker->node();
  smaller.limits.retry_request_bytes_max = 1000;
  node_.set_node(smaller);
  add(FrameKind::kCall, 2, "two");
  EXPECT_EQ(frames_.count(), 0u) << "the copy of the first is too large";
  add(FrameKind::kCall, 3, "three");
  EXPECT_EQ(frames_.count(), 1u);
  EXPECT_LE(held(), 1000u);
}

class SentFramesWithoutCopies : public SentFramesTest {
 protected:
  SentFramesWithoutCopies() : SentFramesTest(with_copies_of(0)) {}
};

TEST_F(SentFramesWithoutCopies, NoFrameCountsAsNotKept) {
  add(FrameKind::kCall, 1, "one");
  add(FrameKind::kSync, 1);
  EXPECT_EQ(frames_.count(), 0u);
  EXPECT_FALSE(frames_.needs_sync());
  EXPECT_EQ(node_.counters.rdma.frames_not_kept.value(), 0u);
  EXPECT_EQ(held(), 0u);
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
