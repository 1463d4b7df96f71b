// SPDX-License-Identifier: Apache-2.0
// kv/ycsb/record_test.cc: tests keys and values, and compares those that are not random with YCSB's
// output.
#include "kv/ycsb/record.h"

#include <gtest/gtest.h>

namespace hat::ycsb {
namespace {

TEST(Record, KeysAreYcsbs) {
  Workload workload;
  EXPECT_EQ(key_of(workload, 1), "user8517097267634966620");
  workload.zero_padding = 20;
  EXPECT_EQ(key_of(workload, 1), "user08517097267634966620");
  EXPECT_EQ(key_of(workload, 1).size(), 24u);
  workload.hashed_keys = false;
  EXPECT_EQ(key_of(workload, 17), "user00000000000000000017");
  workload.zero_padding = 1;
  EXPECT_EQ(key_of(workload, 17), "user17");
}

TEST(Record, RandomValuesArePrintableAndDiffer) {
  Workload workload;
  workload.field_bytes = 99;  // not a multiple of the 8 bytes that are drawn at once
  Random random(1);
  const std::string value = make_value(workload, "k", random);
  EXPECT_EQ(value.size(), 990u);
  for (const char c : value) ASSERT_TRUE(c >= ' ' && c <= '_') << int(c);
  EXPECT_NE(make_value(workload, "k", random), value);
  EXPECT_TRUE(is_right(workload, "k", value));
  EXPECT_FALSE(is_right(workload, "k", value.substr(1)));
}

TEST(Record, DeterminedValuesAreYcsbs) {
  Workload workload;
  workload.data_integrity = true;
  Random random(1);
  const std::string key = "user06284781860667377211";
  const std::string value = make_value(workload, key, random);
  EXPECT_EQ(value.substr(0, 100),
            key + ":field0:177348609:2067411106:-648174538:329771371:-798139121:1958426633:1619");
  EXPECT_EQ(value.substr(900),
            key + ":field9:177348888:-1065744480:-1450784902:2052165633:-342414280:1264426571:2");
  EXPECT_TRUE(is_right(workload, key, value));
  EXPECT_FALSE(is_right(workload, "user1", value));
  std::string changed = value;
  changed[500] ^= 1;
  EXPECT_FALSE(is_right(workload, key, changed));
  workload.field_bytes = 10;  // shorter than the key
  EXPECT_EQ(make_value(workload, key, random).substr(0, 20), "user062847user062847");
}

TEST(Record, OneFieldChanges) {
  Workload workload;
  Random random(1);
  const std::string before = make_value(workload, "k", random);
  std::string after = before;
  change_field(workload, "k", random, after);
  int changed = 0;
  for (size_t at = 0; at < before.size(); at += 100) {
    changed += before.compare(at, 100, after, at, 100) != 0;
  }
  EXPECT_EQ(after.size(), before.size());
  EXPECT_EQ(changed, 1);
}

}  // namespace
}  // namespace hat::ycsb
