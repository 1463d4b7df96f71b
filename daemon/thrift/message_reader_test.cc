// SPDX-License-Identifier: Apache-2.0
// daemon/thrift/message_reader_test.cc: checks the heads, ends and opaque streams that
// MessageReader reports, case by case.
#include "daemon/thrift/message_reader.h"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "daemon/thrift/stock_messages.h"
#include "daemon/thrift/trace.h"

namespace hat::thrift {
namespace {

using namespace std::string_literals;
using namespace std::string_view_literals;
using Event = MessageReader::Event;

std::string be32(uint32_t value) {
  std::string bytes;
  for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(value >> shift);
  return bytes;
}

std::string frame(const std::string& body) {
  return be32(static_cast<uint32_t>(body.size())) + body;
}

std::string strict_head(MessageType type, std::string_view name, uint32_t seqid) {
  return be32(0x80010000u | static_cast<uint32_t>(type)) +
         be32(static_cast<uint32_t>(name.size())) + std::string(name) + be32(seqid);
}
const std::string kAdd = strict_head(MessageType::kCall, "add", 7) + "\0"s;
const std::string kSub = strict_head(MessageType::kCall, "sub", 8) + "\0"s;

std::string header_frame(const std::string& words, const std::string& payload) {
  return frame("\x0f\xff\x00\x08"s + be32(99) + "\0"s + static_cast<char>(words.size() / 4) +
               words + payload);
}

class DialectTest : public testing::TestWithParam<Dialect> {};
INSTANTIATE_TEST_SUITE_P(All, DialectTest, testing::ValuesIn(kDialects),
                         [](const auto& row) { return std::string(row.param.name); });

TEST_P(DialectTest, EveryKindOfMessageIsReadBack) {
  std::mt19937 random(1);
  for (const auto type :
       {MessageType::kCall, MessageType::kReply, MessageType::kException, MessageType::kOneway}) {
    for (const int32_t seqid : {0, 1, 127, 128, 65536, INT32_MAX, -1, -5, INT32_MIN}) {
      for (const auto* name : {"a", "add", "Calculator:add", "n\xc3\xa4me"}) {
        const auto bytes = stock_message(GetParam(), {name, type, seqid}, {}, random);
        const auto got = trace(bytes);
        ASSERT_EQ(got.seen.size(), 2u) << got;
        const Seen& head = got.seen[0];
        EXPECT_EQ(head.event, Event::kHead);
        EXPECT_EQ(head.framing, GetParam().framing);
        EXPECT_EQ(head.encoding, GetParam().encoding);
        EXPECT_EQ(head.type, type);
        EXPECT_EQ(head.seqid, seqid);
        EXPECT_EQ(head.name, name);
        const bool framed = GetParam().framing != Framing::kUnframed;
        EXPECT_EQ(head.frame_bytes, framed ? bytes.size() : 0);
        EXPECT_EQ(head.header_seqid,
                  has_header(GetParam().framing) ? static_cast<uint32_t>(seqid) : 0);
        EXPECT_EQ(got.seen[1].event, Event::kEnd);
        EXPECT_EQ(got.seen[1].at, bytes.size());
        EXPECT_FALSE(got.inside_unit);
      }
    }
  }
}

TEST_P(DialectTest, OutcomeIsToldByTheFirstField) {
  std::mt19937 random(2);
  const auto outcome = [&](MessageType type, const Body& body) {
    return trace(stock_message(GetParam(), {"get", type, 3}, body, random)).seen.back().outcome;
  };
  const auto field = [](int16_t id) {
    return Body{.kind = Body::Kind::kString, .size = 5, .first_field = id};
  };
  EXPECT_EQ(outcome(MessageType::kReply, field(0)), Outcome::kSuccess);
  EXPECT_EQ(outcome(MessageType::kReply, {.kind = Body::Kind::kEmpty}), Outcome::kSuccess);
  for (const int16_t id : std::to_array<int16_t>({1, 2, 15, 16, 300, 32767, -1})) {
    EXPECT_EQ(outcome(MessageType::kReply, field(id)), Outcome::kDeclaredException) << id;
  }
  EXPECT_EQ(outcome(MessageType::kException, field(1)), Outcome::kApplicationException);
}

TEST_P(DialectTest, NestingHasALimit) {
  std::mt19937 random(3);
  const auto nested = [&](uint32_t structs) {
    const Body body{.kind = Body::Kind::kNested, .size = structs};
    return stock_message(GetParam(), {"deep", MessageType::kCall, 1}, body, random);
  };
  const auto deepest = nested(64);
  EXPECT_EQ(trace(deepest).seen.back().event, Event::kEnd);
  EXPECT_EQ(trace(deepest).seen.back().at, deepest.size());

  const auto deeper = nested(65);
  const auto got = trace(deeper);
  ASSERT_EQ(got.seen.size(), 2u);
  if (GetParam().framing == Framing::kUnframed) {
    EXPECT_EQ(got.seen[1].event, Event::kOpaque);
    EXPECT_EQ(got.seen[1].reason, "unknown");
  } else {
    EXPECT_EQ(got.seen[1].event, Event::kEnd);
    EXPECT_EQ(got.seen[1].at, deeper.size());
  }
}

TEST_P(DialectTest, NoPrefixEndsEarly) {
  std::mt19937 random(4);
  for (int round = 0; round < 20; ++round) {
    const auto bytes = stock_message(GetParam(), {"get", MessageType::kReply, -2}, {}, random);
    for (size_t size = 0; size < bytes.size(); ++size) {
      const auto got = trace(bytes.substr(0, size));
      ASSERT_EQ(got.count(Event::kEnd), 0u) << size << " of " << bytes.size() << got;
      ASSERT_EQ(got.count(Event::kOpaque), 0u) << size << " of " << bytes.size() << got;
      ASSERT_EQ(got.inside_unit, size > 0);
    }
  }
}

TEST_P(DialectTest, NamesHaveALimit) {
  std::mt19937 random(5);
  const auto named = [&](size_t size) {
    return trace(
        stock_message(GetParam(), {std::string(size, 'n'), MessageType::kCall, 1}, {}, random));
  };
  EXPECT_EQ(named(255).seen.at(0).name, std::string(255, 'n'));
  const auto got = named(256);
  ASSERT_EQ(got.seen.size(), 1u) << got;
  EXPECT_EQ(got.seen[0].event, Event::kOpaque);
  EXPECT_EQ(got.seen[0].reason, "long_name");
}

TEST_P(DialectTest, UnitsOfAllDialectsFollowEachOther) {
  std::mt19937 random(6);
  std::string bytes;
  std::vector<size_t> ends;
  for (const auto& next : kDialects) {
    for (const Dialect* dialect : {&GetParam(), &next}) {
      bytes += stock_message(*dialect, {"f", MessageType::kCall, 4}, {}, random);
      ends.push_back(bytes.size());
    }
  }
  const auto got = trace(bytes);
  std::vector<size_t> got_ends;
  for (const auto& seen : got.seen) {
    if (seen.event == Event::kEnd) got_ends.push_back(seen.at);
  }
  EXPECT_EQ(got_ends, ends);
}

struct Expected {
  Event event;
  size_t at;
  std::string_view detail = "";  // for kHead: the name; for kOpaque: the reason
};
struct StreamRow {
  std::string_view name;
  std::string bytes;
  std::vector<Expected> expected;
};

const StreamRow kStreams[] = {
    {"empty_frames_have_no_head",
     be32(0) + be32(0) + kAdd,
     {{Event::kEnd, 4}, {Event::kEnd, 8}, {Event::kHead, 23, "add"}, {Event::kEnd, 24}}},
    {"two_messages_in_a_frame",
     frame(kAdd + kSub),
     {{Event::kHead, 19, "add"}, {Event::kHead, 35, "sub"}, {Event::kEnd, 36}}},
    {"bytes_behind_a_message_belong_to_its_frame",
     frame(kAdd + "tail") + kSub,
     {{Event::kHead, 19, "add"}, {Event::kEnd, 24}, {Event::kHead, 39, "sub"}, {Event::kEnd, 40}}},
    {"a_second_head_cut_by_the_frame_is_none",
     frame(kAdd + kSub.substr(0, 12)),
     {{Event::kHead, 19, "add"}, {Event::kEnd, 32}}},
    {"a_body_past_the_frame_ends_with_it",
     frame(strict_head(MessageType::kCall, "add", 1) + "\x0b\x00\x01"s + be32(1000) + "abc") + kSub,
     {{Event::kHead, 19, "add"}, {Event::kEnd, 29}, {Event::kHead, 44, "sub"}, {Event::kEnd, 45}}},
    {"a_body_that_cannot_be_walked_ends_with_its_frame",
     frame(strict_head(MessageType::kCall, "add", 1) + "\x77\x00\x01garbage"s) + kSub,
     {{Event::kHead, 19, "add"}, {Event::kEnd, 29}, {Event::kHead, 44, "sub"}, {Event::kEnd, 45}}},
    {"a_frame_that_ends_with_the_head",
     frame(strict_head(MessageType::kCall, "add", 1)),
     {{Event::kHead, 19, "add"}, {Event::kEnd, 19}}},
    {"a_head_cut_by_its_frame",
     frame(strict_head(MessageType::kCall, "add", 1).substr(0, 14)) + "abcdefghijklmn",
     {{Event::kOpaque, 0, "unknown"}}},
    {"a_broken_head_after_a_good_frame",
     frame(kAdd) + frame("\x80\x01\x00\x01\x00\x00\x10\x00"s + "abcdef"),
     {{Event::kHead, 19, "add"}, {Event::kEnd, 20}, {Event::kOpaque, 20, "unknown"}}},
    {"tls_that_looks_like_a_whole_head", "\x16\x03\x01\x02" + kAdd, {{Event::kOpaque, 0, "tls"}}},
    {"a_name_longer_than_its_frame",
     frame("\x80\x01\x00\x01\x00\x00\x10\x00"s + "abcdef"),
     {{Event::kOpaque, 0, "unknown"}}},
    {"an_unframed_body_that_cannot_be_walked",
     kAdd + strict_head(MessageType::kCall, "sub", 1) + "\x77\x00\x01garbage"s,
     {{Event::kHead, 15, "add"},
      {Event::kEnd, 16},
      {Event::kHead, 31, "sub"},
      {Event::kOpaque, 34, "unknown"}}},
    {"http_behind_a_message",
     kAdd + "POST / HTTP/1.1",
     {{Event::kHead, 15, "add"}, {Event::kEnd, 16}, {Event::kOpaque, 16, "http"}}},

    {"theader_binary",
     header_frame("\0\0\0\0"s, kAdd),
     {{Event::kHead, 33, "add"}, {Event::kEnd, 34}}},
    {"theader_compact",
     header_frame("\2\0\0\0"s,
                  "\x82\x21\x05\x03"
                  "add\0"s),
     {{Event::kHead, 25, "add"}, {Event::kEnd, 26}}},
    {"theader_two_messages",
     header_frame("\0\0\0\0"s, kAdd + kSub),
     {{Event::kHead, 33, "add"}, {Event::kHead, 49, "sub"}, {Event::kEnd, 50}}},
    {"theader_with_key_and_value",
     header_frame("\0\0\1\1\1k\1v"s, kAdd),
     {{Event::kHead, 37, "add"}, {Event::kEnd, 38}}},
    {"theader_long_varints",
     header_frame("\x80\x00\x80\x80\x00\x00\x00\x00"s, kAdd),
     {{Event::kHead, 37, "add"}, {Event::kEnd, 38}}},
    {"theader_without_payload",
     header_frame("\0\0\0\0"s, "") + kAdd,
     {{Event::kEnd, 18}, {Event::kHead, 33, "add"}, {Event::kEnd, 34}}},
    {"theader_under_zlib",
     header_frame("\0\1\1\0"s, "xxxxxxxx"),
     {{Event::kOpaque, 0, "theader_transform"}}},
    {"theader_json",
     header_frame("\1\0\0\0"s, "[1,\"a\",1,0,{}]"),
     {{Event::kOpaque, 0, "unknown"}}},
    {"theader_old_binary",
     header_frame("\0\0\0\0"s, "\0\0\0\3add\1\0\0\0\7\0"s),
     {{Event::kOpaque, 0, "unknown"}}},
    {"theader_words_past_the_frame",
     frame("\x0f\xff\0\0\0\0\0\0\0\2\0\0\0\0"s),
     {{Event::kOpaque, 0, "unknown"}}},
    {"theader_without_words",
     frame("\x0f\xff\0\0\0\0\0\0\0\0\x80\x01\0\1"s),
     {{Event::kOpaque, 0, "unknown"}}},
    {"theader_varint_past_the_words",
     header_frame("\x80\x80\x80\x80"s, kAdd),
     {{Event::kOpaque, 0, "unknown"}}},

    {"theader_in_a_frame",
     frame(header_frame("\0\0\0\0"s, kAdd)) + kSub,
     {{Event::kHead, 37, "add"}, {Event::kEnd, 38}, {Event::kHead, 53, "sub"}, {Event::kEnd, 54}}},
    {"theader_in_a_frame_two_messages",
     frame(header_frame("\0\0\0\0"s, kAdd + kSub)),
     {{Event::kHead, 37, "add"}, {Event::kHead, 53, "sub"}, {Event::kEnd, 54}}},
    {"theader_in_a_frame_without_payload",
     frame(header_frame("\0\0\0\0"s, "")) + kAdd,
     {{Event::kEnd, 22}, {Event::kHead, 37, "add"}, {Event::kEnd, 38}}},
    {"theader_in_a_frame_under_zlib",
     frame(header_frame("\0\1\1\0"s, "xxxxxxxx")),
     {{Event::kOpaque, 0, "theader_transform"}}},
    {"theader_in_a_frame_words_past_it",
     frame(frame("\x0f\xff\0\0\0\0\0\0\0\2\0\0\0\0"s)),
     {{Event::kOpaque, 0, "unknown"}}},
    {"theader_in_a_longer_frame",
     frame(header_frame("\0\0\0\0"s, kAdd) + "tail"),
     {{Event::kOpaque, 0, "unknown"}}},

    {"json_escapes_in_the_name",
     R"([1,"a\"\\\/\b\f\n\r\t\u0041\u00e4",1,-7,{}])",
     {{Event::kHead, 40, "a\"\\/\b\f\n\r\tA\xc3\xa4"}, {Event::kEnd, 43}}},
    {"json_escape_beyond_00ff", R"([1,"\u0100",1,0,{}])", {{Event::kOpaque, 0, "unknown"}}},
    {"json_escape_unknown", R"([1,"\x",1,0,{}])", {{Event::kOpaque, 0, "unknown"}}},
    {"json_type_5", R"([1,"a",5,0,{}])", {{Event::kOpaque, 0, "unknown"}}},
    {"json_seqid_too_large", R"([1,"a",1,2147483648,{}])", {{Event::kOpaque, 0, "unknown"}}},
    {"json_seqid_largest",
     R"([1,"a",1,2147483647,{}])",
     {{Event::kHead, 20, "a"}, {Event::kEnd, 23}}},
    {"json_seqid_missing", R"([1,"a",1,,{}])", {{Event::kOpaque, 0, "unknown"}}},
    {"json_brackets_in_strings",
     R"([1,"a",1,0,{"1":{"str":"]}]}\"]}"}}][1,"b",1,0,{}])",
     {{Event::kHead, 11, "a"}, {Event::kEnd, 36}, {Event::kHead, 47, "b"}, {Event::kEnd, 50}}},
    {"json_something_behind_the_struct",
     R"([1,"a",1,0,{},1])",
     {{Event::kHead, 11, "a"}, {Event::kOpaque, 14, "unknown"}}},
    {"json_not_a_struct",
     R"([1,"a",1,0,7])",
     {{Event::kHead, 11, "a"}, {Event::kOpaque, 12, "unknown"}}},

    {"old_type_5", "\0\0\0\3add\5\0\0\0\7\0"s, {{Event::kOpaque, 0, "unknown"}}},
    {"compact_negative_seqid",
     "\x82\x21\xfb\xff\xff\xff\x0f\x01"
     "a\0"s,
     {{Event::kHead, 9, "a"}, {Event::kEnd, 10}}},
    {"compact_padded_varints",
     "\x82\x21\x85\x80\x80\x80\x00\x81\x00"
     "a\0"s,
     {{Event::kHead, 10, "a"}, {Event::kEnd, 11}}},
    {"compact_varint_too_long",
     "\x82\x21\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x00"s,
     {{Event::kOpaque, 0, "unknown"}}},
};

