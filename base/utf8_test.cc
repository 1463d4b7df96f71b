// SPDX-License-Identifier: Apache-2.0
// base/utf8_test.cc: tests valid and invalid byte sequences at the limits of UTF-8 (RFC 3629).
#include "base/utf8.h"

#include <gtest/gtest.h>

#include <string>

namespace hat {
namespace {

TEST(Utf8, IsWhatTheStandardSays) {
  for (const char* text : {"", "a", "a\x7f", "\xc2\x80", "\xdf\xbf", "\xe0\xa0\x80", "\xed\x9f\xbf",
                           "\xee\x80\x80", "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf"}) {
    EXPECT_TRUE(is_utf8(text)) << text;
  }
  for (const char* text : {"\x80", "\xbf", "\xc0\x80", "\xc1\xbf", "\xc2", "\xc2 ", "\xe0\x9f\xbf",
                           "\xe0\xa0", "\xed\xa0\x80", "\xef\xbf", "\xf0\x8f\xbf\xbf",
                           "\xf0\x90\x80", "\xf4\x90\x80\x80", "\xff"}) {
    EXPECT_FALSE(is_utf8(text)) << text;
  }
}

// is_utf8() checks ASCII text eight bytes at a time, so the test puts a character of two bytes at
// every offset.
TEST(Utf8, IsTheSameAtEveryPlaceOfALongText) {
  for (size_t at = 0; at < 24; ++at) {
    std::string text(24, 'x');
    text.insert(at, "\xc3\xa4");
    EXPECT_TRUE(is_utf8(text)) << at;
    text[at + 1] = 'x';
    EXPECT_FALSE(is_utf8(text)) << at;
  }
  EXPECT_TRUE(is_utf8(std::string(24, '\0')));
}

TEST(Utf8, CountsTheBytesOfTheFirstCharacter) {
  EXPECT_EQ(utf8_character_bytes(""), 0u);
  EXPECT_EQ(utf8_character_bytes("ab"), 1u);
  EXPECT_EQ(utf8_character_bytes("\xc3\xa4 b"), 2u);
  EXPECT_EQ(utf8_character_bytes("\xe2\x82\xac"), 3u);
  EXPECT_EQ(utf8_character_bytes("\xf0\x9f\x98\x80"), 4u);
}

}  // namespace
}  // namespace hat
