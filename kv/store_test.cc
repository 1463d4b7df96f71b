// kv/store_test.cc: checks that the store keeps what it is given, grows, and refuses clearly.
#include "kv/store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <thread>

namespace hat {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Optional;

constexpr uint64_t kMapBytes = 1 << 20;
constexpr uint32_t kReaders = 64;

class StoreTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "hatkv-store-XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    directory_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  Store open(uint64_t map_bytes = kMapBytes) {
    auto store = Store::open(directory_, map_bytes, kReaders);
    EXPECT_TRUE(store.has_value()) << store.error().message;
    return std::move(*store);
  }

  std::string directory_;
};

TEST_F(StoreTest, PutsGetsAndRemoves) {
  Store store = open();
  EXPECT_EQ(store.get("a").value(), std::nullopt);
  ASSERT_TRUE(store.put("a", "1"));
  ASSERT_TRUE(store.put("a", "2"));
  EXPECT_THAT(store.get("a").value(), Optional(std::string("2")));
  EXPECT_TRUE(store.remove("a").value());
  EXPECT_FALSE(store.remove("a").value());
  EXPECT_EQ(store.get("a").value(), std::nullopt);
}

TEST_F(StoreTest, KeysAndValuesAreBytes) {
  Store store = open();
  const std::string key("\0k\xff", 3);
  const std::string value("\0\0\xfe", 3);
  ASSERT_TRUE(store.put(key, value));
  ASSERT_TRUE(store.put("empty", ""));
  EXPECT_THAT(store.get(key).value(), Optional(value));
  EXPECT_THAT(store.get("empty").value(), Optional(std::string()));
}

TEST_F(StoreTest, MultigetAnswersInOrderOfKeys) {
  Store store = open();
  const Store::Entry entries[] = {{"a", "1"}, {"b", "2"}, {"a", "3"}};
  ASSERT_TRUE(store.multiput(entries));
  const std::vector<std::string> keys = {"b", "missing", "a", "b"};
  EXPECT_THAT(store.multiget(keys).value(),
              ElementsAre(Optional(std::string("2")), std::nullopt, Optional(std::string("3")),
                          Optional(std::string("2"))));
}

TEST_F(StoreTest, MultiputSetsAllOrNone) {
  Store store = open();
  const Store::Entry entries[] = {{"a", "1"}, {"", "2"}};
  const auto refused = store.multiput(entries);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("the key is empty"));
  EXPECT_EQ(store.get("a").value(), std::nullopt);
}

TEST_F(StoreTest, KeysHaveUpTo511Bytes) {
  Store store = open();
  EXPECT_TRUE(store.put(std::string(511, 'k'), "v"));
  const std::string long_key(512, 'k');
  for (const std::string& message :
       {store.put(long_key, "v").error().message, store.get(long_key).error().message,
        store.remove(long_key).error().message}) {
    EXPECT_THAT(message, HasSubstr("the key has 512 bytes"));
  }
}

TEST_F(StoreTest, KeepsItsContentsWhenOpenedAgain) {
  {
    Store store = open();
    ASSERT_TRUE(store.put("a", "1"));
  }
  EXPECT_THAT(open().get("a").value(), Optional(std::string("1")));
}

TEST_F(StoreTest, GrowsWhenTheMapIsFull) {
  Store store = open(64 << 10);
  const std::string value(100 << 10, 'v');
  for (int i = 0; i < 20; ++i) {
    const auto put = store.put("key" + std::to_string(i), value);
    ASSERT_TRUE(put) << put.error().message;
  }
  EXPECT_THAT(store.get("key0").value(), Optional(value));
  EXPECT_THAT(store.get("key19").value(), Optional(value));
}

TEST_F(StoreTest, GrowsUnderManyReadersAndWriters) {
  Store store = open(64 << 10);
  const std::string value(8 << 10, 'v');
  std::vector<std::jthread> threads;
  for (int writer = 0; writer < 4; ++writer) {
    threads.emplace_back([&, writer] {
      for (int i = 0; i < 25; ++i) {
        const std::string key = std::to_string(writer) + "/" + std::to_string(i);
        EXPECT_TRUE(store.put(key, value));
        EXPECT_THAT(store.get(key).value(), Optional(value));
      }
    });
  }
}

TEST_F(StoreTest, SaysWhichFolderCannotBeOpened) {
  const auto store = Store::open("/proc/hatkv", kMapBytes, kReaders);
  ASSERT_FALSE(store);
  EXPECT_THAT(store.error().message, HasSubstr("/proc/hatkv: cannot make this folder"));
}

}  // namespace
}  // namespace hat