class StreamTest : public testing::TestWithParam<StreamRow> {};
INSTANTIATE_TEST_SUITE_P(Rows, StreamTest, testing::ValuesIn(kStreams),
                         [](const auto& row) { return std::string(row.param.name); });

TEST_P(StreamTest, GivesTheseEvents) {
  const StreamRow& row = GetParam();
  const auto got = trace(row.bytes);
  ASSERT_EQ(got.seen.size(), row.expected.size()) << got;
  for (size_t i = 0; i < row.expected.size(); ++i) {
    const auto& seen = got.seen[i];
    EXPECT_EQ(seen.event, row.expected[i].event) << got;
    EXPECT_EQ(seen.at, row.expected[i].at) << got;
    EXPECT_EQ(seen.event == Event::kOpaque ? seen.reason : seen.name, row.expected[i].detail);
  }
}

struct BodyRow {
  std::string_view name;
  Encoding encoding;
  std::string body;
  bool whole;  // false if the reader cannot follow the body
};

const BodyRow kBodies[] = {
    {"binary_uuid", Encoding::kBinary, "\x10\0\1"s + std::string(16, 'u') + "\0"s, true},
    {"binary_list_of_uuid", Encoding::kBinary,
     "\x0f\0\1\x10"s + be32(3) + std::string(48, 'u') + "\0"s, true},
    {"binary_empty_list_of_nothing", Encoding::kBinary, "\x0f\0\1\0"s + be32(0) + "\0"s, true},
    {"binary_list_of_stop", Encoding::kBinary, "\x0f\0\1\0"s + be32(5) + "\0"s, false},
    {"binary_list_of_void", Encoding::kBinary, "\x0f\0\1\1"s + be32(5) + "\0"s, false},
    {"binary_list_of_type_5", Encoding::kBinary, "\x0f\0\1\5"s + be32(5) + "\0"s, false},
    {"binary_negative_list", Encoding::kBinary, "\x0f\0\1\3"s + be32(0xffffffff) + "\0"s, false},
    {"binary_negative_map", Encoding::kBinary, "\x0d\0\1\3\3"s + be32(0x80000000) + "\0"s, false},
    {"binary_negative_string", Encoding::kBinary, "\x0b\0\1"s + be32(0x80000000) + "\0"s, false},
    {"binary_empty_map_of_nothing", Encoding::kBinary, "\x0d\0\1\0\0"s + be32(0) + "\0"s, true},
    {"binary_map_of_fixed", Encoding::kBinary,
     "\x0d\0\1\x08\x0a"s + be32(2) + std::string(24, 'm') + "\0"s, true},
    {"binary_map_of_string_to_struct", Encoding::kBinary,
     "\x0d\0\1\x0b\x0c"s + be32(2) + be32(1) + "a\0"s + be32(0) + "\0\0"s, true},
    {"binary_map_of_struct_to_i32", Encoding::kBinary,
     "\x0d\0\1\x0c\x08"s + be32(2) + "\0"s + be32(9) + "\0"s + be32(9) + "\0"s, true},
    {"binary_set_of_empty_structs", Encoding::kBinary, "\x0e\0\1\x0c"s + be32(4) + "\0\0\0\0\0"s,
     true},
    {"binary_list_of_empty_lists", Encoding::kBinary,
     "\x0f\0\1\x0f"s + be32(2) + "\3"s + be32(0) + "\0"s + be32(0) + "\0"s, true},
    {"binary_type_17", Encoding::kBinary, "\x11\0\1\0\0\0\0"s, false},

    {"compact_bool_fields", Encoding::kCompact, "\x11\x12\x01\x06\x00"s, true},
    {"compact_uuid", Encoding::kCompact, "\x1d"s + std::string(16, 'u') + "\0"s, true},
    {"compact_list_of_uuid", Encoding::kCompact, "\x19\x2d"s + std::string(32, 'u') + "\0"s, true},
    {"compact_list_of_bool", Encoding::kCompact, "\x19\x31\x01\x02\x01\x00"s, true},
    {"compact_list_of_false", Encoding::kCompact, "\x19\x32\x01\x02\x01\x00"s, true},
    {"compact_list_of_stop", Encoding::kCompact, "\x19\x30\x00"s, false},
    {"compact_list_of_type_14", Encoding::kCompact, "\x19\x3e\x00"s, false},
    {"compact_empty_list_of_nothing", Encoding::kCompact, "\x19\x00\x00"s, true},
    {"compact_long_list", Encoding::kCompact, "\x19\xf3\x10"s + std::string(16, 'b') + "\0"s, true},
    {"compact_long_list_that_is_empty", Encoding::kCompact, "\x19\xf3\x00\x00"s, true},
    {"compact_list_of_i64", Encoding::kCompact, "\x19\x26\x80\x80\x01\x05\x00"s, true},
    {"compact_empty_map", Encoding::kCompact, "\x1b\x00\x00"s, true},
    {"compact_map_of_bool_to_bool", Encoding::kCompact, "\x1b\x02\x11\1\2\2\1\0"s, true},
    {"compact_map_of_i32_to_i64", Encoding::kCompact, "\x1b\x01\x56\x80\x01\x07\x00"s, true},
    {"compact_map_of_string_to_i32", Encoding::kCompact, "\x1b\x01\x85\x01k\x80\x01\x00"s, true},
    {"compact_map_of_nothing", Encoding::kCompact, "\x1b\x01\x00\x00"s, false},
    {"compact_set_of_empty_structs", Encoding::kCompact, "\x1a\x3c\0\0\0\0"s, true},
    {"compact_list_too_long", Encoding::kCompact, "\x19\xf3\xff\xff\xff\xff\x0f\x00"s, false},
    {"compact_string_too_long", Encoding::kCompact, "\x18\xff\xff\xff\xff\x0f\x00"s, false},
    {"compact_varint_of_10_bytes", Encoding::kCompact,
     "\x16\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x00"s, true},
    {"compact_varint_of_11_bytes", Encoding::kCompact,
     "\x16\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x00"s, false},
    {"compact_type_14", Encoding::kCompact, "\x1e\x00"s, false},
    {"compact_stop_with_a_delta", Encoding::kCompact, "\x30"s, true},
};

