// SPDX-License-Identifier: Apache-2.0
// kv/ycsb/properties_test.cc: tests that property files are read as YCSB reads them.
#include "kv/ycsb/properties.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hat::ycsb {
namespace {

struct LineRow {
  const char* name;
  const char* text;
  const char* key;
  const char* value;
  const char* where = "f:1";
};

const LineRow kLines[] = {
    {"equals", "recordcount=7", "recordcount", "7"},
    {"blanks_around_it", "  recordcount = 7\n", "recordcount", "7"},
    {"colon", "recordcount: 7\n", "recordcount", "7"},
    {"blank", "recordcount 7\n", "recordcount", "7"},
    {"no_value", "table\n", "table", ""},
    {"second_equals_is_value", "a=b=c\n", "a", "b=c"},
    {"blank_at_the_end_stays", "a=b \n", "a", "b "},
    {"windows_line", "a=b\r\n", "a", "b"},
    {"comments", "# a=1\n! a=2\n\na=3\n", "a", "3", "f:4"},
    {"later_wins", "a=1\na=2\n", "a", "2", "f:2"},
    {"goes_on", "a=1,\\\n   2\nb=3\n", "a", "1,2"},
    {"line_after_one_that_went_on", "a=1\\\n2\nb=3\n", "b", "3", "f:3"},
    {"escaped_backslash_ends_the_line", "a=1\\\\\nb=3\n", "a", "1\\"},
    {"escaped_key", "a\\=b=c\n", "a=b", "c"},
    {"tab", "a=\\tb\n", "a", "\tb"},
    {"hash_in_value", "a=b#c\n", "a", "b#c"},
};

TEST(Properties, ReadsLinesAsJavaDoes) {
  for (const LineRow& row : kLines) {
    SCOPED_TRACE(row.name);
    Properties properties;
    ASSERT_TRUE(properties.read_text(row.text, "f"));
    const Properties::Value* found = properties.find(row.key);
    ASSERT_NE(found, nullptr);
    EXPECT_EQ(found->text, row.value);
    EXPECT_EQ(found->where, row.where);
  }
}

TEST(Properties, WhatIsSetWinsOverWhatWasRead) {
  Properties properties;
  ASSERT_TRUE(properties.read_text("a=1\n", "f"));
  ASSERT_TRUE(properties.set("a=2=3"));
  EXPECT_EQ(properties.find("a")->text, "2=3");
  EXPECT_EQ(properties.find("a")->where, "-p");
}

TEST(Properties, MistakesAreNamedWhereTheyAre) {
  Properties properties;
  EXPECT_EQ(properties.read_text("a=1\n=2\n", "f").error().message, "f:2: no key before '=2'");
  EXPECT_THAT(properties.read_text("a=\\u0041\n", "f").error().message,
              testing::StartsWith("f:1: \\u escapes are not supported"));
  EXPECT_EQ(properties.set("a").error().message, "-p: found 'a', expected KEY=VALUE");
  EXPECT_EQ(properties.read_file("/no/such").error().message,
            "/no/such: cannot read this workload file");
}

}  // namespace
}  // namespace hat::ycsb
