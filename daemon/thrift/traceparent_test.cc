// SPDX-License-Identifier: Apache-2.0
// daemon/thrift/traceparent_test.cc: checks which trace context MessageReader finds in the header
// words of THeader.
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/thrift/reference_header_info.h"
#include "daemon/thrift/stock_messages.h"
#include "daemon/thrift/trace.h"
#include "daemon/thrift/trace_context.h"

namespace hat::thrift {
namespace {

constexpr std::string_view kTraceIdText = "0af7651916cd43dd8448eb211c80319c";
constexpr std::string_view kParentIdText = "b7ad6b7169203331";
constexpr Dialect kTracedDialects[] = {
    {"theader_binary", Framing::kHeader, Encoding::kBinary},
    {"framed_theader_compact", Framing::kFramedHeader, Encoding::kCompact},
};

std::string with_headers(const Dialect& dialect, const StockHeaders& headers) {
  std::mt19937 random(1);
  return stock_message(dialect, {"add", MessageType::kCall, 7}, {}, random, headers);
}

// Returns the head of the only message in `bytes`, and expects that the reference finds the same
// trace context.
Seen head_of(const std::string& bytes) {
  const Trace got = trace(bytes);
  EXPECT_EQ(got.seen.size(), 2u) << got;
  if (got.seen.empty()) return {};
  uint32_t at = 0;
  EXPECT_EQ(ReferenceHeaderInfo(bytes, got.seen[0].framing).trace(at), got.seen[0].trace) << got;
  EXPECT_EQ(at, got.seen[0].trace_at);
  return got.seen[0];
}

std::string_view text_of(const SpanId& id) { return {id.data(), id.size()}; }
std::string_view text_of(const TraceId& id) { return {id.data(), id.size()}; }

enum class Validity : uint8_t { kInvalid, kNotSampled, kSampled, kLaterVersion };

struct TextRow {
  std::string_view name;
  std::string text;
  Validity expected;
};

const std::string kIdFields =
    "-" + std::string(kTraceIdText) + "-" + std::string(kParentIdText) + "-";

const TextRow kTextRows[] = {
    {"sampled", "00" + kIdFields + "01", Validity::kSampled},
    {"not_sampled", "00" + kIdFields + "00", Validity::kNotSampled},
    {"unknown_flags", "00" + kIdFields + "fe", Validity::kNotSampled},
    {"all_flags", "00" + kIdFields + "ff", Validity::kSampled},
    {"empty", "", Validity::kInvalid},
    {"too_short", "00" + kIdFields + "0", Validity::kInvalid},
    {"too_long", "00" + kIdFields + "010", Validity::kInvalid},
    {"version_00_with_more_fields", "00" + kIdFields + "01-x", Validity::kInvalid},
    {"later_version", "01" + kIdFields + "01", Validity::kLaterVersion},
    {"later_version_with_more_fields", "cc" + kIdFields + "01-what-the-future-brings",
     Validity::kLaterVersion},
    {"later_version_with_a_long_field", "01" + kIdFields + "01-" + std::string(200, 'z'),
     Validity::kLaterVersion},
    {"later_version_with_longer_flags", "01" + kIdFields + "01x", Validity::kInvalid},
    {"version_ff", "ff" + kIdFields + "01", Validity::kInvalid},
    {"version_in_upper_case", "0A" + kIdFields + "01", Validity::kInvalid},
    {"upper_case", "00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01", Validity::kInvalid},
    {"trace_id_of_zeros", "00-00000000000000000000000000000000-b7ad6b7169203331-01",
     Validity::kInvalid},
    {"parent_id_of_zeros", "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
     Validity::kInvalid},
    {"not_a_digit", "00-0af7651916cd43dd8448eb211c80319g-b7ad6b7169203331-01", Validity::kInvalid},
    {"an_escape", "00-0af7651916cd43dd8448eb211c8031\"\\-b7ad6b7169203331-01", Validity::kInvalid},
    {"another_separator", "00_0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
     Validity::kInvalid},
    {"a_separator_too_early", "00-0af7651916cd43dd8448eb211c80319-cb7ad6b7169203331-01",
     Validity::kInvalid},
    {"spaces", " 00" + kIdFields + "01 ", Validity::kInvalid},
};

class TraceparentText : public testing::TestWithParam<TextRow> {};
INSTANTIATE_TEST_SUITE_P(Rows, TraceparentText, testing::ValuesIn(kTextRows),
                         [](const auto& row) { return std::string(row.param.name); });

TEST_P(TraceparentText, IsReadAsTheRecommendationSays) {
  for (const Dialect& dialect : kTracedDialects) {
    const auto bytes =
        with_headers(dialect, {{"a", "1"}, {"traceparent", GetParam().text}, {"z", "9"}});
    const Seen head = head_of(bytes);
    const Validity expected = GetParam().expected;
    ASSERT_EQ(head.trace.has_value(), expected != Validity::kInvalid);
    if (!head.trace) {
      EXPECT_EQ(head.trace_at, 0u);
      continue;
    }
    EXPECT_EQ(text_of(head.trace->trace_id), kTraceIdText);
    EXPECT_EQ(text_of(head.trace->parent_id), kParentIdText);
    EXPECT_EQ(head.trace->is_sampled, expected != Validity::kNotSampled);
    EXPECT_EQ(head.trace->is_known, expected != Validity::kLaterVersion);
    EXPECT_EQ(bytes.substr(head.trace_at, GetParam().text.size()), GetParam().text);
    EXPECT_EQ(bytes.substr(head.trace_at + kParentIdAt, kParentIdText.size()), kParentIdText);
  }
}

const std::string kSampledText = "00" + kIdFields + "01";

TEST(Traceparent, IsFoundInAnyCaseOfItsKey) {
  for (const char* key : {"traceparent", "Traceparent", "TRACEPARENT", "tracePARENT"}) {
    EXPECT_TRUE(head_of(with_headers(kTracedDialects[0], {{key, kSampledText}})).trace) << key;
  }
  for (const char* key : {"traceparen", "traceparentx", "tracestate", "xraceparent",
                          "tracepar\x05nt", "client_timeout", ""}) {
    EXPECT_FALSE(head_of(with_headers(kTracedDialects[0], {{key, kSampledText}})).trace) << key;
  }
}

TEST(Traceparent, DoesNotCountIfItsKeyComesTwice) {
  for (const char* key : {"TRACEPARENT", "traceparenT"}) {
    for (const std::string& text : {kSampledText, std::string("nonsense")}) {
      const auto bytes = with_headers(kTracedDialects[0],
                                      {{"traceparent", kSampledText}, {key, text}, {"z", "9"}});
      EXPECT_FALSE(head_of(bytes).trace) << key << " " << text;
      EXPECT_EQ(head_of(bytes).trace_at, 0u);
    }
  }
}

TEST(Traceparent, StandsBesideATimeout) {
  const Seen head = head_of(
      with_headers(kTracedDialects[1], {{"client_timeout", "250"}, {"traceparent", kSampledText}}));
  EXPECT_TRUE(head.trace);
  EXPECT_EQ(head.client_timeout_ms, 250u);
}

TEST(Traceparent, CanOnlyBeInAUnitThatMayHaveAHeader) {
  for (const Dialect& dialect : kTracedDialects) {
    const auto bytes = with_headers(dialect, {{"traceparent", kSampledText}});
    EXPECT_TRUE(may_have_header(as_bytes(bytes)));
    EXPECT_TRUE(may_have_header(as_bytes(bytes.substr(0, 10)).first(10)));
    EXPECT_FALSE(may_have_header(as_bytes(bytes).first(5)));
  }
  for (const std::string_view other : {"", "\x80\1", "a plain text of some length"}) {
    EXPECT_FALSE(may_have_header(as_bytes(other)));
  }
}

TEST(Traceparent, IsReadFromPieces) {
  for (const Dialect& dialect : kTracedDialects) {
    const auto bytes =
        with_headers(dialect, {{"client_timeout", "1"}, {"traceparent", kSampledText}});
    const Trace whole = trace(bytes);
    for (size_t cut = 0; cut <= bytes.size(); ++cut) {
      for (size_t second = cut; second <= bytes.size(); second += 5) {
        const size_t cuts[] = {cut, second};
        ASSERT_EQ(trace(bytes, cuts), whole) << cut << " " << second;
      }
    }
  }
}

TEST(Traceparent, OfOneMessageIsNotThatOfTheNext) {
  const auto traced = with_headers(kTracedDialects[0], {{"traceparent", kSampledText}});
  const Trace got = trace(traced + with_headers(kTracedDialects[0], {}) + traced);
  ASSERT_EQ(got.seen.size(), 6u) << got;
  EXPECT_TRUE(got.seen[0].trace);
  EXPECT_FALSE(got.seen[2].trace);
  EXPECT_TRUE(got.seen[4].trace);
  EXPECT_EQ(got.seen[0].trace_at, got.seen[4].trace_at) << "it is an offset in the unit";
}

TEST(Traceparent, OfADamagedHeaderIsReadAsTheReferenceReadsIt) {
  size_t found = 0;
  for (uint32_t seed = 0; seed < 10'000; ++seed) {
    std::mt19937 random(seed);
    auto bytes = with_headers(
        kTracedDialects[0],
        {{"TRACEPARENT", kSampledText}, {"a", "1"}, {"traceparent", "00" + kIdFields + "00"}});
    const size_t info = 4 + kHeaderFixedBytes + 2;
    const size_t info_bytes = 2 + 12 + 56 + 4 + 12 + 56;
    for (auto left = random() % 3; left > 0; --left) {
      char& byte = bytes[info + random() % info_bytes];
      byte = static_cast<char>(random() % 2 == 0 ? random() : '0' + random() % 10);
    }
    const std::vector<size_t> cuts = {random() % 60, 60 + random() % 80};
    const Trace got = trace(bytes, cuts);
    ASSERT_FALSE(got.seen.empty());
    uint32_t at = 0;
    const auto expected = ReferenceHeaderInfo(bytes, Framing::kHeader).trace(at);
    ASSERT_EQ(got.seen[0].trace, expected) << seed << got;
    ASSERT_EQ(got.seen[0].trace_at, at) << seed << got;
    found += expected.has_value();
  }
  EXPECT_GT(found, 1'000u);
}

}  // namespace
}  // namespace hat::thrift