class BodyTest : public testing::TestWithParam<BodyRow> {};
INSTANTIATE_TEST_SUITE_P(Rows, BodyTest, testing::ValuesIn(kBodies),
                         [](const auto& row) { return std::string(row.param.name); });

TEST_P(BodyTest, EndsWhereItShould) {
  const BodyRow& row = GetParam();
  const auto head = row.encoding == Encoding::kBinary ? strict_head(MessageType::kReply, "get", 1)
                                                      : "\x82\x41\x01\x03get"s;
  const auto bytes = head + row.body;
  const auto got = trace(bytes + kAdd);
  ASSERT_GE(got.seen.size(), 2u) << got;
  if (row.whole) {
    EXPECT_EQ(got.seen[1].event, Event::kEnd) << got;
    EXPECT_EQ(got.seen[1].at, bytes.size()) << got;
  } else {
    EXPECT_EQ(got.seen[1].event, Event::kOpaque) << got;
    EXPECT_EQ(got.seen[1].reason, "unknown") << got;
  }
  const auto in_frame = trace(frame(bytes) + kAdd);
  ASSERT_EQ(in_frame.seen.size(), 4u) << in_frame;
  EXPECT_EQ(in_frame.seen[1].at, bytes.size() + 4) << in_frame;
}

TEST(MessageReader, HugeCountsAreSkippedNotCounted) {
  // A list of 2^31 - 1 elements of 16 bytes each: 32 GiB less one element.
  const auto bytes = strict_head(MessageType::kCall, "f", 1) + "\x0f\0\1\x10"s + be32(0x7fffffff);
  const std::string much(1 << 20, '\0');
  Tracer tracer;
  tracer.feed(as_bytes(bytes));
  for (int i = 0; i < 32 * 1024 - 1; ++i) tracer.feed(as_bytes(much));
  tracer.feed(as_bytes(much).first(much.size() - 16));
  EXPECT_EQ(tracer.trace().count(Event::kEnd), 0u);
  tracer.feed(as_bytes("\0"sv));
  ASSERT_EQ(tracer.trace().count(Event::kEnd), 1u);
  EXPECT_EQ(tracer.trace().seen.back().at, bytes.size() + (uint64_t{32} << 30) - 16 + 1);
}

TEST(MessageReader, StaysOpaque) {
  MessageReader reader;
  EXPECT_EQ(reader.next(as_bytes("SSH-")).event, Event::kOpaque);
  const auto step = reader.next(as_bytes(kAdd));
  EXPECT_EQ(step.event, Event::kOpaque);
  EXPECT_EQ(step.consumed, 0u);
  EXPECT_EQ(reader.opaque_reason(), "unknown");
}

TEST(MessageReader, TheHeadLivesUntilTheNextOne) {
  MessageReader reader;
  EXPECT_EQ(reader.next(as_bytes(kAdd)).event, Event::kHead);
  EXPECT_EQ(reader.next(as_bytes("\0"sv)).event, Event::kEnd);
  EXPECT_EQ(reader.next(as_bytes(std::string_view(kSub).substr(0, 13))).event, Event::kNeedMore);
  EXPECT_EQ(reader.head().name, "add");
  EXPECT_EQ(reader.head().seqid, 7);
}

}  // namespace
}  // namespace hat::thrift
