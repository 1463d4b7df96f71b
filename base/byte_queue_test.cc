// SPDX-License-Identifier: Apache-2.0
// base/byte_queue_test.cc: compares ByteQueue with std::string over random operations.
#include "base/byte_queue.h"

#include <gtest/gtest.h>

#include <random>
#include <span>
#include <string>
#include <vector>

namespace hat {
namespace {

std::string text_of(const ByteQueue& queue) {
  const auto bytes = queue.bytes();
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

TEST(ByteQueue, DoesAsAStringDoes) {
  std::mt19937 random(1);
  ByteQueue queue;
  std::string expected;
  for (int step = 0; step < 2000; ++step) {
    const uint64_t what = random() % 100;
    if (what < 50) {
      const std::string more(random() % 2000, static_cast<char>(random()));
      queue.append(std::as_bytes(std::span(more)));
      expected += more;
    } else if (what < 97) {
      const size_t count = random() % (expected.size() + 1);
      queue.consume(count);
      expected.erase(0, count);
    } else if (what == 97) {
      queue.consume(expected.size());
      expected.clear();
    } else {
      queue.clear();
      expected.clear();
    }
    ASSERT_EQ(queue.size(), expected.size());
    ASSERT_EQ(queue.empty(), expected.empty());
    ASSERT_EQ(text_of(queue), expected);
  }
}

// The test consumes slightly fewer bytes than it appends, so the queue is never empty.
TEST(ByteQueue, TakesNoMoreMemoryWithWhatHasGoneThrough) {
  const std::vector<std::byte> piece(10'000);
  ByteQueue queue;
  queue.append(piece);
  for (int i = 0; i < 10'000; ++i) {
    queue.append(piece);
    queue.consume(piece.size());
    ASSERT_LE(queue.memory_bytes(), 100'000u);
  }
  for (int i = 0; i < 1000; ++i) queue.append(piece);  // a burst: no bytes are consumed
  EXPECT_GE(queue.memory_bytes(), 1000 * piece.size());
  for (int i = 0; i < 1000; ++i) {
    queue.consume(piece.size() + 1);
    queue.append(std::span(piece).first(1));
    ASSERT_LE(queue.memory_bytes(), 4 * queue.size() + 65'536);
  }
  EXPECT_LE(queue.memory_bytes(), 100'000u) << "what the burst took is given back";
}

}  // namespace
}  // namespace hat
