// SPDX-License-Identifier: Apache-2.0
// kv/store/environment.h: an LMDB environment (database file) with one table, whose memory map
// grows as needed.
//
// LMDB maps its file with a fixed size, and refuses writes that do not fit. In this class, such a
// write waits until the current readers have finished, doubles the map, and runs again. A large map
// costs only address space.
//
// Bounds   The map begins with `map_bytes`, or with the file's size (rounded up) if that is larger.
//          It grows up to `max_bytes`. After that, writes that do not fit are refused.
// Owner    One process at a time serves a folder. The process holds a lock on the folder, which the
//          kernel releases when the process ends. LMDB's tools (mdb_stat, mdb_copy) can read the
//          store at the same time.
// Thread   Any thread may call read(), copy_to() and usage(). Only one thread at a time may call
//          write() and sync().
// Errors   The messages are for the person who sent the request. A call that fails has changed
//          nothing. If LMDB has unmapped its old map and cannot map the new one, the process exits,
//          because no read could return correct data.
#pragma once

#include <lmdb.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>

#include "base/descriptor.h"
#include "base/owned.h"
#include "base/result.h"
#include "kv/store/durability.h"
#include "kv/store/reader_pool.h"

namespace hat {

struct EnvironmentOptions {
  std::string folder;               // created if it does not exist
  uint64_t map_bytes = 1ull << 30;  // the initial size of the map
  uint64_t max_bytes = 1ull << 40;  // the maximum size of the map
  // The number of concurrent read transactions. It is lower if another program has created LMDB's
  // lock file with fewer reader slots.
  uint32_t readers = 126;
  Durability durability = Durability::kSync;
};

struct EnvironmentUsage {
  uint64_t records = 0;
  uint64_t data_bytes = 0;  // size of the pages that hold records
  uint64_t file_bytes = 0;  // size of the file, with free pages
  uint64_t map_bytes = 0;
  uint64_t commits = 0;
  uint64_t syncs = 0;          // waits for the disk, by commits and by background syncs
  uint64_t sync_failures = 0;  // failures of background syncs and of sync()
  uint64_t growths = 0;        // how often the map has grown
  uint32_t readers = 0;        // maximum number of concurrent readers
  uint32_t readers_in_use = 0;
  uint64_t reader_waits = 0;
};

class Environment {
 public:
  static Result<std::unique_ptr<Environment>> open(const EnvironmentOptions& options);
  ~Environment();

  MDB_dbi table() const { return table_; }
  Result<ReaderPool::Lease> read() { return readers_.take(); }

  // Runs `change` in a write transaction, and commits the transaction if `change` returns 0;
  // otherwise `change` must return an error code of LMDB. If the map is full, grows the map and
  // runs `change` again in a new transaction.
  using Changes = std::function<int(MDB_txn*)>;
  Result<void> write(const Changes& change);

  // Waits until everything that was committed is on disk. Also fails if an earlier sync has failed,
  // because the kernel does not write the pages of a failed sync again, so that the disk may never
  // get these pages. The destructor syncs too, but cannot report a failure.
  Result<void> sync();

  // Writes a consistent, compact copy of the store to `folder`, which must not exist yet. The copy
  // can be opened as a store. Returns the copy's size in bytes. Reads and writes continue at the
  // same time, until a write needs a larger map: this write and all writes after it wait until the
  // copy is complete.
  Result<uint64_t> copy_to(const std::string& folder);

  Result<EnvironmentUsage> usage();

 private:
  using Handle = Owned<MDB_env, mdb_env_close>;

  // Whether the disk has all commits before the last sync. After a failed sync, a later sync that
  // succeeds does not prove this, because Linux marks pages that it could not write as clean, and
  // does not write them again.
  enum class OnDisk : uint8_t {
    kUnknown,  // no commit yet: a sync can have failed in an earlier process
    kSure,     // no sync has failed since a commit that waited for all of its pages
    kDoubted,  // a sync has failed, and no commit has waited for all of its pages since then
  };

  Environment(const EnvironmentOptions& options, Descriptor folder, Handle handle);
  // Opens `folder`, which it creates if needed, and locks it until the descriptor is closed. Fails
  // if another process has locked the folder.
  static Result<Descriptor> lock(const std::string& folder);
  static Result<Handle> open_lmdb(const EnvironmentOptions& options);
  int try_to_write(const Changes& change);
  void wait_for_meta_page(bool waits);
  uint64_t last_commit() const;
  int try_to_sync();
  Result<void> open_table();
  Result<void> grow();
  Result<uint64_t> copy_into(const std::string& partial, const std::string& folder);
  uint64_t map_bytes() const;
  void sync_each_second(const std::stop_token& stop);

  const EnvironmentOptions options_;
  const DurabilityLevel& durability_;
  const Descriptor locked_folder_;  // before handle_: the lock outlives LMDB's environment
  Handle handle_;
  ReaderPool readers_;  // declared after handle_: its transactions end before LMDB closes
  MDB_dbi table_ = 0;
  std::mutex backing_up_;  // one backup at a time
  std::mutex copying_;     // held while LMDB copies the store, because its map must not change then
  std::atomic<uint64_t> commits_{0};
  std::atomic<uint64_t> syncs_{0};
  std::atomic<uint64_t> sync_failures_{0};
  std::atomic<uint64_t> growths_{0};
  std::atomic<OnDisk> on_disk_{OnDisk::kUnknown};
  std::jthread syncer_;  // declared last, so that this thread ends first
};

}  // namespace hat
