// SPDX-License-Identifier: Apache-2.0
// kv/store/store.h: binary keys and values that outlive the process, in one LMDB environment.
//
// Bounds   kv/limits.h; keys are ordered by their bytes. The file grows as needed.
// Owner    views passed in are read during the call alone; what is returned is the caller's.
// Thread   every method may be called from every thread. Reads never wait for writes. Writes that
//          wait at the same time share a commit; each is still made as a whole or not at all.
// Errors   a sentence for the person who sent the request (empty or long key, no room on the disk).
//          A call that fails has changed nothing.
// Source   HatRPC (SC'21) 4.4 and 5.4: HatKV keeps its data in LMDB, and hints shape how.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "kv/store/environment.h"
#include "kv/store/group_commit.h"
#include "kv/store/histogram.h"

namespace hat {

class Store {
 public:
  struct Entry {
    std::string_view key;
    std::string_view value;
  };

  // Keys from `start` on, smaller than `before`, that begin with `prefix`. Empty: no such bound.
  struct Range {
    std::string_view start;
    std::string_view before;
    std::string_view prefix;
  };

  // Pairs in the order of their keys, all from the same moment.
  struct Page {
    std::vector<std::pair<std::string, std::string>> pairs;
    std::string resume;  // the `start` that goes on with the same range; empty: nothing is left
  };

  struct Statistics {
    EnvironmentUsage usage;
    Histogram::Snapshot writes_per_commit;
    Histogram::Snapshot commit_us;  // microseconds
    uint64_t writes_waiting = 0;    // for a commit, or in one
  };

  static Result<std::unique_ptr<Store>> open(const EnvironmentOptions& options);

  // The value of `key`, or nothing if it is not there.
  Result<std::optional<std::string>> get(std::string_view key);

  // get() of each key, in their order, all from the same moment.
  Result<std::vector<std::optional<std::string>>> multiget(std::span<const std::string> keys);

  // At most `limit` pairs, and not many more bytes than kPageBytesMax; at least one if there is
  // one.
  Result<Page> scan(const Range& range, size_t limit);

  // Each returns when its change has been committed, as durably as the options say. `patience` is
  // how long it may wait for others to share the commit with.
  using Patience = std::chrono::microseconds;
  Result<void> put(std::string_view key, std::string_view value, Patience patience = {});
  // Sets all entries, or none. Where a key comes twice, the later entry holds.
  Result<void> multiput(std::span<const Entry> entries, Patience patience = {});
  // Takes a key out; tells whether it was there.
  Result<bool> remove(std::string_view key, Patience patience = {});

  // A copy of this moment as `folder`, which must not be there; its bytes.
  Result<uint64_t> backup(const std::string& folder) { return environment_->copy_to(folder); }

  Result<Statistics> statistics();

  // Whether the store can be read: not after LMDB has met an error that it cannot undo.
  Result<void> check();

  // Waits until the disk has all that was committed; what ends well calls it last.
  Result<void> sync() { return environment_->sync(); }

 private:
  explicit Store(std::unique_ptr<Environment> environment);

  Result<size_t> write(std::span<const Change> changes, Patience patience);
  void commit(std::span<Write* const> group) noexcept;
  Result<void> commit_together(std::span<Write* const> group);

  std::unique_ptr<Environment> environment_;
  GroupCommit group_commit_;
  Histogram writes_per_commit_;
  Histogram commit_us_;
};

}  // namespace hat
