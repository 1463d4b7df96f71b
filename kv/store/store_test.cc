// SPDX-License-Identifier: Apache-2.0
// kv/store/store_test.cc: tests that the store keeps its data, grows, and refuses wrong requests
// with clear errors.
#include "kv/store/store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <set>
#include <thread>

namespace hat {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Optional;

class StoreTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "hatkv-store-XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    directory_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  std::unique_ptr<Store> open(EnvironmentOptions options = {}) {
    options.folder = directory_;
    auto store = Store::open(options);
    EXPECT_TRUE(store.has_value()) << store.error().message;
    return std::move(store).value();
  }

  std::string directory_;
};

TEST_F(StoreTest, PutsGetsAndRemoves) {
  const auto store = open();
  EXPECT_EQ(store->get("a").value(), std::nullopt);
  ASSERT_TRUE(store->put("a", "1"));
  ASSERT_TRUE(store->put("a", "2"));
  EXPECT_THAT(store->get("a").value(), Optional(std::string("2")));
  EXPECT_TRUE(store->remove("a").value());
  EXPECT_FALSE(store->remove("a").value());
  EXPECT_EQ(store->get("a").value(), std::nullopt);
}

TEST_F(StoreTest, KeysAndValuesAreBytes) {
  const auto store = open();
  const std::string key("\0k\xff", 3);
  const std::string value("\0\0\xfe", 3);
  ASSERT_TRUE(store->put(key, value));
  ASSERT_TRUE(store->put("empty", ""));
  EXPECT_THAT(store->get(key).value(), Optional(value));
  EXPECT_THAT(store->get("empty").value(), Optional(std::string()));
}

TEST_F(StoreTest, MultigetAnswersInOrderOfKeys) {
  const auto store = open();
  const Store::Entry entries[] = {{"a", "1"}, {"b", "2"}, {"a", "3"}};
  ASSERT_TRUE(store->multiput(entries));
  const std::vector<std::string> keys = {"b", "missing", "a", "b"};
  EXPECT_THAT(store->multiget(keys).value(),
              ElementsAre(Optional(std::string("2")), std::nullopt, Optional(std::string("3")),
                          Optional(std::string("2"))));
}

TEST_F(StoreTest, MultiputSetsAllOrNone) {
  const auto store = open();
  const Store::Entry entries[] = {{"a", "1"}, {"", "2"}};
  const auto refused = store->multiput(entries);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("the key is empty"));
  EXPECT_EQ(store->get("a").value(), std::nullopt);
}

TEST_F(StoreTest, KeysHaveUpTo511Bytes) {
  const auto store = open();
  EXPECT_TRUE(store->put(std::string(511, 'k'), "v"));
  const std::string long_key(512, 'k');
  for (const std::string& message :
       {store->put(long_key, "v").error().message, store->get(long_key).error().message,
        store->remove(long_key).error().message}) {
    EXPECT_THAT(message, HasSubstr("the key has 512 bytes"));
  }
}

TEST_F(StoreTest, KeepsItsContentsWhenOpenedAgain) {
  {
    const auto store = open();
    ASSERT_TRUE(store->put("a", "1"));
  }
  EXPECT_THAT(open()->get("a").value(), Optional(std::string("1")));
}

struct RefusedRow {
  const char* name;
  Result<void> (*call)(Store& store);
  const char* message_part;
};

