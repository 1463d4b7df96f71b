// SPDX-License-Identifier: Apache-2.0
// kv/store/reader_pool.h: LMDB read transactions that are kept and renewed, not begun and ended.
//
// To begin one takes a slot in LMDB's lock file, under a mutex that all processes share; to renew
// one that was reset takes a few loads. At most `readers` are in use at once: who comes then waits.
//
// Owner    the environment outlives the pool, and the pool its leases.
// Thread   any. A lease is used by one thread at a time.
#pragma once

#include <lmdb.h>

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <utility>
#include <vector>

#include "base/owned.h"
#include "base/result.h"

namespace hat {

class ReaderPool {
 public:
  // A transaction that reads the newest commit, until the lease ends.
  class Lease {
   public:
    Lease(Lease&& other) noexcept
        : pool_(std::exchange(other.pool_, nullptr)), transaction_(other.transaction_) {}
    ~Lease() {
      if (pool_ != nullptr) pool_->give_back(transaction_);
    }
    MDB_txn* transaction() const { return transaction_; }

   private:
    friend class ReaderPool;
    Lease(ReaderPool* pool, MDB_txn* transaction) : pool_(pool), transaction_(transaction) {}

    ReaderPool* pool_;
    MDB_txn* transaction_;
  };

  ReaderPool(MDB_env* environment, uint32_t readers)
      : environment_(environment), readers_max_(readers) {}

  // Waits while all are in use, and while the pool is paused.
  Result<Lease> take();

  // Returns when nobody reads; nobody does until resume(). One caller at a time.
  void pause();
  void resume();

  uint32_t limit() const { return readers_max_; }
  uint32_t in_use() const;
  uint64_t waits() const;  // how often take() had to wait

 private:
  using Transaction = Owned<MDB_txn, mdb_txn_abort>;

  void give_back(MDB_txn* transaction);

  MDB_env* environment_;
  const uint32_t readers_max_;
  mutable std::mutex mutex_;
  std::condition_variable free_;   // a reader, or the pool, may be taken
  std::condition_variable quiet_;  // nobody reads
  std::vector<Transaction> all_;
  std::vector<MDB_txn*> idle_;
  uint32_t in_use_ = 0;
  uint64_t waits_ = 0;
  bool paused_ = false;
};

}  // namespace hat
