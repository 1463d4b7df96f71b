// SPDX-License-Identifier: Apache-2.0
// daemon/thrift/message_reader_split_test.cc: checks that MessageReader's events do not depend on
// how the input is split into pieces, and that it finds the same ends of messages as libthrift.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "daemon/thrift/stock_messages.h"
#include "daemon/thrift/trace.h"

namespace hat::thrift {
namespace {

using Event = MessageReader::Event;

std::string some_units(std::mt19937& random) {
  std::string bytes;
  const auto below = [&](uint32_t bound) {
    return std::uniform_int_distribution<uint32_t>(0, bound - 1)(random);
  };
  for (uint32_t left = 1 + below(3); left > 0; --left) {
    const auto type = static_cast<MessageType>(1 + below(4));
    const auto seqid = static_cast<int32_t>(random()) >> below(32);
    const Body body{.first_field = static_cast<int16_t>(below(3))};
    bytes += stock_message(kDialects[below(std::size(kDialects))],
                           {below(2) == 0 ? "get" : "Store:multi_get", type, seqid}, body, random);
  }
  return bytes;
}

void flip_a_bit(char& byte, std::mt19937& random) {
  byte = static_cast<char>(byte ^ 1 << random() % 8);
}

// Flips bits, cuts off the end and inserts zero bytes, each at random. Events must not depend on
// splits even if the bytes are not Thrift.
void damage(std::string& bytes, std::mt19937& random) {
  for (auto left = random() % 3; left > 0; --left)
    flip_a_bit(bytes[random() % bytes.size()], random);
  if (random() % 4 == 0) bytes.resize(1 + random() % bytes.size());
  if (random() % 4 == 0) bytes.insert(random() % bytes.size(), 1 + random() % 4, '\0');
}

void expect_same_for_splits(const std::string& bytes, std::mt19937& random) {
  const auto whole = trace(bytes);
  for (size_t cut = 0; cut <= bytes.size(); ++cut) {
    const size_t cuts[] = {cut};
    ASSERT_EQ(trace(bytes, cuts), whole) << "cut at " << cut;
  }
  std::vector<size_t> every(bytes.size());
  std::iota(every.begin(), every.end(), 0);
  ASSERT_EQ(trace(bytes, every), whole) << "byte by byte";
  for (int round = 0; round < 20; ++round) {
    std::vector<size_t> cuts(random() % 12);
    for (auto& cut : cuts) cut = random() % (bytes.size() + 1);
    std::ranges::sort(cuts);
    ASSERT_EQ(trace(bytes, cuts), whole) << "cuts " << testing::PrintToString(cuts);
  }
}

TEST(MessageReaderSplit, NeverChangesTheMeaning) {
  for (uint32_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    auto bytes = some_units(random);
    // Limits the test's time, which grows with the square of the size: each single cut is tested.
    if (bytes.size() > 1500) bytes.resize(1500);
    if (seed % 2 == 1) damage(bytes, random);
    expect_same_for_splits(bytes, random);
    if (HasFatalFailure()) return;
  }
}

TEST(MessageReaderSplit, EveryUndamagedUnitIsFound) {
  for (uint32_t seed = 0; seed < 2000; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    std::string bytes;
    std::vector<size_t> ends;
    for (int left = 5; left > 0; --left) {
      const auto& dialect = kDialects[random() % std::size(kDialects)];
      bytes += stock_message(dialect, {"get", MessageType::kReply, 5}, {}, random);
      ends.push_back(bytes.size());
    }
    const auto got = trace(bytes);
    std::vector<size_t> got_ends;
    for (const auto& seen : got.seen) {
      if (seen.event == Event::kEnd) got_ends.push_back(seen.at);
    }
    ASSERT_EQ(got_ends, ends) << got;
    ASSERT_EQ(got.count(Event::kHead), ends.size());
  }
}

TEST(MessageReaderSplit, EndsWhereLibthriftEnds) {
  size_t compared = 0;
  for (uint32_t seed = 0; seed < 4000; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    constexpr Encoding kEncodings[] = {Encoding::kBinary, Encoding::kBinaryOld, Encoding::kCompact};
    const auto encoding = kEncodings[seed % 3];
    auto bytes = stock_message({"", Framing::kUnframed, encoding}, {"get", MessageType::kReply, 5},
                               {}, random);
    const auto head = trace(bytes).seen.at(0).at;
    // Damages only the body. If libthrift still reads the message, MessageReader must find the same
    // end.
    if (seed % 2 == 1) flip_a_bit(bytes[head + random() % (bytes.size() - head)], random);
    const auto expected = stock_message_bytes(encoding, bytes);
    if (!expected) continue;
    ++compared;
    const auto got = trace(bytes);
    ASSERT_GE(got.seen.size(), 2u) << got;
    ASSERT_EQ(got.seen[1].event, Event::kEnd) << got;
    ASSERT_EQ(got.seen[1].at, *expected) << got;
  }
  EXPECT_GT(compared, 2500u);
}

}  // namespace
}  // namespace hat::thrift