const RefusedRow kRefused[] = {
    {"value_over_8_mib",
     [](Store& store) { return store.put("k", std::string((8 << 20) + 1, 'v')); },
     "the value has 8388609 bytes; values have at most 8388608"},
    {"more_keys_than_a_batch",
     [](Store& store) -> Result<void> {
       HAT_TRY_VOID(store.multiget(std::vector<std::string>(10'001, "k")));
       return {};
     },
     "the batch has 10001 keys; at most 10000 fit into one call"},
    {"more_pairs_than_a_batch",
     [](Store& store) {
       return store.multiput(std::vector<Store::Entry>(10'001, {"k", "v"}));
     },
     "the batch has 10001 keys"},
    {"more_bytes_than_a_batch",
     [](Store& store) {
       const std::string value(7 << 20, 'v');
       return store.multiput(std::vector<Store::Entry>{{"a", value}, {"b", value}});
     },
     "the batch has more than 12582912 bytes"},
    {"answer_of_more_bytes_than_a_batch",
     [](Store& store) -> Result<void> {
       HAT_TRY_VOID(store.put("k", std::string(7 << 20, 'v')));
       HAT_TRY_VOID(store.multiget(std::vector<std::string>{"k", "k"}));
       return {};
     },
     "the batch has more than 12582912 bytes"},
};

class StoreRefuses : public StoreTest, public testing::WithParamInterface<RefusedRow> {};

TEST_P(StoreRefuses, AndSaysWhy) {
  const auto result = GetParam().call(*open());
  ASSERT_FALSE(result);
  EXPECT_THAT(result.error().message, HasSubstr(GetParam().message_part));
}

INSTANTIATE_TEST_SUITE_P(Rows, StoreRefuses, testing::ValuesIn(kRefused),
                         [](const auto& row) { return std::string(row.param.name); });

TEST_F(StoreTest, RefusesWhatOutgrowsItsLimitAndNothingElse) {
  const auto store = open({.map_bytes = 64 << 10, .max_bytes = 1 << 20});
  const std::string large(2 << 20, 'v');
  std::vector<std::jthread> threads;
  for (int writer = 0; writer < 4; ++writer) {
    threads.emplace_back([&, writer] {
      for (int i = 0; i < 20; ++i) {
        const std::string key = std::to_string(writer) + "/" + std::to_string(i);
        EXPECT_TRUE(store->put(key, "small"));
        if (writer != 0) continue;
        const auto refused = store->put(key, large);
        ASSERT_FALSE(refused);
        EXPECT_THAT(refused.error().message, HasSubstr("that --max-bytes allows"));
      }
    });
  }
  threads.clear();
  EXPECT_EQ(store->statistics()->usage.records, 80u);
  EXPECT_THAT(store->get("0/19").value(), Optional(std::string("small")));
}

TEST_F(StoreTest, GrowsWhenTheMapIsFull) {
  const auto store = open({.map_bytes = 64 << 10});
  const std::string value(100 << 10, 'v');
  for (int i = 0; i < 20; ++i) {
    const auto put = store->put("key" + std::to_string(i), value);
    ASSERT_TRUE(put) << put.error().message;
  }
  EXPECT_THAT(store->get("key0").value(), Optional(value));
  EXPECT_THAT(store->get("key19").value(), Optional(value));
  EXPECT_GE(store->statistics()->usage.growths, 5u);
}

TEST_F(StoreTest, GrowsWhenOpenedAgainWithASmallerMap) {
  const std::string value(100 << 10, 'v');
  {
    const auto store = open();
    for (int i = 0; i < 20; ++i) ASSERT_TRUE(store->put("key" + std::to_string(i), value));
  }
  const auto store = open({.map_bytes = 64 << 10});
  ASSERT_TRUE(store->put("one more", value));
  EXPECT_THAT(store->get("key0").value(), Optional(value));
  EXPECT_THAT(store->get("one more").value(), Optional(value));
}

TEST_F(StoreTest, GrowsUnderManyReadersAndWriters) {
  const auto store = open({.map_bytes = 64 << 10, .readers = 2, .durability = Durability::kNoSync});
  const std::string value(8 << 10, 'v');
  std::vector<std::jthread> threads;
  for (int writer = 0; writer < 4; ++writer) {
    threads.emplace_back([&, writer] {
      for (int i = 0; i < 25; ++i) {
        const std::string key = std::to_string(writer) + "/" + std::to_string(i);
        EXPECT_TRUE(store->put(key, value));
        EXPECT_THAT(store->get(key).value(), Optional(value));
        EXPECT_TRUE(store->scan({}, 10));
      }
    });
  }
  threads.clear();
  EXPECT_GE(store->statistics()->usage.growths, 3u);
}

class StoreDurability : public StoreTest, public testing::WithParamInterface<DurabilityLevel> {};

TEST_P(StoreDurability, KeepsItsContentsWhenOpenedAgain) {
  const DurabilityLevel& level = GetParam();
  {
    const auto store = open({.durability = level.level});
    ASSERT_TRUE(store->put("a", "1"));
    ASSERT_TRUE(store->put("b", "2"));
    const EnvironmentUsage usage = store->statistics()->usage;
    EXPECT_EQ(usage.commits, 2u);
    EXPECT_GE(usage.syncs, level.waits_for_disk ? 2u : 0u);
  }
  EXPECT_THAT(open({.durability = level.level})->get("b").value(), Optional(std::string("2")));
}

INSTANTIATE_TEST_SUITE_P(Levels, StoreDurability, testing::ValuesIn(kDurabilityLevels),
                         [](const auto& row) { return std::string(row.param.name); });

TEST_F(StoreTest, EverysecSyncsInTheBackground) {
  const auto store = open({.durability = Durability::kEverySec});
  ASSERT_TRUE(store->put("a", "1"));
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (store->statistics()->usage.syncs == 0 && std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_GE(store->statistics()->usage.syncs, 1u);
}

TEST_F(StoreTest, OneProcessAtATimeOpensAFolder) {
  const auto store = open();
  const auto second = Store::open({.folder = directory_});
  ASSERT_FALSE(second);
  EXPECT_THAT(second.error().message, HasSubstr("another hatkv has this store open"));
}

TEST_F(StoreTest, BackupIsAStoreOfOneMoment) {
  const std::string copy = directory_ + "/backups/one";
  {
    const auto store = open({.map_bytes = 64 << 10, .durability = Durability::kNoSync});
    std::jthread writer([&](const std::stop_token& stop) {  // always changes both keys together
      for (int i = 0; !stop.stop_requested(); ++i) {
        const std::string value = std::to_string(i), fresh = "grows" + value;
        const Store::Entry entries[] = {{"a", value}, {"z", value}, {fresh, value}};
        EXPECT_TRUE(store->multiput(entries));
      }
    });
    while (!store->get("a").value()) std::this_thread::yield();
    const auto bytes = store->backup(copy);
    ASSERT_TRUE(bytes) << bytes.error().message;
    EXPECT_EQ(*bytes, std::filesystem::file_size(copy + "/data.mdb"));
    const auto again = store->backup(copy);
    ASSERT_FALSE(again);
    EXPECT_THAT(again.error().message, HasSubstr("/backups/one: this backup already exists"));
  }
  const auto restored = Store::open({.folder = copy});
  ASSERT_TRUE(restored) << restored.error().message;
  const std::vector<std::string> keys = {"a", "z"};
  const auto values = (*restored)->multiget(keys).value();
  ASSERT_TRUE(values[0]);
  EXPECT_EQ(values[0], values[1]);
  EXPECT_TRUE((*restored)->put("a", "goes on"));
}

TEST_F(StoreTest, ABackupIsNoOthersPartialCopy) {
  const auto store = open();
  ASSERT_TRUE(store->put("a", "1"));
  for (const std::string name : {"one.partial", "one"}) {
    const auto bytes = store->backup(directory_ + "/backups/" + name);
    ASSERT_TRUE(bytes) << bytes.error().message;
  }
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(directory_ + "/backups")) {
    names.insert(entry.path().filename());
  }
  EXPECT_THAT(names, ElementsAre("one", "one.partial"));
}

// Checks that a store has fewer readers if another program has created LMDB's lock file with fewer
// reader slots.
TEST_F(StoreTest, HasAsManyReadersAsTheLockFileHasRoomFor) {
  { const auto made = open(); }
  std::filesystem::remove(directory_ + "/lock.mdb");
  int opened[2];
  int release[2];
  ASSERT_EQ(pipe(opened), 0);
  ASSERT_EQ(pipe(release), 0);
  const pid_t other = fork();
  ASSERT_GE(other, 0);
  if (other == 0) {
    close(release[1]);  // otherwise the read() below would not return if the test's process ends
    MDB_env* environment = nullptr;
    const bool is_open = mdb_env_create(&environment) == 0 &&
                         mdb_env_set_maxreaders(environment, 20) == 0 &&
                         mdb_env_open(environment, directory_.c_str(), MDB_RDONLY, 0640) == 0;
    char byte = is_open ? 'y' : 'n';
    const bool sent = write(opened[1], &byte, 1) == 1;
    _exit(sent && read(release[0], &byte, 1) == 0 ? 0 : 1);
  }
  close(opened[1]);
  close(release[0]);
  char is_open = 'n';
  EXPECT_EQ(read(opened[0], &is_open, 1), 1);
  EXPECT_EQ(is_open, 'y');
  // LMDB's lock file has 20 reader slots here, and 16 are reserved for backups and LMDB's tools.
  EXPECT_EQ(open({.readers = 126})->statistics()->usage.readers, 4u);
  EXPECT_EQ(open({.readers = 3})->statistics()->usage.readers, 3u);
  close(release[1]);
  int status = -1;
  EXPECT_EQ(waitpid(other, &status, 0), other);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(open({.readers = 126})->statistics()->usage.readers, 126u);
  close(opened[0]);
}

TEST_F(StoreTest, SaysWhichFolderCannotBeOpened) {
  const auto store = Store::open({.folder = "/proc/hatkv"});
  ASSERT_FALSE(store);
  EXPECT_THAT(store.error().message, HasSubstr("/proc/hatkv: cannot make this folder"));
}

}  // namespace
}  // namespace hat
