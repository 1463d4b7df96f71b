// SPDX-License-Identifier: Apache-2.0
// kv/cli/text_test.cc: tests that escape() and unescape() give the same bytes back.
#include "kv/cli/text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace hat {
namespace {

using namespace std::string_literals;

struct EscapeRow {
  const char* name;
  std::string bytes;
  std::string text;
};

const EscapeRow kEscapes[] = {
    {"plain", "user:1", "user:1"},
    {"empty", "", ""},
    {"backslash", "a\\b", "a\\\\b"},
    {"tab_and_lines", "\t\n\r", "\\t\\n\\r"},
    {"control", "\0\x01\x7f"s, "\\x00\\x01\\x7f"},
    {"utf8_stays", "grün", "grün"},
    {"any_byte_stays", "\xff\xfe", "\xff\xfe"},
};

class Escapes : public testing::TestWithParam<EscapeRow> {};

TEST_P(Escapes, ReadBackAsTheSameBytes) {
  EXPECT_EQ(escape(GetParam().bytes), GetParam().text);
  EXPECT_EQ(unescape(GetParam().text).value(), GetParam().bytes);
}

INSTANTIATE_TEST_SUITE_P(Rows, Escapes, testing::ValuesIn(kEscapes),
                         [](const auto& row) { return std::string(row.param.name); });

TEST(Text, RefusesWhatIsNoEscape) {
  for (const char* text : {"\\", "a\\", "\\q", "\\x", "\\x1", "\\xzz", "\\x1g"}) {
    const auto bytes = unescape(text);
    ASSERT_FALSE(bytes) << text;
    EXPECT_THAT(bytes.error().message, testing::HasSubstr("is not a valid escape")) << text;
  }
}

TEST(Text, APairIsKeyTabValue) {
  EXPECT_EQ(parse_pair("k\\t1\tv\tw").value(), std::pair("k\t1"s, "v\tw"s));
  EXPECT_EQ(parse_pair("k\t").value(), std::pair("k"s, ""s));
  EXPECT_THAT(parse_pair("k").error().message, testing::HasSubstr("no tab"));
}

}  // namespace
}  // namespace hat
