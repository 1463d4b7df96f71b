// kv/store.cc: keeps keys and values in LMDB.
#include "kv/store.h"

#include <cerrno>
#include <filesystem>
#include <mutex>
#include <system_error>

namespace hat {
namespace {

constexpr size_t kKeyBytesMax = 511;  // MDB_MAXKEYSIZE of a stock build
constexpr mdb_mode_t kFileMode = 0640;

using Transaction = Owned<MDB_txn, mdb_txn_abort>;

std::unexpected<Error> refused(std::string_view doing, int code) {
  return fail(std::string(doing) + ": " + mdb_strerror(code));
}

Result<void> check_key(std::string_view key) {
  if (key.empty()) return fail("the key is empty; keys have 1 to 511 bytes");
  if (key.size() > kKeyBytesMax) {
    return fail("the key has " + std::to_string(key.size()) + " bytes; keys have 1 to 511 bytes");
  }
  return {};
}

MDB_val as_mdb(std::string_view bytes) {
  return {bytes.size(), const_cast<char*>(bytes.data())};  // LMDB reads what is not marked reserved
}

Result<Transaction> begin_read(MDB_env* environment) {
  MDB_txn* transaction = nullptr;
  const int code = mdb_txn_begin(environment, nullptr, MDB_RDONLY, &transaction);
  if (code == MDB_READERS_FULL) {
    return fail("too many reads at once; start hatkv with a larger --readers");
  }
  if (code != 0) return refused("cannot begin to read", code);
  return Transaction(transaction);
}

Result<std::optional<std::string>> look_up(MDB_txn* transaction, MDB_dbi table,
                                           std::string_view key) {
  HAT_TRY_VOID(check_key(key));
  MDB_val mdb_key = as_mdb(key);
  MDB_val value;
  const int code = mdb_get(transaction, table, &mdb_key, &value);
  if (code == MDB_NOTFOUND) return std::nullopt;
  if (code != 0) return refused("cannot read the key", code);
  return std::string(static_cast<const char*>(value.mv_data), value.mv_size);
}

}  // namespace

Result<Store> Store::open(const std::string& directory, uint64_t map_bytes, uint32_t readers) {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error) return fail(directory + ": cannot make this folder: " + error.message());

  MDB_env* raw = nullptr;
  if (const int code = mdb_env_create(&raw); code != 0) return refused(directory, code);
  Environment environment(raw);
  if (const int code = mdb_env_set_mapsize(raw, map_bytes); code != 0) {
    return refused(directory + ": cannot map " + std::to_string(map_bytes) + " bytes", code);
  }
  mdb_env_set_maxreaders(raw, readers);
  // NOTLS ties a reader's slot to its transaction: threads come and go with connections here.
  if (const int code = mdb_env_open(raw, directory.c_str(), MDB_NOTLS, kFileMode); code != 0) {
    return refused(directory + ": cannot open the store", code);
  }

  MDB_txn* transaction = nullptr;
  if (const int code = mdb_txn_begin(raw, nullptr, 0, &transaction); code != 0) {
    return refused(directory + ": cannot begin", code);
  }
  Transaction opening(transaction);
  MDB_dbi table = 0;
  if (const int code = mdb_dbi_open(opening.get(), nullptr, 0, &table); code != 0) {
    return refused(directory + ": cannot open the table", code);
  }
  if (const int code = mdb_txn_commit(opening.release()); code != 0) {
    return refused(directory + ": cannot write", code);
  }
  return Store(std::move(environment), table);
}

Result<std::optional<std::string>> Store::get(std::string_view key) const {
  std::shared_lock lock(resizing_);
  HAT_TRY(const Transaction transaction, begin_read(environment_.get()));
  return look_up(transaction.get(), table_, key);
}

Result<std::vector<std::optional<std::string>>> Store::multiget(
    std::span<const std::string> keys) const {
  std::shared_lock lock(resizing_);
  HAT_TRY(const Transaction transaction, begin_read(environment_.get()));
  std::vector<std::optional<std::string>> values;
  values.reserve(keys.size());
  for (const std::string& key : keys) {
    HAT_TRY(auto value, look_up(transaction.get(), table_, key));
    values.push_back(std::move(value));
  }
  return values;
}

// `change` returns LMDB's code; MDB_MAP_FULL may come from it or from the commit.
template <class Change>
Result<void> Store::write(Change&& change) {
  for (;;) {
    uint64_t map_bytes = 0;
    {
      std::shared_lock lock(resizing_);
      MDB_envinfo info;
      mdb_env_info(environment_.get(), &info);
      map_bytes = info.me_mapsize;
      MDB_txn* raw = nullptr;
      int code = mdb_txn_begin(environment_.get(), nullptr, 0, &raw);
      if (code != 0) return refused("cannot begin to write", code);
      Transaction transaction(raw);
      code = change(raw);
      if (code == 0) code = mdb_txn_commit(transaction.release());
      if (code == 0) return {};
      if (code != MDB_MAP_FULL) return refused("cannot write", code);
    }
    HAT_TRY_VOID(grow(map_bytes));
  }
}

// Two writers may have met the same full map: only the first one doubles it.
Result<void> Store::grow(uint64_t full_at_bytes) {
  std::unique_lock lock(resizing_);
  MDB_envinfo info;
  mdb_env_info(environment_.get(), &info);
  if (info.me_mapsize > full_at_bytes) return {};
  if (const int code = mdb_env_set_mapsize(environment_.get(), 2 * full_at_bytes); code != 0) {
    return refused("the store is full at " + std::to_string(full_at_bytes) +
                       " bytes and cannot be made larger",
                   code);
  }
  return {};
}

Result<void> Store::put(std::string_view key, std::string_view value) {
  const Entry entry{key, value};
  return multiput({&entry, 1});
}

Result<void> Store::multiput(std::span<const Entry> entries) {
  for (const Entry& entry : entries) HAT_TRY_VOID(check_key(entry.key));
  return write([&](MDB_txn* transaction) {
    for (const Entry& entry : entries) {
      MDB_val key = as_mdb(entry.key);
      MDB_val value = as_mdb(entry.value);
      if (const int code = mdb_put(transaction, table_, &key, &value, 0); code != 0) return code;
    }
    return 0;
  });
}

Result<bool> Store::remove(std::string_view key) {
  HAT_TRY_VOID(check_key(key));
  bool was_there = false;
  HAT_TRY_VOID(write([&](MDB_txn* transaction) {
    MDB_val mdb_key = as_mdb(key);
    const int code = mdb_del(transaction, table_, &mdb_key, nullptr);
    was_there = code == 0;
    return code == MDB_NOTFOUND ? 0 : code;
  }));
  return was_there;
}

}  // namespace hat
