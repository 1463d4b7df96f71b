// SPDX-License-Identifier: Apache-2.0
#include "daemon/thrift/request_check.h"

#include <gtest/gtest.h>

#include "daemon/thrift/checked_service.h"
#include "daemon/thrift/envelope.h"
#include "daemon/thrift/stock_messages.h"

namespace hat::thrift {
namespace {

using namespace std::string_literals;

constexpr Encoding kEncodings[] = {Encoding::kBinary, Encoding::kBinaryOld, Encoding::kCompact,
                                   Encoding::kJson};

std::string names_of(const std::optional<BodyFault>& fault) {
  if (!fault) return "passes";
  return kRequestFaultNames[static_cast<size_t>(fault->fault)];
}

TEST(RequestCheck, PassesWhatGeneratedCodeWrites) {
  std::mt19937 random(1);
  for (int i = 0; i < 4000; ++i) {
    const std::string request = checked_request(kEncodings[i % 4], random);
    EXPECT_EQ(names_of(verdict_of(request).fault), "passes") << testing::PrintToString(request);
  }
}

TEST(RequestCheck, PassesOnlyWhatGeneratedCodeReadsTheSameWay) {
  std::mt19937 random(2);
  std::string last;
  int passed = 0;
  for (int i = 0; i < 40'000; ++i) {
    std::string request = checked_request(kEncodings[i % 4], random);
    mutate(request, last, random);
    if (i % 3 == 0) last = request;
    const auto what = disagreement(request, i % 8 >= 4);
    ASSERT_EQ(what.value_or(""), "") << testing::PrintToString(request);
    passed += !verdict_of(request, i % 8 >= 4).fault;
  }
  EXPECT_GT(passed, 1000) << "else nothing was compared";
}

struct CheckRow {
  const char* name;
  Encoding encoding;
  const char* function;
  std::string body;
  BodyFault fault;
  bool allow_unknown = false;
};
std::ostream& operator<<(std::ostream& out, const CheckRow& row) { return out << row.name; }

class BodyCheck : public testing::TestWithParam<CheckRow> {};

TEST_P(BodyCheck, FindsTheFault) {
  const CheckRow& row = GetParam();
  const auto types = checked_arguments(row.function, row.allow_unknown).value();
  const auto found = check_body(row.encoding, std::as_bytes(std::span(row.body)), types);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(names_of(found), names_of(row.fault));
  EXPECT_EQ(found->field, row.fault.field);
}

constexpr Encoding kBinary = Encoding::kBinary, kCompact = Encoding::kCompact,
                   kJson = Encoding::kJson;

INSTANTIATE_TEST_SUITE_P(
    Binary, BodyCheck,
    testing::Values(
        CheckRow{"binary_byte_after_the_struct",
                 kBinary,
                 "many",
                 "\x0f\0\1\x0b\0\0\0\0\0"s + "x",
                 {RequestFault::kMalformed, 1}},
        CheckRow{"binary_list_of_other",
                 kBinary,
                 "many",
                 "\x0f\0\1\x0a\0\0\0\1\0\0\0\0\0\0\0\0\0"s,
                 {RequestFault::kWrongType, 1}},
        CheckRow{"binary_empty_list_of_other",
                 kBinary,
                 "many",
                 "\x0f\0\1\x0a\0\0\0\0\0"s,
                 {RequestFault::kWrongType, 1}},
        CheckRow{"binary_set_for_list",
                 kBinary,
                 "many",
                 "\x0e\0\1\x0b\0\0\0\0\0"s,
                 {RequestFault::kWrongType, 1}},
        CheckRow{"binary_value_of_a_map",
                 kBinary,
                 "many",
                 "\x0d\0\2\x0b\x0b\0\0\0\1"s,
                 {RequestFault::kWrongType, 2}},
        CheckRow{"binary_nested",
                 kBinary,
                 "put",
                 "\x0c\0\2\x0f\0\x0d\x0f\0\0\0\1\x0a\0\0\0\1"s,
                 {RequestFault::kWrongType, 13}},
        CheckRow{"binary_unknown",
                 kBinary,
                 "danger",
                 "\x0b\0\2\0\0\0\0\0"s,
                 {RequestFault::kUnknownField, 2}},
        CheckRow{"binary_unknown_struct",
                 kBinary,
                 "danger",
                 "\x0c\0\2\0\0"s,
                 {RequestFault::kUnknownField, 2},
                 true},
        CheckRow{"binary_unknown_uuid",
                 kBinary,
                 "danger",
                 "\x10\0\2"s + std::string(16, 'u') + '\0',
                 {RequestFault::kUnknownField, 2},
                 true},
        CheckRow{"binary_no_type", kBinary, "danger", "\1\0\1\0"s, {RequestFault::kMalformed, 0}},
        CheckRow{"binary_cut_off",
                 kBinary,
                 "danger",
                 "\x0b\0\1\0\0\0\5abc"s,
                 {RequestFault::kMalformed, 1}},
        CheckRow{"binary_byte_too_many", kBinary, "none", "\0\0"s, {RequestFault::kMalformed, 0}},
        CheckRow{"compact_long_varint",
                 kCompact,
                 "add",
                 "\x16\x80\0\0"s,
                 {RequestFault::kMalformed, 1}}),
    [](const auto& row) { return row.param.name; });

INSTANTIATE_TEST_SUITE_P(Compact, BodyCheck,
                         testing::Values(CheckRow{"compact_i16_of_17_bits",
                                                  kCompact,
                                                  "many",
                                                  "\x3a\x14\x80\x80\x04\0"s,
                                                  {RequestFault::kMalformed, 3}},
                                         CheckRow{"compact_empty_list_of_no_type",
                                                  kCompact,
                                                  "many",
                                                  "\x19\x0f\0"s,
                                                  {RequestFault::kMalformed, 1}},
                                         CheckRow{"compact_list_of_other",
                                                  kCompact,
                                                  "many",
                                                  "\x19\x16\2\0"s,
                                                  {RequestFault::kWrongType, 1}},
                                         CheckRow{"compact_short_count_spelt_long",
                                                  kCompact,
                                                  "many",
                                                  "\x19\xf8\1\1x\0"s,
                                                  {RequestFault::kMalformed, 1}},
                                         CheckRow{"compact_bool_for_string",
                                                  kCompact,
                                                  "danger",
                                                  "\x11\0"s,
                                                  {RequestFault::kWrongType, 1}},
                                         CheckRow{"compact_id_beyond_16_bits",
                                                  kCompact,
                                                  "danger",
                                                  "\x08\xfe\xff\x03\0\x18\0\0"s,
                                                  {RequestFault::kUnknownField, 32767}}),
                         [](const auto& row) { return row.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Json, BodyCheck,
    testing::Values(
        CheckRow{"json_white_space",
                 kJson,
                 "danger",
                 "{\"1\": {\"str\":\"x\"}}]",
                 {RequestFault::kMalformed, 0}},
        CheckRow{"json_list_of_other",
                 kJson,
                 "many",
                 "{\"1\":{\"lst\":[\"i64\",1,7]}}]",
                 {RequestFault::kWrongType, 1}},
        CheckRow{"json_count_too_low",
                 kJson,
                 "many",
                 "{\"1\":{\"lst\":[\"str\",1,\"a\",\"b\"]}}]",
                 {RequestFault::kMalformed, 1}},
        CheckRow{"json_no_comma",
                 kJson,
                 "add",
                 "{\"1\":{\"i64\":1}\"2\":{\"i64\":1}}]",
                 {RequestFault::kMalformed, 1}},
        CheckRow{"json_no_comma_after_an_empty_map",
                 kJson,
                 "many",
                 "{\"2\":{\"map\":[\"str\",\"rec\",0,{}]}\"1\":{\"lst\":[\"str\",0]}}]",
                 {RequestFault::kMalformed, 2}},
        CheckRow{"json_leading_zero",
                 kJson,
                 "add",
                 "{\"1\":{\"i64\":01}}]",
                 {RequestFault::kMalformed, 1}},
        CheckRow{"json_beyond_64_bits",
                 kJson,
                 "add",
                 "{\"1\":{\"i64\":9223372036854775808}}]",
                 {RequestFault::kMalformed, 1}},
        CheckRow{"json_more_after_the_end", kJson, "none", "{}]]", {RequestFault::kMalformed, 0}}),
    [](const auto& row) { return row.param.name; });

// Each of these requests makes the generated code of at least one language stop in the middle of
// the request; a server in that language then reads the remaining bytes as another message.
INSTANTIATE_TEST_SUITE_P(
    WhereServersStop, BodyCheck,
    testing::Values(
        CheckRow{"union_of_none",
                 kBinary,
                 "note",
                 "\x0f\0\3\x0c\0\0\0\1\0\0"s,
                 {RequestFault::kBadUnion, 3}},
        CheckRow{"union_of_two",
                 kBinary,
                 "note",
                 "\x0f\0\3\x0c\0\0\0\1"
                 "\x0b\0\1\0\0\0\0\x0f\0\2\4\0\0\0\0\0\0"s,
                 {RequestFault::kBadUnion, 2}},
        CheckRow{"union_of_an_unknown_field",
                 kBinary,
                 "note",
                 "\x0f\0\3\x0c\0\0\0\1\x0b\0\7\0\0\0\0\0\0"s,
                 {RequestFault::kUnknownField, 7},
                 true},
        CheckRow{"required_field_missing",
                 kBinary,
                 "put",
                 "\x0c\0\2\x0f\0\x0f\x0c\0\0\0\1\x0b\0\1\0\0\0\0\0\0\0"s,
                 {RequestFault::kMissingField, 2}},
        CheckRow{"required_field_missing_in_the_second",
                 kCompact,
                 "put",
                 "\x2c\xf9\x2c\x18\0\x15\2\0\x18\0\0\0\0"s,
                 {RequestFault::kMissingField, 2}},
        CheckRow{"required_enum_of_no_value",
                 kBinary,
                 "put",
                 "\x0c\0\2\x0f\0\x0f\x0c\0\0\0\1\x08\0\2\0\0\0\3\0\0\0"s,
                 {RequestFault::kUnknownValue, 2}},
        CheckRow{"required_enum_of_no_value_in_json",
                 kJson,
                 "put",
                 "{\"2\":{\"rec\":{\"15\":{\"lst\":[\"rec\",1,{\"2\":{\"i32\":-1}}]}}}}]",
                 {RequestFault::kUnknownValue, 2}},
        CheckRow{"field_twice",
                 kBinary,
                 "danger",
                 "\x0b\0\1\0\0\0\0\x0b\0\1\0\0\0\0\0"s,
                 {RequestFault::kMalformed, 1}},
        CheckRow{"string_not_utf8",
                 kBinary,
                 "danger",
                 "\x0b\0\1\0\0\0\2\xc3("s + '\0',
                 {RequestFault::kNotUtf8, 1}},
        CheckRow{"string_not_utf8_in_compact",
                 kCompact,
                 "danger",
                 "\x18\1\xff\0"s,
                 {RequestFault::kNotUtf8, 1}},
        CheckRow{"string_not_utf8_in_json",
                 kJson,
                 "danger",
                 "{\"1\":{\"str\":\"\xff\"}}]",
                 {RequestFault::kNotUtf8, 1}},
        CheckRow{"unknown_string_not_utf8",
                 kCompact,
                 "none",
                 "\x18\1\xff\0"s,
                 {RequestFault::kNotUtf8, 1},
                 true},
        CheckRow{"json_escape_that_not_all_read",
                 kJson,
                 "danger",
                 "{\"1\":{\"str\":\"\\/\"}}]",
                 {RequestFault::kMalformed, 1}},
        CheckRow{"json_half_a_surrogate_pair",
                 kJson,
                 "danger",
                 "{\"1\":{\"str\":\"\\ud83d\"}}]",
                 {RequestFault::kMalformed, 1}},
        CheckRow{"json_second_half_alone",
                 kJson,
                 "danger",
                 "{\"1\":{\"str\":\"\\ude00\"}}]",
                 {RequestFault::kMalformed, 1}},
        CheckRow{"json_no_hexadecimal_digits",
                 kJson,
                 "danger",
                 "{\"1\":{\"str\":\"\\u00g0\"}}]",
                 {RequestFault::kMalformed, 1}},
        CheckRow{"json_hexadecimal_digits_in_capitals",
                 kJson,
                 "danger",
                 "{\"1\":{\"str\":\"\\u00BF\"}}]",
                 {RequestFault::kMalformed, 1}},
        CheckRow{"json_control_character",
                 kJson,
                 "danger",
                 "{\"1\":{\"str\":\"\x1f\"}}]",
                 {RequestFault::kMalformed, 1}},
        CheckRow{"json_number_with_a_leading_zero",
                 kJson,
                 "put",
                 "{\"2\":{\"rec\":{\"6\":{\"dbl\":01.5}}}}]",
                 {RequestFault::kMalformed, 6}},
        CheckRow{"json_number_beyond_doubles",
                 kJson,
                 "put",
                 "{\"2\":{\"rec\":{\"6\":{\"dbl\":1e999}}}}]",
                 {RequestFault::kMalformed, 6}},
        CheckRow{"json_no_base64",
                 kJson,
                 "put",
                 "{\"2\":{\"rec\":{\"9\":{\"str\":\"ab-=\"}}}}]",
                 {RequestFault::kMalformed, 9}},
        CheckRow{"json_base64_cut_short",
                 kJson,
                 "put",
                 "{\"2\":{\"rec\":{\"9\":{\"str\":\"abcde\"}}}}]",
                 {RequestFault::kMalformed, 9}},
        CheckRow{"json_base64_of_too_much_padding",
                 kJson,
                 "put",
                 "{\"2\":{\"rec\":{\"9\":{\"str\":\"a===\"}}}}]",
                 {RequestFault::kMalformed, 9}},
        CheckRow{"unknown_field_of_a_negative_id",
                 kBinary,
                 "none",
                 "\2\xff\xff\1\0"s,
                 {RequestFault::kUnknownField, -1},
                 true},
        CheckRow{"bool_of_two", kBinary, "note", "\2\0\2\2\0"s, {RequestFault::kMalformed, 2}},
        CheckRow{"bool_of_three_in_a_compact_list",
                 kCompact,
                 "put",
                 "\x2c\xa9\x11\3\0\0"s,
                 {RequestFault::kMalformed, 10}},
        CheckRow{"compact_list_of_the_other_bool",
                 kCompact,
                 "put",
                 "\x2c\xa9\x12\1\0\0"s,
                 {RequestFault::kMalformed, 10}},
        CheckRow{"compact_map_of_the_other_bool",
                 kCompact,
                 "put",
                 "\x2c\x0b\x2a\1\x82\1a\1\0\0"s,
                 {RequestFault::kMalformed, 21}}),
    [](const auto& row) { return row.param.name; });

TEST(BodyCheckTest, TakesEveryEscapeThatStandsForText) {
  const auto types = checked_arguments("danger", false).value();
  for (const std::string text : {R"(\"\\\b\f\n\r\t)", R"(\u00e4\u20ac)", R"(\ud83d\ude00)"}) {
    const std::string body = "{\"1\":{\"str\":\"" + text + "\"}}]";
    EXPECT_EQ(check_body(kJson, std::as_bytes(std::span(body)), types), std::nullopt) << text;
  }
}

TEST(BodyCheckTest, BoundsTheNesting) {
  const auto nested = [](int depth) {
    std::string body = "\x0c\0\2"s;  // put's argument; each round adds a list of one child node
    for (int i = 1; i < depth; ++i) body += "\x0f\0\2\x0c\0\0\0\1"s;
    return body + std::string(static_cast<size_t>(depth) + 1, '\0');
  };
  const auto types = checked_arguments("put", false).value();
  const auto fault = [&](int depth) {
    const std::string body = nested(depth);
    return check_body(kBinary, std::as_bytes(std::span(body)), types);
  };
  EXPECT_EQ(fault(30), std::nullopt);
  EXPECT_EQ(fault(40), (BodyFault{RequestFault::kMalformed, 2}));
}

TEST(UsualHead, IsWhatStockClientsWrite) {
  std::mt19937 random(3);
  for (const Dialect& dialect : kDialects) {
    for (const int32_t id : {0, -1, 127, 128, INT32_MAX, INT32_MIN}) {
      const std::string unit =
          stock_message(dialect, {"Kv:get_1.x", MessageType::kCall, id}, {}, random);
      MessageReader reader;
      const auto bytes = std::as_bytes(std::span(unit));
      const auto whole = read_whole(reader, bytes);
      ASSERT_TRUE(whole.has_value()) << dialect.name;
      EXPECT_TRUE(is_usual_head(bytes.first(whole->envelope_bytes), reader.head()))
          << dialect.name << " " << id;
    }
  }
}

struct HeadRow {
  const char* name;
  std::string unit;
};
std::ostream& operator<<(std::ostream& out, const HeadRow& row) { return out << row.name; }
class UnusualHead : public testing::TestWithParam<HeadRow> {};

TEST_P(UnusualHead, IsFound) {
  const std::string& unit = GetParam().unit;
  MessageReader reader;
  const auto bytes = std::as_bytes(std::span(unit));
  const auto whole = read_whole(reader, bytes);
  ASSERT_TRUE(whole.has_value()) << "the reader takes it";
  EXPECT_FALSE(is_usual_head(bytes.first(whole->envelope_bytes), reader.head()));
}

INSTANTIATE_TEST_SUITE_P(
    Rows, UnusualHead,
    testing::Values(HeadRow{"a_reply", "\x80\1\0\2\0\0\0\1f\0\0\0\0\0"s},
                    HeadRow{"third_byte_of_the_version", "\x80\1\7\1\0\0\0\1f\0\0\0\0\0"s},
                    HeadRow{"no_name", "\x80\1\0\1\0\0\0\0\0\0\0\0\0"s},
                    HeadRow{"a_blank_in_the_name", "\x80\1\0\1\0\0\0\2f \0\0\0\0\0"s},
                    HeadRow{"compact_long_id", "\x82\x21\x80\0\1f\0"s},
                    HeadRow{"compact_long_name_length", "\x82\x21\0\x81\0f\0"s},
                    HeadRow{"json_escape", "[1,\"\\u0066\",1,0,{}]"},
                    HeadRow{"json_leading_zero", "[1,\"f\",1,00,{}]"},
                    HeadRow{"json_minus_zero", "[1,\"f\",1,-0,{}]"},
                    HeadRow{"theader_with_further_headers",
                            "\0\0\0\x1c\x0f\xff\0\0\0\0\0\0\0\1\0\0\1\0"
                            "\x80\1\0\1\0\0\0\1f\0\0\0\0\0"s},
                    HeadRow{"theader_long_protocol",
                            "\0\0\0\x1c\x0f\xff\0\0\0\0\0\0\0\1\x80\0\0\0"
                            "\x80\1\0\1\0\0\0\1f\0\0\0\0\0"s}),
    [](const auto& row) { return row.param.name; });

}  // namespace
}  // namespace hat::thrift
