// SPDX-License-Identifier: Apache-2.0
// base/printable_test.cc: tests that printable() removes what begins a new line or controls a
// terminal.
#include "base/printable.h"

#include <gtest/gtest.h>

namespace hat {
namespace {

TEST(Printable, LeavesTextAsItIs) {
  for (const char* text : {"", "plain", "a\ttab", "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80"}) {
    EXPECT_EQ(printable(text), text);
  }
}

TEST(Printable, ReplacesWhatCouldForgeALineOrSteerATerminal) {
  EXPECT_EQ(printable("one\ntwo\r\x1b[2J\x7f"), "one?two??[2J?");
  EXPECT_EQ(printable(std::string_view("a\0b", 3)), "a?b");
  EXPECT_EQ(printable("\xc2\x9b"
                      "2J"),
            "??2J")
      << "one character that begins a control sequence";
  EXPECT_EQ(printable("\xff\xc3z"), "??z");
}

TEST(Printable, IsNoLongerThanWanted) {
  EXPECT_EQ(printable("abcdef", 3), "abc");
  EXPECT_EQ(printable("ab\xe2\x82\xac", 4), "ab") << "no half characters";
  EXPECT_EQ(printable("ab\xe2\x82\xac", 5), "ab\xe2\x82\xac");
}

}  // namespace
}  // namespace hat
