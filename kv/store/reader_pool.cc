// SPDX-License-Identifier: Apache-2.0
#include "kv/store/reader_pool.h"

#include <string>

namespace hat {

Result<ReaderPool::Lease> ReaderPool::take() {
  std::unique_lock lock(mutex_);
  const auto may_read = [&] { return !paused_ && in_use_ < readers_max_; };
  if (!may_read()) {
    ++waits_;
    free_.wait(lock, may_read);
  }
  MDB_txn* transaction = nullptr;
  int code = 0;
  if (idle_.empty()) {
    code = mdb_txn_begin(environment_, nullptr, MDB_RDONLY, &transaction);
    if (code == 0) all_.emplace_back(transaction);
  } else {
    transaction = idle_.back();
    code = mdb_txn_renew(transaction);
    if (code == 0) idle_.pop_back();
  }
  if (code != 0) {
    free_.notify_one();  // let another waiting thread try, because the reader is still free
    return fail(ErrorCode::kSystem,
                std::string("cannot begin a read transaction: ") + mdb_strerror(code));
  }
  ++in_use_;
  return Lease(this, transaction);
}

void ReaderPool::give_back(MDB_txn* transaction) {
  mdb_txn_reset(transaction);
  const std::scoped_lock lock(mutex_);
  idle_.push_back(transaction);
  --in_use_;
  free_.notify_one();
  if (in_use_ == 0) quiet_.notify_one();
}

void ReaderPool::pause() {
  std::unique_lock lock(mutex_);
  paused_ = true;
  quiet_.wait(lock, [&] { return in_use_ == 0; });
}

void ReaderPool::resume() {
  const std::scoped_lock lock(mutex_);
  paused_ = false;
  free_.notify_all();
}

uint32_t ReaderPool::in_use() const {
  const std::scoped_lock lock(mutex_);
  return in_use_;
}

uint64_t ReaderPool::waits() const {
  const std::scoped_lock lock(mutex_);
  return waits_;
}

}  // namespace hat
