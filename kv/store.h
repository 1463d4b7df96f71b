// kv/store.h: binary keys and values that outlive the process, in one LMDB environment.
//
// Bounds   keys 1 … 511 bytes (LMDB's own limit), values up to 4 GiB; the file grows as needed, up
// to
//          what the disk and the address space hold. Up to `readers` transactions read at once.
// Owner    views passed in are read during the call alone; what is returned is the caller's.
// Thread   every method may be called from every thread; reads never wait for writes, writes wait
//          for each other. Opening one folder twice in a process is an error of the caller.
// Errors   a sentence for the person who sent the request (empty or long key, no room on the disk).
//          A call that fails has changed nothing.
// Source   HatRPC (SC'21) 5.4: HatKV keeps its data in LMDB.
#pragma once

#include <lmdb.h>

#include <cstdint>
#include <optional>
#include <shared_mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/owned.h"
#include "base/result.h"

namespace hat {

class Store {
 public:
  struct Entry {
    std::string_view key;
    std::string_view value;
  };

  // Opens the store in `directory`, which is made if it is not there. The map starts at `map_bytes`
  // (or at the size of the file, if that is more) and doubles whenever it is full.
  static Result<Store> open(const std::string& directory, uint64_t map_bytes, uint32_t readers);

  Store(Store&& other) noexcept
      : environment_(std::move(other.environment_)), table_(other.table_) {}

  // The value of `key`, or nothing if it is not there.
  Result<std::optional<std::string>> get(std::string_view key) const;

  // get() of each key, in their order, all from the same moment.
  Result<std::vector<std::optional<std::string>>> multiget(std::span<const std::string> keys) const;

  // Sets the value of a key; it is on the disk when the call returns.
  Result<void> put(std::string_view key, std::string_view value);

  // Sets all entries, or none. Where a key comes twice, the later entry holds.
  Result<void> multiput(std::span<const Entry> entries);

  // Takes a key out; tells whether it was there.
  Result<bool> remove(std::string_view key);

 private:
  using Environment = Owned<MDB_env, mdb_env_close>;

  Store(Environment environment, MDB_dbi table)
      : environment_(std::move(environment)), table_(table) {}

  // Runs `change(transaction)` in a write transaction; again with a larger map while that is full.
  template <class Change>
  Result<void> write(Change&& change);
  Result<void> grow(uint64_t full_at_bytes);

  Environment environment_;
  MDB_dbi table_;
  // LMDB changes the size of its map only while no transaction is open: they hold it shared.
  mutable std::shared_mutex resizing_;
};

}  // namespace hat
