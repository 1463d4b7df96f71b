// SPDX-License-Identifier: Apache-2.0
// kv/store/reader_pool_test.cc: tests the limit of readers, the data that a renewed reader sees,
// and pause().
#include "kv/store/reader_pool.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <optional>
#include <thread>

namespace hat {
namespace {

class ReaderPoolTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "hatkv-readers-XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    MDB_env* environment = nullptr;
    ASSERT_EQ(mdb_env_create(&environment), 0);
    environment_.reset(environment);
    ASSERT_EQ(mdb_env_open(environment, folder_.c_str(), MDB_NOTLS | MDB_NOSYNC, 0600), 0);
  }
  void TearDown() override {
    environment_.reset();
    std::filesystem::remove_all(folder_);
  }
  void commit() {
    MDB_txn* transaction = nullptr;
    ASSERT_EQ(mdb_txn_begin(environment_.get(), nullptr, 0, &transaction), 0);
    MDB_dbi table = 0;
    ASSERT_EQ(mdb_dbi_open(transaction, nullptr, 0, &table), 0);
    MDB_val key{1, const_cast<char*>("k")};
    ASSERT_EQ(mdb_put(transaction, table, &key, &key, 0), 0);
    ASSERT_EQ(mdb_txn_commit(transaction), 0);
  }

  std::string folder_;
  Owned<MDB_env, mdb_env_close> environment_;
};

TEST_F(ReaderPoolTest, RenewsOneTransactionForTheNewestCommit) {
  ReaderPool pool(environment_.get(), 4);
  MDB_txn* first = nullptr;
  size_t first_id = 0;
  {
    const auto lease = pool.take();
    ASSERT_TRUE(lease);
    first = lease->transaction();
    first_id = mdb_txn_id(first);
  }
  commit();
  const auto lease = pool.take();
  ASSERT_TRUE(lease);
  EXPECT_EQ(lease->transaction(), first);
  EXPECT_EQ(mdb_txn_id(lease->transaction()), first_id + 1);
}

TEST_F(ReaderPoolTest, WhoFindsAllInUseWaits) {
  ReaderPool pool(environment_.get(), 1);
  std::optional<ReaderPool::Lease> held(std::move(*pool.take()));
  std::atomic<bool> took{false};
  std::jthread other([&] {
    const auto lease = pool.take();
    EXPECT_TRUE(lease);
    took = true;
  });
  while (pool.waits() == 0) std::this_thread::yield();
  EXPECT_FALSE(took);
  EXPECT_EQ(pool.in_use(), 1u);
  held.reset();
  other.join();
  EXPECT_TRUE(took);
  EXPECT_EQ(pool.in_use(), 0u);
}

TEST_F(ReaderPoolTest, APauseWaitsReadersOutAndKeepsOthersAway) {
  ReaderPool pool(environment_.get(), 4);
  std::optional<ReaderPool::Lease> held(std::move(*pool.take()));
  std::atomic<bool> paused{false};
  std::jthread pauser([&] {
    pool.pause();
    EXPECT_EQ(pool.in_use(), 0u);
    paused = true;
  });
  // Take readers until take() must wait. Readers are free, so the wait shows that the pause has
  // begun.
  std::jthread other([&] {
    while (pool.waits() == 0) EXPECT_TRUE(pool.take());
  });
  while (pool.waits() == 0) std::this_thread::yield();
  EXPECT_FALSE(paused);
  held.reset();
  pauser.join();
  EXPECT_TRUE(paused);
  EXPECT_EQ(pool.in_use(), 0u);
  pool.resume();
  other.join();
}

}  // namespace
}  // namespace hat
