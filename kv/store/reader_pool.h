// SPDX-License-Identifier: Apache-2.0
// kv/store/reader_pool.h: a pool of LMDB read transactions that are used again and again.
//
// To begin a read transaction, LMDB takes a slot in its lock file under a mutex that all processes
// share. To renew a transaction from the pool is much cheaper. At most `readers` transactions are
// in use at the same time; further callers wait.
//
// Owner    The LMDB environment must outlive the pool, and the pool must outlive its leases.
// Thread   Any thread may use the pool. One thread at a time may use a lease.
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
  // The right to use one read transaction until the lease is destroyed. The transaction reads the
  // newest commit at the time of take().
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

  // Returns a lease. Waits while all readers are in use or the pool is paused.
  Result<Lease> take();

  // Pauses the pool, so that take() waits until resume(), and waits until no lease exists. Only one
  // thread at a time may call pause().
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
  std::condition_variable free_;   // signals that a reader was given back, or the pool resumed
  std::condition_variable quiet_;  // signals that no reader is in use
  std::vector<Transaction> all_;
  std::vector<MDB_txn*> idle_;
  uint32_t in_use_ = 0;
  uint64_t waits_ = 0;
  bool paused_ = false;
};

}  // namespace hat
