// SPDX-License-Identifier: Apache-2.0
// kv/store/store.h: a persistent store of binary keys and values in one LMDB environment.
//
// Bounds   kv/limits.h has the limits. Keys are ordered by their bytes. The file grows as needed.
// Owner    The store reads the views in arguments only during the call. The caller owns results.
// Thread   Any thread may call any function. Reads never wait for writes, except while the map
//          grows. Writes that wait at the same time share a commit, but each write is made
//          completely or not at all.
// Errors   The messages are for the person who sent the request (empty or long key, disk full). A
//          call that fails has changed nothing.
// Source   HatRPC (SC'21) 4.4 and 5.4: HatKV keeps its data in LMDB, and hints set its storage.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/counter.h"
#include "base/histogram.h"
#include "base/result.h"
#include "kv/store/environment.h"
#include "kv/store/group_commit.h"

namespace hat {

class Store {
 public:
  struct Entry {
    std::string_view key;
    std::string_view value;
  };

  // The keys from `start` on that are smaller than `before` and begin with `prefix`. An empty
  // member sets no bound.
  struct Range {
    std::string_view start;
    std::string_view before;
    std::string_view prefix;
  };

  // Pairs of the store as they were at one moment, in the order of their keys.
  struct Page {
    std::vector<std::pair<std::string, std::string>> pairs;
    // The value of Range::start with which a scan continues; empty if the range has no more pairs.
    std::string resume;
  };

  // Number of buckets of a histogram. Their upper bounds are 1, 2, 4 … 2^26 (in writes, or in µs,
  // up to 67 s). The last bucket counts all larger values.
  static constexpr size_t kBuckets = 28;
  struct Statistics {
    EnvironmentUsage usage;
    HistogramSnapshot<kBuckets> writes_per_commit;
    HistogramSnapshot<kBuckets> commit_times;  // nanoseconds
    uint64_t writes_waiting = 0;               // writes that wait for a commit or are in one
  };

  static Result<std::unique_ptr<Store>> open(const EnvironmentOptions& options);

  // Returns the value of `key`, or std::nullopt if the key does not exist.
  Result<std::optional<std::string>> get(std::string_view key);

  // Returns the value (or std::nullopt) of each key, in the order of `keys`. All values are of the
  // same moment.
  Result<std::vector<std::optional<std::string>>> multiget(std::span<const std::string> keys);

  // Returns the first pairs of `range`: at most `limit`, and none after the pair with which the
  // page reaches kPageBytesMax. The page has at least one pair if the range has one.
  Result<Page> scan(const Range& range, size_t limit);

  // put(), multiput() and remove() return after the change is committed with the durability level
  // of the options. `patience` is the longest time to wait for other writes to share the commit.
  using Patience = std::chrono::microseconds;
  Result<void> put(std::string_view key, std::string_view value, Patience patience = {});
  // Sets the values of all entries, or of none. If a key occurs twice, the later entry wins.
  Result<void> multiput(std::span<const Entry> entries, Patience patience = {});
  // Removes a key. Returns true if the key existed.
  Result<bool> remove(std::string_view key, Patience patience = {});

  // Writes a copy of the store's current state to `folder`, which must not exist. Returns the
  // copy's size in bytes.
  Result<uint64_t> backup(const std::string& folder) { return environment_->copy_to(folder); }

  Result<Statistics> statistics();

  // Returns an error if the store cannot be read, for example after a fatal error of LMDB.
  Result<void> check();

  // Waits until everything that was committed is on disk. Call this last before a clean exit.
  Result<void> sync() { return environment_->sync(); }

 private:
  explicit Store(std::unique_ptr<Environment> environment);

  Result<size_t> write(std::span<const Change> changes, Patience patience);
  void commit(std::span<Write* const> group) noexcept;
  Result<void> commit_together(std::span<Write* const> group);

  std::unique_ptr<Environment> environment_;
  GroupCommit group_commit_;
  Histogram<SharedCounter, kBuckets> writes_per_commit_;
  LatencyHistogram<SharedCounter, kBuckets> commit_times_;
};

}  // namespace hat
