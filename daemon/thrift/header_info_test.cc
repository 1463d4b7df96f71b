// SPDX-License-Identifier: Apache-2.0
// daemon/thrift/header_info_test.cc: checks which time-out of the client MessageReader finds in the
// header words of THeader: as libthrift writes them, case by case, and at random.
#include "daemon/thrift/header_info.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "daemon/thrift/reference_header_info.h"
#include "daemon/thrift/stock_messages.h"
#include "daemon/thrift/trace.h"

namespace hat::thrift {
namespace {

using namespace std::string_literals;
using Event = MessageReader::Event;

constexpr Dialect kHeaderDialects[] = {
    {"theader_binary", Framing::kHeader, Encoding::kBinary},
    {"theader_compact", Framing::kHeader, Encoding::kCompact},
    {"framed_theader_binary", Framing::kFramedHeader, Encoding::kBinary},
    {"framed_theader_compact", Framing::kFramedHeader, Encoding::kCompact},
};

uint32_t found_by_reader(const std::string& bytes) {
  const Trace got = trace(bytes);
  EXPECT_EQ(got.seen.size(), 2u) << got;
  if (got.seen.empty()) return 0;
  EXPECT_EQ(got.seen[0].event, Event::kHead) << got;
  EXPECT_EQ(got.seen[0].name, "add") << got;
  EXPECT_EQ(got.seen.back().event, Event::kEnd) << got;
  EXPECT_EQ(got.seen.back().at, bytes.size()) << got;
  return got.seen[0].client_timeout_ms;
}

struct StockRow {
  std::string_view name;
  StockHeaders headers;
  uint32_t expected;
};

const StockRow kStockRows[] = {
    {"no_header", {}, 0},
    {"only_the_timeout", {{"client_timeout", "250"}}, 250},
    {"another_header", {{"trace", "abc"}}, 0},
    {"among_several",
     {{"a", ""}, {"", "b"}, {"client_timeout", "1000"}, {"client_timeoux", "7"}, {"z", "9"}},
     1000},
    {"after_a_long_header", {{"a", std::string(200, '5')}, {"client_timeout", "30"}}, 30},
    {"the_largest", {{"client_timeout", "3600000"}}, 3'600'000},
    {"too_large", {{"client_timeout", "3600001"}}, 0},
    {"far_too_large", {{"client_timeout", "4294967297"}}, 0},
    {"zero", {{"client_timeout", "0"}}, 0},
    {"leading_zeros", {{"client_timeout", "000000950"}}, 950},
    {"too_many_digits", {{"client_timeout", "0000000950"}}, 0},
    {"empty", {{"client_timeout", ""}}, 0},
    {"negative", {{"client_timeout", "-5"}}, 0},
    {"with_a_unit", {{"client_timeout", "5ms"}}, 0},
    {"with_a_space", {{"client_timeout", " 5"}}, 0},
    {"another_case", {{"Client_Timeout", "5"}}, 0},
    {"a_longer_key", {{"client_timeout2", "5"}}, 0},
    {"a_shorter_key", {{"client_timeou", "5"}}, 0},
};

class StockHeaderInfoTest : public testing::TestWithParam<StockRow> {};
INSTANTIATE_TEST_SUITE_P(Rows, StockHeaderInfoTest, testing::ValuesIn(kStockRows),
                         [](const auto& row) { return std::string(row.param.name); });

TEST_P(StockHeaderInfoTest, IsReadAsLibthriftWritesIt) {
  std::mt19937 random(1);
  for (const Dialect& dialect : kHeaderDialects) {
    const auto bytes =
        stock_message(dialect, {"add", MessageType::kCall, 7}, {}, random, GetParam().headers);
    EXPECT_EQ(found_by_reader(bytes), GetParam().expected) << dialect.name;
    EXPECT_EQ(ReferenceHeaderInfo(bytes, dialect.framing).client_timeout_ms(), GetParam().expected);
  }
}

std::string be(uint64_t value, int bytes) {
  std::string text;
  while (--bytes >= 0) text += static_cast<char>(value >> (8 * bytes));
  return text;
}

// Returns a call of `add` under THeader. `words` are the header words after the transforms, without
// padding.
std::string call_with(std::string words) {
  words = "\0\0"s + words;
  words.resize((words.size() + 3) / 4 * 4);
  const std::string body = "\x0f\xff\0\0\0\0\0\7"s + be(words.size() / 4, 2) + words +
                           "\x80\1\0\1\0\0\0\3add\0\0\0\7\0"s;
  return be(body.size(), 4) + body;
}

struct WordsRow {
  std::string_view name;
  std::string words;
  uint32_t expected;
};

const std::string kPair =
    "\x0e"
    "client_timeout"
    "\3"
    "250"s;

const WordsRow kWordsRows[] = {
    {"one_pair", "\1\1"s + kPair, 250},
    {"two_blocks", "\1\1\1k\1v\1\1"s + kPair, 250},
    {"an_empty_block_before", "\1\0\1\1"s + kPair, 250},
    {"the_last_value_counts",
     "\1\2"s + kPair +
         "\x0e"
         "client_timeout"
         "\2"
         "99",
     99},
    {"the_last_value_is_bad",
     "\1\2"s + kPair +
         "\x0e"
         "client_timeout"
         "\2"
         "9x",
     0},
    {"beyond_the_count", "\1\1\1k\1v"s + kPair, 0},
    {"after_padding", "\0\1\1"s + kPair, 0},
    {"after_an_unknown_block", "\2\1\1k\1v\1\1"s + kPair, 0},
    {"after_a_value_of_20000_bytes", "\1\2\1k\xa0\x9c\1"s + std::string(20'000, '5') + kPair, 250},
    {"fewer_pairs_than_the_count", "\1\5"s + kPair, 250},
    {"a_huge_count", "\1\xff\xff\xff\xff\x0f"s + kPair, 250},
    {"long_varints", "\x81\0\x81\0"s + kPair, 250},
    {"a_varint_that_does_not_end", "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\1\1"s + kPair, 0},
    {"a_key_past_the_words",
     "\1\1\x7f"s + "client_timeout"
                   "\3"
                   "250",
     0},
    {"a_value_past_the_words",
     "\1\1\x0e"
     "client_timeout"
     "\5"
     "250"s,
     0},
    {"a_value_far_past_the_words",
     "\1\1\x0e"
     "client_timeout"
     "\xff\xff\xff\xff\x0f"
     "250"s,
     0},
    {"a_broken_pair_after_it", "\1\2"s + kPair + "\xff\xff\xff\x7fx", 250},
    {"no_value",
     "\1\1\x0e"
     "client_timeout"s,
     0},
};

class HeaderWordsTest : public testing::TestWithParam<WordsRow> {};
INSTANTIATE_TEST_SUITE_P(Rows, HeaderWordsTest, testing::ValuesIn(kWordsRows),
                         [](const auto& row) { return std::string(row.param.name); });

TEST_P(HeaderWordsTest, NeverBreakTheMessage) {
  const auto bytes = call_with(GetParam().words);
  EXPECT_EQ(found_by_reader(bytes), GetParam().expected);
  EXPECT_EQ(ReferenceHeaderInfo(bytes, Framing::kHeader).client_timeout_ms(), GetParam().expected);
  const Trace whole = trace(bytes);
  const size_t step = bytes.size() > 1000 ? 7 : 1;
  for (size_t cut = 0; cut <= bytes.size(); cut += step) {
    const size_t cuts[] = {cut};
    ASSERT_EQ(trace(bytes, cuts), whole) << "cut at " << cut;
  }
}

TEST(HeaderInfo, ADamagedHeaderIsReadAsTheReferenceReadsIt) {
  size_t found = 0;
  for (uint32_t seed = 0; seed < 20'000; ++seed) {
    std::mt19937 random(seed);
    std::string words = "\1\3\1k\1v"s + kPair + "\1z\2yy\1\1"s + kPair;
    for (auto left = random() % 3; left > 0; --left) {
      words[random() % words.size()] =
          static_cast<char>(random() % 4 == 0 ? random() : random() % 4);
    }
    const auto bytes = call_with(words);
    const std::vector<size_t> cuts = {random() % 30, 30 + random() % 20};
    const Trace got = trace(bytes, cuts);
    ASSERT_EQ(got.seen.size(), 2u) << seed << got;
    ASSERT_EQ(got.seen[0].client_timeout_ms,
              ReferenceHeaderInfo(bytes, Framing::kHeader).client_timeout_ms())
        << seed << got;
    found += got.seen[0].client_timeout_ms != 0;
  }
  EXPECT_GT(found, 5'000u);
}

TEST(HeaderInfo, DoesNotLastBeyondItsUnit) {
  const Trace got = trace(call_with("\1\1"s + kPair) + call_with(""));
  ASSERT_EQ(got.seen.size(), 4u) << got;
  EXPECT_EQ(got.seen[0].client_timeout_ms, 250u);
  EXPECT_EQ(got.seen[2].client_timeout_ms, 0u);
}

}  // namespace
}  // namespace hat::thrift
