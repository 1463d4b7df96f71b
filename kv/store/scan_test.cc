// SPDX-License-Identifier: Apache-2.0
// kv/store/scan_test.cc: tests the pairs that a scan of a range returns, their order, and how a
// scan continues on the next page.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "kv/limits.h"
#include "kv/store/store.h"

namespace hat {
namespace {

class ScanTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "hatkv-scan-XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    auto store = Store::open({.folder = folder_, .durability = Durability::kNoSync});
    ASSERT_TRUE(store) << store.error().message;
    store_ = std::move(*store);
  }
  void TearDown() override {
    store_.reset();
    std::filesystem::remove_all(folder_);
  }

  std::string folder_;
  std::unique_ptr<Store> store_;
};

struct RangeRow {
  const char* name;
  Store::Range range;
  size_t limit;
  std::string keys;  // the expected keys of the page, separated by spaces
  std::string resume;
};

// The scans, and their expected results. The store has the keys a, b1, b2, b2x, c and \xff.
const RangeRow kRanges[] = {
    {"everything", {}, 100, "a b1 b2 b2x c \xff", ""},
    {"start_is_within", {.start = "b2"}, 100, "b2 b2x c \xff", ""},
    {"start_is_no_key", {.start = "b"}, 100, "b1 b2 b2x c \xff", ""},
    {"before_is_without", {.before = "b2"}, 100, "a b1", ""},
    {"both", {.start = "b1", .before = "c"}, 100, "b1 b2 b2x", ""},
    {"nothing_between", {.start = "b3", .before = "b9"}, 100, "", ""},
    {"before_lies_before_start", {.start = "c", .before = "a"}, 100, "", ""},
    {"prefix", {.prefix = "b2"}, 100, "b2 b2x", ""},
    {"prefix_of_all_ones", {.prefix = "\xff"}, 100, "\xff", ""},
    {"prefix_that_no_key_has", {.prefix = "bb"}, 100, "", ""},
    {"prefix_and_start", {.start = "b2", .prefix = "b"}, 100, "b2 b2x", ""},
    {"prefix_and_start_before_it", {.start = "a", .prefix = "b"}, 100, "b1 b2 b2x", ""},
    {"prefix_and_start_behind_it", {.start = "c", .prefix = "b"}, 100, "", ""},
    {"prefix_and_before", {.before = "b2x", .prefix = "b"}, 100, "b1 b2", ""},
    {"limit", {}, 2, "a b1", "b2"},
    {"limit_within_a_prefix", {.prefix = "b"}, 2, "b1 b2", "b2x"},
    {"limit_at_the_end_of_a_prefix", {.prefix = "b"}, 3, "b1 b2 b2x", ""},
    {"limit_at_the_end", {}, 6, "a b1 b2 b2x c \xff", ""},
};

class ScanRanges : public ScanTest, public testing::WithParamInterface<RangeRow> {};

TEST_P(ScanRanges, HaveTheirPairsInOrder) {
  for (const char* key : {"c", "b2x", "a", "\xff", "b1", "b2"}) ASSERT_TRUE(store_->put(key, "v"));
  const auto page = store_->scan(GetParam().range, GetParam().limit);
  ASSERT_TRUE(page) << page.error().message;
  std::string keys;
  for (const auto& [key, value] : page->pairs) {
    keys += (keys.empty() ? "" : " ") + key;
    EXPECT_EQ(value, "v");
  }
  EXPECT_EQ(keys, GetParam().keys);
  EXPECT_EQ(page->resume, GetParam().resume);
}

INSTANTIATE_TEST_SUITE_P(Rows, ScanRanges, testing::ValuesIn(kRanges),
                         [](const auto& row) { return std::string(row.param.name); });

TEST_F(ScanTest, OfAnEmptyStoreIsEmpty) {
  EXPECT_TRUE(store_->scan({}, 10)->pairs.empty());
  EXPECT_TRUE(store_->scan({.start = "a", .prefix = "a"}, 10)->pairs.empty());
}

TEST_F(ScanTest, GoesOnWithThePagesResume) {
  const std::string longest(kKeyBytesMax, 'k');
  ASSERT_TRUE(store_->put(longest, "last"));
  for (char letter = 'a'; letter < 'h'; ++letter) {
    ASSERT_TRUE(store_->put(std::string(1, letter), "v"));
  }
  std::vector<std::string> keys;
  std::string start;
  do {
    const auto page = store_->scan({.start = start}, 3);
    ASSERT_TRUE(page) << page.error().message;
    ASSERT_LE(page->pairs.size(), 3u);
    for (const auto& [key, value] : page->pairs) keys.push_back(key);
    start = page->resume;
  } while (!start.empty());
  EXPECT_THAT(keys, testing::ElementsAre("a", "b", "c", "d", "e", "f", "g", longest));
}

TEST_F(ScanTest, PagesEndWithTheirBytesAndHaveAtLeastOnePair) {
  const std::string value(kPageBytesMax / 2 + 1, 'v');
  for (const char* key : {"a", "b", "c", "d"}) ASSERT_TRUE(store_->put(key, value));
  EXPECT_EQ(store_->scan({}, 100)->pairs.size(), 2u);
  EXPECT_EQ(store_->scan({}, 100)->resume, "c");
  ASSERT_TRUE(store_->put("a", std::string(kValueBytesMax, 'v')));
  EXPECT_EQ(store_->scan({}, 100)->pairs.size(), 1u);
}

TEST_F(ScanTest, StartMayBeLongerThanAnyKey) {
  ASSERT_TRUE(store_->put("z", "v"));
  EXPECT_EQ(store_->scan({.start = std::string(5000, 'a')}, 10)->pairs.size(), 1u);
  EXPECT_TRUE(store_->scan({.prefix = std::string(5000, 'a')}, 10)->pairs.empty());
}

}  // namespace
}  // namespace hat
