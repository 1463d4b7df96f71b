// SPDX-License-Identifier: Apache-2.0
// kv/store/environment.h: an LMDB environment with one table, whose map grows by itself.
//
// LMDB maps its file at a fixed size, and refuses writes that do not fit. Here such a write waits
// until the readers of the moment are done, the map is doubled, and the write is made again.
// Address space is all that a large map costs.
//
// Bounds   the file's size, rounded up, is where a smaller `map_bytes` starts; `max_bytes` is where
//          it ends: then writes are refused.
// Owner    one process at a time serves a folder: a lock on the folder says so, and ends with the
//          process. LMDB's own tools (mdb_stat, mdb_copy) may look meanwhile.
// Thread   read(), copy_to() and usage(): any. write(): one at a time.
// Errors   sentences for the person who sent the request; what failed has changed nothing.
//          Where LMDB has given its map up and gets no new one, the process ends: no read could
//          be right.
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

#include "base/owned.h"
#include "base/result.h"
#include "kv/store/durability.h"
#include "kv/store/reader_pool.h"

namespace hat {

struct EnvironmentOptions {
  std::string folder;               // made if it is not there
  uint64_t map_bytes = 1ull << 30;  // the first size of the map
  uint64_t max_bytes = 1ull << 40;  // what it may grow to
  uint32_t readers = 126;           // at once; fewer where another has sized LMDB's lock file
  Durability durability = Durability::kSync;
};

struct EnvironmentUsage {
  uint64_t records = 0;
  uint64_t data_bytes = 0;  // pages that hold them
  uint64_t file_bytes = 0;  // with pages that are free
  uint64_t map_bytes = 0;
  uint64_t commits = 0;
  uint64_t syncs = 0;          // commits and background syncs that waited for the disk
  uint64_t sync_failures = 0;  // of background syncs and of sync()
  uint64_t growths = 0;        // of the map
  uint32_t readers = 0;        // at once, at most
  uint32_t readers_in_use = 0;
  uint64_t reader_waits = 0;
};

class Environment {
 public:
  static Result<std::unique_ptr<Environment>> open(const EnvironmentOptions& options);
  ~Environment();

  MDB_dbi table() const { return table_; }
  Result<ReaderPool::Lease> read() { return readers_.take(); }

  // Runs `change`, which returns LMDB's code, in a write transaction, and commits; again with a
  // larger map where that is full.
  using Changes = std::function<int(MDB_txn*)>;
  Result<void> write(const Changes& change);

  // Waits until the disk has all that was committed. The destructor does as much, but cannot
  // tell that it failed.
  Result<void> sync();

  // A consistent, compact copy as `folder`, which must not be there; it can be opened as a store.
  // Reads and writes go on meanwhile, until a write needs a larger map: it waits until LMDB has
  // copied, and so do all writes behind it. Its bytes.
  Result<uint64_t> copy_to(const std::string& folder);

  Result<EnvironmentUsage> usage();

 private:
  using Handle = Owned<MDB_env, mdb_env_close>;

  // An open folder whose lock this process holds.
  class LockedFolder {
   public:
    explicit LockedFolder(int descriptor) : descriptor_(descriptor) {}
    LockedFolder(LockedFolder&& other) noexcept
        : descriptor_(std::exchange(other.descriptor_, -1)) {}
    ~LockedFolder();

   private:
    int descriptor_;
  };

  Environment(const EnvironmentOptions& options, LockedFolder folder, Handle handle);
  static Result<LockedFolder> lock(const std::string& folder);
  static Result<Handle> open_lmdb(const EnvironmentOptions& options);
  int try_to_write(const Changes& change);
  Result<void> open_table();
  Result<void> grow();
  Result<uint64_t> copy_into(const std::string& partial, const std::string& folder);
  uint64_t map_bytes() const;
  void sync_each_second(const std::stop_token& stop);

  const EnvironmentOptions options_;
  const DurabilityLevel& durability_;
  const LockedFolder folder_;  // before handle_: the lock is held until LMDB has closed
  Handle handle_;
  ReaderPool readers_;  // after handle_: its transactions end first
  MDB_dbi table_ = 0;
  std::mutex backing_up_;  // one backup at a time
  std::mutex copying_;     // LMDB's map must not change under its copy
  std::atomic<uint64_t> commits_{0};
  std::atomic<uint64_t> syncs_{0};
  std::atomic<uint64_t> sync_failures_{0};
  std::atomic<uint64_t> growths_{0};
  std::jthread syncer_;  // last: first to end
};

}  // namespace hat
